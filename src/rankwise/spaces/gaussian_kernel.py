"""The Gaussian kernel exp(−gamma‖x − z‖²), accurate for features of any offset.

‖x‖² − 2⟨x, z⟩ + ‖z‖² costs one matrix product, but it loses digits if ‖x − z‖ is small beside the
norms. Dense items with large norms are therefore centred by the column means of z first. Pairs that
are still close beside their norms (sparse items with an offset, outliers, clusters far apart) are
computed again from their differences, O(n) each. Other items are not centred, so that the value of
a pair does not depend, not even by rounding, on which other items are there.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix, canonical, dense, row_squares
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import one_blas_thread, run
from rankwise.numerics.tiles import mirror_upper

STRIP, WIDTH = 256, 1024
"""Rows and columns of a tile, which stays in the processor's cache."""
FAR = 2000.0
"""Up to gamma(‖x‖² + ‖z‖²) = FAR, rounding changes a kernel value by less than 1e-12."""
NEGLIGIBLE = 50.0
"""exp(−50) is nothing beside the value 1 of equal items."""

_Rows = tuple[np.ndarray, ...]
"""data, indices and indptr of a CSR matrix, or the squared norms of two sets of items."""


def gaussian_kernel(X: Matrix, Z: Matrix, gamma: float) -> np.ndarray:
    """(m, r) exp(−gamma‖x − z‖²) between the rows of X and of Z, O(m r n), on all cores.

    If X is Z, half of the work. All values are nan if squares of features overflow.
    """
    symmetric = X is Z
    if isinstance(X, np.ndarray) != isinstance(Z, np.ndarray):
        X = dense(X) if isinstance(Z, np.ndarray) else sparse.csr_array(X)
    given_X = _in_double_precision(X)
    given_Z = given_X if symmetric else _in_double_precision(Z)
    X, Z = given_X, given_Z
    squares_X, squares_Z = row_squares(X), row_squares(Z)
    far = gamma * (squares_X.max(initial=0.0) + squares_Z.max(initial=0.0)) > FAR
    if far and isinstance(X, np.ndarray):
        centre = Z.mean(axis=0)
        X = X - centre
        Z = X if symmetric else Z - centre
        squares_X, squares_Z = row_squares(X), row_squares(Z)
    if not (np.isfinite(squares_X).all() and np.isfinite(squares_Z).all()):
        return np.full((X.shape[0], Z.shape[0]), np.nan)
    K = np.empty((X.shape[0], Z.shape[0]))

    def strip(first: int) -> None:
        rows = slice(first, min(first + STRIP, len(K)))
        for left in range(first if symmetric else 0, K.shape[1], WIDTH):
            columns = slice(left, min(left + WIDTH, K.shape[1]))
            tile = K[rows, columns]
            _multiply(X[rows], Z[columns], tile)
            tile *= -2.0
            tile += squares_X[rows, None]
            tile += squares_Z[columns]
            np.maximum(tile, 0.0, out=tile)
            if far:
                norms = squares_X[rows], squares_Z[columns]
                _mend(given_X[rows], given_Z[columns], norms, gamma, tile)
            tile *= -gamma
            np.exp(tile, out=tile)

    tasks = [partial(strip, first) for first in range(0, len(K), STRIP)]
    if len(tasks) > 1:
        with one_blas_thread():
            run(tasks)
    elif tasks:
        tasks[0]()
    if symmetric:
        mirror_upper(K)
        np.fill_diagonal(K, 1.0)
    return K


def _in_double_precision(X: Matrix) -> Matrix:
    """Contiguous, so that rounding does not depend on the layout; sparse rows sorted."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    return canonical(sparse.csr_array(X, dtype=np.float64))


def _multiply(X: Matrix, Z: Matrix, out: np.ndarray) -> None:
    if isinstance(X, np.ndarray):
        np.matmul(X, Z.T, out=out)
    else:
        out[:] = (X @ Z.T).toarray()


def _mend(X: Matrix, Z: Matrix, norms: _Rows, gamma: float, squares: np.ndarray) -> None:
    """Compute those squared distances again that may have lost their digits."""
    if isinstance(X, np.ndarray) or isinstance(Z, np.ndarray):
        mend_dense(X, Z, norms, gamma, squares)
        return
    of_X, of_Z = (X.data, X.indices, X.indptr), (Z.data, Z.indices, Z.indptr)
    mend_sparse(of_X, of_Z, norms, gamma, squares)


@compiled
def is_doubtful(square: float, norms: float, gamma: float) -> bool:
    """Whether rounding may change a kernel value that is not negligible."""
    return gamma * norms > FAR and gamma * (square - 1e-15 * norms) < NEGLIGIBLE


@compiled
def mend_dense(
    X: np.ndarray, Z: np.ndarray, norms: _Rows, gamma: float, squares: np.ndarray
) -> None:
    for i in range(squares.shape[0]):
        x = X[i]
        for j in range(squares.shape[1]):
            if is_doubtful(squares[i, j], norms[0][i] + norms[1][j], gamma):
                z, total = Z[j], 0.0
                for f in range(len(x)):
                    total += (x[f] - z[f]) ** 2
                squares[i, j] = total


@compiled
def mend_sparse(X: _Rows, Z: _Rows, norms: _Rows, gamma: float, squares: np.ndarray) -> None:
    for i in range(squares.shape[0]):
        for j in range(squares.shape[1]):
            if is_doubtful(squares[i, j], norms[0][i] + norms[1][j], gamma):
                squares[i, j] = sparse_square(X, i, Z, j)


@compiled
def sparse_square(X: _Rows, i: int, Z: _Rows, j: int) -> float:
    """‖x_i − z_j‖² of two rows with sorted column numbers."""
    a, last_a = X[2][i], X[2][i + 1]
    b, last_b = Z[2][j], Z[2][j + 1]
    total = 0.0
    while a < last_a or b < last_b:
        difference = 0.0
        only_x = b == last_b or (a < last_a and X[1][a] < Z[1][b])
        only_z = a == last_a or (b < last_b and Z[1][b] < X[1][a])
        if not only_z:
            difference += X[0][a]
            a += 1
        if not only_x:
            difference -= Z[0][b]
            b += 1
        total += difference * difference
    return total
