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
    rw.ConditionalRankerCV(rw.ConditionalRanker(**POLY)),
]
RELATIONAL = (rw.ConditionalRanker, rw.ConditionalRankerCV)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_an_indefinite_kernel_is_refused(learner):
    target = RNG.normal(size=(20, 20)) if isinstance(learner, RELATIONAL) else Y
    with pytest.raises(rw.InvalidKernel, match="indefinite"):
        learner.fit(X, target)


@pytest.mark.parametrize("name", ["RankRLS", "RankSVM"])
def test_an_indefinite_kernel_is_refused_on_partitions(name):
    dask_learners = pytest.importorskip("rankwise.dask")
    qid = np.sort(np.arange(20) % 5)
    array = pytest.importorskip("dask.array").from_array(X, chunks=(4, 3))
    learner = getattr(dask_learners, name)(basis=8, random_state=0, **POLY)
    with pytest.raises(rw.InvalidKernel, match="indefinite"):
        learner.fit(array, Y, qid=qid)
