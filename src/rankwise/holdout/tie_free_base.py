"""The ridge problem that is left of a query without tied pairs when some weight leaves it.

After items left, the tie-free cost of a query is Σ_i d_i (s_i − f_i − g − γ_k)² + Σ_k ρ_k γ_k² at
its stationary point over g and γ, k being the class of item i, with the remaining weights V, V_k:

    d_i = c v_i (V − V_k) ,      ρ_k = −c V (V − V_k) .

Eliminating γ and g gives back c (V − V_k) inside classes and c V between them. So items leave as
rows of a pointwise problem with noise 1/d_i, class effects of variance 1/ρ_k and an intercept g.
With all rows still there, eliminating γ and g gives the Laplacian of `RestLaplacian`. Its one
eigendecomposition serves every λ. V is the same for all hold-outs that remove the same weight;
classes that lose items have another V_k, which class_systems mends.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankwise.losses.laplacian import Laplacian, Target
from rankwise.losses.quadratic_loss import Quadratic, TieFreeRows
from rankwise.numerics.arrays import Matrix, dense
from rankwise.solvers.spectral import SpectralSolver
from rankwise.solvers.spectrum import PrimalSpectrum, Spectrum
from rankwise.spaces.space import Features, ItemMatrix

if TYPE_CHECKING:
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts


class ClassLayout:
    """The m items of a query sorted by class; class c holds order[starts[c]:starts[c + 1]].

    `root` (m,) is √v in that order, and `unit` is √v with norm 1 within each class.
    """

    def __init__(self, classes: np.ndarray, weight: np.ndarray):
        self.order = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes)
        self.starts = np.concatenate(([0], np.cumsum(sizes)))
        self.classes = classes[self.order]
        self.position = np.empty(len(classes), dtype=np.int64)
        self.position[self.order] = np.arange(len(classes))
        self.class_weight = np.bincount(classes, weight)
        self.root = np.sqrt(weight)[self.order]
        norms = np.sqrt(self.class_weight)[self.classes]
        self.unit = np.divide(self.root, norms, out=np.zeros_like(norms), where=norms > 0)

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)


class RestLaplacian(Laplacian):
    """D^½ [Σ_k (V − W_k) E_k + between classes] D^½ for the weights W_k that classes keep.

    E_k projects on what is not constant within class k (in units of √v). If all classes keep their
    weights, V C acts between classes, C being the centring; else an r × r matrix does.
    """

    def __init__(self, layout: ClassLayout, V: float, kept: np.ndarray):
        self.layout, self.V = layout, V
        self.within = V - kept
        norms = np.sqrt(layout.class_weight)
        if np.array_equal(kept, layout.class_weight):
            self._centre: np.ndarray | None = norms / np.linalg.norm(norms)
            return
        self._centre = None
        stiffness = V * self.within / (V - layout.class_weight)
        pull = stiffness * norms
        between = np.diag(stiffness) - np.outer(pull, pull) / (norms @ pull)
        eigenvalues, Q = np.linalg.eigh(between)
        self._half = (Q * np.sqrt(np.maximum(eigenvalues, 0.0))) @ Q.T

    @property
    def n_items(self) -> int:
        return len(self.layout.order)

    @property
    def rank(self) -> int:
        return self.n_items

    def _between(self, coordinates: np.ndarray) -> np.ndarray:
        """The square root of what acts between classes, on (r, c) coordinates of classes."""
        if self._centre is None:
            return self._half @ coordinates
        centred = coordinates - np.outer(self._centre, self._centre @ coordinates)
        return np.sqrt(self.V) * centred

    def root(self, Y: np.ndarray) -> np.ndarray:
        """[…]^½ Y, with the rows of Y and of the result in the order of the layout."""
        layout = self.layout
        coordinates = np.add.reduceat(layout.unit[:, None] * Y, layout.starts[:-1])
        out = Y - layout.unit[:, None] * coordinates[layout.classes]
        out *= np.sqrt(self.within)[layout.classes, None]
        out += layout.unit[:, None] * self._between(coordinates)[layout.classes]
        return out

    def matrix(self) -> np.ndarray:
        """[…] in the order of the layout, O(m²)."""
        layout = self.layout
        half = self._between(np.eye(len(self.within)))
        change = half @ half - np.diag(self.within)
        out = change[np.ix_(layout.classes, layout.classes)] * layout.unit
        out *= layout.unit[:, None]
        out.flat[:: len(out) + 1] += self.within[layout.classes]
        return out

    def factor(self, Y: np.ndarray) -> np.ndarray:
        layout, out = self.layout, np.empty_like(Y)
        out[layout.order] = layout.root[:, None] * self.root(Y[layout.order])
        return out

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        layout, out = self.layout, np.empty(X.shape)
        out[layout.order] = self.root(layout.root[:, None] * X[layout.order])
        return out

    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        return self.factor_t(np.ascontiguousarray(self.factor_t(K).T))

    def gram(self, F: Matrix, target: Target) -> tuple[np.ndarray, np.ndarray]:
        A = self.factor_t(dense(F))
        return A.T @ A, A.T @ target.beta

    def closure(self, items: np.ndarray) -> np.ndarray:
        return np.arange(self.n_items)

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        return np.arange(self.n_items)


class BaseSpectrum:
    """The problem of the rest for every λ: rows in the order of the layout, in units of √v.

    `kept` are the weights that the classes keep, if a single kind of hold-out is wanted; by
    default they keep all, and class_systems makes up for those that do not.
    """

    def __init__(
        self,
        problem: QuadraticHoldouts,
        rule: TieFreeRows,
        layout: ClassLayout,
        V: float,
        kept: np.ndarray | None = None,
    ):
        self.layout, self.V = layout, V
        self.kept = layout.class_weight if kept is None else kept
        self._laplacian = RestLaplacian(layout, V, self.kept)
        if kept is None and len(self.kept) == problem.n_items:
            self._take_over(problem, rule)
        else:
            self._decompose(problem)

    def _decompose(self, problem: QuadraticHoldouts) -> None:
        matrix: ItemMatrix = problem.matrix
        wide = isinstance(matrix, Features) and 2 * matrix.F.shape[1] > matrix.n_items
        if wide and matrix.removal is None:
            matrix = matrix.gram()  # its residual operator loses no digits
        nothing = np.zeros((problem.n_items, 1))
        target = Target(self._laplacian, scores=nothing, given=nothing)
        quadratic = Quadratic(self._laplacian, target)
        self.spectrum: Spectrum = SpectralSolver(matrix, quadratic).spectrum
        self.eigenvalues = self.spectrum.eigenvalues
        self.B = self._laplacian.root(self.spectrum.B[self.layout.order])
        self._P_scale = 1.0

    def _take_over(self, problem: QuadraticHoldouts, rule: TieFreeRows) -> None:
        """Without any ties the problem of the rest is that of all items at another λ."""
        self.spectrum = problem.spectrum
        total = float(self.layout.class_weight.sum())
        U = 0.5 * float(self.layout.class_weight @ (total - self.layout.class_weight))
        ratio = self.V / (total * float(rule.weighting.scale(total, U)))
        self.eigenvalues = ratio * self.spectrum.eigenvalues
        self.B = self._laplacian.root(self.spectrum.B[self.layout.order])
        self._P_scale = np.sqrt(ratio)
        if self.cancels:
            self.B *= np.sqrt(ratio)
            self._P_scale = 1.0

    @property
    def cancels(self) -> bool:
        return self.spectrum.cancels

    def cancels_at(self, alpha: float) -> bool:
        """Whether the residual operator loses digits at this λ as the leverage approaches 1."""
        largest = float(self.eigenvalues.max(initial=0.0)) or 1.0
        ratio = float(self.spectrum.eigenvalues.max(initial=0.0)) / largest
        return self.spectrum.cancels_at(alpha * ratio)

    @cached_property
    def P(self) -> np.ndarray:
        return self._P_scale * self.spectrum.P[self.layout.order]

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self._laplacian.matrix()

    def residual_operator(self, alpha: float) -> np.ndarray:
        """M (m, m): O(m³), or O(m² n) with n < m/2 features."""
        D = 1.0 / (self.eigenvalues + alpha)
        if self.cancels:
            half = self.B * np.sqrt(D)
            return self._matrix - half @ half.T
        half = self.B * np.sqrt(alpha * D)
        return half @ half.T

    def residuals(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """M x."""
        D = 1.0 / (self.eigenvalues + alpha)[:, None]
        if self.cancels:
            return self._matrix @ x - self.B @ (D * (self.B.T @ x))
        return self.B @ (alpha * D * (self.B.T @ x))

    def rotate(self, normals: np.ndarray) -> np.ndarray:
        assert isinstance(self.spectrum, PrimalSpectrum)
        rotated = self.spectrum.rotate(normals)
        assert rotated is not None
        return rotated
