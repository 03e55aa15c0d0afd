"""Square matrices read across, tile by tile, so that the tiles stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from rankwise.numerics.arrays import Matrix, dense

TILE = 256
STRIP, WHOLE = 1024, 8192


def upper_tiles(n: int) -> Iterator[tuple[slice, slice]]:
    """(rows, columns) of the tiles on and above the diagonal of an n × n matrix."""
    for top, left in combinations_with_replacement(range(0, n, TILE), 2):
        yield slice(top, min(top + TILE, n)), slice(left, min(left + TILE, n))


def transpose_in_place(A: np.ndarray) -> None:
    """Replace A by its transpose, without a second matrix of its size."""
    for rows, columns in upper_tiles(len(A)):
        upper = A[rows, columns].copy()
        if rows != columns:
            A[rows, columns] = A[columns, rows].T
        A[columns, rows] = upper.T


def mirror_upper(A: np.ndarray) -> None:
    """Overwrite the triangle below the diagonal with the one above it."""
    for rows, columns in upper_tiles(len(A)):
        tile = A[rows, columns]
        if rows != columns:
            A[columns, rows] = tile.T
        else:
            below = np.tril_indices(len(tile), -1)
            tile[below] = tile.T[below]


def permute_rows(A: np.ndarray, order: np.ndarray) -> None:
    """Move row i of A to row order[i], without a second matrix of its size."""
    moved = np.zeros(len(order), dtype=bool)
    for first in range(len(order)):
        if moved[first]:
            continue
        place, row = first, A[first].copy()
        while not moved[place]:
            moved[place] = True
            place = int(order[place])
            replaced = A[place].copy()
            A[place], row = row, replaced


@np.errstate(over="ignore", invalid="ignore")
def inner_products(X: Matrix) -> np.ndarray:
    """X Xᵀ, O(m² n); in strips if m is large, because OpenBLAS would fail (see block_cholesky)."""
    m = X.shape[0]
    if m <= WHOLE:
        return dense(X @ X.T)
    products = np.empty((m, m))
    for start in range(0, m, STRIP):
        strip = slice(start, min(start + STRIP, m))
        products[strip, start:] = dense(X[strip] @ X[start:].T)
    mirror_upper(products)
    return products
