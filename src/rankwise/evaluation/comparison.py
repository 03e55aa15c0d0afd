"""Several models on the same data: which is better, and could it be chance?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.folds import checked_scores, judge, refitting_folds
from rankwise.evaluation.held_out import held_out
from rankwise.evaluation.intervals import TRAINING
from rankwise.evaluation.pairs import judge_pairs, pair_influence
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.model_selection.scoring import LEAVE_PAIR_OUT_UP_TO
from rankwise.supervision.queries import Queries

EXACT_UP_TO = 13
FLIPS = 20_000


@dataclass
class Difference:
    """Model `first` less model `second`, with its p-value before and after Holm's correction."""

    first: str
    second: str
    difference: float
    p_value: float
    p_adjusted: float


@dataclass
class Comparison:
    """Held-out concordance of every model, best first, and the differences of all pairs of them.

    `by_query` holds one row a query (with a pair to order) and one column a model, in the order
    of `names`; None where there are no queries. `differences` are sorted by p-value.
    """

    names: list[str]
    score: np.ndarray
    score_se: np.ndarray
    by_query: np.ndarray | None
    differences: list[Difference]
    how: str

    @property
    def best(self) -> str:
        return self.names[0]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [self.how, f"{'model':{width}}  score     ±"]
        for name, score, error in zip(self.names, self.score, self.score_se):
            lines.append(f"{name:{width}}  {score:.3f} {error:.3f}")
        both = [f"{d.first} − {d.second}" for d in self.differences]
        width = max(map(len, both), default=0)
        if both:
            lines.append(f"{'difference':{width}}              p  corrected")
        for text, d in zip(both, self.differences):
            p, adjusted = (_short(value) for value in (d.p_value, d.p_adjusted))
            lines.append(f"{text:{width}}  {d.difference:+.3f} {p:>7}    {adjusted:>7}")
        return "\n".join(lines)


def compare(models, X, y, qid=None, *, cv="auto", random_state=None) -> Comparison:
    """Concordance of several models on the same held-out items, paired, with significance tests.

    `models` is a dict of names and estimators, or a list of estimators. With qid every query is
    ranked by models that never saw it (leave-query-out where all models have it in closed form or
    queries are at most 10, else 10 folds of whole queries; or the folds of `cv`), and the
    differences by query are tested by flipping their signs, exactly up to 13 queries, else 20,000
    times at random. Without qid: leave-pair-out if all models have it in closed form (up to 4000
    items), else 10 folds, and a test of the paired difference over items, as DeLong's for
    correlated AUCs, with the wider error of cross-validation (rankwise.evaluation.intervals).
    p-values of all pairs of models are corrected by Holm's method.
    """
    models = _named(models)
    y, queries = checked_scores(y, qid)
    several = len(queries) > 1
    found, by_query, how = _held_out_scores(models, X, y, queries, cv, random_state)
    score = np.array([value for value, _ in found])
    influence = np.column_stack([values for _, values in found])
    if not several:
        influence = np.sqrt(TRAINING) * influence
    order = np.argsort(-score, kind="stable")
    names = [list(models)[i] for i in order]
    score, influence = score[order], influence[:, order]
    if several:
        by_query = by_query[:, order]
        how += f", {len(by_query)} queries paired"
    rng = check_random_state(random_state)
    rows = []
    for a, b in combinations(range(len(names)), 2):
        difference = float(score[a] - score[b])
        if several:
            p = sign_flip_p(by_query[:, a] - by_query[:, b], rng)
        else:
            p = _jackknife_p(difference, influence[:, a] - influence[:, b])
        rows.append((names[a], names[b], difference, p))
    rows.sort(key=lambda row: row[3])
    corrected = holm([row[3] for row in rows])
    differences = [Difference(*row, float(p)) for row, p in zip(rows, corrected)]
    return Comparison(names, score, np.sqrt((influence**2).sum(axis=0)), by_query, differences, how)


def _held_out_scores(models, X, y, queries: Queries, cv, random_state):
    """(score, influence values) of every model, (queries, models) concordance, and how it was."""
    several = len(queries) > 1
    closed = all(type(model) in (RLS, RankRLS) for model in models.values())
    if isinstance(cv, str) and cv == "auto" and closed:
        if several:
            cv = "leave-query-out"
        elif len(y) <= LEAVE_PAIR_OUT_UP_TO:
            cv = "leave-pair-out"
    folds = refitting_folds(cv, X, y, queries, random_state)
    if folds.is_leave_pair_out:
        found = [pair_influence(*judge_pairs(held_out(m, X, y))) for m in models.values()]
        return found, None, folds.kind
    told = queries if several else None
    judged = [
        judge(held_out(model, X, y, told), folds, f"folds of {name}")
        for name, model in models.items()
    ]
    values = np.column_stack([one.concordance() for one in judged])
    by_query = values[~np.isnan(values[:, 0])] if several else None
    how = folds.kind if folds.kind != "folds" else f"{len(folds.folds)} folds"
    return [one.mean_and_influence(several) for one in judged], by_query, how


def _short(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _named(models) -> dict:
    if not isinstance(models, Mapping):
        if not isinstance(models, Iterable):
            raise ValueError("models must be a dict of names and estimators, or a list of them.")
        named: dict = {}
        for model in models:
            name = base = type(model).__name__
            number = 2
            while name in named:
                name, number = f"{base} {number}", number + 1
            named[name] = model
        models = named
    models = {str(name): model for name, model in models.items()}
    if len(models) < 2:
        raise ValueError(f"compare needs two models or more; got {len(models)}.")
    for model in models.values():
        check_estimator(model)
    return models


def sign_flip_p(differences: np.ndarray, rng) -> float:
    """Two-sided p-value of a mean of paired differences, each as likely with the other sign."""
    d = differences[np.abs(differences) > 1e-12]
    if not len(d):
        return 1.0
    observed = abs(d.sum()) * (1 - 1e-12)
    if len(d) <= EXACT_UP_TO:
        flips = np.array(list(product((1.0, -1.0), repeat=len(d))))
        return float(np.mean(np.abs(flips @ d) >= observed))
    as_large, at_once = 0, max(1, 4_000_000 // len(d))
    for start in range(0, FLIPS, at_once):
        flips = 2.0 * rng.randint(2, size=(min(at_once, FLIPS - start), len(d))) - 1.0
        as_large += int(np.count_nonzero(np.abs(flips @ d) >= observed))
    return (as_large + 1) / (FLIPS + 1)


def _jackknife_p(difference: float, influence: np.ndarray) -> float:
    error = np.sqrt(influence @ influence)
    if error < 1e-12:
        return 1.0 if abs(difference) < 1e-12 else 0.0
    return float(2 * stats.norm.sf(abs(difference) / error))


def holm(p_values) -> np.ndarray:
    """Holm's step-down correction of ascending p-values."""
    p = np.asarray(p_values)
    return np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1.0)
