"""Models do not depend on the units of the features: X times c with alpha times c² is the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, ConditionalRanker, MPRank, RankRLS

RNG = np.random.default_rng(8)
X, WIDE = RNG.normal(size=(24, 3)), RNG.normal(size=(24, 40))
Y = np.round(X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=24), 1)
QID = np.arange(24) % 4
SCALES = 10.0 ** np.array([-150, -100, -18, -9, -6, 6, 9, 18, 100, 150])
COSTS = {
    "RLS": (RLS, {}),
    "magnitude": (RankRLS, {}),
    "ties dropped": (RankRLS, {"ties": "drop"}),
    "unit": (RankRLS, {"loss": "unit"}),
    "relative": (RankRLS, {"loss": "relative"}),
    "by query": (RankRLS, {"query_weight": "queries"}),
}


def everything(model, items, qid):
    """All that the model says, with the scores of its training items."""
    said = [model.predict(items), model.leave_one_out(), model.leave_pair_out()]
    said.append(model.holdout([0, 3, 5]))
    return said + ([] if qid is None else [model.leave_query_out()])


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("items", ["features", "wide", "kernel", "reduced", "spectral"])
def test_the_unit_of_the_features_does_not_matter(items, cost, qid):
    make, options = COSTS[cost]
    given = {"features": X, "reduced": X, "wide": WIDE, "spectral": WIDE, "kernel": X @ X.T + 1}
    if items == "reduced":
        options = options | {"basis": np.arange(6)}
    elif items != "features":
        options = options | {"solver": "spectral" if items == "spectral" else "auto"}
    squares = items == "kernel"
    if squares:
        options = options | {"kernel": "precomputed"}
    model = make(0.1, **options).fit(given[items], Y, qid=qid)
    expected = everything(model, given[items], qid)
    for c in SCALES:
        Z = given[items] * (c * c if squares else c)
        scaled = make(0.1 * c * c, **options).fit(Z, Y, qid=qid)
        for found, value in zip(everything(scaled, Z, qid), expected, strict=True):
            assert_allclose(found, value, rtol=1e-6, atol=1e-9 * np.abs(value).max())


@pytest.mark.parametrize("kernel", ["linear", "precomputed", "poly"])
def test_mprank(kernel):
    given = X @ X.T if kernel == "precomputed" else X
    options = {"kernel": kernel, "degree": 2, "coef0": 0.0}
    model = MPRank(3.0, gamma=1.0, **options).fit(given, Y)
    for c in SCALES:
        gamma = 1.0 / c if kernel == "poly" else 1.0
        Z = given * (c * c if kernel == "precomputed" else c)
        if kernel == "poly":
            scaled = MPRank(3.0 / c**2, gamma=gamma, **options).fit(Z, Y)
        else:
            scaled = MPRank(3.0 / c / c, gamma=gamma, **options).fit(Z, Y)
        assert_allclose(scaled.predict(Z), model.predict(given), rtol=1e-6, atol=1e-9)
        for exact in (True, False):
            assert scaled.pairwise_loo(exact) == pytest.approx(model.pairwise_loo(exact), rel=1e-6)


@pytest.mark.parametrize("c", 10.0 ** np.array([-70, -20, -9, 9, 20, 70]))
@pytest.mark.parametrize("objective", ["ranking", "regression"])
def test_conditional_ranker(objective, c):
    """Pairs have the product of two kernels, so alpha scales with c⁴."""
    nodes, relation = X[:10], RNG.normal(size=(10, 10))
    for solver, alpha in (("closed", 0.1), ("cg", 0.1)):
        options = {"objective": objective, "solver": solver, "tol": 1e-12}
        model = ConditionalRanker(alpha, **options).fit(nodes, relation)
        scaled = ConditionalRanker(alpha * c**4, **options).fit(c * nodes, relation)
        assert_allclose(scaled.predict(c * nodes), model.predict(nodes), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("c", [1e-200, 1e-170, 1e160, 1e200])
@pytest.mark.parametrize("items", [X, WIDE], ids=["features", "wide"])
def test_squares_beyond_the_range_of_numbers(items, c):
    """Squares that overflow are refused. If they vanish beside alpha, so do the scores."""
    if c > 1:
        with pytest.raises(ValueError, match="scale it down"):
            RankRLS(1.0).fit(c * items, Y)
    else:
        assert_allclose(RankRLS(1.0).fit(c * items, Y).predict(c * items), 0.0, atol=1e-300)
