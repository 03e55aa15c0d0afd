"""How performance on unseen data depends on the number of training items, and on alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from rankwise.evaluation.curve import Curve
from rankwise.evaluation.estimators import check_estimator, scores_of
from rankwise.evaluation.held_out_statements import (
    RefittedStatements,
    Statements,
    check_learns_preferences,
)
from rankwise.evaluation.judged_folds import (
    JudgedFolds,
    checked_scores,
    judge,
    refitting_folds,
    several,
    whole_query_folds,
)
from rankwise.evaluation.unseen_scores import RefittedScores, unseen_scores
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS
from rankwise.metrics.pair_measures import preference_error
from rankwise.metrics.scorers import OwnMeasure, Scorer, Scoring, read_scoring
from rankwise.model_selection.folds import RandomState, Splits, group_labels, kept_together
from rankwise.model_selection.scoring import folds_of, score_grid
from rankwise.numerics.progress import track
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.validation import check_alphas, check_count


def regularisation_curve(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    alphas: ArrayLike | None = None,
    parameter: str | None = None,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Curve:
    """Cross-validated score over a grid of alphas, with standard errors.

    RankRLS, RLS and RankRLSCV: the whole grid in closed form, with `cv` as in RankRLSCV. Any other
    estimator is refitted for each value of its `parameter`; cv="auto" is then leave-query-out or at
    most 10 folds.

    Parameters
    ----------
    est
        The estimator.
    X, y, qid
        As in `fit`.
    alphas
        Values of the parameter; None for the grid of the learner.
    parameter : str, optional
        Its name, by default alpha or C.
    cv
        As in RankRLSCV.
    scoring
        None for concordance (for a search: its own scoring), the name of a measure such as
        `"ndcg@10"`, a rankwise.metrics.scorer, or a callable(y, s) to maximise.
    groups : (m,) array, optional
        Items of one group always leave together.
    random_state
        Draws the folds.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import regularisation_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = regularisation_curve(RankRLS(), X[:100], y[:100], alphas=[1.0, 100.0, 10000.0])
    >>> curve.x, curve.score.round(2)
    (array([1.e+00, 1.e+02, 1.e+04]), array([0.72, 0.67, 0.66]))
    """
    check_estimator(est)
    if hasattr(est, "hold_outs") and parameter in (None, "alpha"):
        labels = {} if qid is None else {"qid": qid}
        problem = (X, y, labels, groups)
        return _closed_curve(est, problem, alphas, cv, scoring, random_state)
    grid = check_alphas(DEFAULT_ALPHAS if alphas is None else alphas)
    parameter = _parameter(est, parameter)
    y, queries = checked_scores(y, qid)
    together = group_labels(groups, len(y))
    folds = refitting_folds(cv, y, queries, random_state, together)
    estimates, known = [], (X, y, several(queries), together)
    for value in track(grid, len(grid), f"values of {parameter}"):
        model = unseen_scores(clone(est).set_params(**{parameter: value}), *known)
        score, influence = judge(model, folds).mean_and_influence(queries, together, scoring)
        estimates.append((score, np.sqrt(influence @ influence)))
    scores, errors = np.array(estimates).T
    title = read_scoring(scoring).title
    units = folds.independent(influence[None, :, None])
    return Curve(parameter, grid, scores, errors, log_base=_base(grid), measure=title, units=units)


def _closed_curve(
    est: BaseEstimator,
    data: tuple[ArrayLike, ArrayLike, dict, ArrayLike | None],
    alphas: ArrayLike | None,
    cv: Splits,
    scoring: Scoring,
    random_state: RandomState,
) -> Curve:
    """The grid by one decomposition; a search brings its own grid, cv and scoring."""
    own = est.get_params()
    scoring = own.get("scoring") if scoring is None else scoring
    X, y, labels, groups = data
    if random_state is not None:
        est, own["random_state"] = clone(est).set_params(random_state=random_state), random_state
    grid = own.get("alphas") if alphas is None else alphas
    grid = check_alphas(DEFAULT_ALPHAS if grid is None else grid)
    problem = est.hold_outs(X, y, **labels)
    told, seed = problem.supervision, own.get("random_state")
    if isinstance(cv, str) and cv == "auto":
        folds = folds_of(problem, own.get("cv", "auto"), seed, groups, scoring)
    else:
        together = group_labels(groups, told.n_items)
        folds = whole_query_folds(cv, told.for_splitters(), told.queries, seed, groups=together)
    scores, influence = score_grid(problem, folds, grid, scoring)
    errors = np.sqrt((influence.mean(axis=2) ** 2).sum(axis=1))
    title = read_scoring(scoring).title
    return Curve(
        "alpha",
        grid,
        scores.mean(axis=1),
        errors,
        log_base=2,
        measure=title,
        units=folds.independent(influence),
    )


def _parameter(est: BaseEstimator, parameter: str | None) -> str:
    names = est.get_params()
    if parameter is None:
        parameter = next((name for name in ("alpha", "C") if name in names), None)
        if parameter is None:
            raise ValueError(
                f"{type(est).__name__} has neither alpha nor C: name a parameter, one of "
                f"{', '.join(sorted(names))}."
            )
    if parameter not in names:
        raise ValueError(f"{type(est).__name__} has no parameter {parameter!r}.")
    return parameter


def _base(grid: np.ndarray) -> int:
    steps = np.log2(grid)
    return 2 if np.allclose(steps, np.round(steps)) else 10


def learning_curve(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    sizes: Sequence[int] | Sequence[float] | None = None,
    folds: int | tuple[int, int] = 5,
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Curve:
    """Held-out score after training on more and more items (with qid: on whole queries).

    Each fold is judged by models trained on growing random parts of the other folds; the error
    bars are standard errors over folds. An estimator that chooses its alpha does so in each part.
    Costs one fit for each fold, repeat and size.

    Parameters
    ----------
    est
        The estimator.
    X, y, qid
        As in `fit`.
    preferences : Preferences, optional
        Statements in place of y. Parts grow by pairs of items with all statements about them
        (or by `groups` of statements, such as judges), and the score is the share of held-out
        statements in the right order.
    sizes
        Numbers of items (queries), or, if they are floats up to 1, shares of the items that a fold
        leaves.
    folds : int or pair
        The number of folds, or (folds, repeats).
    groups : (m,) array, optional
        Items of one group always leave together, and parts grow by whole groups, which `sizes`
        then count.
    scoring
        None for the concordance, or a measure as in `regularisation_curve`.
    random_state
        Draws folds and parts.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import learning_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = learning_curve(RankRLS(), X, y, sizes=[10, 40, 160], random_state=0)
    >>> curve.x, curve.score.round(2)
    (array([ 10,  40, 160]), array([0.72, 0.73, 0.74]))
    """
    check_estimator(est)
    if preferences is not None:
        data = Statements.checked(X, y, qid, preferences, groups, scoring)
        return _curve_of_statements(est, data, sizes, folds, random_state)
    y, queries = checked_scores(y, qid)
    by_query, measure = len(queries) > 1, read_scoring(scoring).bound(y)
    rng = check_random_state(0 if random_state is None else random_state)
    together = group_labels(groups, len(y))
    model = RefittedScores(est, X, y, several(queries), together)
    kept = kept_together(queries, together)
    parts = Queries.from_labels(np.arange(len(y)) if kept is None else kept, len(y))
    folds, repeats = folds if isinstance(folds, tuple) else (folds, 1)
    n_folds = _count(folds, len(parts))
    rounds = [
        split
        for _ in range(repeats)
        for split in refitting_folds(n_folds, y, queries, rng.randint(2**31 - 1), together).splits
    ]
    blocks = list(parts)
    smallest = min(len(_staying(blocks, held)) for held, _ in rounds)
    counts = _sizes(sizes, smallest)
    values = np.full((2, len(rounds), len(counts)), np.nan)
    for i, (held, test) in track(enumerate(rounds), len(rounds), "learning curve"):
        pool = _staying(blocks, held)
        order = rng.permutation(len(pool))
        for j, count in enumerate(counts):
            train = np.sort(np.concatenate([pool[block] for block in order[:count]]))
            values[:, i, j] = _both_scores(model, train, test, queries, measure)
    judged = np.isfinite(values[0]).sum(axis=0)
    training, score = np.nanmean(values[1], axis=0), np.nanmean(values[0], axis=0)
    error = np.nanstd(values[0], axis=0, ddof=1) / np.sqrt(judged)
    name = "training queries" if by_query else "training items"
    if together is not None:
        name = "training groups"
    both = (training, _growth(counts))
    return Curve(name, np.array(counts), score, error, *both, measure=measure.title)


def _curve_of_statements(
    est: BaseEstimator,
    data: Statements,
    sizes: Sequence[int] | Sequence[float] | None,
    folds: int | tuple[int, int],
    random_state: RandomState,
) -> Curve:
    check_learns_preferences(est)
    rng = check_random_state(0 if random_state is None else random_state)
    n_folds, repeats = folds if isinstance(folds, tuple) else (folds, 1)
    rounds = []
    for _ in range(repeats):
        whole = data.folds(2)
        count = _count(n_folds, len(whole.units))
        rounds += data.folds(count, random_state=rng.randint(2**31 - 1)).splits
    units, preferences = list(whole.units), data.preferences
    counts = _sizes(sizes, min(len(_staying(units, held)) for held, _ in rounds))
    values = np.full((2, len(rounds), len(counts)), np.nan)
    for i, (held, test) in track(enumerate(rounds), len(rounds), "learning curve"):
        pool = _staying(units, held)
        order = rng.permutation(len(pool))
        for j, count in enumerate(counts):
            train = np.sort(np.concatenate([pool[unit] for unit in order[:count]]))
            f = RefittedStatements(est, data).scores_after(train)
            for row, part in enumerate((test, train)):
                if preferences.weight[part].any():
                    values[row, i, j] = 1 - preference_error(preferences[part], f)
    score, training = (np.nanmean(rows, axis=0) for rows in values)
    judged = np.isfinite(values[0]).sum(axis=0)
    error = np.nanstd(values[0], axis=0, ddof=1) / np.sqrt(judged)
    both = (training, _growth(counts))
    title = "share of preferences in the right order"
    return Curve(f"training {whole.what}", np.array(counts), score, error, *both, measure=title)


def _count(folds: int, available: int) -> int:
    return min(check_count("folds", folds, 2), available)


def _staying(blocks: list[np.ndarray], held: np.ndarray) -> list[np.ndarray]:
    out = set(held.tolist())
    return [items for items in blocks if items[0] not in out]


def _sizes(sizes: Sequence[int] | Sequence[float] | None, available: int) -> list[int]:
    if sizes is None:
        least = max(2, min(10, available // 4))
        return sorted({round(float(n)) for n in np.geomspace(least, available, 7)})
    counts = set()
    for size in sizes:
        count = round(size * available if isinstance(size, float) and size <= 1 else size)
        if not 1 <= count <= available:
            raise ValueError(
                f"sizes must lie between 1 and {available}, what a fold leaves; got {size!r}."
            )
        counts.add(count)
    return sorted(counts)


def _growth(sizes: list[int]) -> int | None:
    """The base of a logarithmic axis if the sizes span a wide range."""
    return 2 if len(sizes) > 2 and sizes[-1] > 8 * sizes[0] else None


def _both_scores(
    model: RefittedScores,
    train: np.ndarray,
    test: np.ndarray,
    queries: Queries,
    measure: Scorer | OwnMeasure,
) -> tuple[float, float]:
    """The measure on the test and on the training items; equal scores if nothing was learnt."""

    def mean(items: np.ndarray, scores: np.ndarray) -> float:
        levels = model.ties.levels(items, scores)
        judged = JudgedFolds(model.y[items], levels, queries.take(items), items, scores)
        values = judged.values(measure)
        return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan

    try:
        trained = model.fitted(train)
    except ValueError:
        if model.teaches(train):
            raise
        return mean(test, np.zeros(len(test))), np.nan
    both = [
        mean(items, scores_of(model.estimator, trained, model.X, items, train))
        for items in (test, train)
    ]
    return both[0], both[1]
