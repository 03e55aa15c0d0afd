"""The script of Tables 1 and 2 on small files in the formats of MovieLens and Book-Crossing."""

import numpy as np
import pytest
from benchmarks.papers import magnitude_tables as tables
from numpy.testing import assert_array_equal

RNG = np.random.default_rng(0)


@pytest.fixture
def small_grids(monkeypatch):
    grids = {"MPRank": 2, "SVRank": 2, "RankBoost": 3}
    short = {method: tables.GRIDS[method][:size] for method, size in grids.items()}
    monkeypatch.setattr(tables, "GRIDS", short)
    monkeypatch.setattr(tables, "HOLD_OUT", 2)


def write(path, rows, separator, heading="", quote=""):
    lines = [separator.join(f"{quote}{field}{quote}" for field in row) for row in rows]
    path.write_text(heading + "\n".join(lines) + "\n", encoding="latin-1")
    return path


@pytest.mark.parametrize(
    ("separator", "heading", "quote"),
    [("::", "", ""), (";", '"User-ID";"ISBN";"Book-Rating"\n', '"'), (",", "u,i,r,t\n", "")],
    ids=["MovieLens", "Book-Crossing", "commas"],
)
def test_formats(tmp_path, separator, heading, quote):
    rows = [("7", "b", 3, 11), ("7", "a", 4.5, 12), ("12", "c", 0, 13)]
    rows = [row[:3] for row in rows] if quote else rows
    found = tables.matrix(
        *tables.read_ratings(write(tmp_path / "r", rows, separator, heading, quote))
    )
    assert_array_equal(found, [[np.nan, np.nan, 0.0], [4.5, 3.0, np.nan]])


def test_nothing_to_read(tmp_path):
    with pytest.raises(SystemExit, match="rater, item, rating"):
        tables.read_ratings(write(tmp_path / "r", [("a", "b")], ","))


def test_movielens(tmp_path, capsys, small_grids):
    sizes = [25] * 8 + [45] * 8 + [55] * 8 + [70] * 8
    taste = RNG.normal(size=80)
    rows = [
        (rater, item, int(np.clip(np.round(3 + taste[item] + RNG.normal()), 1, 5)), 0)
        for rater, size in enumerate(sizes)
        for item in RNG.choice(80, size, replace=False)
    ]
    path = write(tmp_path / "ratings.dat", rows, "::")
    tables.main(users=2, repetitions=2, movielens=str(path))
    shown = capsys.readouterr().out
    assert all(f"**MovieLens {group}, 2 raters" in shown for group in tables.GROUPS)
    assert "nan" not in shown


def test_hold_out_raters_are_not_tested():
    ratings = RNG.normal(size=(40, 60))
    chosen, tested = tables.hold_out(ratings)
    assert len(chosen) == 4
    assert_array_equal(np.sort(np.concatenate((chosen, tested))), np.arange(40))


def test_book_crossing(tmp_path, capsys, small_grids):
    rows = [
        (f"user{rater}", f"03{item:04d}X", RNG.integers(1, 11))
        for rater in range(12)
        for item in RNG.choice(210, 205 if rater < 11 else 20, replace=False)
    ]
    rows += [(f"user{rater}", "visited", 0) for rater in range(12)]
    heading = '"User-ID";"ISBN";"Book-Rating"\n'
    path = write(tmp_path / "BX-Book-Ratings.csv", rows, ";", heading, '"')
    kept = tables.matrix(*tables.book_crossing(*tables.read_ratings(path)))
    assert kept.shape[0] == 11
    assert np.isfinite(kept).sum(axis=0).min() >= 10
    tables.main(books=str(path))
    shown = capsys.readouterr().out
    assert "**Books all, all raters**" in shown
    assert "nan" not in shown
