"""The score of held-out edges, and how much it depends on each node.

Edges that share a node are not independent, so nodes are the units: each node is left out of the
judged edges once, as a row, as a column, or in one domain as both (the jackknife over nodes). What
is an edge's own is then counted twice, at its row and at its column, and is subtracted once, as in
standard errors with two-way clusters (Cameron, Gelbach, Miller 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from rankwise.evaluation.intervals import Interval, interval_of_share, student_interval
from rankwise.evaluation.relational_folds import HeldOutEdges
from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import item_concordance
from rankwise.metrics.scorers import OwnMeasure, Scorer
from rankwise.model_selection.scoring import condition_values
from rankwise.supervision.queries import Queries

GROUPS = 40
"""For measures other than concordance, objects are left out in at most so many groups."""
TRAINING = 1.5
"""The variance of a cross-validated score of a relation, divided by what judged nodes show.

Each node is judged, and it also trains the models that judge the others. The factor is that of
simulations (benchmarks/papers/relational_coverage.py; docs/evaluation.md shows them).
"""


class NodeEstimate(NamedTuple):
    """A score, and the influence values of the conditions, of the objects and of the edges.

    In one domain `conditions` holds the sum of both roles, and `objects` is empty. `judged` counts
    the conditions (or nodes) and objects that the score rests on.
    """

    score: float
    conditions: np.ndarray
    objects: np.ndarray
    edges: np.ndarray
    judged: tuple[int, int]

    @property
    def variance(self) -> float:
        """Of both sides less that of the edges; at least the larger half of a side's."""
        sides = float(self.conditions @ self.conditions), float(self.objects @ self.objects)
        return max(sum(sides) - float(self.edges @ self.edges), max(sides) / 2)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the variance."""
        parts = [(float(v @ v), n - 1) for v, n in zip(self[1:3], self.judged) if n > 1]
        below = sum(part**2 / n for part, n in parts)
        whole = sum(part for part, _ in parts)
        return max(whole**2 / below, 1.0) if below > 0 else max(min(self.judged) - 1, 1)

    def interval(self, level: float, limits: tuple[float, float]) -> Interval:
        """Student's interval with the training factor; Wilson's near the ends of a share."""
        variance, units = TRAINING * self.variance, round(self.freedom) + 1
        if limits == (0.0, 1.0):
            return Interval(*interval_of_share(self.score, variance, level, units))
        return Interval(*student_interval(self.score, variance, level, units, limits))

    def __sub__(self, other: NodeEstimate) -> NodeEstimate:
        return NodeEstimate(
            self.score - other.score,
            self.conditions - other.conditions,
            self.objects - other.objects,
            self.edges - other.edges,
            self.judged,
        )

    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that a difference is zero."""
        if abs(self.score) < 1e-12:
            return 1.0
        error = np.sqrt(TRAINING * self.variance)
        if error < 1e-12:
            return 2.0 ** (1 - min(self.judged))
        return float(2 * stats.t.sf(abs(self.score) / error, self.freedom))


class JudgedEdges:
    """Held-out edges whose pairs of the same condition and fold are judged.

    `by_row`: conditions are rows. Pairs of different folds are never compared, because their scores
    come from different models.
    """

    def __init__(self, held_out: HeldOutEdges, by_row: bool, shape: tuple[int, int], one: bool):
        self.held_out, self._one_domain = held_out, one
        self._condition, self._object = held_out.edges.T if by_row else held_out.edges.T[::-1]
        self._n = shape if by_row else shape[::-1]
        codes = held_out.fold * self._n[0] + self._condition
        self._queries = Queries.from_labels(codes, len(codes))

    def estimate(self, measure: Scorer | OwnMeasure, average: str) -> NodeEstimate:
        """The mean over conditions, or with average="pairs" the share over all pairs."""
        if isinstance(measure, Scorer) and measure.name == "concordance":
            estimate = self._concordance(average)
        elif average == "pairs":
            raise ValueError("average='pairs' is for the concordance: leave scoring out.")
        else:
            estimate = self._mean_of(measure)
        if not self._one_domain:
            return estimate
        both = np.zeros(max(self._n))
        both[: self._n[0]] += estimate.conditions
        both[: self._n[1]] += estimate.objects
        used = len(np.unique(self.held_out.edges))
        return NodeEstimate(estimate.score, both, np.zeros(0), estimate.edges, (used, used))

    def _concordance(self, average: str) -> NodeEstimate:
        h, (n, m) = self.held_out, self._n
        counted, right = item_concordance(h.y, h.s, self._queries)
        pairs = np.bincount(self._condition, counted, minlength=n) / 2
        hits = np.bincount(self._condition, right, minlength=n) / 2
        judged = pairs > 0
        if not judged.any():
            raise nothing_to_judge()
        n_objects = len(np.unique(self._object[counted > 0]))
        if average == "pairs":
            share, total = hits.sum() / pairs.sum(), pairs.sum()
            edges = (right - share * counted) / total
            objects = _scaled(np.bincount(self._object, edges, minlength=m), n_objects)
            count = int(judged.sum())
            conditions = _scaled((hits - share * pairs) / total, count)
            return NodeEstimate(float(share), conditions, objects, edges, (count, n_objects))
        value = np.divide(hits, pairs, out=np.zeros(n), where=judged)
        mean, count = float(value[judged].mean()), int(judged.sum())
        conditions = _scaled(np.where(judged, value - mean, 0.0) / count, count)
        # what each condition's share becomes without one of its objects
        left = pairs[self._condition] - counted
        without = np.divide(
            hits[self._condition] - right, left, out=value[self._condition].copy(), where=left > 0
        )
        edges = np.where(judged[self._condition], value[self._condition] - without, 0.0) / count
        changes = np.bincount(self._object, edges, minlength=m)
        used = np.bincount(self._object, counted, minlength=m) > 0
        objects = np.where(used, changes - changes[used].mean(), 0.0)
        objects = _jackknifed(objects, n_objects)
        return NodeEstimate(mean, conditions, objects, edges, (count, n_objects))

    def _mean_of(self, measure: Scorer | OwnMeasure) -> NodeEstimate:
        _, m = self._n
        value = self._by_condition(measure, np.ones(len(self._object), bool))
        judged = np.isfinite(value)
        if not judged.any():
            raise nothing_to_judge()
        mean, count = float(value[judged].mean()), int(judged.sum())
        conditions = _scaled(np.where(judged, value - mean, 0.0) / count, count)
        used = np.unique(self._object)
        groups = np.array_split(np.random.default_rng(0).permutation(used), min(GROUPS, len(used)))
        changes = []
        for group in groups:
            without = self._by_condition(measure, ~np.isin(self._object, group))
            changes.append(mean - float(np.nanmean(np.where(judged, without, np.nan))))
        objects = np.zeros(m)
        centred = np.array(changes) - np.mean(changes)
        objects[[group[0] for group in groups]] = _jackknifed(centred, len(groups))
        return NodeEstimate(mean, conditions, objects, np.zeros(0), (count, len(groups)))

    def _by_condition(self, measure: Scorer | OwnMeasure, kept: np.ndarray) -> np.ndarray:
        """(n,) the mean over folds of the measure of each condition, nan if there is none."""
        h, queries = self.held_out, self._queries.take(np.flatnonzero(kept))
        values = condition_values(measure, h.y[kept], h.s[kept], queries)
        first = queries.order[queries.starts[:-1]]
        condition = self._condition[kept][first]
        some = np.isfinite(values)
        total = np.bincount(condition[some], values[some], minlength=self._n[0])
        count = np.bincount(condition[some], minlength=self._n[0])
        return np.divide(total, count, out=np.full(self._n[0], np.nan), where=count > 0)


def _scaled(influence: np.ndarray, n: int) -> np.ndarray:
    """Squares that add up to the variance of a mean of n values: the factor n/(n − 1)."""
    return influence * np.sqrt(n / (n - 1)) if n > 1 else influence


def _jackknifed(changes: np.ndarray, n: int) -> np.ndarray:
    """Influence values from θ − θ without a unit; (n − 1)/n Σ changes² is the variance."""
    return changes * np.sqrt((n - 1) / n) if n > 1 else changes


def nothing_to_judge() -> UndefinedMetric:
    return UndefinedMetric(
        "no condition has two test edges of different value in one fold, so no order can be "
        "judged: use fewer folds, or the setting of the data."
    )
