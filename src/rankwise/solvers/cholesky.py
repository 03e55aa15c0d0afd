"""Quadratic problems for one alpha at a time: one Cholesky factorisation, no eigenvectors.

With L = R Rᵀ, b = R β and a kernel matrix K, the dual coefficients of the minimiser are

    a = R z ,      (RᵀKR + λI) z = β .

For features F the weights solve (FᵀLF + λI) w = Fᵀb. This serves every loss and every structure of
queries, because only R differs between them (see rankwise.losses.laplacian).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, lapack

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.block_cholesky import cholesky_in_place, largest_eigenvalue
from rankwise.numerics.threads import one_blas_thread
from rankwise.numerics.tiles import mirror_upper
from rankwise.solvers.rounding_errors import blur_of, refuse_overflow, size_before_centring
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.spectrum import PrimalSpectrum
from rankwise.spaces.space import Features, Gram, ItemMatrix

WELL_CONDITIONED = 1e-9
"""The smallest reciprocal condition number at which sums are solved without eigenvectors."""


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
            before = 0.0
            if isinstance(matrix, Gram):
                before = size_before_centring(matrix.K, laplacian)
                self._A, self._target = laplacian.sandwich(matrix.K, overwrite), target.beta
            else:
                assert isinstance(matrix, Features)
                self._A, self._target = laplacian.gram(matrix.F, target)
                self._A = np.ascontiguousarray(self._A)
            self._diagonal = np.diagonal(self._A).copy()
            self._largest = np.maximum(largest_eigenvalue(self._A), before)
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


class NormalEquations:
    """(G + λI) w = Fᵀb, given by G = FᵀLF and Fᵀb alone.

    One alpha takes O(n³/3) unless G + λI is so close to singular that only its eigenvectors tell
    what is noise. They are computed then, or when more alphas are asked for.
    """

    def __init__(self, G: np.ndarray, moments: np.ndarray):
        refuse_overflow(G, moments)
        self._G, self._moments = G, moments

    @property
    def gram(self) -> tuple[np.ndarray, np.ndarray]:
        """G and Fᵀb."""
        return self._G, self._moments

    @cached_property
    def spectrum(self) -> PrimalSpectrum:
        return PrimalSpectrum.of_sums(self._G, self._moments)

    def path(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """(a, n, k) weights for every alpha."""
        if len(alphas) == 1 and "spectrum" not in vars(self):
            weights = self._factorised(alphas[0])
            if weights is not None:
                return weights[None]
        return self.spectrum.path(alphas)

    def _factorised(self, alpha: float) -> np.ndarray | None:
        """The weights for one alpha, None if they would have lost their digits."""
        regularised = np.array(self._G)
        regularised.flat[:: len(regularised) + 1] += alpha
        size = float(np.abs(regularised).sum(axis=0).max(initial=0.0))
        if not size:
            return None
        with one_blas_thread():  # the threads of SciPy's BLAS would compete with those of NumPy's
            factor, failed = lapack.dpotrf(regularised, lower=1)
            if failed or lapack.dpocon(factor, size, uplo="L")[0] < WELL_CONDITIONED:
                return None
            return np.asarray(lapack.dpotrs(factor, self._moments, lower=1)[0])
