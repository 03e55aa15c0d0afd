"""The data files of a folder, a pattern or a list."""

import pytest

from rankwise.exceptions import ReadError
from rankwise.io.source import files_of


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "below/c.csv", ".hidden", "_SUCCESS", "below/.crc", "d.query"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    return tmp_path


def test_files_in_the_order_of_their_names(folder):
    names = [str(folder / name) for name in ("a.csv", "b.csv", "below/c.csv", "d.query")]
    assert files_of(str(folder)) == names
    assert files_of(str(folder), leave_out=".query") == names[:3]
    assert files_of(str(folder / "*.csv")) == names[:2]
    assert files_of([names[1], names[0]]) == [names[1], names[0]]


def test_nothing_to_read(folder):
    with pytest.raises(ReadError, match="no file"):
        files_of(str(folder / "*.parquet"))
