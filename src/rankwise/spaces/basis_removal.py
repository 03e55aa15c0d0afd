"""Removing basis items from a reduced set, as linear constraints on the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

REDUNDANT = 1e-11
"""Below this share of the largest eigenvalue a direction of the basis items counts as lost."""


@dataclass
class BasisRemoval:
    """Which directions of the feature space disappear together with basis items.

    A model without the basis items H has b_H = 0. This means Nᵀw = −values for the columns N of
    `normals` that belong to H, each in units of the norm of its item (Theorem 1 of Airola et al.,
    paper III of Airola 2011, as constraints instead of a new map). If K_RR is singular, the
    matrix `redundancy` = I − QQᵀ tells which combinations z of H no other basis item can replace:
    those with (I − QQᵀ)_HH z = 0. If K_RR is regular, `redundancy` is None: none can be replaced.
    """

    items: np.ndarray
    """The row of each basis item, −1 if it is not among the items of the matrix."""
    normals: np.ndarray
    redundancy: np.ndarray | None
    values: np.ndarray | None = None
    recompute: Callable[[np.ndarray], np.ndarray | None] | None = None
    """Features of all items without the basis items among some, or None if constraints suffice."""

    def of(self, items: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | float]:
        """(N, values) for removing those of `items` that are in the basis; (None, 0) if none is."""
        held = np.flatnonzero(np.isin(self.items, items))
        if not len(held):
            return None, 0.0
        normals = self.normals[:, held]
        values = 0.0 if self.values is None else self.values[held]
        if self.redundancy is None:
            return normals, values
        redundancy, z = np.linalg.eigh(self.redundancy[np.ix_(held, held)])
        z = z[:, redundancy < REDUNDANT]
        if not z.shape[1]:
            return None, 0.0
        return normals @ z, values if self.values is None else z.T @ values

    def seen_from(self, rows: np.ndarray) -> BasisRemoval:
        """The same removal for the items `rows` alone, in ascending order."""
        items = np.minimum(np.searchsorted(rows, self.items), len(rows) - 1)
        items = np.where(rows[items] == self.items, items, -1)
        return BasisRemoval(items, self.normals, self.redundancy)

    def basis_number(self, n_items: int) -> np.ndarray:
        """(m,) the number of each item in the basis, −1 for items outside."""
        number = np.full(n_items, -1)
        number[self.items] = np.arange(len(self.items))
        return number

    def within(
        self,
        rows: np.ndarray,
        transform: Callable[[np.ndarray], np.ndarray],
        offset: np.ndarray,
    ) -> BasisRemoval | None:
        """The removal for a subset of the items whose features went through `transform`.

        `offset` holds the weights, in the new coordinates, of the scores that are already known.
        """
        inside = np.flatnonzero(np.isin(self.items, rows))
        if not len(inside):
            return None
        items = np.searchsorted(rows, self.items[inside])
        normals = transform(self.normals[:, inside])
        redundancy = None if self.redundancy is None else self.redundancy[np.ix_(inside, inside)]
        values = normals.T @ offset
        if self.values is not None:
            values = values + self.values[inside]
        return BasisRemoval(items, normals, redundancy, values)
