"""Every learner refuses a kernel that is indefinite on the items."""

import numpy as np
import pytest

import rankwise as rw

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=20)
POLY = {"kernel": "poly", "degree": 3, "coef0": -1.0}
LEARNERS = [
    rw.RankRLS(**POLY),
    rw.RLS(**POLY),
    rw.RankRLSCV([1.0, 2.0], **POLY),
    rw.RankSVM(**POLY),
    rw.RankSVMCV([1.0, 2.0], **POLY),
    rw.MPRank(**POLY),
    rw.MPRank(solver="online", **POLY),
    rw.MPRank(norm=1, **POLY),
    rw.MPRankCV([1.0, 2.0], **POLY),
    rw.SVRank(**POLY),
    rw.KernelMap(**POLY),
    rw.ConditionalRanker(**POLY),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_an_indefinite_kernel_is_refused(learner):
    target = RNG.normal(size=(20, 20)) if isinstance(learner, rw.ConditionalRanker) else Y
    with pytest.raises(rw.InvalidKernel, match="indefinite"):
        learner.fit(X, target)
