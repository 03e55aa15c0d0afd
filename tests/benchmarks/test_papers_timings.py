"""The scripts that are run on a quiet machine, at small size."""

import pytest
from benchmarks.papers import magnitude_figure1, rank_svm_figure4, rank_svm_figures, table
from benchmarks.papers.data import MissingData


@pytest.mark.parametrize(
    ("script", "size", "titles"),
    [
        (magnitude_figure1, 300, ["Mean squared difference", "Seconds to train"]),
        (rank_svm_figures, 1000, ["cadata", "text", "1,000 documents"]),
        (rank_svm_figure4, 1000, ["cadata", "text-like"]),
    ],
)
def test_scripts_at_small_size(script, size, titles, tmp_path, monkeypatch):
    if script is rank_svm_figures:  # it trains in other processes
        monkeypatch.setattr(script, "peak_memory", lambda X, y, loss: (0.0, 1e6))
    if hasattr(script, "FIGURE"):
        figure = tmp_path / "docs" / "papers" / "figures" / "figure.png"
        figure.parent.mkdir(parents=True)
        monkeypatch.setattr(script, "FIGURE", figure)
    try:
        with table.collecting() as parts:
            script.main(size)
    except MissingData as missing:
        pytest.skip(str(missing))
    assert len(parts) == len(titles)
    for part, title in zip(parts, titles):
        assert title in part and "nan" not in part
