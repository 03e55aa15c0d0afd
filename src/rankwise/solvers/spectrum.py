"""Quadratic problems after one symmetric eigendecomposition: every λ, every output, every hold-out.

With L = R Rᵀ, b = R β and A = Rᵀ F the objective is ridge regression of β on A. Both sides of it
end in the same three pieces, f = P D c with D = diag 1/(Λ + λ):

    primal   AᵀA = V Λ Vᵀ      P = F V      B = A V      c = Bᵀβ      w = V D c
    dual     A Aᵀ = U Λ Uᵀ     P = K R U    B = U        c = Bᵀβ      a = R U D c

(section 3.2 of Pahikkala et al. 2009, without its non-symmetric eigenproblem). The residual
operator of the ridge problem is J − H = J − B D Bᵀ (primal) = λ B D Bᵀ (dual), J the identity.

In a single query with all pairs the problem is ridge regression with an unpenalised intercept
along the direction `centre` = û. There J = I − û ûᵀ, and items leave one by one: see
rankwise.losses.quadratic_loss.FreeRows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.arrays import Matrix, moved, origin_of
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.resolvent import Resolvent
from rankwise.solvers.rounding_errors import EPS, is_noise, refuse_overflow
from rankwise.validation import refuse_non_finite

Rows = np.ndarray | slice
SMALL = 256
"""Matrices up to this size are decomposed on one core."""


class Spectrum(ABC):
    """What one quadratic problem needs for every λ; see the docstring of the module for names."""

    cancels: bool
    """Whether J − H is a difference, which loses digits at every λ; see also `cancels_at`."""
    eigenvalues: np.ndarray
    moments: np.ndarray
    noise: np.ndarray
    """Which eigenvalues are rounding errors alone, and set to 0."""

    def __init__(self, quadratic: Quadratic, offset: np.ndarray | None, centre: np.ndarray | None):
        self.quadratic = quadratic
        self.offset = offset
        self.centre = centre

    @property
    @abstractmethod
    def P(self) -> np.ndarray:
        """(m, r) the training items along the eigenvectors."""

    @property
    @abstractmethod
    def B(self) -> np.ndarray:
        """The rows of A along the eigenvectors."""

    @cached_property
    def beta(self) -> np.ndarray:
        """The target in the space of R, less what the offset explains."""
        beta = self.quadratic.target.beta
        if self.offset is None:
            return beta
        return beta - self.quadratic.laplacian.factor_t(self.offset)

    def cancels_at(self, alpha: float) -> bool:
        """Whether J − H loses digits at this λ as the leverage approaches 1."""
        return self.cancels

    def rounding(self) -> float:
        """The λ below which the rounding error of the largest eigenvalue exceeds 1e-7 of λ."""
        return 1e7 * EPS * float(self.eigenvalues.max(initial=0.0))

    @abstractmethod
    def expand(self, Y: np.ndarray, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """(d, a, k) coefficients of models from their coordinates Y (r, a, k), one for each λ."""

    def model(self, solution: np.ndarray, alpha: float) -> np.ndarray:
        """(d, k) coefficients of the model for one λ from its coordinates (r, k)."""
        return self.expand(solution[:, None], [alpha])[:, 0]

    @abstractmethod
    def rotate(self, normals: np.ndarray | None) -> np.ndarray | None:
        """Constraints on the weights along the eigenvectors; None if there are none."""

    @abstractmethod
    def residual_operator(self, rows: Rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        """(J − H) on the given rows."""

    @abstractmethod
    def residual_diagonal(self, alpha: float) -> np.ndarray:
        """The diagonal of J − H."""

    @abstractmethod
    def residuals(self, rows: Rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        """e = β − B D c on the given rows."""

    def resolvent(
        self,
        alpha: float,
        normals: np.ndarray | None = None,
        values: np.ndarray | float = 0.0,
    ) -> Resolvent:
        return Resolvent(1.0 / (self.eigenvalues + alpha), self.rotate(normals), values)

    def solutions(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """D c for every alpha, (a, r, k)."""
        D = 1.0 / (self.eigenvalues[None, :] + np.asarray(alphas)[:, None])
        return D[:, :, None] * self.moments[None]

    def solution(self, alpha: float, resolvent: Resolvent) -> np.ndarray:
        """D c (r, k) for one alpha, under the constraints of the resolvent."""
        if resolvent.normals is None:
            return self.solutions([alpha])[0]
        return resolvent.solve(self.moments)

    def path(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """Coefficients for every alpha, (a, d, k), at the price of one matrix product."""
        return self.expand(self.solutions(alphas).swapaxes(0, 1), alphas).swapaxes(0, 1)

    def term_sizes(self, alpha: float) -> np.ndarray:
        """(m, k) Σ of the absolute values of the terms that make up the scores f = P D Bᵀβ."""
        moments = np.abs(self.B).T @ np.abs(self.beta)
        return np.abs(self.P) @ (moments / (self.eigenvalues + alpha)[:, None])


class PrimalSpectrum(Spectrum):
    """O(m n² + n³), then O(n k) for each λ."""

    cancels = True

    def __init__(
        self,
        F: Matrix,
        quadratic: Quadratic,
        offset: np.ndarray | None = None,
        centre: np.ndarray | None = None,
        shift: np.ndarray | None = None,
    ):
        """`shift` is that of `Features`, whose F is given."""
        super().__init__(quadratic, offset, centre)
        self.F, self._shift = F, shift
        with np.errstate(over="ignore", invalid="ignore"):
            G, moments = quadratic.laplacian.gram(F, quadratic.target)
            if offset is not None:
                moments = moments - F.T @ quadratic.laplacian.apply(offset)
        if not np.isfinite(G).all():
            refuse_non_finite(F, "X")
        self._decompose(G, moments)

    @classmethod
    def of_sums(cls, G: np.ndarray, moments: np.ndarray) -> PrimalSpectrum:
        """From G = FᵀLF and Fᵀb alone, O(n³). P, B and beta need `with_items`."""
        spectrum = cls.__new__(cls)
        spectrum.offset = spectrum.centre = spectrum._shift = None
        spectrum._decompose(G, moments)
        return spectrum

    def with_items(self, F: Matrix, quadratic: Quadratic) -> PrimalSpectrum:
        """The same decomposition, with P, B and beta of the items F: whole queries of the problem.

        O(1); nothing is decomposed again.
        """
        spectrum = copy(self)
        for name in ("P", "B", "beta", "moved_P", "_origin"):
            vars(spectrum).pop(name, None)
        spectrum.F, spectrum.quadratic = F, quadratic
        return spectrum

    def _decompose(self, G: np.ndarray, moments: np.ndarray) -> None:
        refuse_overflow(G, moments)
        eigenvalues, self.V = _eigh(G)
        self.noise = is_noise(eigenvalues, G.shape[0])
        self.eigenvalues = np.where(self.noise, 0.0, eigenvalues)
        self.moments = np.where(self.noise[:, None], 0.0, self.V.T @ moments)
        self.gram = (G, moments)

    @cached_property
    def _origin(self) -> np.ndarray | None:
        """(n,) where the rows of F are moved to, so that their differences keep their digits."""
        return origin_of(self.F) if self.quadratic.laplacian.ignores_offsets else None

    def moved_rows(
        self, rows: Rows, V: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows of P = F V less a row (r,) that all of them share, and that row; None if it is 0.

        V may be that of another spectrum of the same features.
        """
        V, F, shift = self.V if V is None else V, self.F[rows], self._shift
        if self._origin is not None:
            F = moved(F, self._origin)
            shift = self._origin if shift is None else shift + self._origin
        return np.asarray(F @ V), None if shift is None else shift @ V

    @cached_property
    def moved_P(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.moved_rows(slice(None))

    @cached_property
    def P(self) -> np.ndarray:
        P, shift = self.moved_P
        return P if shift is None else P + shift

    @cached_property
    def B(self) -> np.ndarray:
        B = self.quadratic.laplacian.factor_t(self.moved_P[0])
        B[:, self.noise] = 0.0
        return B

    def expand(self, Y: np.ndarray, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        return np.tensordot(self.V, Y, 1)

    def rotate(self, normals: np.ndarray | None) -> np.ndarray | None:
        return None if normals is None or not normals.shape[1] else self.V.T @ normals

    def residual_operator(self, rows: Rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        block = -resolvent.sandwich(self.B[rows])
        block.flat[:: len(block) + 1] += 1.0
        if self.centre is not None:
            block -= np.outer(self.centre[rows], self.centre[rows])
        return block

    def residual_diagonal(self, alpha: float) -> np.ndarray:
        diagonal = 1.0 - self.B**2 @ (1.0 / (self.eigenvalues + alpha))
        return diagonal if self.centre is None else diagonal - self.centre**2

    def residuals(self, rows: Rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        return self.beta[rows] - self.B[rows] @ solution


def _eigh(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Small matrices on one core, as fast: idle threads of BLAS would compete with ours."""
    if len(G) > SMALL:
        return np.linalg.eigh(G)
    with one_blas_thread():
        return np.linalg.eigh(G)
