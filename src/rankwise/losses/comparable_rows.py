"""How one or two items leave the comparable pairs of censored outcomes, see
rankwise.holdout.censored_holdouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.quadratic_loss import HoldoutRule
from rankwise.losses.query_weights import QueryWeighting
from rankwise.supervision.queries import Queries

FLOPS = 2.5
"""A small system that is solved in a loop takes so much longer than its share of a large matrix."""


@dataclass(frozen=True)
class ComparableRows(HoldoutRule):
    """Items whose pairs are those of CensoredLaplacian with these levels and events.

    `target` (m,) holds scores whose differences are the targets of the pairs, or is None if the
    target of every pair is 1.
    """

    level: np.ndarray
    event: np.ndarray
    queries: Queries
    weighting: QueryWeighting
    target: np.ndarray | None

    def pair_matrices_for(self, n_features: int) -> int:
        """The price of leave-pair-out in matrices of all items: m²/2 systems of n unknowns."""
        n, m = float(n_features), len(self.weight)
        return max(1, round(FLOPS * (n**3 / 3 + 2 * n**2) / m))
