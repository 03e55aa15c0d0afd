"""Explicit preferences gathered by unordered pair of items: the rows that leave together.

All statements about one pair have the same difference f_i − f_j. Together they cost
W (z̄ − (f_i − f_j))² plus a constant, with W = Σ weight · w² and z̄ the weighted mean of their
targets, those of statements j ≻ i with a minus sign. So l statements are ridge regression with one
row √W (x_i − x_j) and one target √W z̄ for each pair, and hold-outs remove rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.quadratic_loss import HoldoutRule
from rankwise.losses.query_weights import QueryWeighting, inverse_or_zero
from rankwise.supervision.supervision import ComparedItems


@dataclass(frozen=True)
class StatementCosts:
    """(l,) for each statement: u of rankwise.losses.query_weights, c u w² and c u w² z."""

    weight: np.ndarray
    squared: np.ndarray
    pull: np.ndarray


@dataclass(frozen=True)
class ComparedPairs(HoldoutRule):
    """The p pairs that statements compare, in any order of the statements; O(l log l).

    Pair e compares items `first[e]` < `second[e]`, with weight W = `squared`, target z̄ = `target`
    and Σ u = `pair_weight`. Statement s is about pair `pair_of[s]`, `sign[s]` is 1 if its
    winner is the first item, else −1, and it adds `pull[s]` to W z̄.
    """

    supervision: ComparedItems
    weighting: QueryWeighting
    first: np.ndarray
    second: np.ndarray
    squared: np.ndarray
    target: np.ndarray
    pair_weight: np.ndarray
    pair_of: np.ndarray
    sign: np.ndarray
    pull: np.ndarray

    @classmethod
    def gather(
        cls, supervision: ComparedItems, weighting: QueryWeighting, costs: StatementCosts
    ) -> ComparedPairs:
        preferences, m = supervision.preferences, supervision.n_items
        pair_of, keys = preferences.unordered_pairs(m)
        sign = np.where(preferences.winner < preferences.loser, 1.0, -1.0)
        squared, pull, u = (
            np.bincount(pair_of, values, minlength=len(keys))
            for values in (costs.squared, costs.pull * sign, costs.weight)
        )
        target = pull * inverse_or_zero(squared)
        first, second = keys.T
        given = (first, second, squared, target, u, pair_of, sign, costs.pull * sign)
        return cls(supervision.weight, supervision, weighting, *given)

    @property
    def couples(self) -> bool:
        """Whether a hold-out in one query changes weights there, and other queries stay."""
        return self.weighting.couples_items and len(self.supervision.queries) > 1

    def targets_of(self, signs: np.ndarray) -> np.ndarray:
        """(p, k) z̄ after statements were turned round, where `signs` (l, k) is −1."""
        gathered = [
            np.bincount(self.pair_of, self.pull * column, minlength=len(self.first))
            for column in signs.T
        ]
        return np.column_stack(gathered) * inverse_or_zero(self.squared)[:, None]

    def touching(self, items: np.ndarray) -> np.ndarray:
        """The pairs with a weight that compare one of the items."""
        held = np.zeros(len(self.weight), dtype=bool)
        held[items] = True
        return np.flatnonzero((held[self.first] | held[self.second]) & (self.squared > 0))

    def alpha_factors(self, pairs: np.ndarray) -> np.ndarray:
        """c/c⁻ of a single query when each of the pairs leaves alone, nan if nothing is left.

        c scales all weights, so that the problem that is left is the old one at λ c/c⁻.
        """
        V, U = float(self.weight.sum()), float(self.pair_weight.sum())
        left = U - self.pair_weight[pairs]
        left[left <= 1e-6 * U] = np.nan  # so little is left that the difference has lost digits
        before, after = (
            self.weighting.scale(V, U),
            self.weighting.scale(np.full(len(left), V), left),
        )
        return before / after

    def alpha_factor_without(self, items: np.ndarray) -> float:
        """The same if the items leave with all their statements."""
        stay = np.ones(len(self.weight), dtype=bool)
        stay[items] = False
        kept = stay[self.first] & stay[self.second]
        after = self.weighting.scale(
            float(self.weight[stay].sum()), float(self.pair_weight[kept].sum())
        )
        before = self.weighting.scale(float(self.weight.sum()), float(self.pair_weight.sum()))
        return float(before / after) if after > 0 else np.nan
