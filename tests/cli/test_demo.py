"""rankwise demo"""

from tests.cli_files import run


def test_demo_writes_a_report_and_files_to_go_on_with(tmp_path):
    found = run("demo", "-o", tmp_path / "tour").stdout
    assert "report.html" in found and "95% interval" in found
    page = (tmp_path / "tour" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "<svg" in page
    run("explain", tmp_path / "tour" / "model.rw", tmp_path / "tour" / "unseen.csv")
