"""TwoStepRankerCV: both alphas chosen by exact hold-outs in the setting the model is meant for."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rankwise.exceptions import KernelRepairWarning
from rankwise.holdout.two_step_holdouts import TwoStepHoldouts, refuse_unknown
from rankwise.learners.conditional_ranker_cv import Measure
from rankwise.learners.relation_model_search import SETTINGS, RelationModelSearch
from rankwise.learners.two_step_ranker import (
    SideKernelArguments,
    TwoStepRanker,
    two_step_problem,
)
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.metrics.uncertainty import mean_over_units
from rankwise.model_selection.choosing import (
    DefaultGrid,
    PairedGrid,
    ScorePairs,
    search_grid,
    search_pairs,
)
from rankwise.model_selection.scoring import condition_values
from rankwise.numerics.progress import progress_bar
from rankwise.solvers.two_step import Alphas, TwoStep
from rankwise.spaces.nystrom_map import RandomState
from rankwise.supervision.filled_relation import Fill
from rankwise.supervision.queries import Queries
from rankwise.supervision.relation import RelationTask
from rankwise.validation import check_alphas, check_choice


@dataclass(eq=False, repr=False)
class TwoStepRankerCV(SideKernelArguments, RelationModelSearch):
    """TwoStepRanker with the pair of alphas that ranks held-out edges best.

    The hold-outs of TwoStepRanker score every pair of alphas for the price of the two
    decompositions of a fit and one or two products per pair. Of equal scores, the largest alphas
    win.

    Parameters
    ----------
    alphas
        Candidates for both sides, or a pair of lists (rows, columns). None means 8^-5 … 8^5 times
        the mean of the kernel's diagonal for each side, extended by further powers (up to 8^±20)
        while the best lies at an end. If the best pair of a given grid lies at an end, a
        GridWarning says so. A symmetric or reciprocal relation has one alpha for both sides (None:
        powers of 2).
    setting
        What is new at test time: "edges" (setting 1), "rows", "columns" (settings 2 and 3 if rows
        are conditions) or "both" (setting 4).
    kernel, gamma, degree, coef0, repair, relation, condition, fill
        As TwoStepRanker.
    cv
        "leave-one-out" is the exact hold-out of each edge, row, column, or row and column. A number
        of folds or a splitter of rankwise.selection refits. "auto" is leave-one-out where
        TwoStepRanker has it, else 5 folds (fill="model" with missing cells). Leave-one-out compares
        scores of different models unless whole conditions are held out.
    scoring
        None for 1 − the conditional ranking error; the name of a measure such as `"ndcg@10"`, a
        rankwise.metrics.scorer, or a callable(y, s) to maximise, for the edges of each condition.
    random_state
        Draws the folds.

    Attributes
    ----------
    alpha_, best_score_
        The chosen pair (rows, columns), and its score.
    alphas_
        The pair of grids that were scored.
    cv_results_
        {"alpha" (n, 2), "score", "score_se"}; the standard error is taken over conditions, or over
        folds.
    n_units_
        How many conditions, or folds, the scores are averaged over.
    best_estimator_
        The TwoStepRanker fitted to everything with `alpha_`.
    repairs_
        What a repair changed, as in TwoStepRanker.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import TwoStepRankerCV
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(30, 4)), rng.normal(size=(20, 3))
    >>> Y = drugs @ rng.normal(size=(4, 3)) @ targets.T + rng.normal(size=(30, 20))
    >>> search = TwoStepRankerCV(setting="both").fit((drugs, targets), Y)
    >>> print(f"{search.best_score_:.2f}")
    0.86
    """

    alphas: Any = None
    setting: str = "edges"
    _: KW_ONLY
    relation: str = "general"
    condition: str = "row"
    fill: Fill = None
    cv: Any = "auto"
    scoring: Scoring = None
    random_state: RandomState = None

    def fit(self, X, Y, *, edges=None) -> TwoStepRankerCV:
        """As TwoStepRanker.fit, after the search for the best pair of alphas."""
        check_choice("setting", self.setting, tuple(SETTINGS))
        given = _two_grids(self.alphas)
        problem, _ = two_step_problem(self, X, Y, edges)
        measures = [
            read_scoring(self.scoring).bound(relation.known[relation.missing == 0])
            for relation in problem.relations
        ]
        judge = _Judge(problem, measures, RelationTask("regression", condition=self.condition))
        one_domain = not isinstance(X, tuple)
        if self._leaves_one_out(problem, one_domain):
            score = judge.of_holdouts(SETTINGS[self.setting][1], one_domain)
        else:
            score = judge.of_folds(self._relation_splitter(one_domain, problem.sign != 0))
        scales = problem.rows.scale, problem.columns.scale
        ceiling = measures[0].range[1]
        if problem.sign:
            grid = _one_alpha(score, given, scales[0], ceiling)
        else:
            defaults = [DefaultGrid(8.0, -5, 5, 20, step=2, scale=scale) for scale in scales]
            found = search_pairs(score, given, (defaults[0], defaults[1]), ceiling=ceiling)
            grid = _as_list(found)
        self.alphas_, pairs, scores, errors, best = grid
        self.cv_results_ = {"alpha": pairs, "score": scores, "score_se": errors}
        self.alpha_ = (float(pairs[best, 0]), float(pairs[best, 1]))
        self.best_score_, self.n_units_ = float(scores[best]), judge.n_units
        names = TwoStepRanker().get_params()
        options = {k: v for k, v in self.get_params(deep=False).items() if k in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelRepairWarning)  # both were told above
            warnings.filterwarnings("ignore", "Y is not", UserWarning)
            self.best_estimator_ = TwoStepRanker(self.alpha_, **options).fit(X, Y, edges=edges)
        return self

    def _leaves_one_out(self, problem: TwoStep, one_domain: bool) -> bool:
        if not isinstance(self.cv, str):
            return False
        check_choice("cv", self.cv, ("auto", "leave-one-out"))
        by_nodes = problem.sign != 0 or (one_domain and self.setting != "edges")
        try:
            for relation in problem.relations:
                refuse_unknown(relation, SETTINGS[self.setting][1], by_nodes)
        except ValueError:
            if self.cv == "leave-one-out":
                raise
            return False
        return True

    def __sklearn_tags__(self):
        return TwoStepRanker(kernel=self.kernel).__sklearn_tags__()


class _Judge:
    """Scores of pairs of alphas by predictions for held-out edges."""

    def __init__(self, problem: TwoStep, measures: list[Measure], task: RelationTask):
        self._problem, self._measures, self._task = problem, measures, task
        self.n_units = 0

    def of_holdouts(self, kind: str, one_domain: bool) -> ScorePairs:
        """Every condition is a unit."""
        holdouts = TwoStepHoldouts(self._problem, whole_nodes=one_domain)
        turned = self._task.turned
        seen = [turned(relation.missing) == 0 for relation in self._problem.relations]
        labels = [turned(one.known)[mask] for one, mask in zip(self._problem.relations, seen)]
        conditions = [Queries.from_labels(np.nonzero(mask)[0], int(mask.sum())) for mask in seen]

        def judged(held_out: np.ndarray) -> np.ndarray:
            scores = [turned(s)[mask] for s, mask in zip(np.moveaxis(held_out, -1, 0), seen)]
            parts = zip(self._measures, labels, scores, conditions)
            return np.concatenate([condition_values(*part) for part in parts])

        def score(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = {}
            with progress_bar(len(rows) * len(columns), "pairs of alphas") as advance:
                for alphas, held_out in holdouts.over_grid(kind, rows.tolist(), columns.tolist()):
                    found[alphas] = judged(held_out)
                    advance()
            self.n_units = _judged_units(found)
            return _tabulated(found, rows, columns)

        return score

    def of_folds(self, splitter: Any) -> ScorePairs:
        """Every fold (of every relation) is a unit, and is fitted to the nodes that it trains."""
        folds = []
        for number, (relation, measure) in enumerate(zip(self._problem.relations, self._measures)):
            edges = np.argwhere(relation.missing == 0)
            for train, test in splitter.split(edges):
                fold = self._problem.on_edges(number, edges[train])
                y = relation.known[tuple(edges[test].T)]
                of_condition, _ = self._task.conditions_first(edges[test, 0], edges[test, 1])
                conditions = Queries.from_labels(of_condition, len(test))
                folds.append((fold, edges[test], partial(condition_values, measure, y), conditions))

        def value(fold: tuple, alphas: Alphas) -> float:
            trained, test, judged, conditions = fold
            values = judged(self._problem.predictions_at(test, trained, alphas), conditions)
            return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan

        def score(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            pairs = list(product(rows.tolist(), columns.tolist()))
            found: dict[Alphas, list[float]] = {pair: [] for pair in pairs}
            with progress_bar(len(folds) * len(pairs), "folds and pairs of alphas") as advance:
                for fold, pair in product(folds, pairs):
                    found[pair].append(value(fold, pair))
                    advance()
            values = {pair: np.array(one) for pair, one in found.items()}
            self.n_units = _judged_units(values)
            return _tabulated(values, rows, columns)

        return score


def _judged_units(found: dict[Alphas, np.ndarray]) -> int:
    return int(np.isfinite(next(iter(found.values()))).sum())


def _tabulated(
    found: dict[Alphas, np.ndarray], rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means over units and their standard errors, (a, b)."""
    values = np.array([[found[a, b] for b in columns.tolist()] for a in rows.tolist()])
    scores, influence = mean_over_units(np.moveaxis(values, -1, 0))
    return scores, np.sqrt((influence**2).sum(axis=0))


def _two_grids(alphas: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The candidates of both sides in ascending order: a list for both, or a pair of lists."""
    if alphas is None:
        return None
    sides = (alphas, alphas)
    if isinstance(alphas, tuple | list) and len(alphas) == 2 and np.ndim(alphas[0]) == 1:
        sides = (alphas[0], alphas[1])
    return np.sort(check_alphas(sides[0])), np.sort(check_alphas(sides[1]))


Listed = tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray, np.ndarray, int]
"""Both grids, the pairs (n, 2), their scores, standard errors, and the number of the best."""


def _as_list(grid: PairedGrid) -> Listed:
    pairs = np.array(list(product(grid.rows, grid.columns)))
    row, column = grid.best
    best = row * len(grid.columns) + column
    return (grid.rows, grid.columns), pairs, grid.scores.ravel(), grid.errors.ravel(), best


def _one_alpha(
    score: ScorePairs,
    given: tuple[np.ndarray, np.ndarray] | None,
    scale: float,
    ceiling: float,
) -> Listed:
    """The grid of equal alphas on both sides, which is the diagonal of the grid of pairs."""

    def diagonal(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = [score(alphas[[i]], alphas[[i]]) for i in range(len(alphas))]
        scores, errors = (np.array([one[part][0, 0] for one in both]) for part in (0, 1))
        return scores[:, None], errors[:, None, None]

    if given is not None and not np.array_equal(*given):
        raise ValueError(
            "a symmetric or reciprocal relation has one grid of alphas for both sides."
        )
    alphas = None if given is None else given[0]
    default = DefaultGrid(2.0, -15, 15, 60, scale=scale)
    grid = search_grid(diagonal, alphas, default, ceiling=ceiling)
    pairs = np.column_stack([grid.alphas, grid.alphas])
    return (grid.alphas, grid.alphas), pairs, grid.scores[:, 0], grid.errors[:, 0], grid.best[0]
