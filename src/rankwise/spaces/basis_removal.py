"""Removing basis items from a reduced set, as linear constraints on the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

REDUNDANT = 1e-11
"""Below this share of the largest eigenvalue a direction of the basis items counts as lost."""


@dataclass
class BasisRemoval:
    """Which directions of the feature space leave together with basis items.

    A model without the basis items H has b_H = 0, that is Nᵀw = −values for the columns N of
    `normals` that belong to H, each in units of its item's norm (Theorem 1 of Airola et al.,
    paper III of Airola 2011, as constraints in place of a new map). Where K_RR is singular,
    `redundancy` I − QQᵀ tells which combinations z of H no other basis item makes up: those with
    (I − QQᵀ)_HH z = 0; where it is not, all of them, and `redundancy` is None.
    """

    items: np.ndarray
    normals: np.ndarray
    redundancy: np.ndarray | None
    values: np.ndarray | None = None
    anew: Callable[[np.ndarray], np.ndarray | None] | None = None
    """Features of all items without the basis items among some, or None where N suffices."""

    def of(self, items) -> tuple[np.ndarray | None, np.ndarray | float]:
        """(N, values) for removing those of `items` that are in the basis; (None, 0) if none."""
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

    def place_of(self, n_items: int) -> np.ndarray:
        """Each item's place in the basis, −1 for those outside."""
        place = np.full(n_items, -1)
        place[self.items] = np.arange(len(self.items))
        return place

    def within(self, rows: np.ndarray, transform, values: np.ndarray) -> BasisRemoval | None:
        """The same for a subset of the items whose features went through `transform`.

        `values` gives, for normals in the new coordinates, what the offset already contributes.
        """
        inside = np.flatnonzero(np.isin(self.items, rows))
        if not len(inside):
            return None
        items = np.searchsorted(rows, self.items[inside])
        normals = transform(self.normals[:, inside])
        redundancy = None if self.redundancy is None else self.redundancy[np.ix_(inside, inside)]
        known = normals.T @ values
        if self.values is not None:
            known = known + self.values[inside]
        return BasisRemoval(items, normals, redundancy, known)
