"""Quadratic losses over pairs: Σ v_h v_j w² (z − (f_h − f_j))², equation 11 of Pahikkala et al.
(2009), over the pairs h ≻ j of a query.

A loss says in `pairs` which target z and weight w a pair has whose scores differ by y. That is
enough: `PairLoss` builds the graph of all pairs from it, O(Σ m_q²), and hold-outs refit. The
magnitude and the unit loss (equations 21 and 20) have the same L for all outputs with the same
ties, in O(m), and rules for hold-outs of one or two items.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Self, cast

import numpy as np

from rankwise.losses.censored_laplacian import CensoredLaplacian
from rankwise.losses.compared_pairs import ComparedPairs, StatementCosts
from rankwise.losses.graph_laplacian import GraphLaplacian, PairCost, PairGraph, SquaredTargets
from rankwise.losses.laplacian import ScoreLaplacian, Target
from rankwise.losses.quadratic_loss import (
    ComparableRows,
    FreeRows,
    HoldoutRule,
    Quadratic,
    QuadraticLoss,
    TieFreeRows,
)
from rankwise.losses.query_weights import (
    PAIRS,
    QUERIES,
    QueryWeighting,
    inverse_or_zero,
    pair_totals,
)
from rankwise.numerics.memory import refuse_too_large
from rankwise.supervision.censored import CensoredItems
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, ScoredItems, Supervision

NEAR_TIE = 1e-6
"""The smallest difference, as a share of the largest, that the relative loss accepts."""


class PairLoss(QuadraticLoss):
    """Any cost of pairs, over an explicit graph: O(Σ m_q²) memory, hold-outs by refitting.

    `weighting` says how much the pairs of a query weigh.
    """

    name = "a loss of your own"

    def __init__(self, *, weighting: QueryWeighting = PAIRS):
        self.weighting = weighting

    @abstractmethod
    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The target z and the weight w of pairs whose scores differ by `difference` > 0."""

    def quadratic(self, supervision: Supervision) -> Quadratic:
        if isinstance(supervision, ComparedItems):
            return self._of_preferences(supervision)
        if isinstance(supervision, CensoredItems):
            return self._of_comparable_pairs(supervision)
        assert isinstance(supervision, ScoredItems)
        return self._of_all_pairs(supervision)

    def _of_preferences(self, supervision: ComparedItems) -> Quadratic:
        preferences, costs = supervision.preferences, self.statement_costs(supervision)
        graph = self._empty_graph(supervision.queries)
        graph.add(preferences.winner, preferences.loser, costs.squared, costs.pull)
        return graph.quadratic()

    def statement_costs(self, supervision: ComparedItems) -> StatementCosts:
        preferences, queries = supervision.preferences, supervision.queries
        query, u = queries.codes[preferences.winner], supervision.pair_weights()
        weight = self.weighting.of_pairs(queries, supervision.weight, query, u)
        squared, pull = self._costs(preferences.magnitude, weight)
        return StatementCosts(u, squared, np.where(preferences.tie, 0.0, pull))

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule | None:
        """Statements about one pair leave together, by updates of low rank."""
        if isinstance(supervision, CensoredItems):
            return self._rule_of_comparable_pairs(supervision)
        if not isinstance(supervision, ComparedItems):
            return None
        costs = self.statement_costs(supervision)
        return ComparedPairs.gather(supervision, self.weighting, costs)

    def _empty_graph(self, queries: Queries) -> PairGraph:
        return PairGraph(queries.n_items, queries.codes if self.weighting.couples_items else None)

    def _of_all_pairs(self, supervision: ScoredItems) -> Quadratic:
        """The graph of all pairs with different scores, one query after another."""
        return self._of_listed_pairs(supervision, supervision.Y[:, 0])

    def _of_comparable_pairs(self, supervision: CensoredItems) -> Quadratic:
        """The graph of the comparable pairs with different times, whose difference is that of the
        times: the least that it can be if the longer time is censored."""
        return self._of_listed_pairs(
            supervision, supervision.outcome.time, supervision.outcome.event
        )

    def _rule_of_comparable_pairs(self, supervision: CensoredItems) -> HoldoutRule | None:
        """How items with censored outcomes leave; None: by refits."""
        return None

    def _of_listed_pairs(
        self, supervision: Supervision, y: np.ndarray, event: np.ndarray | None = None
    ) -> Quadratic:
        """The graph of the pairs y_h > y_j of a query, j having had the `event` if it is given."""
        largest = int(supervision.queries.sizes.max())
        way_out = 'loss="magnitude" and loss="unit" never form it'
        refuse_too_large(largest, largest, "the preference graph of a query", way_out, 4)
        graph, v = self._empty_graph(supervision.queries), supervision.weight
        for items in supervision.queries:
            is_pair = y[items][:, None] > y[items][None, :]
            if event is not None:
                is_pair &= event[items]
            above, below = np.nonzero(is_pair)
            winner, loser = items[above], items[below]
            difference, weight = y[winner] - y[loser], v[winner] * v[loser]
            weight = weight * self.weighting.scale(v[items].sum(), weight.sum())
            self.check_differences(difference, winner, loser)
            graph.add(winner, loser, *self._costs(difference, weight))
        return graph.quadratic()

    def counting_pairs(self) -> Self:
        """The same loss with query_weight="pairs"."""
        loss = copy(self)
        loss.weighting = PAIRS
        return loss

    def query_scales(self, supervision: Supervision) -> np.ndarray:
        """(q,) the scale c that `weighting` gives to the pairs of each query."""
        same_pairs = MagnitudeLoss(keep_ties=False, weighting=self.weighting)
        return same_pairs.query_scales(supervision)

    def error_of_zero(self, supervision: Supervision) -> float:
        """Σ over pairs of weight · w² z²: the error of a model that says 0. O(Σ m_q²)."""
        squares = OwnLoss(SquaredTargets(self), weighting=self.weighting)
        return float(cast(GraphLaplacian, squares.quadratic(supervision).laplacian).L.trace()) / 2

    def check_differences(
        self, difference: np.ndarray, winner: np.ndarray, loser: np.ndarray
    ) -> None:
        """Refuse differences of scores for which the loss would lose its digits."""

    def _costs(self, difference: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """weight · w² and weight · w² z of every pair."""
        with np.errstate(over="ignore", invalid="ignore"):
            z, w = (np.asarray(values, dtype=float) for values in self.pairs(difference))
            if z.shape != difference.shape or w.shape != difference.shape:
                raise ValueError(
                    f"{self.name}: pairs(difference) must return z and w of the shape of "
                    f"difference, {difference.shape}; got {z.shape} and {w.shape}."
                )
            squared = weight * w**2
            pull = squared * z
        if not (np.isfinite(squared).all() and np.isfinite(pull).all()):
            raise ValueError(
                f"{self.name}: the targets z or the weights w² of some pairs are not finite. If "
                "differences of y are very small or very large, scale y."
            )
        return squared, pull


class OwnLoss(PairLoss):
    """An object with `pairs(difference) -> (z, w)` as a loss: exact everywhere.

    A fit forms the graph of all pairs of a query, O(Σ m_q²) memory and O(Σ m_q³) for kernels and
    hold-outs; each hold-out of items that share a query with others is one refit of that query.
    """

    def __init__(self, cost: PairCost, *, weighting: QueryWeighting = PAIRS):
        super().__init__(weighting=weighting)
        self.cost = cost
        self.name = f"loss={type(cost).__name__}"

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.cost.pairs(difference)


class RelativeLoss(PairLoss):
    """z = y, w = 1/y (equation 22): errors relative to the difference of the scores."""

    name = 'loss="relative"'

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return difference, 1.0 / difference

    def check_differences(
        self, difference: np.ndarray, winner: np.ndarray, loser: np.ndarray
    ) -> None:
        """Weights 1/y² that span more than 1e12 leave no digits for the smaller ones."""
        largest = difference.max(initial=0.0)
        near = difference < NEAR_TIE * largest
        if near.any():
            i = int(np.argmax(near))
            raise ValueError(
                f"y of items {winner[i]} and {loser[i]} differ by only {difference[i]:.3g}, so "
                f'loss="relative" would weigh that pair {(largest / difference[i]) ** 2:.1g} times '
                "as much as another and lose all others to rounding: round y so that it is a tie."
            )


class TieFreeLoss(PairLoss):
    """Losses with w = 1 whose b is L s for some scores s: L of a complete multipartite graph.

    A subclass gives these scores in `class_scores`; `pairs` then serves preferences only. If the
    target z is another function of the difference, subclass PairLoss.
    """

    counts_below = False
    """Whether the class scores are (weight below − weight above)/V: hold-outs are cheap then."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "pairs" in vars(cls) and "class_scores" not in vars(cls):
            raise TypeError(
                f"{cls.__name__} overrides pairs but not class_scores, which train on scores: "
                "subclass PairLoss instead."
            )

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return difference, np.ones(len(difference))

    def query_scales(self, supervision: Supervision) -> np.ndarray:
        return cast(ScoreLaplacian | CensoredLaplacian, self.quadratic(supervision).laplacian).scale

    @abstractmethod
    def class_scores(
        self, supervision: ScoredItems, class_weight: np.ndarray, class_queries: np.ndarray
    ) -> np.ndarray | None:
        """(classes,) scores s with L s = b, or None where the scores of the items are such."""

    def output_groups(self, supervision: Supervision) -> list[np.ndarray]:
        """Outputs with the same ties share a Laplacian; all of them do if ties are kept."""
        if self.outputs_always_share or not isinstance(supervision, ScoredItems):
            return super().output_groups(supervision)
        same: dict[bytes, list[int]] = {}
        for j in range(supervision.n_outputs):
            same.setdefault(supervision.tie_classes(j).key, []).append(j)
        return [np.array(columns) for columns in same.values()]

    def _of_all_pairs(self, supervision: ScoredItems) -> Quadratic:
        classes, weight = supervision.tie_classes(), supervision.weight
        V, V_k = classes.query_sums(weight), classes.class_sums(weight)
        scale = self.weighting.scale(V, pair_totals(V_k, classes.query_classes))
        starts = (classes.order, classes.class_starts, classes.query_classes)
        laplacian = ScoreLaplacian(*starts, weight, scale)
        scores = supervision.shifted
        per_class = self.class_scores(supervision, V_k, classes.query_classes)
        if per_class is not None:
            scores = _columns(classes.to_items(per_class), supervision.n_outputs)
        return Quadratic(laplacian, Target(laplacian, scores=scores))

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule | None:
        if not isinstance(supervision, ScoredItems):
            return super().holdout_rule(supervision)
        if len(supervision.queries) > 1:
            return None
        _, level = np.unique(supervision.Y[:, 0], return_inverse=True)

        def scores_left(class_weight: np.ndarray) -> np.ndarray:
            per_class = self.class_scores(
                supervision, class_weight, np.array([0, len(class_weight)])
            )
            if per_class is None:
                return supervision.shifted
            return _columns(per_class[level], supervision.n_outputs)

        given = scores_left(np.ones(int(level.max()) + 1)) is supervision.shifted
        if not given and not self.counts_below:
            return None
        if given and len(np.unique(level)) == len(level) and supervision.weight.any():
            return FreeRows(supervision.weight, centred=True, weighting=self.weighting)
        return TieFreeRows(supervision.weight, level, self.weighting, scores_left, not given)


class MagnitudeLoss(TieFreeLoss):
    """z = y, w = 1 (equation 21): the difference of the scores. `keep_ties` counts tied pairs."""

    name = 'loss="magnitude"'

    def __init__(self, *, keep_ties: bool = True, weighting: QueryWeighting = PAIRS):
        super().__init__(weighting=weighting)
        self.keep_ties = self.outputs_always_share = keep_ties

    def class_scores(
        self, supervision: ScoredItems, class_weight: np.ndarray, class_queries: np.ndarray
    ) -> None:
        return None

    def _of_all_pairs(self, supervision: ScoredItems) -> Quadratic:
        if not self.keep_ties:
            return super()._of_all_pairs(supervision)
        queries, weight = supervision.queries, supervision.weight
        V = np.bincount(queries.codes, weight)
        scale = self.weighting.scale(V, pair_totals(weight[queries.order], queries.starts))
        laplacian = ScoreLaplacian.keeping_ties(queries, weight, scale)
        return Quadratic(laplacian, Target(laplacian, scores=supervision.shifted))

    def error_of_zero(self, supervision: Supervision) -> float:
        """The squared length of the target: there are scores with exactly these differences."""
        beta = self.quadratic(supervision).target.beta
        return float(np.einsum("rk,rk->", beta, beta))

    def _of_comparable_pairs(self, supervision: CensoredItems) -> Quadratic:
        """The target of a pair is the difference of its times. Van Belle et al. (2011) ask for at
        least that difference; here a larger one costs too, so that the loss stays quadratic. Pairs
        of equal times have the target 0, and count if ties are kept."""
        laplacian = censored_laplacian(supervision, self.weighting, equal_times=self.keep_ties)
        return Quadratic(laplacian, Target(laplacian, scores=supervision.shifted_times[:, None]))

    def _rule_of_comparable_pairs(self, supervision: CensoredItems) -> ComparableRows:
        target = supervision.shifted_times
        return comparable_rows(supervision, self.weighting, target, equal_times=self.keep_ties)

    def statement_costs(self, supervision: ComparedItems) -> StatementCosts:
        if not self.keep_ties:
            supervision = supervision.without_tie_weights()
        return super().statement_costs(supervision)

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule | None:
        if not self.keep_ties or not isinstance(supervision, ScoredItems):
            return super().holdout_rule(supervision)
        if len(supervision.queries) > 1 or not supervision.weight.any():
            return None
        return FreeRows(supervision.weight, centred=True, weighting=self.weighting)


class UnitLoss(TieFreeLoss):
    """z = 1, w = 1 (equation 20): only the direction of a preference counts."""

    name = 'loss="unit"'
    counts_below = True

    def error_of_zero(self, supervision: Supervision) -> float:
        """The weight of all pairs, Σ c U: if the pairs of a query share weight 1, c is 1/U."""
        inverse = UnitLoss(weighting=QUERIES).query_scales(supervision)
        return float((self.query_scales(supervision) * inverse_or_zero(inverse)).sum())

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(len(difference)), np.ones(len(difference))

    def class_scores(
        self, supervision: ScoredItems, class_weight: np.ndarray, class_queries: np.ndarray
    ) -> np.ndarray:
        """(weight below − weight above)/V of each class.

        On vectors that are constant within classes the tie-free L acts as v_i (V s_k − Σ_j V_j
        s_j), so these scores turn the loss of equation 20 into that of equation 21 without ties.
        """
        sizes = np.diff(class_queries)
        cumulated = np.cumsum(class_weight)
        first = class_queries[:-1]
        before_query = np.repeat(cumulated[first] - class_weight[first], sizes)
        V = np.repeat(np.add.reduceat(class_weight, first), sizes)
        below = cumulated - class_weight - before_query
        return (2 * below + class_weight - V) * inverse_or_zero(V)

    def _of_comparable_pairs(self, supervision: CensoredItems) -> Quadratic:
        """The target of every comparable pair is 1, whichever of the times are censored."""
        laplacian = censored_laplacian(supervision, self.weighting)
        return Quadratic(laplacian, Target(laplacian, given=laplacian.unit_target()[:, None]))

    def _rule_of_comparable_pairs(self, supervision: CensoredItems) -> ComparableRows:
        return comparable_rows(supervision, self.weighting, None)


def censored_laplacian(
    supervision: CensoredItems, weighting: QueryWeighting, *, equal_times: bool = True
) -> CensoredLaplacian:
    """Of all comparable pairs, or of those with different times alone."""
    outcome = supervision.outcome
    level = supervision.level if equal_times else outcome.levels(equal_times=False)
    return CensoredLaplacian(
        level, outcome.event, supervision.queries, supervision.weight, weighting
    )


def comparable_rows(
    supervision: CensoredItems,
    weighting: QueryWeighting,
    target: np.ndarray | None,
    *,
    equal_times: bool = True,
) -> ComparableRows:
    outcome = supervision.outcome
    level = supervision.level if equal_times else outcome.levels(equal_times=False)
    known = (supervision.weight, level, outcome.event, supervision.queries)
    return ComparableRows(*known, weighting, target)


def _columns(values: np.ndarray, k: int) -> np.ndarray:
    return np.repeat(values[:, None], k, axis=1)
