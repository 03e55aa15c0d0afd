"""Several models on the same data: which is better, and could it be chance?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator

from rankwise.evaluation.compared_estimates import (
    ComparedData,
    Estimate,
    HeldOutEstimates,
    Model,
    held_out_estimates,
    out_of_fold_estimates,
    statement_estimates,
)
from rankwise.evaluation.comparison_result import Comparison, Difference
from rankwise.evaluation.estimators import (
    ExistingRanking,
    check_estimator,
    has_closed_form,
    is_array_of_scores,
)
from rankwise.evaluation.held_out_statements import Statements
from rankwise.evaluation.intervals import (
    CLEAR,
    PairedDifference,
    holm,
    training_factor,
    warn_of_few,
)
from rankwise.evaluation.judged_folds import checked_scores
from rankwise.evaluation.permutation import permutation_test
from rankwise.evaluation.truths import most_units
from rankwise.metrics.scorers import OwnMeasure, Scorer, Scoring, read_scoring
from rankwise.model_selection.folds import RandomState, Splits, group_labels
from rankwise.supervision.censored import Censored
from rankwise.supervision.preferences import Preferences

DOUBTFUL = 0.2
"""A difference with a smaller p-value needs a better model that is clearly above chance, or that
beats chance in a permutation test."""

Models = Mapping[str, BaseEstimator | ArrayLike] | Iterable[BaseEstimator | ArrayLike]


def compare(
    models: Models,
    X: ArrayLike | None,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Comparison:
    """Scores of several models on the same held-out items, paired, with significance tests.

    With qid each query is ranked by models that were trained without it: leave-query-out if all
    models have a closed form or there are at most 10 queries, else 10 folds of whole queries, or
    the folds of `cv`. Without qid it is leave-pair-out if all models have a closed form (up to 4000
    items), else 10 folds.

    The tests are paired: Student's test of the differences by query, or over items as in DeLong's
    test for correlated AUCs. Held-out queries (or items) are not independent, because each of them
    also trains the models that are judged on the others. Their variance is therefore multiplied by
    rankwise.evaluation.intervals.TRAINING, for `score_se` as well. Given scores need no training:
    between two of them the variance stays as it is, and between a model and a baseline only what
    the model adds to it is multiplied, by less the clearer the model is above chance.
    docs/evaluation.md has simulated levels and power. Over items with censored outcomes Student's
    test has as many degrees of freedom as there are events, less one. If the better of two models
    is less than 4 standard errors above chance and has a closed form, it must also beat chance in a
    permutation test (199 permutations): p is then the larger of the two p-values, of which the
    second is doubled. The p-values of all pairs of models are corrected by Holm's method. Fewer
    than 4 queries (or folds) raise an EstimateWarning.

    Parameters
    ----------
    models : dict or list
        Names and estimators, or a list of estimators. A value may also be an array of scores (m,),
        an existing ranking such as that of a search engine, higher is better: a baseline. If all
        values are arrays, they are compared on all items, and X may be None.
    X, y, qid
        Items, scores and labels of queries, as in `fit`.
    preferences : Preferences, optional
        Statements in place of y, judged one by one by models that never saw another one
        about the same two items (`cv` as in RankRLSCV; "auto": leave-preference-out if all models
        have a closed form, else 10 folds). Paired by pairs of items, or by `groups`, which then
        label the statements, for example by their judge; `how` says which.
    cv
        As in RankRLSCV.
    groups : (m,) array, optional
        Labels of items that always leave together. Without qid, groups take the place of items
        in the test, which is then Student's. With qid, queries that share a group are one unit.
    scoring
        None for concordance; `"ndcg@10"`, "map", "tau", "auc", `"err@10"` or another name of a
        measure, a rankwise.metrics.scorer, or a callable(y, s) to maximise. Without qid a measure
        of lists is averaged over folds, which are then paired. Whether a model is above chance is
        always a question about its concordance.
    random_state
        Draws folds and permutations.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from rankwise import RLS, RankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import compare
    >>> data = make_ranking(n_queries=20, n_items=10, query_shift=10.0, random_state=0)
    >>> print(compare({"pairs": RankRLS(), "points": RLS()}, data.X, data.y, data.qid))
    share of pairs in the right order; leave-query-out, 20 queries paired
    model   score     ±
    pairs   0.838 0.025
    points  0.726 0.039
    difference                  p  corrected
    pairs − points  +0.112  0.0031     0.0031
    """
    named = _named(models)
    if preferences is not None:
        statements = Statements.checked(X, y, qid, preferences, groups, scoring)
        return _of_statements(named, statements, cv, random_state)
    y, queries = checked_scores(y, qid)
    data = ComparedData(X, y, queries, group_labels(groups, len(y)))
    held_out = held_out_estimates(named, data, cv, random_state, scoring)
    estimates = dict(zip(named, held_out.estimates))
    chance = _BetterThanChance(named, data, cv, random_state, estimates)
    return _compared(held_out, estimates, data, read_scoring(scoring), chance)


def compare_out_of_fold(
    model: tuple[str, np.ndarray],
    baseline: tuple[str, ArrayLike],
    y: ArrayLike,
    units: ArrayLike,
    *,
    by_query: bool = True,
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
) -> Comparison:
    """Scores that models gave to items of folds they had not seen, against an existing ranking.

    `model` and `baseline` are a name with scores (m,). `units` are the queries, or, if there are
    none (by_query=False), the folds: scores of different folds are not compared with each other.
    """
    y, queries = checked_scores(y, units)
    data = ComparedData(None, y, queries, group_labels(groups, len(y)))
    rankings = {name: ExistingRanking(name, scores) for name, scores in (model, baseline)}
    held_out = out_of_fold_estimates(list(rankings.values()), data, by_query, scoring)
    estimates = dict(zip(rankings, held_out.estimates))
    chance = _BetterThanChance(dict(rankings), data, "auto", None, estimates)
    return _compared(held_out, estimates, data, read_scoring(scoring), chance)


def _compared(
    held_out: HeldOutEstimates,
    estimates: dict[str, Estimate],
    data: ComparedData,
    measure: Scorer | OwnMeasure,
    chance: _BetterThanChance,
) -> Comparison:
    """All models, best first, with tests of all differences."""
    by_query, how, n_units = held_out.by_query, held_out.how, None
    if data.groups is not None:
        n_units = most_units(data.y, len(data.groups))
    elif isinstance(data.y, Censored):
        n_units = most_units(data.y, len(data.y))
    if by_query is not None or not measure.judges_pairs:
        n_units = len(held_out.estimates[0].influence)
        kind = "folds" if by_query is None else "queries"
        warn_of_few(n_units, kind, stacklevel=3)
        how += f", {n_units if by_query is None else len(by_query)} {kind} paired"
    order = np.argsort([-one.score for one in held_out.estimates], kind="stable")
    names = [list(estimates)[i] for i in order]
    ordered = {name: estimates[name] for name in names}
    return Comparison(
        names,
        np.array([one.score for one in ordered.values()]),
        np.array([one.error for one in ordered.values()]),
        None if by_query is None else by_query[:, order],
        _tested(ordered, n_units, chance.p_value, measure.range[1] - measure.range[0]),
        how,
        measure.title,
        held_out.queries,
        tuple(name for name in names if not ordered[name].trained),
    )


def _tested(
    estimates: dict[str, Estimate],
    n_units: int | None,
    chance: Callable[[str], float],
    width: float = 1.0,
) -> list[Difference]:
    """All differences between estimates, best first, of a measure whose range is so wide."""
    rows = []
    for first, second in combinations(estimates, 2):
        one = _difference(estimates[first], estimates[second], n_units)
        p = one.p_value
        if p < DOUBTFUL and (estimates[first].trained or estimates[second].trained):
            p = max(p, chance(first))
        rows.append((first, second, one.difference, p, one.interval(limits=(-width, width))))
    return corrected(rows)


def corrected(
    rows: Iterable[tuple[str, str, float, float, tuple[float, float]]],
) -> list[Difference]:
    """Names, difference, p-value and interval of each pair, the least p first, with Holm's p."""
    rows = sorted(rows, key=lambda row: row[3])
    p_values = holm([row[3] for row in rows])
    return [Difference(*row[:4], float(p), *row[4]) for row, p in zip(rows, p_values)]


def _difference(first: Estimate, second: Estimate, n_units: int | None) -> PairedDifference:
    """The difference of two estimates, with what training adds to its variance."""
    influence = first.influence - second.influence
    trained = [one for one in (first, second) if one.trained]
    above = trained[0].above_chance if trained else np.inf
    factor = training_factor(influence, tuple(one.influence for one in trained), above)
    return PairedDifference(first.score - second.score, np.sqrt(factor) * influence, n_units)


def _of_statements(
    models: dict[str, Model], data: Statements, cv: Splits, random_state: RandomState
) -> Comparison:
    """The comparison of models of preferences, paired by pairs of items or by groups.

    A model that is not above chance is not better than another one: its score is compared with ½.
    """
    found, folds = statement_estimates(models, data, cv, random_state)
    n_units = folds.counted.number
    warn_of_few(n_units, folds.what, stacklevel=3)
    order = sorted(found, key=lambda name: -found[name].score)
    estimates = {name: found[name] for name in order}

    def chance(name: str) -> float:
        above = estimates[name].above_chance
        return 0.0 if above >= CLEAR else min(1.0, 2 * float(stats.norm.sf(above)))

    return Comparison(
        order,
        np.array([one.score for one in estimates.values()]),
        np.array([one.error for one in estimates.values()]),
        None,
        _tested(estimates, n_units, chance),
        f"{folds}, {n_units} {folds.what} paired",
        "share of held-out preferences in the right order",
        baselines=tuple(name for name in order if not estimates[name].trained),
    )


class _BetterThanChance:
    """Whether a model beats chance, by a permutation test of its own (199 permutations).

    A model that does not beat chance is not better than another one, whatever their difference is:
    without signal, differences have longer tails than the paired test assumes. The p-value is
    doubled, because the better of two models is tested. For models without a closed form a
    permutation test would cost thousands of refits, and existing scores are not trained: there the
    score itself is compared with chance. A score that is clearly above chance needs no test.
    """

    def __init__(
        self,
        models: dict[str, Model],
        data: ComparedData,
        cv: Splits,
        random_state: RandomState,
        estimates: dict[str, Estimate],
    ):
        self._models, self._data, self._cv, self._estimates = models, data, cv, estimates
        self._seed = 0 if random_state is None else random_state
        self._known: dict[str, float] = {}

    def p_value(self, name: str) -> float:
        model, above = self._models[name], self._estimates[name].above_chance
        if above >= CLEAR:
            return 0.0
        if isinstance(model, ExistingRanking) or not has_closed_form(model):
            return min(1.0, 2 * float(stats.norm.sf(above)))
        if name not in self._known:
            X, y, queries, groups = self._data
            *_, p = permutation_test(
                model,
                X,
                y,
                qid=queries.codes if len(queries) > 1 else None,
                cv=self._cv,
                groups=None if groups is None else groups.codes,
                n_permutations=199,
                random_state=self._seed,
            )
            self._known[name] = min(1.0, 2 * p)
        return self._known[name]


def _named(models: Models) -> dict[str, Model]:
    checked: dict[str, Model] = {}
    for name, model in by_name(models).items():
        if is_array_of_scores(model):
            checked[str(name)] = ExistingRanking(str(name), model)
        else:
            check_estimator(model)
            checked[str(name)] = model
    if len(checked) < 2:
        raise ValueError(f"compare needs two models or more; got {len(checked)}.")
    return checked


def by_name(models: Models) -> Mapping[str, Any]:
    """The models by their names; those of a list are named after their classes."""
    if isinstance(models, Mapping):
        return models
    if not isinstance(models, Iterable):
        raise ValueError("models must be a dict of names and estimators, or a list of them.")
    named: dict[str, Any] = {}
    for model in models:
        name = base = "baseline" if is_array_of_scores(model) else type(model).__name__
        number = 2
        while name in named:
            name, number = f"{base} {number}", number + 1
        named[name] = model
    return named
