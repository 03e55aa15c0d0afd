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
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dlange

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.resolvent import Resolvent
from rankwise.solvers.rounding_errors import EPS, blur_of, is_noise, refuse_overflow
from rankwise.solvers.solver import Solution, Solver
from rankwise.spaces.space import Features, Gram, ItemMatrix
from rankwise.validation import refuse_non_finite

Rows = np.ndarray | slice
SMALL = 256
"""Matrices up to this size are decomposed on one core."""
GAP = 100.0
"""A rank is certain if no eigenvalue lies between the rounding errors and GAP times these."""
REFINEMENTS = 2
"""Steps of refinement for a small λ; the first gains most, the second what it left."""
UNDECIDED = 0.01
"""Scores are refused if the last digits of the kernel change them by more than this share."""


class SpectralSolver(Solver):
    """One decomposition, O(m n² + n³) or O(m³); then O(n k) or O(m² k) for each alpha."""

    name = "spectral"
    requires = frozenset({"quadratic"})

    def __init__(
        self,
        matrix: ItemMatrix,
        quadratic: Quadratic,
        *,
        offset: np.ndarray | None = None,
        centre: np.ndarray | None = None,
    ):
        """`offset` holds scores that are known beforehand: the model learns the rest."""
        self.check(matrix, quadratic)
        self.spectrum: Spectrum
        if isinstance(matrix, Features):
            self.spectrum = PrimalSpectrum(matrix.F, quadratic, offset, centre)
        else:
            assert isinstance(matrix, Gram)
            self.spectrum = DualSpectrum(matrix.K, quadratic, offset, centre)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        return Solution(self.path([alpha])[0])

    def path(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """(a, d, k) coefficients for every alpha, at the price of one matrix product."""
        return self.spectrum.path(alphas)


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
    ):
        super().__init__(quadratic, offset, centre)
        self.F = F
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
        spectrum.offset = spectrum.centre = None
        spectrum._decompose(G, moments)
        return spectrum

    def with_items(self, F: Matrix, quadratic: Quadratic) -> PrimalSpectrum:
        """The same decomposition, with P, B and beta of the items F: whole queries of the problem.

        O(1); nothing is decomposed again.
        """
        spectrum = copy(self)
        for name in ("P", "B", "beta"):
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
    def P(self) -> np.ndarray:
        return np.asarray(self.F @ self.V)

    @cached_property
    def B(self) -> np.ndarray:
        B = self.quadratic.laplacian.factor_t(self.P)
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


class DualSpectrum(Spectrum):
    """O(m³), then O(m k) for each λ, and O(m² k) for its coefficients.

    The computed eigenvalues have errors of about eps · Λmax. No prediction depends on a direction u
    with eigenvalue 0, because ‖FᵀRu‖² = Λ, but its coefficients c/λ are large, and their rounding
    errors change predictions by about eps · Λmax/λ. If K is visibly singular, such directions are
    left out if λ is less than `blur_of(Λmax)`; for a larger λ the error is below 1e-6. K is visibly
    singular if the spectrum has a gap above the rounding errors and K R u = 0 up to rounding for
    all u below the gap. The second condition is the sharper one: ‖K R u‖ is about √(Λ Λmax), so
    that an eigenvalue of 1e-20 Λmax still shows.

    Otherwise eigenvalues decrease steadily into the rounding errors (smooth kernels), and all
    directions count. A λ below `blur_of(Λmax)` is refused if the last digits of K decide about the
    scores.

    For a λ below `rounding()` the solutions are refined with the residuals of K itself, so that
    their errors are those of the entries of K, and not those of its largest eigenvalue.
    """

    cancels = False

    def __init__(
        self,
        K: np.ndarray,
        quadratic: Quadratic,
        offset: np.ndarray | None = None,
        centre: np.ndarray | None = None,
    ):
        super().__init__(quadratic, offset, centre)
        self.K = K
        with np.errstate(over="ignore", invalid="ignore"):
            A = quadratic.laplacian.sandwich(K)
            size = float(dlange("F", A.T))  # scaled inside, so that squares do not underflow
        refuse_overflow(np.array(size))
        if centre is not None:
            # û is lifted above the rest of the spectrum, so that it is the last eigenvector.
            dger(2.0 * size or 1.0, centre, centre, a=A.T, overwrite_a=True)
        eigenvalues, U = np.linalg.eigh(A)
        if centre is not None:
            eigenvalues, U = eigenvalues[:-1], U[:, :-1]
        self.U = U
        noise = is_noise(eigenvalues, 8)
        has_gap = bool((noise == is_noise(eigenvalues, 8 * GAP)).all())
        self.noise = noise & (has_gap and self._is_null(noise, eigenvalues))
        self.eigenvalues = np.where(self.noise, 0.0, np.maximum(eigenvalues, 0.0))
        self.moments = self.U.T @ self.beta

    def _is_null(self, noise: np.ndarray, eigenvalues: np.ndarray) -> bool:
        """Whether K R u = 0 up to rounding for all directions below a gap, O(m²) for each.

        The second term of the bound is what u has of other eigenvectors by the rounding of `eigh`.
        """
        if not noise.any() or noise.all():
            return True
        R_u = self.quadratic.laplacian.factor(np.hstack((self.U[:, noise], self.U[:, -1:])))
        size = float(dlange("F", self.K.T)) or 1.0
        values = np.linalg.norm(self.K @ R_u / size, axis=0)  # squares must not overflow
        mixed = values[-1] * np.sqrt(eigenvalues[-1] / eigenvalues[~noise][0])
        rounding = np.linalg.norm(R_u, axis=0)
        return bool((values[:-1] <= 10 * EPS * (rounding[:-1] + mixed)).all())

    @property
    def B(self) -> np.ndarray:
        return self.U

    def solutions(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        solutions = super().solutions(alphas)
        if not self.noise.any():
            for i, alpha in enumerate(alphas):
                if alpha < self.rounding():
                    solutions[i] = self._refined(solutions[i], alpha)
        return solutions

    def _refined(self, solution: np.ndarray, alpha: float) -> np.ndarray:
        """Fixed-precision refinement of (RᵀKR + λI) z = β with z = U · solution, O(m² k)."""
        laplacian, D = self.quadratic.laplacian, 1.0 / (self.eigenvalues + alpha)[:, None]
        for _ in range(REFINEMENTS):
            z = self.U @ solution
            residual = self.beta - laplacian.factor_t(self.K @ laplacian.factor(z)) - alpha * z
            solution = solution + D * (self.U.T @ residual)
        return solution

    @cached_property
    def P(self) -> np.ndarray:
        P = self.K @ self.quadratic.laplacian.factor(self.B)
        P[:, self.noise] = 0.0
        return P

    def cancels_at(self, alpha: float) -> bool:
        """If K is singular, residuals of items that are fitted exactly drown in its null space."""
        return bool(self.noise.any()) and alpha < blur_of(float(self.eigenvalues.max(initial=0.0)))

    def expand(self, Y: np.ndarray, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """a = R U Y, without directions that are rounding errors alone (see the class)."""
        small = np.asarray(alphas) < blur_of(float(self.eigenvalues.max(initial=0.0)))
        Y = np.where((self.noise[:, None] & small)[:, :, None], 0.0, Y)
        r, n_alphas, k = Y.shape
        a = self.quadratic.laplacian.factor(self.B @ Y.reshape(r, n_alphas * k))
        a = a.reshape(len(a), n_alphas, k)
        for i, alpha in enumerate(alphas):
            if small[i]:
                self._refuse_blur(a[:, i], alpha)
        return a

    def _refuse_blur(self, a: np.ndarray, alpha: float) -> None:
        """ValueError if K a depends on the last digits of K, whose change δK moves it by

        δf = δK a − P D Uᵀ Rᵀ δK a .                                                  O(m² k)
        """
        laplacian, change = self.quadratic.laplacian, np.zeros_like(a)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(2, len(a), 1))
        D = np.where(self.noise, 0.0, 1.0 / (self.eigenvalues + alpha))[:, None]
        rounding = EPS / 2 * (np.abs(self.K) @ np.abs(a))
        for sign in signs:
            moved = self.U @ (D * (self.U.T @ laplacian.factor_t(sign * rounding)))
            change = np.maximum(change, np.abs(self.K @ laplacian.factor(moved)))
        if (change.max(axis=0) > UNDECIDED * np.abs(self.K @ a).max(axis=0)).any():
            largest = float(self.eigenvalues.max(initial=0.0))
            raise ValueError(
                f"alpha={alpha:.3g} is so small beside the largest eigenvalue {largest:.3g} of the "
                "problem that rounding errors of the kernel decide about the scores: use a larger "
                f"alpha ({blur_of(largest):.1g} is safe). The eigenvalue grows with the weights of "
                'the pairs, which loss="relative" makes 1/difference²: if these are large, '
                "multiply y by a constant."
            )

    def rotate(self, normals: np.ndarray | None) -> None:
        return None

    def residual_operator(self, rows: Rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        return resolvent.sandwich(self.B[rows], alpha)

    def residual_diagonal(self, alpha: float) -> np.ndarray:
        return self.B**2 @ (alpha / (self.eigenvalues + alpha))

    def residuals(self, rows: Rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        return alpha * (self.B[rows] @ solution)


def _eigh(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Small matrices on one core, as fast: idle threads of BLAS would compete with ours."""
    if len(G) > SMALL:
        return np.linalg.eigh(G)
    with one_blas_thread():
        return np.linalg.eigh(G)
