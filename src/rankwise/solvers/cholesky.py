"""Quadratic problems for one alpha at a time: one Cholesky factorisation, no eigenvectors.

With L = R Rᵀ, b = R β and a kernel matrix K, the dual coefficients of the minimiser are

    a = R z ,      (RᵀKR + λI) z = β .

For features F the weights solve (FᵀLF + λI) w = Fᵀb. This serves every loss and every structure of
queries, because only R differs between them (see rankwise.losses.laplacian).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, lapack

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.block_cholesky import cholesky_in_place
from rankwise.numerics.largest_eigenvalue import largest_eigenvalue
from rankwise.numerics.tiles import mirror_upper
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.spectral import blur_of, refuse_overflow
from rankwise.spaces.space import Features, Gram, ItemMatrix


class LostDigits(ArithmeticError):
    """Alpha is too small for a Cholesky factorisation; the spectral solver has an answer."""


class CholeskySolver(Solver):
    """O(m³/3) for each alpha with a kernel matrix, O(m n² + n³/3) with features.

    One matrix is factorised in place. `overwrite` lets that be the kernel matrix itself, so that
    the problem needs no second matrix of its size. `solve` raises LostDigits if alpha is so small
    beside the largest eigenvalue that the result would depend on rounding errors: SpectralSolver
    then tells which directions of the kernel are rounding errors alone.
    """

    name = "cholesky"
    requires = frozenset({"quadratic"})

    def __init__(self, matrix: ItemMatrix, quadratic: Quadratic, *, overwrite: bool = False):
        self.check(matrix, quadratic)
        laplacian, target = quadratic.laplacian, quadratic.target
        self._laplacian = laplacian if isinstance(matrix, Gram) else None
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(matrix, Gram):
                self._A, self._target = laplacian.sandwich(matrix.K, overwrite), target.beta
            else:
                assert isinstance(matrix, Features)
                self._A, self._target = laplacian.gram(matrix.F, target)
                self._A = np.ascontiguousarray(self._A)
            self._diagonal = np.diagonal(self._A).copy()
            self._largest = largest_eigenvalue(self._A)
        refuse_overflow(np.array(self._largest), self._target)
        self._is_factor = False

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        if alpha < blur_of(self._largest):
            raise LostDigits
        if self._is_factor:
            mirror_upper(self._A)
        self._is_factor = True
        self._A.flat[:: len(self._A) + 1] = self._diagonal + alpha
        try:
            factor = cholesky_in_place(self._A)
        except LinAlgError as error:
            raise LostDigits from error
        solution, _ = lapack.dpotrs(factor.T, self._target, lower=0)
        return Solution(solution if self._laplacian is None else self._laplacian.factor(solution))
