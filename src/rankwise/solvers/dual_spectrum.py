"""The spectrum of a kernel matrix, and what its rounding errors leave of it; see `spectrum`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dlange

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.solvers.resolvent import Resolvent
from rankwise.solvers.rounding_errors import (
    EPS,
    blur_of,
    is_noise,
    refuse_hidden_terms,
    refuse_overflow,
    size_before_centring,
)
from rankwise.solvers.spectrum import Rows, Spectrum
from rankwise.spaces.space import Gram

GAP = 100.0
"""A rank is certain if no eigenvalue lies between the rounding errors and GAP times these."""
REFINEMENTS = 2
"""Steps of refinement for a small λ; the first gains most, the second what it left."""
UNSEEN = 1e-6
"""L does not see a direction whose image under R is so much shorter than that of another."""
UNDECIDED = 0.01
"""Scores are refused if the last digits of the kernel change them by more than this share."""


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
        matrix: Gram,
        quadratic: Quadratic,
        offset: np.ndarray | None = None,
        centre: np.ndarray | None = None,
    ):
        super().__init__(quadratic, offset, centre)
        K = self.K = matrix.K
        self._shift, self._hides_terms = matrix.shift, matrix.hides_terms
        with np.errstate(over="ignore", invalid="ignore"):
            self._before = size_before_centring(K, quadratic.laplacian)
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
        self._is_singular = self._sees(self.noise)
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

    def _sees(self, noise: np.ndarray) -> bool:
        """Whether L sees one of the directions. It never does the constant ones of its queries,
        which have eigenvalue 0 whatever K is."""
        if not noise.any():
            return False
        R_u = self.quadratic.laplacian.factor(np.hstack((self.U[:, noise], self.U[:, -1:])))
        size = np.linalg.norm(R_u, axis=0)
        return bool((size[:-1] > UNSEEN * size[-1]).any())

    @property
    def B(self) -> np.ndarray:
        return self.U

    def solutions(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        solutions, small = super().solutions(alphas), np.asarray(alphas) < self.rounding()
        if small.any() and not self._is_singular:
            solutions[small] = self._refined(solutions[small], np.asarray(alphas)[small])
        return solutions

    def _refined(self, solutions: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Fixed-precision refinement of (RᵀKR + λI) z = β with z = U · solution, O(m² k) for each
        λ, of all together, so that the matrices are read but a few times."""
        laplacian, (a, r, k) = self.quadratic.laplacian, solutions.shape
        by_column = np.repeat(alphas, k)
        S = solutions.swapaxes(0, 1).reshape(r, a * k)
        D = 1.0 / (self.eigenvalues[:, None] + by_column)
        beta = np.tile(self.beta, a)
        for _ in range(REFINEMENTS):
            z = self.U @ S
            residual = beta - laplacian.factor_t(self.K @ laplacian.factor(z)) - by_column * z
            S = S + D * (self.U.T @ residual)
        return S.reshape(r, a, k).swapaxes(0, 1)

    @cached_property
    def P(self) -> np.ndarray:
        centred, shift = self.moved_P
        return centred if shift is None else centred + shift

    @cached_property
    def moved_P(self) -> tuple[np.ndarray, np.ndarray | None]:
        """P of the items as K has them, and the row (r,) that their `shift` adds to all of them."""
        factor = self.quadratic.laplacian.factor(self.B)
        P, shift = self.K @ factor, None
        P[:, self.noise] = 0.0
        if self._shift is not None:
            shift = np.where(self.noise, 0.0, self._shift @ factor)
        return P, shift

    def cancels_at(self, alpha: float) -> bool:
        """If K is singular, residuals of items that are fitted exactly drown in its null space."""
        return self._is_singular and alpha < blur_of(float(self.eigenvalues.max(initial=0.0)))

    def expand(self, Y: np.ndarray, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """a = R U Y, without directions that are rounding errors alone (see the class)."""
        largest = float(self.eigenvalues.max(initial=0.0))
        if self._hides_terms:
            refuse_hidden_terms(float(np.min(alphas)), largest)
        small = np.asarray(alphas) < blur_of(max(largest, self._before))
        Y = np.where((self.noise[:, None] & small)[:, :, None], 0.0, Y)
        r, n_alphas, k = Y.shape
        a = self.quadratic.laplacian.factor(self.B @ Y.reshape(r, n_alphas * k))
        a = a.reshape(len(a), n_alphas, k)
        if small.any():
            self._refuse_blur(
                a[:, small].reshape(len(a), -1), np.repeat(np.array(alphas)[small], k)
            )
        return a

    def _refuse_blur(self, a: np.ndarray, alphas: np.ndarray) -> None:
        """ValueError if K a depends on the last digits of K, whose change δK moves it by

        δf = δK a − P D Uᵀ Rᵀ δK a ,                                     O(m²) for each column of a

        each of which has its own λ.
        """
        laplacian, change = self.quadratic.laplacian, np.zeros_like(a)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(2, len(a), 1))
        D = np.where(self.noise[:, None], 0.0, 1.0 / (self.eigenvalues[:, None] + alphas))
        rounding = EPS / 2 * (np.abs(self.K) @ np.abs(a))
        for sign in signs:
            moved = self.U @ (D * (self.U.T @ laplacian.factor_t(sign * rounding)))
            change = np.maximum(change, np.abs(self.K @ laplacian.factor(moved)))
        blurred = change.max(axis=0) > UNDECIDED * np.abs(self.K @ a).max(axis=0)
        if blurred.any():
            largest, alpha = float(self.eigenvalues.max(initial=0.0)), alphas[blurred][0]
            safe = blur_of(max(largest, self._before))
            raise ValueError(
                f"alpha={alpha:.3g} is so small beside the largest eigenvalue {largest:.3g} of the "
                "problem that rounding errors of the kernel decide about the scores: use a larger "
                f"alpha ({safe:.1g} is safe). If features are far from zero beside their "
                "differences, standardise them. The eigenvalue grows with the weights of the "
                'pairs, which loss="relative" makes 1/difference²: if these are large, multiply y '
                "by a constant."
            )

    def rotate(self, normals: np.ndarray | None) -> None:
        return None

    def residual_operator(self, rows: Rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        return resolvent.sandwich(self.B[rows], alpha)

    def residual_diagonal(self, alpha: float) -> np.ndarray:
        return self.B**2 @ (alpha / (self.eigenvalues + alpha))

    def residuals(self, rows: Rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        return alpha * (self.B[rows] @ solution)
