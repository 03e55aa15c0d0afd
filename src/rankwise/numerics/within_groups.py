"""Weighted squares and products of columns, each column centred within groups of rows.

With weights d and the weighted mean x̄ of each group these are Σ d (x − x̄)² for every column,
O(nnz), and Σ d (x − x̄)(x − x̄)ᵀ, O(m n²). Rows are read in blocks, on all cores; the blocks depend
on the data alone, so the results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.compiled import compiled
from rankwise.numerics.products import Csr, row_bounds
from rankwise.numerics.threads import run

BLOCK_ENTRIES = 500_000
MAX_TASKS = 16
TINY = float(np.finfo(float).tiny)


class _Piece(NamedTuple):
    """Sorted rows low to high, where their groups begin, and the mean if they share one."""

    low: int
    high: int
    starts: np.ndarray
    mean: np.ndarray | None = None


class RowGroups:
    """Groups of rows of Φ: group k holds the rows order[starts[k]:starts[k + 1]]."""

    def __init__(self, phi: Matrix, order: np.ndarray, starts: np.ndarray):
        self._phi, self._order = phi, order
        filled = np.concatenate(([True], starts[1:] > starts[:-1]))
        self._starts = starts[filled]

    def squares(self, weight: np.ndarray) -> np.ndarray:
        """Σ d (x − x̄)² over all rows, for each column (n,)."""
        phi, n = self._phi, self._phi.shape[1]
        if isinstance(phi, np.ndarray):
            return self._sum(weight, _squares, np.zeros(n))
        if len(self._starts) == 2:
            first, second = column_moments(phi, weight)
            return np.maximum(second - first**2 / max(weight.sum(), TINY), 0.0)
        arrays = (phi.data, phi.indices, phi.indptr)
        blocks = self._blocks(len(self._order) // MAX_TASKS + 1)
        rows = (self._order, self._starts)
        return _added(run([partial(_within, arrays, rows, (a, b), weight, n) for a, b in blocks]))

    def products(self, weight: np.ndarray) -> np.ndarray:
        """Σ d (x − x̄)(x − x̄)ᵀ over all rows, (n, n)."""
        n = self._phi.shape[1]
        return self._sum(weight, _gram, np.zeros((n, n)))

    def _sum(self, weight: np.ndarray, of_rows: Callable, total: np.ndarray) -> np.ndarray:
        """The sum of `of_rows(centred rows times √d)` over blocks of rows that are made dense."""
        step = BLOCK_ENTRIES // max(1, self._phi.shape[1]) + 1
        pieces: list[_Piece] = []
        for a, b in self._blocks(step):
            low, high = int(self._starts[a]), int(self._starts[b])
            if high - low <= 2 * step:
                pieces.append(_Piece(low, high, self._starts[a:b] - low))
                continue
            cuts = list(pairwise([*range(low, high, step), high]))  # one group that is long
            mean = _added(run([partial(self._first, *cut, weight) for cut in cuts]))
            mean /= max(weight[self._order[low:high]].sum(), TINY)
            pieces += [_Piece(*cut, np.zeros(1, dtype=int), mean) for cut in cuts]
        shares = np.array_split(np.arange(len(pieces)), min(MAX_TASKS, len(pieces)))

        def added(share: np.ndarray) -> np.ndarray:
            part = np.zeros_like(total)
            for i in share:
                part += of_rows(self._centred(pieces[i], weight))
            return part

        return _added(run([partial(added, share) for share in shares]))

    def _blocks(self, step: int) -> list[tuple[int, int]]:
        """Runs of whole groups of about `step` rows; a group of more rows is a run of its own."""
        sizes, edges, rows = np.diff(self._starts), [0], 0
        for group, size in enumerate(sizes):
            if (rows and rows + size > 2 * step) or rows >= step:
                edges.append(group)
                rows = 0
            rows += size
        return list(pairwise([*edges, len(sizes)]))

    def _rows(self, low: int, high: int) -> np.ndarray:
        return dense(self._phi[self._order[low:high]]).astype(np.float64, copy=False)

    def _first(self, low: int, high: int, weight: np.ndarray) -> np.ndarray:
        return weight[self._order[low:high]] @ self._rows(low, high)

    def _centred(self, piece: _Piece, weight: np.ndarray) -> np.ndarray:
        """√d (x − x̄) for the rows of a piece."""
        low, high, starts, mean = piece
        rows, d = self._rows(low, high), weight[self._order[low:high]]
        if mean is None:
            total = np.maximum(np.add.reduceat(d, starts), TINY)
            means = np.add.reduceat(d[:, None] * rows, starts) / total[:, None]
            mean = np.repeat(means, np.diff([*starts, high - low]), axis=0)
        rows = rows - mean
        rows *= np.sqrt(d)[:, None]
        return rows


def column_moments(phi: sparse.csr_array, weight: np.ndarray) -> np.ndarray:
    """Σ d x and Σ d x² for each column of a CSR matrix, (2, n); O(nnz)."""
    arrays, n = (phi.data, phi.indices, phi.indptr), phi.shape[1]
    bounds = row_bounds(phi.indptr, n)
    parts = run([partial(_column_moments, arrays, low, high, weight, n) for low, high in bounds])
    return _added(parts).T


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", rows, rows)


def _gram(rows: np.ndarray) -> np.ndarray:
    return rows.T @ rows


def _added(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


@compiled
def _column_moments(X: Csr, low: int, high: int, weight: np.ndarray, n: int) -> np.ndarray:
    """Σ d x and Σ d x² over some rows, (n, 2): both sums of a column lie side by side."""
    data, indices, indptr = X
    total = np.zeros((n, 2))
    for row in range(low, high):
        for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            part = weight[row] * data[k]
            total[np.uintp(indices[k]), 0] += part
            total[np.uintp(indices[k]), 1] += part * data[k]
    return total


@compiled
def _within(
    X: Csr,
    rows: tuple[np.ndarray, np.ndarray],
    block: tuple[int, int],
    weight: np.ndarray,
    n: int,
) -> np.ndarray:
    """Σ d (x − x̄)² over some groups, (n,)."""
    data, indices, indptr = X
    order, starts = rows
    total, sums = np.zeros(n), np.zeros(n)
    for group in range(block[0], block[1]):
        whole = 0.0
        for row in order[starts[group] : starts[group + 1]]:
            whole += weight[row]
            for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
                part = weight[row] * data[k]
                sums[np.uintp(indices[k])] += part
                total[np.uintp(indices[k])] += part * data[k]
        for row in order[starts[group] : starts[group + 1]]:
            for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
                column = np.uintp(indices[k])
                if whole > 0:
                    total[column] -= sums[column] ** 2 / whole
                sums[column] = 0.0
    return np.maximum(total, 0.0)
