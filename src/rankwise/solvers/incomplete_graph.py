"""Any multiset of edges by conjugate gradients on the model itself, matrix-free (section 4.4).

Minimises ‖L(y − h(edges))‖² + alpha‖h‖² over the function h. The iterations are those of the
least-squares problem in the space of h, so the objective decreases at every step and, with
alpha = 0, stopping early is itself a regulariser. With node kernels one iteration costs one product
with the q × q edge kernel, O(q p) for each term of the pairwise kernel, which is never formed; with
n node features O(q n + p n²). L is the centring by condition, or projects unpenalised effects away.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics import ranking_error
from rankwise.solvers.complete_graph import mirror, refuse_overflow
from rankwise.solvers.conjugate_gradients import Vector, conjugate_steps
from rankwise.solvers.shifted_gradients import shifted_solutions
from rankwise.solvers.solver import CONVERGED, MAX_ITER, Solution, Solver
from rankwise.solvers.unpenalised_effects import (
    NO_EFFECTS,
    EffectFit,
    EffectKind,
    stacked_effects,
)
from rankwise.spaces.edges import Edges, sampled_together
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pair_function import PairEffects
from rankwise.spaces.pairwise_kernels import KRONECKER, Grams, Held, PairwiseKernel
from rankwise.supervision.relation import Labels, RelationTask

DELAY = 5
PATIENCE = 20
Pair = tuple[np.ndarray, np.ndarray]
Projection = Callable[[np.ndarray], np.ndarray]
Observed = tuple[np.ndarray, Edges, Edges | None, RelationTask, Projection]
"""The labels y of the training edges, these edges, the validation edges, the task, and L."""
NOISE = 8 * np.finfo(float).eps
"""A gradient this small relative to ‖Z‖‖y‖ consists of rounding errors, both norms being those of
the preconditioner."""


class EdgeSystem(ABC):
    """The least-squares problem over functions h, for conjugate gradients (a `System`).

    A subclass says what the coordinates w of a function are. The values of a function are those at
    the training edges and, after them, at the validation edges. The residual comes from the values,
    not from a recurrence, so the objective is always the true one.
    """

    removes_effects = False
    """Whether L projects effects away, so that rounding errors are those of labels before that."""

    def __init__(self, observed: Observed):
        self.y, self.edges, self.validation, self.task, self.project = observed

    @abstractmethod
    def zero(self) -> np.ndarray: ...

    @abstractmethod
    def values_of(self, w: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def gradient(self, residual: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def inner(self, w: np.ndarray, v: np.ndarray, values_of_v: np.ndarray) -> float: ...

    @abstractmethod
    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficients of the nodes' representations."""

    def begin(self, alpha: float, scale: np.ndarray | None, start: np.ndarray | None) -> None:
        """Set alpha, a diagonal preconditioner and the first point (None is zero)."""
        self.alpha, self.scale = alpha, scale
        self.w = self.zero() if start is None else start.copy()
        n_values = len(self.edges) + (0 if self.validation is None else len(self.validation))
        self.values = np.zeros(n_values) if start is None else self.values_of(self.w)
        target = self.project(self.y)
        self._spread, self._steepest = float(target @ target), 0.0
        self._size = float(self.y @ self.y) if self.removes_effects else self._spread
        self._renew()
        self.energy = self._spread - self.objective

    def _renew(self) -> None:
        self._residual = self.project(self.y - self.values[: len(self.y)])
        self.loss = float(self._residual @ self._residual)
        self.objective = self.loss + self.alpha * self.inner(self.w, self.w, self.values)

    @property
    def noise(self) -> float:
        return NOISE**2 * self._steepest * self._size

    def descent(self) -> tuple[Vector, float]:
        """The preconditioned residual with its values, which the dual inner product needs."""
        slope = self.gradient(self._residual) - self.alpha * self.w
        z = slope if self.scale is None else slope / self.scale
        values = self.values_of(z)
        rho = self.inner(slope, z, values)
        refuse_overflow(rho)
        return (z, values), rho

    def curvature(self, direction: Vector) -> float:
        w, values = direction
        along = self.project(values[: len(self.y)])
        squared_norm = self.inner(w, w, values)
        curvature = float(along @ along + self.alpha * squared_norm)
        refuse_overflow(curvature)
        if curvature > 0:
            observed = values[: len(self.y)]
            steep = curvature + float(observed @ observed)  # rounding errors precede L
            if self.scale is not None:  # the norm in which the preconditioner measures lengths
                squared_norm = self.inner(w, self.scale * w, values)
            self._steepest = max(self._steepest, steep / squared_norm)
        return curvature

    def advance(self, size: float, direction: Vector) -> None:
        self.w += size * direction[0]
        self.values += size * direction[1]
        self._renew()

    @property
    def targets(self) -> list[Edges]:
        """The training edges and, after them, the validation edges."""
        return [self.edges] if self.validation is None else [self.edges, self.validation]


class PrimalSystem(EdgeSystem):
    """h = A W Bᵀ at the edges, with coordinates A (p_a, r_a) and B (p_b, r_b) of the nodes.

    `to_rows` maps W to coefficients of the nodes' representations; None if W is them already.
    """

    def __init__(self, observed: Observed, A: np.ndarray, B: np.ndarray, to_rows: Pair | None):
        super().__init__(observed)
        self.A, self.B, self.to_rows = A, B, to_rows

    def zero(self) -> np.ndarray:
        return np.zeros((self.A.shape[1], self.B.shape[1]))

    def values_of(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate(sampled_together(self.targets, self.A @ w, self.B))

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return mirror(self.A.T @ self.edges.times(residual, self.B), self.task.sign)

    def inner(self, w: np.ndarray, v: np.ndarray, values_of_v: np.ndarray) -> float:
        return float(np.vdot(w, v))

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        return w if self.to_rows is None else self.to_rows[0] @ w @ self.to_rows[1].T


class DualSystem(EdgeSystem):
    """h = Σ_e a_e k(e, ·) with any pairwise kernel; the vector a is w."""

    def __init__(self, observed: Observed, nodes: tuple[Nodes, Nodes], kernel: PairwiseKernel):
        super().__init__(observed)
        self.nodes, self.kernel = nodes, kernel
        self._grams = Grams(kernel, *nodes)
        self._holder = kernel.holder_of(self.edges, self.task.sign)

    def zero(self) -> np.ndarray:
        return np.zeros(len(self.edges))

    def values_of(self, w: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # `descent` refuses an overflow
            return self.kernel.at_edges(self._held(w), self._grams, self.targets)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return residual

    def inner(self, w: np.ndarray, v: np.ndarray, values_of_v: np.ndarray) -> float:
        return float(w @ values_of_v[: len(w)])

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        rows, columns = self.nodes
        C = self._held(w).matrix()
        if not self.kernel.is_kronecker:
            return C
        return columns.from_dual(rows.from_dual(C).T).T

    def _held(self, w: np.ndarray) -> Held:
        return self.kernel.held(self.edges, self._holder, w, self.task.sign)


@dataclass(frozen=True)
class Limits:
    """When the iterations end; tol = 0 runs max_iter of them, without a preconditioner."""

    tol: float = 1e-6
    max_iter: int = 200
    verbose: int = 0


class EdgeSolver(Solver):
    """One relation at some edges, conditions as rows, by conjugate gradients.

    Linear nodes are used through their features, others through the edge kernel in O(q p) per
    iteration. If the graph is dense and the minimiser itself is wanted, nodes are used through the
    eigenvectors of their kernels, with the complete graph as preconditioner. With alpha = 0 and
    fewer edges than unknowns, plain iterations find the minimiser of least norm.

    The iterations stop when the energy norm of the error, relative to that of the solution, is
    estimated to be below tol; the estimate comes from the gain of the last 5 steps. With
    `validation` labels the iterate with the least error on them is returned, and 20 iterations
    without a better one end the run (unless tol = 0).
    """

    name = "cg"

    def __init__(
        self,
        nodes: tuple[Nodes, Nodes],
        labels: Labels,
        validation: Labels | None,
        task: RelationTask,
        limits: Limits,
        kernel: PairwiseKernel = KRONECKER,
        effects: EffectKind = NO_EFFECTS,
    ):
        self._limits, self._gain, self._effects = limits, None, effects
        self._wants_minimiser = limits.tol > 0 and validation is None
        edges, y = _sorted(labels)
        watched = None
        if validation is not None:
            watched, self._validation_y = _sorted(validation)
            if np.isnan(_error(self._validation_y, self._validation_y, watched)):
                raise ValueError(
                    "early_stopping: no condition has two validation edges of different value, so "
                    "no error can be measured; give more edges, or early_stopping=None."
                )
        self._effect_fit = EffectFit(effects, edges) if effects.any else None
        project: Projection = edges.centre if task.ranking else _unchanged
        project = self._effect_fit.project if self._effect_fit is not None else project
        observed = y, edges, watched, task, project
        rows, columns = nodes
        through_features = rows.through_features and columns.through_features
        self.system: EdgeSystem
        if not kernel.is_kronecker:
            self.system = DualSystem(observed, nodes, kernel)
        elif self._wants_minimiser and (through_features or edges.dense):
            left = rows.spectrum()
            right = left if task.sign else columns.spectrum(centred=task.ranking)
            with np.errstate(over="ignore"):
                full = np.outer(left.s**2, right.s**2)
                self._gain = len(edges) / (len(rows) * len(columns)) * full
            refuse_overflow(self._gain)
            to_rows = left.to_rows, right.to_rows
            self.system = PrimalSystem(observed, left.Q * left.s, right.Q * right.s, to_rows)
        elif through_features:
            self.system = PrimalSystem(observed, rows.rows, columns.rows, None)
        else:
            self.system = DualSystem(observed, nodes, kernel)

        self.system.removes_effects = effects.any

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """w is in the coordinates of the system; a start that changes the result is ignored."""
        scale, may_start = None, self._wants_minimiser
        if self._gain is not None:
            may_start = alpha > 0 or self._determines(self._gain.shape)
            scale = self._gain + alpha if may_start else None
        self.system.begin(alpha, scale, start if may_start else None)
        solution = self._minimise(self.system)
        self._warn_unless_converged(solution, alpha)
        return solution

    def _warn_unless_converged(self, solution: Solution, alpha: float) -> None:
        if self._wants_minimiser and solution.status != CONVERGED:
            warnings.warn(
                f"conjugate gradients stopped at max_iter={self._limits.max_iter} before "
                f"tol={self._limits.tol:g} (alpha={alpha:g}): raise max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def path(self, alphas: Sequence[float]) -> Iterator[Solution]:
        """Solutions for one alpha after another.

        With node kernels all alphas above 0 share one sequence of products (`shifted_gradients`);
        otherwise each alpha starts from the solution of the one before.
        """
        system, limits = self.system, self._limits
        if isinstance(system, DualSystem) and self._wants_minimiser and min(alphas) > 0:
            solutions = shifted_solutions(system, alphas, limits.tol, limits.max_iter)
            for alpha, solution in zip(alphas, solutions):
                self._warn_unless_converged(solution, alpha)
                yield solution
            return
        start = None
        for alpha in alphas:
            solution = self.solve(alpha, start=start)
            start = solution.w
            yield solution

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """(d_a, d_b, 1) coefficients of the nodes' representations."""
        return self.system.coefficients(w)[:, :, None]

    def effects(self, w: np.ndarray) -> PairEffects | None:
        """The unpenalised effects that belong to w, None if there are none."""
        if self._effect_fit is None:
            return None
        y = self.system.y
        return stacked_effects([self._effect_fit.fit(y - self.system.values_of(w)[: len(y)])])

    def _determines(self, unknowns: tuple[int, ...]) -> bool:
        """Whether the edges determine all the unknowns without a regulariser."""
        edges = self.system.edges
        pairs = np.unique(edges.flat)
        rows, columns = (len(np.unique(side)) for side in np.divmod(pairs, edges.shape[1]))
        kind = self._effects
        lost = rows if self.system.task.ranking or kind.rows else int(kind.any)
        free = len(pairs) - lost - (columns if kind.columns else 0)
        r_a, r_b = unknowns
        return rows >= r_a and columns >= r_b and free >= r_a * r_b

    def _minimise(self, system: EdgeSystem) -> Solution:
        tol, max_iter = self._limits.tol, self._limits.max_iter
        solution = Solution(system.w, MAX_ITER, n_iter=0)
        history: dict[str, list[float]] = {}
        energy, gains = system.energy, []
        least_error, best_iteration = np.inf, 0
        steps = conjugate_steps(system)
        while solution.status != CONVERGED and solution.n_iter < max_iter:
            step = next(steps, None)
            if step is None:
                solution.status = CONVERGED
                break
            solution.n_iter += 1
            energy += step.gain
            gains.append(step.gain)
            errors = self._errors(system)
            for name, value in errors.items():
                history.setdefault(name, []).append(value)
            if self._limits.verbose:
                listed = ", ".join(f"{name} {value:.6g}" for name, value in errors.items())
                print(f"iteration {solution.n_iter}: {listed}")
            error = errors.get("validation_error")
            if error is not None and error < least_error:
                least_error, best_iteration = error, solution.n_iter
                solution.w = system.w.copy()
            stalled = error is not None and solution.n_iter - best_iteration >= PATIENCE
            if tol > 0 and (stalled or _is_small(gains, energy, tol)):
                solution.status = CONVERGED
        if tol == 0 and solution.n_iter:
            for values in history.values():  # the remaining iterations would stand still
                values.extend([values[-1]] * (max_iter - solution.n_iter))
            solution.n_iter = max_iter
        solution.history = {name: np.array(values) for name, values in history.items()}
        return solution

    def _errors(self, system: EdgeSystem) -> dict[str, float]:
        """What the history records; ranking errors are those of equation 4."""
        y = system.y
        errors = {"objective": system.objective, "train_loss": system.loss / len(y)}
        if system.validation is not None:
            training, validation = np.split(system.values, [len(y)])
            errors["train_error"] = _error(y, training, system.edges)
            error = _error(self._validation_y, validation, system.validation)
            errors["validation_error"] = error
        return errors


def _unchanged(v: np.ndarray) -> np.ndarray:
    return v


def _sorted(labels: Labels) -> tuple[Edges, np.ndarray]:
    """The edges sorted by row, and their labels in the same order."""
    labels = labels.as_edges()
    edges = Edges(labels.rows, labels.columns, labels.shape)
    return edges, labels.y[edges.order]


def _error(y: np.ndarray, values: np.ndarray, edges: Edges) -> float:
    try:
        return ranking_error(y, values, edges.rows)
    except UndefinedMetric:
        return float("nan")


def _is_small(gains: list[float], energy: float, tol: float) -> bool:
    recent = sum(gains[-DELAY:])
    if len(gains) >= DELAY and recent <= tol**2 * energy:
        return True
    return gains[-1] <= (1e-3 * tol) ** 2 * energy
