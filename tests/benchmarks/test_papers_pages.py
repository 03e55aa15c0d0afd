"""Pages and tables of the papers agree, and quick scripts print again what the pages show."""

import re

import numpy as np
import pytest
from benchmarks.papers import __main__ as runner
from benchmarks.papers import magnitude_loo, pages, rankrls_figures, table
from benchmarks.papers.__main__ import HELPERS, MINUTES, main
from benchmarks.papers.data import REPOSITORY, MissingData

INDEX = pages.DOCS / "papers" / "index.md"


def test_every_page_shows_the_tables_that_the_scripts_wrote():
    for page in pages.with_tables():
        text = page.read_text(encoding="utf-8")
        assert pages.filled(text) == text, f"{page.name}: python -m benchmarks.papers --fill"
        for block in pages.BLOCK.finditer(text):
            if not (pages.TABLES / f"{block['name']}.md").is_file():
                name, body = block["name"], block["body"].strip()
                if not body.startswith(pages.BY_HAND.format(name)):
                    assert body == pages.NOTE.format(name), (page.name, name)


def test_every_table_is_on_a_page_and_has_its_script():
    shown = "".join(page.read_text(encoding="utf-8") for page in pages.with_tables())
    names = {block["name"] for block in pages.BLOCK.finditer(shown)}
    folder = REPOSITORY / "benchmarks" / "papers"
    for file in pages.TABLES.glob("*.md"):
        assert file.stem in names, f"{file.name} is on no page"
        assert (folder / f"{file.stem}.py").is_file()
        assert f"python -m benchmarks.papers {file.stem}" in file.read_text(encoding="utf-8")


def test_markers_are_whole():
    for page in (pages.DOCS / "papers").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        begun, ended = text.count("<!-- table: "), text.count("<!-- end of table -->")
        assert begun == ended == len(pages.BLOCK.findall(text)), page.name


def test_the_index_names_every_page():
    text = INDEX.read_text(encoding="utf-8")
    for page in INDEX.parent.glob("*.md"):
        assert page == INDEX or f"({page.name}" in text, f"{page.name} is missing in the index"


def test_durations_are_of_scripts():
    scripts = {file.stem for file in (REPOSITORY / "benchmarks" / "papers").glob("*.py")}
    assert set(MINUTES) <= scripts and scripts - {"__init__"} >= HELPERS


def numbers_and_words(text):
    cells = [cell.strip() for line in text.splitlines() for cell in line.split("|")]
    cells = [cell for cell in cells if cell and not set(cell) <= set("-")]
    found = re.findall(r"[−-]?\d+\.?\d*", " ".join(cells))
    words = re.sub(r"[−-]?\d+\.?\d*", "#", " ".join(cells))
    return [float(number.replace("−", "-")) for number in found], words


@pytest.mark.parametrize(
    ("name", "part", "run"),
    [
        ("magnitude_loo", 1, magnitude_loo.main),
        ("rankrls_figures", 1, rankrls_figures.costs),
        ("rankrls_figures", 2, rankrls_figures.irrelevant_pairs),
    ],
)
def test_quick_scripts_print_what_the_pages_show(name, part, run):
    try:
        with table.collecting() as parts:
            run()
    except MissingData as missing:
        pytest.skip(str(missing))
    ours, words = numbers_and_words(parts[0])
    stored, expected = numbers_and_words(pages.load(name)[part - 1])
    assert words == expected
    np.testing.assert_allclose(ours, stored, atol=0.0011, rtol=1e-3)


def test_tables_are_markdown_and_written_whole(tmp_path, capsys):
    with table.collecting() as parts:
        table.show("A title", ("", "ours", "a/b"), [("x", 0.12345, None), ("a|b",)])
        table.note("A note.")
        with table.collecting() as inner:
            table.show("", ("n",), [(1,)])
    assert len(inner) == 1
    assert parts == [
        "**A title**\n\n"
        "|      | ours  | a/b |\n| ---- | ----- | --- |\n"
        "| x    | 0.123 | –   |\n| a\\|b |       |     |\n\nA note.\n"
    ]
    assert "A title" in capsys.readouterr().out
    path = pages.save("some", parts, tmp_path)
    assert "Versions: rankwise" in path.read_text(encoding="utf-8") and list(
        tmp_path.iterdir()
    ) == [path]
    assert pages.load("some", tmp_path) == parts
    page = "# P\n\n<!-- table: some 1 -->\nold\n<!-- end of table -->\n\nText.\n"
    new = pages.filled(page, tmp_path)
    assert new == page.replace("old", f"\n{parts[0]}")
    assert pages.filled(new, tmp_path) == new
    assert pages.filled("<!-- table: no -->\nx\n<!-- end of table -->", tmp_path).count("x") == 1
    assert table.signed(-0.0004) == "0.000" and table.signed(-0.5, 1) == "−0.5"


def test_the_command_lists_and_refuses(capsys):
    assert main(["--list", "magnitude"]) == 0
    listed = capsys.readouterr().out
    assert "magnitude_tables" in listed and "about" in listed and "less than" in listed
    assert main(["--list", "--missing"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines() if "minutes" in line] == sorted(
        pages.not_run(), key=lambda name: (MINUTES.get(name, 1), name)
    )
    for words, message in ((["nothing"], "no script 'nothing'"), (["--often"], "--often")):
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_a_finished_script_is_skipped_and_an_interrupted_one_is_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "DONE", tmp_path / "done")
    monkeypatch.setattr(pages, "TABLES", tmp_path / "tables")
    monkeypatch.setattr(pages.save, "__defaults__", (tmp_path / "tables",))
    monkeypatch.setattr(pages, "fill", list)
    runs = []

    def stop():
        runs.append(1)
        raise KeyboardInterrupt

    def finish():
        runs.append(2)
        table.show("T", ("a",), [(1,)])

    monkeypatch.setattr(magnitude_loo, "main", stop)
    with pytest.raises(KeyboardInterrupt):
        main(["magnitude_loo"])
    assert not runner.is_done("magnitude_loo") and not (tmp_path / "tables").exists()
    monkeypatch.setattr(magnitude_loo, "main", finish)
    for words in (["magnitude_loo"], ["magnitude_loo"], ["magnitude_loo", "--again"]):
        main(words)
    assert runs == [1, 2, 2]
    assert "skipped without --again: magnitude_loo" in capsys.readouterr().out
    assert (tmp_path / "tables" / "magnitude_loo.md").is_file()
