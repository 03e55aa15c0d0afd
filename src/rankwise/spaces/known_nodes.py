"""Which of the given nodes are training nodes: those with exactly equal rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix


class KnownNodes:
    """The training nodes X, found again by their rows.

    A node is recognised if its row (features, or values of a precomputed kernel) equals that of a
    training node bit by bit. If several training nodes have the same row, nothing tells them apart,
    and they share the 1 equally.
    """

    def __init__(self, X: Matrix):
        self._n = X.shape[0]
        self._numbers: dict[bytes, list[int]] = {}
        for number, row in enumerate(_rows(X)):
            self._numbers.setdefault(row, []).append(number)

    def recognise(self, U: Matrix) -> sparse.csr_array:
        """(len(U), p) with a 1 where a node of U is a training node, O(nnz)."""
        found = [self._numbers.get(row, []) for row in _rows(U)]
        counts = np.array([len(same) for same in found], dtype=np.intp)
        starts = np.concatenate([[0], np.cumsum(counts)])
        columns = np.array([number for same in found for number in same], dtype=np.intp)
        shares = np.repeat(1.0 / np.maximum(counts, 1), counts)
        return sparse.csr_array((shares, columns, starts), shape=(U.shape[0], self._n))


def _rows(X: Matrix) -> Iterator[bytes]:
    """The content of each row; a stored zero and −0.0 count as 0."""
    if isinstance(X, np.ndarray):
        for values in np.asarray(X, dtype=np.float64) + 0.0:
            at = np.flatnonzero(values)
            yield at.astype(np.int64).tobytes() + values[at].tobytes()
        return
    for row in range(X.shape[0]):
        where = slice(X.indptr[row], X.indptr[row + 1])
        at, values = X.indices[where], X.data[where]
        order = np.argsort(at, kind="stable")
        order = order[values[order] != 0]
        yield at[order].astype(np.int64).tobytes() + values[order].astype(np.float64).tobytes()
