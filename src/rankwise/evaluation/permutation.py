"""Is there any signal at all? The score under permuted targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.held_out_statements import (
    Exchanges,
    Statements,
    check_learns_preferences,
    held_out_share,
)
from rankwise.evaluation.judged_folds import (
    REFITS,
    checked_scores,
    judge,
    refitting_folds,
    several,
    whole_query_folds,
)
from rankwise.evaluation.leave_pair_out import judge_pairs
from rankwise.evaluation.truths import Truth
from rankwise.evaluation.unseen_scores import RefittedScores
from rankwise.exceptions import UndefinedMetric
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS
from rankwise.metrics.uncertainty import share_of_pairs
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.dependent_rows import warn_of_dependent_rows
from rankwise.model_selection.folds import RandomState, Splits, group_labels
from rankwise.model_selection.preference_folds import score_preferences, score_turned
from rankwise.model_selection.scoring import score_grid
from rankwise.numerics.progress import track
from rankwise.spaces.nystrom_map import choose_basis
from rankwise.supervision.censored import Censored
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.validation import check_alphas, check_count

VALUES_AT_ONCE = 20_000_000

Score = Callable[[list[Truth]], np.ndarray]
"""(k,) cross-validated scores of k targets of the same items."""


def permutation_test(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    preferences: Preferences | None = None,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    n_permutations: int = 1000,
    random_state: RandomState = None,
) -> PermutationTest:
    """Cross-validated score, its values under permuted y, and p = (b + 1)/(n + 1).

    The score is 1 − ranking error on held-out items: the mean over queries, or over folds if there
    are no queries. b is the number of the n permutations that scored as high. With qid, y is
    permuted within each query. Censored outcomes y are permuted as they are, time and event
    together: the question is whether the features tell anything about the outcomes. If the
    features tell who is lost early, that is something too.

    RankRLS, RLS and RankRLSCV: permuted scores are extra output columns of one decomposition
    (section 4 of Pahikkala et al. 2009), so a thousand permutations cost little more than one.
    RankRLSCV chooses its alpha again for each permutation: its statistic
    is the best score of its grid (alphas=None: 2^-15 … 2^15 for all), so the test accounts for the
    choice. Censored outcomes change the comparable pairs with each permutation, which costs one
    decomposition. Any other estimator is refitted n_permutations · folds times.

    Parameters
    ----------
    est
        The estimator.
    X, y, qid
        As in `fit`.
    preferences : Preferences, optional
        Statements in place of y; the score is the share of held-out statements in the
        right order. All statements about two items (or of one group; `groups` then labels the
        statements) change their direction together, each with probability ½. With
        cv="leave-item-out" items change places instead, because the question is then whether their
        features tell anything. `permuted` says it. For RankRLS and RankRLSCV turned statements are
        extra columns of targets, which one decomposition (folds: one for each fold) serves; if
        items change places, each permutation costs one. Any other estimator is fitted once for
        each permutation and fold.
    cv
        As in RankRLSCV; for other estimators "auto" is leave-query-out or at most 10 folds.
    groups : (m,) array, optional
        Labels of items that belong together, such as the samples of a patient. They always
        leave together. If all items of a group (in a query) have the same y, whole groups are
        permuted, else the items inside each group: the attribute `permuted` of the result says it.
    n_permutations : int
        How many.
    random_state
        Draws them.

    Returns
    -------
    score, null, p_value

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rankwise import RankRLSCV
    >>> from rankwise.evaluation import permutation_test
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = permutation_test(RankRLSCV(), X[:50], y[:50], n_permutations=99, random_state=0)
    >>> round(found.score, 2), found.p_value
    (0.75, 0.01)
    """
    check_estimator(est)
    n = check_count("n_permutations", n_permutations)
    rng = check_random_state(random_state)
    if preferences is not None:
        data = Statements.checked(X, y, qid, preferences, groups)
        return _of_statements(est, data, cv, n, rng)
    y, queries = checked_scores(y, qid)
    way = _closed_form if hasattr(est, "hold_outs") else _refitted
    together = group_labels(groups, len(y))
    score, at_once = way(est, X, y, queries, cv, together)
    observed = score([y])[0]
    cells = _Cells(y, queries, together)
    blocks = (
        [y[cells.shuffled(rng)] for _ in range(min(at_once, n - start))]
        for start in range(0, n, at_once)
    )
    null = np.concatenate([score(ys) for ys in track(blocks, -(-n // at_once), "permutations")])
    return permutation_result(float(observed), null, cells.permuted)


def permutation_result(observed: float, null: np.ndarray, permuted: str) -> PermutationTest:
    """The test with p = (b + 1)/(n + 1), where b of the n values are as high as observed."""
    as_high = int(np.count_nonzero(null >= observed - EQUAL))
    result = PermutationTest(observed, null, (as_high + 1) / (len(null) + 1))
    result.permuted = permuted
    return result


class _Result(NamedTuple):
    score: float
    null: np.ndarray
    p_value: float


class PermutationTest(_Result):
    """The score, its values under permuted y, the p-value, and what was `permuted`."""

    permuted: str = "items"


class _Cells:
    """What permutations exchange: items of a query, whole groups in it, or items in a group."""

    def __init__(self, y: Truth, queries: Queries, groups: Queries | None):
        within, cells = queries, np.arange(len(y))
        self.permuted = "items" if len(queries) == 1 else "items within queries"
        if groups is not None:
            parts = Queries.from_labels(queries.codes * len(groups) + groups.codes, len(y))
            first = parts.order[parts.starts[:-1]]
            if np.array_equal(y, y[first][parts.codes]):
                cells, self.permuted = parts.codes, "whole groups"
            else:
                within, self.permuted = parts, "items within groups"
        _, self._first, self._cell = np.unique(cells, return_index=True, return_inverse=True)
        self._within = Queries.from_labels(within.codes[self._first], len(self._first))

    def shuffled(self, rng: np.random.RandomState) -> np.ndarray:
        """(m,) the item whose y each item gets when the values of the cells are exchanged."""
        order = np.lexsort((rng.random_sample(len(self._first)), self._within.codes))
        exchanged = np.empty_like(self._first)
        exchanged[self._within.order] = self._first[order]
        return exchanged[self._cell]


def _closed_form(
    est: BaseEstimator,
    X: ArrayLike,
    y: Truth,
    queries: Queries,
    cv: Splits,
    groups: Queries | None,
) -> tuple[Score, int]:
    """All targets of a block by one decomposition; censored outcomes one by one."""
    parameters = est.get_params()
    if "alphas" in parameters:
        grid = DEFAULT_ALPHAS if est.alphas is None else est.alphas
        cv = est.cv if isinstance(cv, str) and cv == "auto" else cv
    else:
        grid = [est.alpha]
    alphas, model = check_alphas(grid), clone(est)
    # A basis and folds that are drawn at random must be the same for all targets.
    basis, seed = parameters.get("basis"), parameters.get("random_state")
    if basis is not None:
        model.set_params(basis=choose_basis(basis, len(y), seed))
    qid = queries.codes if len(queries) > 1 else None
    if qid is None and groups is None and not get_tags(est).input_tags.pairwise:
        warn_of_dependent_rows(X, y, stacklevel=4)
    matrices: float = model.hold_outs(X, y, qid=qid).pair_matrices()
    if isinstance(y, Censored) and groups is not None:
        matrices = np.inf  # every pair of groups would be a refit, for every permutation
    folds = whole_query_folds(cv, y, queries, seed, matrices, groups)

    def score(ys: list[Truth]) -> np.ndarray:
        told = ys[0] if isinstance(y, Censored) else np.column_stack(ys)
        problem = model.hold_outs(X, told, qid=qid)
        return score_grid(problem, folds, alphas, parameters.get("scoring"))[0].max(axis=0)

    return score, 1 if isinstance(y, Censored) else _columns_at_once(len(alphas) * len(y))


def _columns_at_once(values: int) -> int:
    return max(1, VALUES_AT_ONCE // values)


def _refitted(
    est: BaseEstimator,
    X: ArrayLike,
    y: Truth,
    queries: Queries,
    cv: Splits,
    groups: Queries | None,
) -> tuple[Score, int]:
    """Any estimator, refitted for one target after the other."""
    model = RefittedScores(est, X, y, several(queries), groups)
    if isinstance(cv, str) and cv == "auto" and groups is None:
        cv = min(REFITS, len(queries) if len(queries) > 1 else len(y))
    folds = refitting_folds(cv, y, queries, None, groups)

    def score(ys: list[Truth]) -> np.ndarray:
        (model.y,) = ys
        if folds.is_leave_pair_out:
            return share_of_pairs(*judge_pairs(model))[0][None]
        try:
            return np.array([np.nanmean(judge(model, folds).values())])
        except UndefinedMetric:
            return np.array([0.5])

    return score, 1


def _of_statements(
    est: BaseEstimator, data: Statements, cv: Splits, n: int, rng: np.random.RandomState
) -> PermutationTest:
    """The test of preferences. RankRLSCV is judged by the best score of its grid, as it chooses."""
    check_learns_preferences(est)
    closed = hasattr(est, "hold_outs")
    grid = None
    if closed and "alphas" in est.get_params():
        grid = check_alphas(DEFAULT_ALPHAS if est.alphas is None else est.alphas)
        cv = est.cv if isinstance(cv, str) and cv == "auto" else cv
    folds = data.folds(cv, closed_form=closed)

    def score(statements: Statements) -> float:
        if grid is None:
            return held_out_share(est, statements, folds)[0]
        problem = est.hold_outs(
            statements.X, preferences=statements.preferences, qid=statements.qid
        )
        return float(score_preferences(problem, folds, grid)[0].max())

    exchanges, null = Exchanges(data, folds), None
    if closed and exchanges.turns_statements and data.X is not None:
        alphas = np.array([est.alpha]) if grid is None else grid
        null = _scores_of_turned(est, exchanges, alphas, n, rng)
    if null is None:
        drawn = (data.with_preferences(exchanges.draw(rng)) for _ in range(n))
        null = np.array([score(statements) for statements in track(drawn, n, "permutations")])
    return permutation_result(score(data), null, exchanges.permuted)


def _scores_of_turned(
    est: BaseEstimator, exchanges: Exchanges, alphas: np.ndarray, n: int, rng: np.random.RandomState
) -> np.ndarray | None:
    """(n,) the best score of the grid after statements were turned round; None: refit instead."""
    data, folds = exchanges.data, exchanges.folds
    problem = est.hold_outs(data.X, preferences=data.preferences, qid=data.qid)
    turned, state = problem.turned_statements(), rng.get_state()
    if turned is None:
        return None
    at_once = _columns_at_once(len(alphas) * len(data.preferences))
    scores = []
    for start in track(range(0, n, at_once), -(-n // at_once), "permutations"):
        drawn = [exchanges.turned(rng) for _ in range(min(at_once, n - start))]
        signs = np.where(np.column_stack(drawn), -1.0, 1.0)
        found = score_turned(turned, data.preferences, folds, alphas, signs)
        if found is None:
            rng.set_state(state)
            return None
        scores.append(found.max(axis=0))
    return np.concatenate(scores)
