"""Without matplotlib, everything that draws says which extra is missing."""

import sys

import numpy as np
import pytest

from rankwise import GreedyRankRLS, RankRLS, evaluation

X = np.random.default_rng(0).normal(size=(30, 3))
CURVE = evaluation.regularisation_curve(RankRLS(), X, X[:, 0], alphas=[0.1, 1.0])
SELECTION = evaluation.selection_curve(GreedyRankRLS(2), X, X[:, 0])


@pytest.mark.parametrize(
    "draw",
    [CURVE.draw, CURVE.plot, lambda: CURVE.save("curve.png"), SELECTION.draw, SELECTION.plot],
    ids=["draw", "plot", "save", "selection draw", "selection plot"],
)
def test_the_error_names_the_extra(draw, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[plot\]'"):
        draw()
    assert not list(tmp_path.iterdir())


def test_a_curve_is_drawn_without_pyplot():
    pytest.importorskip("matplotlib")
    axes = CURVE.draw()
    assert axes.get_xlabel() == "alpha"
    assert not hasattr(axes.figure.canvas, "manager") or axes.figure.canvas.manager is None
