"""What the learner is told, as quadratic objectives: scores, queries of scores, preferences.

Each supervision object answers three questions: which outputs share a Laplacian (`groups`),
which (L, b) such a group puts into fᵀLf − 2fᵀb + λ‖w‖² (`quadratic`), and what is left of it
when only some items stay (`take`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.losses.graph_laplacian import GraphLaplacian
from rankwise.losses.laplacian import PointLaplacian, ScoreLaplacian, Target
from rankwise.spaces.kernels import refuse_too_large
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

LOSSES = {
    "magnitude": "z = y, w = 1 (equation 21): the difference of the scores",
    "unit": "z = 1, w = 1 (equation 20): only the direction",
    "relative": "z = y, w = 1/y (equation 22): errors relative to the difference",
}
TIES = ("keep", "drop")
NEAR_TIE = 1e-6
QUERY_WEIGHTS = ("pairs", "queries")


@dataclass
class Quadratic:
    """fᵀLf − 2fᵀb, one column of b an output; L a ScoreLaplacian, Point- or GraphLaplacian."""

    laplacian: Any
    target: Target


class PointwiseScores:
    """Σ v (y − f)²: every item on its own (RLS). Queries only say what belongs together."""

    keeps_ties = False
    by_query = False

    def __init__(self, Y: np.ndarray, queries: Queries, weight: np.ndarray):
        self.Y, self.queries, self.weight = Y, queries, weight

    def groups(self) -> list[tuple[np.ndarray, PointwiseScores]]:
        return [(np.arange(self.Y.shape[1]), self)]

    def quadratic(self) -> Quadratic:
        laplacian = PointLaplacian(self.weight)
        return Quadratic(laplacian, Target(laplacian, scores=self.Y))

    def take(self, index) -> PointwiseScores:
        return PointwiseScores(self.Y[index], self.queries.take(index), self.weight[index])


class PairwiseScores:
    """Σ over pairs of a query of w² (z − (f_h − f_j))², equation 11 with the costs 20 to 22."""

    def __init__(self, Y, queries: Queries, weight, loss="magnitude", ties="keep", by_query=False):
        self.Y, self.queries, self.weight = Y, queries, weight
        self.loss, self.ties, self.by_query = loss, ties, by_query

    @property
    def keeps_ties(self) -> bool:
        return self.loss == "magnitude" and self.ties == "keep"

    def _with(self, Y, queries, weight) -> PairwiseScores:
        return PairwiseScores(Y, queries, weight, self.loss, self.ties, self.by_query)

    def column(self, j: int) -> PairwiseScores:
        return self._with(self.Y[:, [j]], self.queries, self.weight)

    def take(self, index) -> PairwiseScores:
        return self._with(self.Y[index], self.queries.take(index), self.weight[index])

    def groups(self) -> list[tuple[np.ndarray, PairwiseScores]]:
        """Outputs that share a Laplacian: all where ties are kept, else those with equal ties."""
        if self.keeps_ties:
            return [(np.arange(self.Y.shape[1]), self)]
        same: dict[bytes | int, list[int]] = {}
        for j, y in enumerate(self.Y.T):
            key = j if self.loss == "relative" else _TieClasses(y, self.queries).key
            same.setdefault(key, []).append(j)
        columns = [np.array(group) for group in same.values()]
        return [(c, self._with(self.Y[:, c], self.queries, self.weight)) for c in columns]

    def check(self) -> None:
        """Refuse an output column that prefers nothing to anything."""
        order, starts = self.queries.order, self.queries.starts[:-1]
        for j, y in enumerate(self.Y.T):
            counted = self.weight[order] > 0
            low = np.minimum.reduceat(np.where(counted, y[order], np.inf), starts)
            high = np.maximum.reduceat(np.where(counted, y[order], -np.inf), starts)
            if not np.any(low < high):
                column = f" in column {j}" if self.Y.shape[1] > 1 else ""
                raise ValueError(
                    f"y holds no single preference{column}: within every query all items "
                    f"(n_samples = {len(y)}, {len(starts)} queries) have the same score or no "
                    "weight, so there is nothing to learn an order from."
                )

    def quadratic(self) -> Quadratic:
        """The objective of one group of outputs."""
        if self.keeps_ties:
            return self._keeping_ties()
        if self.loss == "relative":
            return self._relative()
        return self._dropping_ties(_TieClasses(self.Y[:, 0], self.queries))

    def _keeping_ties(self) -> Quadratic:
        scale = np.ones(len(self.queries))
        if self.by_query:
            V = np.bincount(self.queries.codes, self.weight)
            scale = _inverse((V**2 - np.bincount(self.queries.codes, self.weight**2)) / 2)
        laplacian = ScoreLaplacian.keeping_ties(self.queries, self.weight, scale)
        return Quadratic(laplacian, Target(laplacian, scores=self.Y))

    def _dropping_ties(self, classes: _TieClasses) -> Quadratic:
        V, V_k = classes.query_sums(self.weight), classes.class_sums(self.weight)
        scale = np.ones(len(self.queries))
        if self.by_query:
            squares = np.add.reduceat(V_k**2, classes.query_classes[:-1])
            scale = _inverse((V**2 - squares) / 2)
        starts = (classes.order, classes.class_starts, classes.query_classes)
        laplacian = ScoreLaplacian(*starts, self.weight, scale)
        scores = self.Y
        if self.loss == "unit":
            unit = classes.spread(balance(V_k, V, classes.query_classes))
            scores = np.repeat(unit[:, None], self.Y.shape[1], axis=1)
        return Quadratic(laplacian, Target(laplacian, scores=scores))

    def _relative(self) -> Quadratic:
        """Explicit: weights v_h v_j/(s_h − s_j)², b_h = Σ ± v_h v_j/(s_h − s_j); O(Σ m_q²)."""
        largest = int(self.queries.sizes.max())
        way_out = 'loss="magnitude" or "unit" never form it'
        refuse_too_large(largest, largest, "the preference graph of a query", way_out, 4)
        m, y = self.queries.n_items, self.Y[:, 0]
        blocks, b = [], np.zeros((m, 1))
        for items in self.queries:
            difference = y[items][:, None] - y[items][None, :]
            weight = np.outer(self.weight[items], self.weight[items]) * (difference != 0)
            if self.by_query:
                weight = weight * _inverse(weight.sum() / 2)
            _refuse_near_ties(difference, items)
            with np.errstate(over="ignore", invalid="ignore"):
                inverse = _inverse(difference)
                W = weight * inverse**2
            if not np.isfinite(W).all():
                raise ValueError(
                    'the differences of y are too small for loss="relative", whose weights '
                    "1/difference² overflow: scale y up."
                )
            h, j = np.nonzero(W)
            blocks.append((items[h], items[j], W[h, j]))
            b[items, 0] = (weight * inverse).sum(axis=1)
        h, j, values = (np.concatenate(parts) for parts in zip(*blocks))
        laplacian = GraphLaplacian(_laplacian_of(sparse.csr_array((values, (h, j)), shape=(m, m))))
        return Quadratic(laplacian, Target(laplacian, given=b))


def normal_equations(X, scores: PairwiseScores) -> tuple[list[np.ndarray], np.ndarray]:
    """XᵀLX and Xᵀb: one Gram matrix where all outputs share the Laplacian, else one an output."""
    k = scores.Y.shape[1]
    shared = scores.keeps_ties or k == 1
    parts = [scores] if shared else [scores.column(j) for j in range(k)]
    sums = []
    for part in parts:
        quadratic = part.quadratic()
        sums.append(quadratic.laplacian.gram(X, quadratic.target))
    return [G for G, _ in sums], np.hstack([moments for _, moments in sums])


class PairwisePreferences:
    """The same costs over an explicit multigraph of preferences; a single output."""

    keeps_ties = False

    def __init__(self, preferences: Preferences, queries: Queries, weight, loss, by_query=False):
        self.preferences, self.queries, self.weight = preferences, queries, weight
        self.loss, self.by_query = loss, by_query

    def check(self) -> None:
        codes = self.queries.codes
        crossing = codes[self.preferences.winner] != codes[self.preferences.loser]
        if crossing.any():
            i = int(np.argmax(crossing))
            names = [
                self.queries.labels[codes[side[i]]]
                for side in (self.preferences.winner, self.preferences.loser)
            ]
            raise ValueError(
                f"preference {i} compares items of different queries ({names[0]} and {names[1]})."
            )
        if not self._pair_weight().any():
            raise ValueError("preferences hold no single preference with a positive weight.")

    def take(self, index) -> PairwisePreferences:
        kept = self.preferences.take(index, self.queries.n_items)
        queries = self.queries.take(index)
        return PairwisePreferences(kept, queries, self.weight[index], self.loss, self.by_query)

    def _pair_weight(self) -> np.ndarray:
        """Weight of each preference before the cost's own w², normalised by query if asked."""
        winner, loser = self.preferences.winner, self.preferences.loser
        weight = self.preferences.weight * self.weight[winner] * self.weight[loser]
        if self.by_query:
            query = self.queries.codes[winner]
            total = np.bincount(query, weight, minlength=len(self.queries))
            weight = weight * _inverse(total)[query]
        return weight

    def groups(self) -> list[tuple[np.ndarray, PairwisePreferences]]:
        return [(np.zeros(1, dtype=int), self)]

    def quadratic(self) -> Quadratic:
        m, y = self.queries.n_items, self.preferences.magnitude
        winner, loser = self.preferences.winner, self.preferences.loser
        z = np.ones(len(y)) if self.loss == "unit" else y
        squared = self._pair_weight() / (y**2 if self.loss == "relative" else 1.0)
        graph = sparse.csr_array((squared, (winner, loser)), shape=(m, m))
        laplacian = GraphLaplacian(_laplacian_of(graph + graph.T))
        b = np.bincount(winner, squared * z, minlength=m)
        b -= np.bincount(loser, squared * z, minlength=m)
        return Quadratic(laplacian, Target(laplacian, given=b[:, None]))


class _TieClasses:
    """Items sorted by query, then score; runs of equal scores are the tie classes."""

    def __init__(self, y: np.ndarray, queries: Queries):
        self.order = np.lexsort((y, queries.codes))
        sorted_y, sorted_q = y[self.order], queries.codes[self.order]
        new_query = np.concatenate(([True], sorted_q[1:] != sorted_q[:-1]))
        new_class = new_query | np.concatenate(([True], sorted_y[1:] != sorted_y[:-1]))
        first = np.flatnonzero(new_class)
        self.class_starts = np.append(first, len(y))
        self.query_classes = np.append(np.flatnonzero(new_query[first]), len(first))
        self.key = self.order.tobytes() + self.class_starts.tobytes()

    def class_sums(self, weight):
        return np.add.reduceat(weight[self.order], self.class_starts[:-1])

    def query_sums(self, weight):
        return np.add.reduceat(self.class_sums(weight), self.query_classes[:-1])

    def spread(self, per_class):
        """One value a class to one value an item."""
        values = np.empty(len(self.order))
        values[self.order] = np.repeat(per_class, np.diff(self.class_starts))
        return values


def balance(class_weight, query_weight, query_classes) -> np.ndarray:
    """(weight below − weight above)/V of each class: scores s with L s = b for the unit cost.

    On vectors constant within classes the tie-free L acts as v_i (V s_k − Σ_j V_j s_j), so these
    scores turn the cost of equation 20 into that of equation 21 with ties dropped.
    """
    sizes = np.diff(query_classes)
    cumulated = np.cumsum(class_weight)
    before_query = np.repeat(
        cumulated[query_classes[:-1]] - class_weight[query_classes[:-1]], sizes
    )
    V = np.repeat(query_weight, sizes)
    below = cumulated - class_weight - before_query
    return (2 * below + class_weight - V) * _inverse(V)


def _refuse_near_ties(difference: np.ndarray, items: np.ndarray) -> None:
    """Weights 1/difference² that span more than 1e12 leave no digits for the smaller ones."""
    gaps = np.abs(difference)
    tied = (gaps > 0) & (gaps < NEAR_TIE * gaps.max(initial=0.0))
    if tied.any():
        h, j = np.unravel_index(int(np.argmax(tied)), tied.shape)
        raise ValueError(
            f"y of items {items[h]} and {items[j]} differ by {gaps[h, j]:.3g} only, so "
            f'loss="relative" would weigh that pair {(gaps.max() / gaps[h, j]) ** 2:.1g} times '
            "another and lose all others to rounding: round y so that it is a tie."
        )


def _inverse(values):
    """1/values, with 0 where values are 0."""
    values = np.asarray(values, dtype=float)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values != 0)


def _laplacian_of(graph: sparse.csr_array) -> sparse.csr_array:
    degree = np.asarray(graph.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - graph)
