"""Any multiset of edges by conjugate gradients on the model itself, matrix-free (section 4.4).

Minimises ‖L(y − h(edges))‖² + alpha‖h‖² over the function h. The iterations are those of the
least-squares problem in the space of h, so the objective decreases at every step and, with
alpha = 0, stopping early is itself a regulariser. With node kernels one iteration costs one product
with the q × q edge kernel, O(q p), which is never formed; with n node features O(q n + p n²).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics import ranking_error
from rankwise.solvers.complete_graph import mirror, refuse_overflow
from rankwise.solvers.conjugate_gradients import conjugate_steps
from rankwise.solvers.solver import CONVERGED, MAX_ITER, Solution, Solver
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.supervision.relation import Labels, RelationTask

DELAY = 5
PATIENCE = 20
NOISE = 8 * np.finfo(float).eps
"""A gradient this small relative to ‖Z‖‖y‖ consists of rounding errors."""


@dataclass
class EdgeModel:
    """A function at the training edges and, after them, at the validation edges."""

    edges: Edges
    validation: Edges | None
    sign: int

    @property
    def n_values(self) -> int:
        return len(self.edges) + (0 if self.validation is None else len(self.validation))

    def _sample(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        if self.validation is None:
            return self.edges.sampled(P, R)
        if self.edges.dense:
            scores = (P @ R.T).ravel()
            return scores[np.concatenate([self.edges.flat, self.validation.flat])]
        return np.concatenate([self.edges.sampled(P, R), self.validation.sampled(P, R)])


@dataclass
class PrimalModel(EdgeModel):
    """h = A W Bᵀ at the edges, with coordinates A (p_a, r_a) and B (p_b, r_b) of the nodes.

    `to_rows` maps W to coefficients of the nodes' representations; None if W is them already.
    """

    A: np.ndarray
    B: np.ndarray
    to_rows: tuple[np.ndarray, np.ndarray] | None = None

    def zero(self) -> np.ndarray:
        return np.zeros((self.A.shape[1], self.B.shape[1]))

    def values(self, W: np.ndarray) -> np.ndarray:
        return self._sample(self.A @ W, self.B)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return mirror(self.A.T @ self.edges.times(residual, self.B), self.sign)

    def inner(self, W: np.ndarray, V: np.ndarray, values_of_V: np.ndarray) -> float:
        return float(np.vdot(W, V))

    def coefficients(self, W: np.ndarray) -> np.ndarray:
        return W if self.to_rows is None else self.to_rows[0] @ W @ self.to_rows[1].T


@dataclass
class DualModel(EdgeModel):
    """h = Σ_e a_e k(e, ·) with the edge kernel of equations 7-9; the vector a stands for h."""

    nodes: tuple[Nodes, Nodes]

    def __post_init__(self) -> None:
        self._K_A, self._K_B = (nodes.gram() for nodes in self.nodes)
        self._holder = self.edges.mirrored() if self.sign else self.edges

    def zero(self) -> np.ndarray:
        return np.zeros(len(self.edges))

    def values(self, a: np.ndarray) -> np.ndarray:
        VK = self._holder.times(self._held(a), self._K_B)
        return self._sample(self._K_A, VK.T)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return residual

    def inner(self, a: np.ndarray, b: np.ndarray, values_of_b: np.ndarray) -> float:
        return float(a @ values_of_b[: len(self.edges)])

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        rows, columns = self.nodes
        return columns.from_dual(rows.from_dual(self._holder.matrix(self._held(a))).T).T

    def _held(self, a: np.ndarray) -> np.ndarray:
        if not self.sign:
            return a
        return np.concatenate([a, self.sign * a])[self._holder.order] / 2


class EdgeSystem:
    """The least-squares problem for one alpha and the function reached so far (a `System`).

    `scale` is the diagonal of a preconditioner. Residuals of the labels are computed from the
    values of the function, not by recurrence, so the objective in the history is the true one.
    """

    def __init__(
        self,
        model: PrimalModel | DualModel,
        y: np.ndarray,
        alpha: float,
        ranking: bool,
        scale: np.ndarray | None = None,
        start: np.ndarray | None = None,
    ):
        self._model, self._y, self._alpha, self._scale = model, y, alpha, scale
        self._centre = model.edges.centre if ranking else np.asarray
        self.w = model.zero() if start is None else start.copy()
        self.values = np.zeros(model.n_values) if start is None else model.values(self.w)
        centred = self._centre(y)
        self._spread, self._steepest = float(centred @ centred), 0.0
        self._renew_residual()
        self.energy = float(self._spread - self.objective)

    @property
    def noise(self) -> float:
        return NOISE**2 * self._steepest * self._spread

    def descent(self) -> tuple[np.ndarray, np.ndarray, float]:
        slope = self._model.gradient(self._residual) - self._alpha * self.w
        z = slope if self._scale is None else slope / self._scale
        image = self._model.values(z)
        rho = self._model.inner(slope, z, image)
        refuse_overflow(rho)
        return z, image, rho

    def curvature(self, direction: np.ndarray, image: np.ndarray) -> float:
        along = self._centre(image[: len(self._y)])
        squared_norm = self._model.inner(direction, direction, image)
        curvature = float(along @ along + self._alpha * squared_norm)
        refuse_overflow(curvature)
        if curvature > 0:
            self._steepest = max(self._steepest, curvature / squared_norm)
        return curvature

    def advance(self, size: float, direction: np.ndarray, image: np.ndarray) -> None:
        self.w += size * direction
        self.values += size * image
        self._renew_residual()

    def _renew_residual(self) -> None:
        self._residual = self._centre(self._y - self.values[: len(self._y)])
        self.loss = float(self._residual @ self._residual)
        squared_norm = self._model.inner(self.w, self.w, self.values)
        self.objective = self.loss + self._alpha * squared_norm


@dataclass
class Judge:
    """Conditional ranking errors (equation 4) of values at the training and validation edges."""

    y: np.ndarray
    rows: np.ndarray
    validation_y: np.ndarray
    validation_rows: np.ndarray

    def __post_init__(self) -> None:
        try:
            ranking_error(self.validation_y, self.validation_y, self.validation_rows)
        except UndefinedMetric as error:
            raise ValueError(
                "early_stopping: no condition has two validation edges of different value, so no "
                "error can be measured; give more edges, or early_stopping=None."
            ) from error

    def errors(self, values: np.ndarray) -> dict[str, float]:
        training, validation = np.split(values, [len(self.y)])
        try:
            train_error = ranking_error(self.y, training, self.rows)
        except UndefinedMetric:
            train_error = float("nan")
        validation_error = ranking_error(self.validation_y, validation, self.validation_rows)
        return {"train_error": train_error, "validation_error": validation_error}


@dataclass(frozen=True)
class Limits:
    """When the iterations end. `tol` = 0 runs max_iter of them, without a preconditioner."""

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
        task: RelationTask,
        limits: Limits,
        validation: Labels | None = None,
    ):
        self._task, self._limits = task, limits
        labels = labels.as_edges()
        self._edges = Edges(labels.rows, labels.columns, labels.shape)
        self._y = labels.y[self._edges.order]
        self._judge: Judge | None = None
        watched: Edges | None = None
        if validation is not None:
            watched = Edges(validation.rows, validation.columns, validation.shape)
            targets = validation.y[watched.order]
            self._judge = Judge(self._y, self._edges.rows, targets, watched.rows)
        self._wants_minimiser = limits.tol > 0 and validation is None
        self._gain: np.ndarray | None = None
        places = self._edges, watched, task.sign
        rows, columns = nodes
        through_features = rows.through_features and columns.through_features
        self.model: PrimalModel | DualModel
        if self._wants_minimiser and (through_features or self._edges.dense):
            left = rows.spectrum()
            right = left if task.sign else columns.spectrum(centred=task.ranking)
            density = len(self._edges) / (len(rows) * len(columns))
            with np.errstate(over="ignore"):
                self._gain = density * np.outer(left.s**2, right.s**2)
            refuse_overflow(self._gain)
            to_rows = left.to_rows, right.to_rows
            self.model = PrimalModel(*places, left.Q * left.s, right.Q * right.s, to_rows)
        elif through_features:
            self.model = PrimalModel(*places, rows.rows, columns.rows)
        else:
            self.model = DualModel(*places, nodes)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """The solution in the model's own coordinates, which `coefficients` translates.

        `start` is ignored if it would change which solution is found.
        """
        scale = None
        starts = self._wants_minimiser
        if self._gain is not None:
            starts = alpha > 0 or self._determines(self._gain.shape)
            scale = self._gain + alpha if starts else None
        system = EdgeSystem(
            self.model, self._y, alpha, self._task.ranking, scale, start if starts else None
        )
        solution = self._minimise(system)
        if self._wants_minimiser and solution.status != CONVERGED:
            warnings.warn(
                f"conjugate gradients stopped at max_iter={self._limits.max_iter} before "
                f"tol={self._limits.tol:g} (alpha={alpha:g}): raise max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """(d_a, d_b, 1) coefficients of the nodes' representations."""
        return self.model.coefficients(w)[:, :, None]

    def _determines(self, unknowns: tuple[int, ...]) -> bool:
        """Whether the edges determine all the unknowns without a regulariser."""
        pairs = np.unique(self._edges.flat)
        rows, columns = (len(np.unique(side)) for side in np.divmod(pairs, self._edges.shape[1]))
        free = len(pairs) - (rows if self._task.ranking else 0)
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
            errors = self._record(system, history, solution.n_iter)
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

    def _record(self, system: EdgeSystem, history: dict, iteration: int) -> dict[str, float]:
        errors = {"objective": system.objective, "train_loss": system.loss / len(self._y)}
        if self._judge is not None:
            errors |= self._judge.errors(system.values)
        for name, value in errors.items():
            history.setdefault(name, []).append(value)
        if self._limits.verbose:
            listed = ", ".join(f"{name} {value:.6g}" for name, value in errors.items())
            print(f"iteration {iteration}: {listed}")
        return errors


def _is_small(gains: list[float], energy: float, tol: float) -> bool:
    recent = sum(gains[-DELAY:])
    if len(gains) >= DELAY and recent <= tol**2 * energy:
        return True
    return gains[-1] <= (1e-3 * tol) ** 2 * energy
