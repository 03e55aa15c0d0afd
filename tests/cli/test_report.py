"""rankwise report, with a model file of an earlier version."""

from pathlib import Path

import rankwise
from rankwise.workflow.trained_model import TrainingRecord
from tests.cli_files import run, write_csv

OLD_MODEL = Path(__file__).parents[1] / "data" / "trained_before_typed_record.rw"


def test_records_of_earlier_versions_are_read(tmp_path):
    record = rankwise.load(OLD_MODEL).record
    assert [name for name in TrainingRecord.__annotations__ if name in record] == list(record)
    data = write_csv(tmp_path / "test.csv", q=6, seed=1)
    report = tmp_path / "report.html"
    run("report", OLD_MODEL, data, "--learning-curve", "-o", report)
    page = report.read_text(encoding="utf-8")
    for text in ("poly, 20 basis items", "31 candidates", "Supporting items", "Learning curve"):
        assert text in page
    assert "(query q" in run("explain", OLD_MODEL, data, "--query", "q3").stdout
