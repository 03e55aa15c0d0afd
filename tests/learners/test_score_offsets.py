"""Only differences of scores count: neither their level nor their unit costs digits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RankRLS
from rankwise.losses.pair_losses import MagnitudeLoss
from tests.problems import scored
from tests.reference_precise import exact_scores

RNG = np.random.default_rng(2)
X = RNG.normal(size=(14, 3))
STEPS = RNG.integers(0, 10, 14).astype(float)
QID = np.arange(14) % 2
COSTS = {"magnitude": {}, "ties dropped": {"ties": "drop"}, "unit": {"loss": "unit"}}
COSTS["relative"] = {"loss": "relative"}


def errors(y, qid, options, **kernel):
    """The largest errors of leave-one-out and of one pair, beside the size of the predictions."""
    model = RankRLS(1.0, **options, **kernel).fit(X, y, qid=qid)

    def exact(items):
        rest = np.setdiff1d(np.arange(14), items)
        rest_qid = None if qid is None else qid[rest]
        return exact_scores(X[rest], y[rest], X[items], 1.0, qid=rest_qid, **options, **kernel)

    single = np.array([exact([i])[0] for i in range(14)])
    size = np.abs(single).max()
    pair = model.leave_pair_out([[0, 2]])[0] - exact([0, 2])
    return np.abs(model.leave_one_out() - single).max() / size, np.abs(pair).max() / size


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cost", COSTS)
def test_small_steps_on_a_large_level(cost, kernel, qid):
    y = 1000 + 1e-6 * STEPS
    assert max(errors(y, qid, COSTS[cost], kernel=kernel, gamma=0.3)) < 1e-8


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3])
def test_relative_errors_in_any_unit(unit, kernel, qid):
    """Weights 1/y² of 1e12: alpha = 1 is then next to nothing."""
    assert max(errors(unit * STEPS, qid, COSTS["relative"], kernel=kernel, gamma=0.3)) < 1e-6


def test_shifted_scores_are_exact():
    y = np.array([1000 + 1e-6, 1000.0, 3.0, -7.0, -5.0, -6.0])
    told = scored(y, [0, 0, 1, 2, 2, 2])
    expected = [y[0] - 1000.0, 0.0, 0.0, -2.0, 0.0, -1.0]
    assert_allclose(told.shifted[:, 0], expected, rtol=0, atol=0)
    wide = scored([1e16, 1.0, 2.0])
    assert wide.shifted is wide.Y


def test_hold_outs_on_a_large_level_have_a_rule():
    """Without one they would all be refits."""
    assert MagnitudeLoss(keep_ties=False).holdout_rule(scored(1000 + 1e-6 * STEPS)) is not None
