"""Φ w and Φᵀ g for a data matrix Φ, in double precision, without a copy or a transpose of Φ.

Each product costs O(nnz) and uses all cores. The rows are cut into blocks whose number depends on
the data alone, so the results do not depend on the number of threads.

G += AᵀA goes to BLAS without the interpreter's lock. SciPy's own wrappers of BLAS keep the lock, so
that threads which call them take turns. NumPy's product lets others work, but writes a new matrix
each time. `add_squares` calls the same BLAS as SciPy's wrapper, through the pointers that SciPy
offers to compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.linalg import cython_blas
from scipy.linalg.blas import dsyrk
from scipy.sparse.linalg import LinearOperator

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run

MAX_BLOCKS = 16
BLOCK_ENTRIES = 100_000

Csr = tuple[np.ndarray, np.ndarray, np.ndarray]
"""data, indices, indptr of a CSR matrix."""


class Products:
    """The two products of one matrix: dense or CSR, float32 or float64, or a linear operator."""

    def __init__(self, phi: np.ndarray | sparse.csr_array | LinearOperator):
        self.shape = phi.shape
        self._matrix: _SparseRows | _DenseRows | _Operator
        if sparse.issparse(phi):
            self._matrix = _SparseRows(phi)
        else:
            self._matrix = _DenseRows(phi) if isinstance(phi, np.ndarray) else _Operator(phi)
        self._blocks = list(pairwise(self._matrix.block_bounds()))

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Φ w, (m,)."""
        out = np.empty(self.shape[0])
        run([partial(self._matrix.scores, low, high, w, out) for low, high in self._blocks])
        return out

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Φᵀ g, (n,)."""
        parts = run([partial(self._matrix.pullback, low, high, g) for low, high in self._blocks])
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total


class _SparseRows:
    def __init__(self, X: sparse.csr_array):
        self._arrays: Csr = (X.data, X.indices, X.indptr)
        self._shape = X.shape

    def block_bounds(self) -> list[int]:
        """Row numbers that cut the matrix into blocks with the same number of entries."""
        return [0, *(high for _, high in row_bounds(self._arrays[2], self._shape[1]))]

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        _multiply_rows(self._arrays, low, high, w, out)

    def pullback(self, low: int, high: int, g: np.ndarray) -> np.ndarray:
        return _add_rows(self._arrays, low, high, g, self._shape[1])


class _DenseRows:
    """BLAS takes float64 as it is; other types are converted to it, a few rows at a time."""

    def __init__(self, X: np.ndarray):
        self._X = X
        self._step = len(X) if X.dtype == np.float64 else BLOCK_ENTRIES // max(1, X.shape[1]) + 1

    def block_bounds(self) -> list[int]:
        m, n = self._X.shape
        return np.linspace(0, m, min(_n_blocks(m * n, n), max(m, 1)) + 1).astype(int).tolist()

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        for a, b in self._steps(low, high):
            np.matmul(self._X[a:b].astype(np.float64, copy=False), w, out=out[a:b])

    def pullback(self, low: int, high: int, g: np.ndarray) -> np.ndarray:
        total = np.zeros(self._X.shape[1])
        for a, b in self._steps(low, high):
            total += g[a:b] @ self._X[a:b].astype(np.float64, copy=False)
        return total

    def _steps(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        return pairwise([*range(low, high, max(1, self._step)), high])


class _Operator:
    def __init__(self, phi: LinearOperator):
        self._phi = phi

    def block_bounds(self) -> list[int]:
        return [0, self._phi.shape[0]]

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        out[low:high] = self._phi @ w

    def pullback(self, _low: int, _high: int, g: np.ndarray) -> np.ndarray:
        return np.asarray(self._phi.T @ g)


def row_bounds(indptr: np.ndarray, n: int) -> list[tuple[int, int]]:
    """First and last row of blocks of a CSR matrix that have about the same number of entries."""
    cuts = np.linspace(0, indptr[-1], _n_blocks(int(indptr[-1]), n) + 1)[1:-1]
    return list(pairwise([0, *np.searchsorted(indptr, cuts).tolist(), len(indptr) - 1]))


def _n_blocks(n_entries: int, n_columns: int) -> int:
    """The number of blocks; small if the partial sums of Φᵀ g, one per block, would be long.

    It is a power of two, so that cores, which mostly are as well, have the same number of blocks.
    """
    wanted = n_entries // max(BLOCK_ENTRIES, 8 * n_columns)
    return min(1 << max(wanted - 1, 0).bit_length(), MAX_BLOCKS)


@compiled
def _multiply_rows(X: Csr, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
    data, indices, indptr = X
    for row in range(low, high):
        total = 0.0
        for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            total += data[k] * w[np.uintp(indices[k])]
        out[row] = total


@compiled
def _add_rows(X: Csr, low: int, high: int, g: np.ndarray, n: int) -> np.ndarray:
    data, indices, indptr = X
    total = np.zeros(n)
    for row in range(low, high):
        value = g[row]
        for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            total[np.uintp(indices[k])] += data[k] * value
    return total


def add_squares(G: np.ndarray, A: np.ndarray, factor: float = 1.0) -> None:
    """G += factor · AᵀA on and below the diagonal, O(k n²); G (n, n) is in Fortran order."""
    if not A.size:
        return
    A = np.ascontiguousarray(A, dtype=np.float64)
    call = _dsyrk_without_lock()
    if call is None:
        G[:] = dsyrk(factor, A.T, beta=1.0, c=G, overwrite_c=1, lower=1)
        return
    assert G.flags.f_contiguous and G.dtype == np.float64
    k, n = A.shape
    call(factor, A, n, k, G)


@cache
def _dsyrk_without_lock() -> Callable[[float, np.ndarray, int, int, np.ndarray], None] | None:
    """The function of BLAS; None if SciPy was built with integers of another size."""
    capsule = cython_blas.__pyx_capi__["dsyrk"]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    signature = name_of(capsule)
    if signature is None or signature.count(b"int *") != 4:
        return None
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, signature)
    assert address is not None
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 10)(address)

    def call(factor: float, A: np.ndarray, n: int, k: int, G: np.ndarray) -> None:
        triangle, transposed = ctypes.c_char(b"L"), ctypes.c_char(b"N")
        width, depth = ctypes.c_int(n), ctypes.c_int(k)
        alpha, beta = ctypes.c_double(factor), ctypes.c_double(1.0)
        scalars = [ctypes.addressof(each) for each in (triangle, transposed, width, depth, alpha)]
        function(
            *scalars,
            A.ctypes.data,
            ctypes.addressof(width),
            ctypes.addressof(beta),
            G.ctypes.data,
            ctypes.addressof(width),
        )

    return call
