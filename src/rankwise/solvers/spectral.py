"""Quadratic problems after one symmetric eigendecomposition: every λ, every output, every hold-out.

With L = R Rᵀ, b = R β and A = Rᵀ F the objective is ridge regression of β on A. Both sides of it
end in the same three pieces, f = P D c with D = diag 1/(Λ + λ):

    primal   AᵀA = V Λ Vᵀ      P = F V      B = A V      c = Bᵀβ      w = V D c
    dual     A Aᵀ = U Λ Uᵀ     P = K R U    B = U        c = Bᵀβ      a = R U D c

(section 3.2 of Pahikkala et al. 2009, without its non-symmetric eigenproblem). The residual
operator of the ridge problem is J − H = J − B D Bᵀ (primal) = λ B D Bᵀ (dual), J the identity.

In a single query with all pairs (`centred`) the problem is ridge regression with an unpenalised
intercept; there J = I − û ûᵀ, which lets items leave one by one: see holdout.quadratic_holdouts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dger

from rankwise.losses.laplacian import ScoreLaplacian
from rankwise.losses.least_squares import Quadratic
from rankwise.numerics.threads import one_blas_thread
from rankwise.validation import refuse_non_finite

SMALL = 256


def intercept_direction(laplacian: ScoreLaplacian) -> np.ndarray:
    """û: √v normalised, the one direction that a single query's L ignores."""
    return laplacian.root_weight / np.sqrt(laplacian.query_weight[0])


class Spectrum(ABC):
    """λ-free state of one quadratic problem; see the module's docstring for the names."""

    cancels: bool
    eigenvalues: np.ndarray
    moments: np.ndarray
    V: Any
    P: Any
    B: Any

    def __init__(self, quadratic: Quadratic, offset=None, centred: bool = False):
        self.quadratic = quadratic
        self.offset = offset
        self.centre = intercept_direction(quadratic.laplacian) if centred else None

    @cached_property
    def beta(self) -> np.ndarray:
        """Target in R's space, less what the offset (scores known beforehand) explains."""
        beta = self.quadratic.target.beta
        if self.offset is None:
            return beta
        return beta - self.quadratic.laplacian.factor_t(self.offset)

    def row_scale(self) -> float:
        """√(c V v) of a single query with equal weights: R's space against the scores' own."""
        laplacian = self.quadratic.laplacian
        return float(np.sqrt(laplacian.stiffness[0]) * laplacian.root_weight[0])

    def rounding(self) -> float:
        """λ below which the largest eigenvalue's rounding error outweighs 1e-7 of λ."""
        return 1e7 * np.finfo(float).eps * float(self.eigenvalues.max(initial=0.0))

    @abstractmethod
    def expand(self, Y: np.ndarray) -> np.ndarray:
        """Coefficients of a model from its coordinates Y in eigenvectors."""

    @abstractmethod
    def rotate(self, normals):
        """Constraints on the weights in eigenvectors; None where there are none."""

    @abstractmethod
    def residual_operator(self, rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        """(J − H) on the given rows."""

    @abstractmethod
    def residual_diagonal(self, alpha: float) -> np.ndarray:
        """The diagonal of J − H."""

    @abstractmethod
    def residuals(self, rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        """e = β − B D c on the given rows."""

    def resolvent(self, alpha: float, normals=None, values=0.0) -> Resolvent:
        return Resolvent(1.0 / (self.eigenvalues + alpha), self.rotate(normals), values)

    def solutions(self, alphas) -> np.ndarray:
        """D c for every alpha, (a, r, k)."""
        D = 1.0 / (self.eigenvalues[None, :] + np.asarray(alphas)[:, None])
        return D[:, :, None] * self.moments[None]

    def path(self, alphas) -> np.ndarray:
        """Coefficients for every alpha, (a, dimensions, k), at one matrix product."""
        Y = self.solutions(alphas)
        a, r, k = Y.shape
        return self.expand(Y.transpose(1, 0, 2).reshape(r, a * k)).reshape(-1, a, k).swapaxes(0, 1)

    def fitted(self, alphas) -> np.ndarray:
        """Scores of the training items for every alpha, (a, m, k), without the offset."""
        Y = self.solutions(alphas)
        a, r, k = Y.shape
        F = self.P @ Y.transpose(1, 0, 2).reshape(r, a * k)
        return F.reshape(-1, a, k).swapaxes(0, 1)


class PrimalSpectrum(Spectrum):
    """O(m n² + n³), then O(n k) a λ."""

    cancels = True

    def __init__(self, F, quadratic: Quadratic, offset=None, centred=False):
        super().__init__(quadratic, offset, centred)
        self.F = F
        with np.errstate(over="ignore", invalid="ignore"):
            G, moments = quadratic.laplacian.gram(F, quadratic.target)
            if offset is not None:
                moments = moments - F.T @ quadratic.laplacian.apply(offset)
        if not np.isfinite(G).all():
            refuse_non_finite(F, "X")
        self._decompose(G, moments)

    @classmethod
    def of_sums(cls, G, moments, F=None, quadratic=None) -> PrimalSpectrum:
        """From FᵀLF and Fᵀb of all items, of which F may hold a part, whole queries, or none."""
        spectrum = cls.__new__(cls)
        spectrum.F, spectrum.quadratic = F, quadratic
        spectrum.offset = spectrum.centre = None
        spectrum._decompose(G, moments)
        return spectrum

    def _decompose(self, G: np.ndarray, moments: np.ndarray) -> None:
        refuse_overflow(G, moments)
        eigenvalues, self.V = _eigh(G)
        self.noise = _is_noise(eigenvalues, G.shape[0])
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

    def expand(self, Y: np.ndarray) -> np.ndarray:
        return self.V @ Y

    def rotate(self, normals):
        return None if normals is None or not normals.shape[1] else self.V.T @ normals

    def residual_operator(self, rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        block = -resolvent.sandwich(self.B[rows])
        block.flat[:: len(block) + 1] += 1.0
        if self.centre is not None:
            block -= np.outer(self.centre[rows], self.centre[rows])
        return block

    def residual_diagonal(self, alpha: float) -> np.ndarray:
        diagonal = 1.0 - self.B**2 @ (1.0 / (self.eigenvalues + alpha))
        return diagonal if self.centre is None else diagonal - self.centre**2

    def residuals(self, rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        return self.beta[rows] - self.B[rows] @ solution


class DualSpectrum(Spectrum):
    """O(m³), then O(m k) a λ (and O(m²) for coefficients)."""

    cancels = False

    def __init__(self, K: np.ndarray, quadratic: Quadratic, offset=None, centred=False):
        super().__init__(quadratic, offset, centred)
        self.K = K
        with np.errstate(over="ignore", invalid="ignore"):
            A = quadratic.laplacian.sandwich(K)
            size = float(np.linalg.norm(A))
        refuse_overflow(np.array(size))
        if self.centre is not None:
            # lifted above the rest of the spectrum, û comes out as the last eigenvector
            dger(size + 1.0, self.centre, self.centre, a=A.T, overwrite_a=True)
        eigenvalues, self.B = np.linalg.eigh(A)
        if self.centre is not None:
            eigenvalues, self.B = eigenvalues[:-1], self.B[:, :-1]
        self.noise = _is_noise(eigenvalues, 8)
        self.eigenvalues = np.where(self.noise, 0.0, eigenvalues)
        self.moments = self.B.T @ self.beta

    @cached_property
    def P(self) -> np.ndarray:
        P = self.K @ self.quadratic.laplacian.factor(self.B)
        P[:, self.noise] = 0.0
        return P

    def expand(self, Y: np.ndarray) -> np.ndarray:
        """a = R U Y, without directions of no norm: ‖FᵀRu‖² = Λ."""
        return self.quadratic.laplacian.factor(self.B @ np.where(self.noise[:, None], 0.0, Y))

    def rotate(self, normals):
        return None

    def residual_operator(self, rows, resolvent: Resolvent, alpha: float) -> np.ndarray:
        return resolvent.sandwich(self.B[rows], alpha)

    def residual_diagonal(self, alpha: float) -> np.ndarray:
        return self.B**2 @ (alpha / (self.eigenvalues + alpha))

    def residuals(self, rows, solution: np.ndarray, alpha: float) -> np.ndarray:
        return alpha * (self.B[rows] @ solution)


def _eigh(G: np.ndarray):
    """Small problems on one core, as fast: BLAS's idle threads would spin beside ours."""
    if len(G) > SMALL:
        return np.linalg.eigh(G)
    with one_blas_thread():
        return np.linalg.eigh(G)


def _is_noise(eigenvalues: np.ndarray, tolerance: float) -> np.ndarray:
    """Eigenvalues that rounding alone may have made: below tolerance · eps of the largest."""
    largest = eigenvalues[-1] if len(eigenvalues) else 0.0
    return eigenvalues <= tolerance * np.finfo(float).eps * max(largest, 0.0)


def refuse_overflow(*matrices: np.ndarray) -> None:
    """Finite input can still overflow when squared."""
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ValueError(
            "X, y or sample_weight is so large that its squares overflow: scale it down, for "
            "example with sklearn.preprocessing.StandardScaler."
        )


class Resolvent:
    """D = diag 1/(Λ + λ), or the same under the constraints Nᵀw = −values (N in eigenvectors).

    The constraints remove held-out basis items from a reduced set: D − E Eᵀ with
    E = D N (NᵀDN)^(−½), an update of rank |H|, by QR of √D N: nothing is squared.
    """

    def __init__(self, D: np.ndarray, normals=None, values=0.0):
        self.D = D[:, None]
        self.normals = normals
        self.values = values
        self.leaves_nothing = normals is not None and normals.shape[1] >= normals.shape[0]
        if normals is not None:
            root = np.sqrt(self.D)
            orthonormal, upper = np.linalg.qr(root * normals)
            self.E = root * orthonormal
            self.half = upper.T

    def apply(self, Y: np.ndarray) -> np.ndarray:
        if self.leaves_nothing:
            return np.zeros_like(Y)
        if self.normals is None:
            return self.D * Y
        return self.D * Y - self.E @ (self.E.T @ Y)

    def sandwich(self, B: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """scale · B D Bᵀ, without constraints by one symmetric product."""
        if self.normals is not None:
            return scale * (B @ self.apply(B.T))
        half = B * np.sqrt(scale * self.D[:, 0])
        return half @ half.T

    def solve(self, moments: np.ndarray) -> np.ndarray:
        """The constrained minimiser's coordinates for moments c."""
        solution = self.apply(moments)
        if self.normals is not None and np.any(self.values):
            solution = solution - self.E @ np.linalg.solve(self.half, self.values)
        return solution
