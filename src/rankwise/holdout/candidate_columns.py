"""Columns of X as candidates of a greedy selection: scaled, a tile of them at a time.

Columns are multiplied by powers of 2, so that features of any scale from 1e-150 to 1e150 are
compared without overflow. A feature x = σ x̂ with the penalty α w² is the feature x̂ with the
penalty α/σ² ŵ², so nothing changes but the units of its coefficient.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix
from rankwise.numerics.compiled import compiled

AT_ONCE = 1 << 19
"""Entries of X that one tile holds."""
DENSE_FROM = 0.25
"""A sparse matrix with a larger share of entries is made dense."""


class CandidateColumns:
    """The columns of X for items in a given order; column j of X is 2^exponent_j times as large.

    A dense X is copied once. A sparse X stays sparse, and only one tile at a time is made dense.
    Constant shifts of a column mean nothing to a ranking loss: dense columns are centred, so that
    large offsets cost no digits.
    """

    def __init__(self, X: Matrix, order: np.ndarray):
        self.m, self.n = X.shape
        if sparse.issparse(X) and sparse.csr_array(X).nnz < DENSE_FROM * self.m * self.n:
            self._sparse = sparse.csc_array(X[order])
            self._sparse.sort_indices()
            self.exponent = _scale_sparse(self._sparse)
            self._dense = np.zeros((0, self.m))
        else:
            rows = X[order].toarray() if sparse.issparse(X) else X[order]
            self._sparse = None
            self._dense = np.array(rows.T, dtype=np.float64, order="C")
            self.exponent = _scale_dense(self._dense)

    @property
    def tiles(self) -> list[tuple[int, int]]:
        """(first, last) columns of each tile."""
        width = max(1, AT_ONCE // max(self.m, 1))
        bounds = [*range(0, self.n, width), self.n]
        return list(pairwise(bounds))

    def rows(self, low: int, high: int) -> np.ndarray:
        """(m, width) the columns from low to high, dense."""
        if self._sparse is None:
            return np.ascontiguousarray(self._dense[low:high].T)
        return self._sparse[:, low:high].toarray()

    def chosen(self, columns: np.ndarray) -> np.ndarray:
        """(m, k) some columns, dense."""
        if self._sparse is None:
            return np.ascontiguousarray(self._dense[columns].T)
        return self._sparse[:, columns].toarray()

    def dot(self, low: int, high: int, V: np.ndarray) -> np.ndarray:
        """(width, h): XᵀV for columns from low to high."""
        if self._sparse is None:
            return self._dense[low:high] @ V
        return np.asarray(self._sparse[:, low:high].T @ V)

    def pair_dots(self, columns: np.ndarray, V: np.ndarray, which: np.ndarray) -> np.ndarray:
        """(p,): each column times one column of V; O(nnz) for each pair."""
        out = np.empty(len(columns))
        for p, (column, other) in enumerate(zip(columns, which)):
            if self._sparse is None:
                out[p] = self._dense[column] @ V[:, other]
            else:
                part = slice(self._sparse.indptr[column], self._sparse.indptr[column + 1])
                out[p] = self._sparse.data[part] @ V[self._sparse.indices[part], other]
        return out

    def block_dots(
        self, low: int, high: int, whole: np.ndarray, part: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(width,) Xᵀ whole, and (width, H) Xᵀ part summed over each block of items; O(nnz)."""
        total = np.zeros(high - low)
        blocks = np.zeros((high - low, len(starts) - 1))
        if self._sparse is None:
            _dense_block_dots(self._dense[low:high], whole, part, starts, total, blocks)
        else:
            block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            X = self._sparse
            _sparse_block_dots(
                (X.data, X.indices, X.indptr, low), whole, part, block, total, blocks
            )
        return total, blocks


def _scale_sparse(X: sparse.csc_array) -> np.ndarray:
    """Scale in place; columns without gaps are centred, since a shift keeps them without gaps."""
    n = X.shape[1]
    exponent = np.zeros(n, dtype=int)
    for j in np.flatnonzero(np.diff(X.indptr)):
        values = X.data[X.indptr[j] : X.indptr[j + 1]]
        exponent[j] = _scale(values, centre=len(values) == X.shape[0])
    return exponent


def _scale_dense(columns: np.ndarray) -> np.ndarray:
    return np.array([_scale(values, centre=True) for values in columns], dtype=int)


def _scale(values: np.ndarray, centre: bool) -> int:
    """Scale in place by a power of 2 so that the largest absolute value is between ½ and 1."""
    exponent = 0
    for last in (False, True) if centre else (True,):
        largest = float(np.abs(values).max(initial=0.0))
        if not largest:
            break
        e = int(np.frexp(largest)[1])
        np.ldexp(values, -e, out=values)
        exponent += e
        if not last:
            middle = 0.5 * (values.min() + values.max())
            values -= middle
            values[np.abs(values) <= 4 * np.finfo(float).eps * abs(middle)] = 0.0
    return exponent


@compiled
def _dense_block_dots(X, whole, part, starts, total, blocks):  # type: ignore[no-untyped-def]
    for b in range(X.shape[0]):
        for h in range(len(starts) - 1):
            mine = 0.0
            for i in range(starts[h], starts[h + 1]):
                mine += X[b, i] * part[i]
                total[b] += X[b, i] * whole[i]
            blocks[b, h] = mine


@compiled
def _sparse_block_dots(X, whole, part, block, total, blocks):  # type: ignore[no-untyped-def]
    data, indices, indptr, low = X
    for b in range(len(total)):
        for entry in range(indptr[low + b], indptr[low + b + 1]):
            i = indices[entry]
            total[b] += data[entry] * whole[i]
            blocks[b, block[i]] += data[entry] * part[i]
