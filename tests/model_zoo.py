"""One fitted model of every kind that `rankwise.save` knows, with the items to predict."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

import rankwise as rw
from rankwise.kernels import InteractionProfile, KernelSum
from rankwise.learners.interactions import Interactions
from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.trained_model import TrainedModel

rng = np.random.default_rng(0)
X, X_NEW = rng.normal(size=(30, 4)), rng.normal(size=(7, 4))
Y = X @ rng.normal(size=(4, 2)) + 0.3 * rng.normal(size=(30, 2))
y, qid = Y[:, 0], np.repeat(["first", "second", "third", "ä b", "e"], 6)
SPARSE, SPARSE_NEW = sparse.csr_matrix(np.where(X > 0, X, 0)), sparse.csr_array(X_NEW)
RELATION = rng.normal(size=(30, 30))
EDGES = np.argwhere(rng.uniform(size=(30, 30)) < 0.4)
BY_QUERY = {"qid": qid}
PREFERENCES = rw.Preferences.from_scores(y, qid)
OUTCOME = rw.Censored(np.arange(len(y)) % 3 > 0, np.round(np.abs(y), 1))
VOTES = rw.Preferences.from_votes(list("abcab"), list("bcacc"), ["a", "tie", "b", "a", "a"])


def _fit(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **options)


def _stream(model, **options):
    for part in (slice(0, 12), slice(12, 30)):
        labels = {"qid": qid[part]} if options else {}
        model.partial_fit(X[part], y[part], **labels)
    return model


def models() -> dict:
    """Name -> (fitted model, arguments of predict)."""
    plain, thin = (X_NEW,), (SPARSE_NEW,)
    rbf = {"kernel": "rbf", "gamma": 0.3}
    online = {"solver": "online"}
    gram, gram_new = X @ X.T, X_NEW @ X.T
    edge_values = RELATION[EDGES[:, 0], EDGES[:, 1]]
    return {
        "rls": (_fit(rw.RLS(), X, Y, **BY_QUERY), plain),
        "rank_rls": (_fit(rw.RankRLS(0.5), X, y, **BY_QUERY), plain),
        "rank_rls outputs": (_fit(rw.RankRLS(**rbf), X, Y, **BY_QUERY), plain),
        "rank_rls basis": (_fit(rw.RankRLS(**rbf, basis=5), X, y), plain),
        "rank_rls linear basis": (_fit(rw.RankRLS(basis=[3, 1, 2]), X, y), plain),
        "rank_rls gram": (_fit(rw.RankRLS(kernel="precomputed"), gram, y), (gram_new,)),
        "rank_rls censored": (_fit(rw.RankRLS(), X, OUTCOME, qid=qid), plain),
        "rank_svm censored": (_fit(rw.RankSVM(), X, OUTCOME), plain),
        "rank_rls preferences": (_fit(rw.RankRLS(), X, preferences=PREFERENCES), plain),
        "rank_rls stream": (_stream(rw.RankRLS(), qid=True), plain),
        "rank_rls basis stream": (_stream(rw.RankRLS(**rbf, basis=5), qid=True), plain),
        "rls stream": (_stream(rw.RLS()), plain),
        "rank_rls sparse": (_fit(rw.RankRLS(kernel="poly"), SPARSE, y), thin),
        "rank_rls cg": (_fit(rw.RankRLS(solver="cg"), SPARSE, y, **BY_QUERY), thin),
        "rank_rls random": (
            _fit(rw.RankRLS(**rbf, basis=4, random_state=np.random.RandomState(3)), X, y),
            plain,
        ),
        "rank_rls_cv": (_fit(rw.RankRLSCV(**rbf), X, y), plain),
        "rank_rls_cv options": (
            _fit(
                rw.RankRLSCV([0.1, 1], cv=GroupKFold(3), scoring=rw.metrics.scorer("ndcg", k=3)),
                X,
                y - y.min(),
                **BY_QUERY,
            ),
            plain,
        ),
        "rank_logistic": (_fit(rw.RankLogistic(), X, preferences=PREFERENCES), plain),
        "rank_logistic_cv": (
            _fit(rw.RankLogisticCV([0.1, 1.0], cv=3), X, preferences=PREFERENCES),
            plain,
        ),
        "rank_logistic kernel": (
            _fit(rw.RankLogistic(**rbf, item_effect=0.5), X, preferences=PREFERENCES),
            plain,
        ),
        "rank_logistic without features": (
            _fit(rw.RankLogistic(), None, preferences=VOTES),
            (None,),
        ),
        "rank_svm": (_fit(rw.RankSVM(0.1, warm_start=True), X, Y, **BY_QUERY), plain),
        "rank_svm rbf": (_fit(rw.RankSVM(0.1, **rbf, loss="squared_hinge"), X, y), plain),
        "rank_svm_cv": (_fit(rw.RankSVMCV([0.1, 1.0]), X, y, **BY_QUERY), plain),
        "mprank": (_fit(rw.MPRank(10.0), X, y, **BY_QUERY), plain),
        "mprank rbf": (_fit(rw.MPRank(10.0, **rbf, basis=6), X, Y), plain),
        "mprank 1": (_fit(rw.MPRank(10.0, norm=1, **rbf), X, y), plain),
        "mprank online": (_fit(rw.MPRank(**online), X, y), plain),
        "mprank stream": (_stream(rw.MPRank(**online)), plain),
        "mprank basis stream": (
            _stream(rw.MPRank(**online, **rbf, basis=5, random_state=0)),
            plain,
        ),
        "mprank rbf stream": (_stream(rw.MPRank(**online, **rbf)), plain),
        "mprank_cv": (_fit(rw.MPRankCV(), X, y, **BY_QUERY), plain),
        "svrank": (_fit(rw.SVRank(**rbf), X, y), plain),
        "rank_boost": (_fit(rw.RankBoost(9, validation_fraction=0.4), X, y, **BY_QUERY), plain),
        "greedy": (_fit(rw.GreedyRankRLS(2), X, y, **BY_QUERY), plain),
        "conditional": (_fit(rw.ConditionalRanker(), X, RELATION), plain),
        "conditional symmetric": (
            _fit(
                rw.ConditionalRanker(relation="symmetric", **rbf, condition="column"),
                X,
                RELATION + RELATION.T,
            ),
            plain,
        ),
        "conditional two": (
            _fit(rw.ConditionalRanker(**rbf), (X, X[:20, :3]), RELATION[:, :20]),
            (X_NEW, X_NEW[:, :3]),
        ),
        "conditional edges": (
            _fit(rw.ConditionalRanker(kernel="poly", max_iter=9), X, edge_values, edges=EDGES),
            plain,
        ),
        "conditional pairwise": (
            _fit(
                rw.ConditionalRanker(
                    kernel=(KernelSum(["rbf", InteractionProfile(fill="mean")], [1.0, 0.5]), "rbf"),
                    gamma=(0.5, None),
                    pairwise="cartesian",
                    item_effect=(0.1, 0.0),
                    objective="regression",
                    effects="both",
                ),
                (X, X[:20, :3]),
                RELATION[:, :20],
            ),
            (X_NEW, X_NEW[:, :3]),
        ),
        "conditional mlpk": (
            _fit(rw.ConditionalRanker(pairwise="mlpk", **rbf), X, RELATION),
            plain,
        ),
        "conditional_cv": (_fit(rw.ConditionalRankerCV(alphas=[0.1, 10]), X, RELATION), plain),
        "two_step": (_fit(rw.TwoStepRanker(), X, RELATION), plain),
        "two_step symmetric": (
            _fit(
                rw.TwoStepRanker(0.5, relation="symmetric", condition="column", **rbf),
                X,
                RELATION + RELATION.T,
            ),
            plain,
        ),
        "two_step two": (
            _fit(
                rw.TwoStepRanker((1.0, 2.0), kernel=("rbf", "linear"), gamma=(0.3, None)),
                (X, X[:20, :3]),
                RELATION[:, :20],
            ),
            (X_NEW, X_NEW[:, :3]),
        ),
        "two_step filled": (
            _fit(rw.TwoStepRanker(fill="mean", kernel="poly"), X, edge_values, edges=EDGES),
            plain,
        ),
        "two_step_cv": (
            _fit(rw.TwoStepRankerCV(([0.1, 1, 10], [0.5, 2.0])), X, RELATION),
            plain,
        ),
        "kernel filter": (_fit(rw.KernelFilter(kernel="rbf"), X, RELATION), plain),
        "kernel filter two": (
            _fit(
                rw.KernelFilter((1, 0, 1, 0), kernel=("rbf", "linear"), condition="column"),
                (X, X[:20, :3]),
                RELATION[:, :20],
            ),
            (X_NEW, X_NEW[:, :3]),
        ),
        "kernel filter similarity": (
            _fit(rw.KernelFilter(method="similarity"), X, RELATION),
            plain,
        ),
        "nearest nodes": (_fit(rw.NearestNodes(3), X, edge_values, edges=EDGES), plain),
        "kernel map": (rw.KernelMap(basis=5).fit(X), plain),
        **{
            f"pipeline {type(scaler).__name__}": (
                _fit(make_pipeline(scaler, rw.RankRLS(**rbf)), X, y),
                plain,
            )
            for scaler in (
                StandardScaler(),
                MinMaxScaler(clip=True),
                MaxAbsScaler(),
                RobustScaler(),
                Normalizer(),
            )
        },
        "trained": (
            TrainedModel(_fit(rw.RankRLS(), X, y), ItemScaler().fit(X), {"features": ["a"]}),
            plain,
        ),
        "interactions": (
            _fit(
                make_pipeline(
                    Interactions(include=("cosine", "product", "outer"), rank=2), rw.RankRLS()
                ),
                X,
                y,
            ),
            plain,
        ),
        "pipeline map": (
            _fit(make_pipeline(StandardScaler(), rw.KernelMap(basis=9), rw.RankSVM()), X, y),
            plain,
        ),
    }
