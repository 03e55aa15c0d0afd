"""Is there any signal at all? The score under permuted targets."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.folds import REFITS, checked_scores, judge, resolve
from rankwise.evaluation.held_out import Refitting
from rankwise.evaluation.pairs import judge_pairs, pair_influence
from rankwise.exceptions import UndefinedMetric
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS, RankRLSCV
from rankwise.model_selection.scoring import Folds, score_folds, score_pairs
from rankwise.numerics.progress import track
from rankwise.spaces.nystrom_map import choose_basis
from rankwise.supervision.queries import Queries
from rankwise.validation import check_alphas

EQUAL = 1e-12
VALUES_AT_ONCE = 20_000_000


def permutation_test(
    est, X, y, *, qid=None, cv="auto", n_permutations=1000, random_state=None
) -> tuple[float, np.ndarray, float]:
    """Cross-validated score, its values under permuted y, and p = (b + 1)/(n + 1).

    The score is 1 − ranking error on held-out items, the mean over queries (over folds where there
    are none); b of the n permutations scored as high. With qid, y is permuted within each query.

    RankRLS, RLS and RankRLSCV: permuted scores are extra output columns of one decomposition
    (section 4 of Pahikkala et al. 2009), so a thousand permutations cost little more than one;
    `cv` as in RankRLSCV. RankRLSCV chooses its alpha anew for every permutation: its statistic is
    the best score of the grid, so the choice itself is tested too. Any other estimator is
    refitted n_permutations · folds times; there cv="auto" is leave-query-out or at most 10 folds.
    """
    check_estimator(est)
    if not isinstance(n_permutations, numbers.Integral) or int(n_permutations) < 1:
        raise ValueError(f"n_permutations must be a positive integer; got {n_permutations!r}.")
    y, queries = checked_scores(y, qid)
    rng = check_random_state(random_state)
    if type(est) in (RLS, RankRLS, RankRLSCV):
        scores: _Scores = _ClosedForm(est, X, y, queries, cv)
    else:
        scores = _Refitted(est, X, y, queries, cv)
    n, at_once = int(n_permutations), scores.columns_at_once
    score = scores.of(y[:, None])[0]
    blocks = _permuted(y, queries, n, at_once, rng)
    null = np.concatenate([scores.of(Y) for Y in track(blocks, -(-n // at_once), "permutations")])
    as_high = int(np.count_nonzero(null >= score - EQUAL))
    return float(score), null, (as_high + 1) / (len(null) + 1)


def _permuted(y, queries: Queries, n: int, at_once: int, rng) -> Iterator[np.ndarray]:
    """Blocks (m, k) of y permuted within its queries, n columns in all."""
    for start in range(0, n, at_once):
        Y = np.empty((len(y), min(at_once, n - start)))
        for column in Y.T:
            shuffled = np.lexsort((rng.random_sample(len(y)), queries.codes))
            column[queries.order] = y[shuffled]
        yield Y


class _Scores(ABC):
    columns_at_once: int

    @abstractmethod
    def of(self, Y: np.ndarray) -> np.ndarray:
        """(k,) cross-validated scores of the targets Y (m, k)."""


class _ClosedForm(_Scores):
    """All targets of a block from one decomposition."""

    def __init__(self, est, X, y, queries: Queries, cv):
        self.qid = queries.codes if len(queries) > 1 else None
        self.scoring = None
        self.est, self.X = clone(est), X
        if isinstance(est, RankRLSCV):
            self.alphas = check_alphas(DEFAULT_ALPHAS if est.alphas is None else est.alphas)
            self.scoring = est.scoring
            cv = est.cv if isinstance(cv, str) and cv == "auto" else cv
        else:
            self.alphas = check_alphas([est.alpha])
        if est.basis is not None:
            self.est.set_params(basis=choose_basis(est.basis, len(y), est.random_state))
        self.folds = resolve(cv, self.X, y, queries, est.random_state)
        self.columns_at_once = max(1, VALUES_AT_ONCE // (len(self.alphas) * len(y)))

    def of(self, Y: np.ndarray) -> np.ndarray:
        problem = self.est.hold_outs(self.X, Y, qid=self.qid)
        if self.folds.is_leave_pair_out:
            scores, _ = score_pairs(problem, self.alphas, self.scoring)
        else:
            scores, _ = score_folds(problem, self.folds, self.alphas, self.scoring)
        return scores.max(axis=0)


class _Refitted(_Scores):
    """Any estimator, one target after the other."""

    columns_at_once = 1

    def __init__(self, est, X, y, queries: Queries, cv):
        self.model = Refitting(est, X, y, queries if len(queries) > 1 else None)
        if isinstance(cv, str) and cv == "auto":
            cv = min(REFITS, len(queries) if len(queries) > 1 else len(y))
        self.folds: Folds = resolve(cv, X, y, queries, None)

    def of(self, Y: np.ndarray) -> np.ndarray:
        self.model.y = Y[:, 0]
        if self.folds.is_leave_pair_out:
            return np.array([pair_influence(*judge_pairs(self.model))[0]])
        try:
            return np.array([np.nanmean(judge(self.model, self.folds).concordance())])
        except UndefinedMetric:
            return np.array([0.5])
