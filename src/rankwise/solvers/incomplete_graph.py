"""Any multiset of edges: conjugate gradients on the model itself, matrix-free (section 4.4).

Minimised over the function h: ‖L(y − h(edges))‖² + alpha‖h‖². The iterations are those of the
least-squares problem in the space of h, so the objective falls at every step and, with alpha = 0,
stopping early is itself a regulariser. One iteration with node kernels costs one product of the
q × q edge kernel, O(q p) and never formed; through n node features O(q n + p n²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rankwise.solvers.complete_graph import mirror, refuse_overflow
from rankwise.spaces.nodes_and_edges import Edges

DELAY = 5
PATIENCE = 20
NOISE = 8 * np.finfo(float).eps
"""A gradient this small beside ‖Z‖‖y‖ consists of rounding errors."""


class _Model:
    """A function at the training edges and, after them, at those only watched (validation)."""

    scale: np.ndarray | None = None

    def __init__(self, edges: Edges, watched: Edges | None, sign: int):
        self.edges, self.watched, self.sign = edges, watched, sign
        self.n_values = len(edges) + (0 if watched is None else len(watched))

    def _sample(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        if self.watched is None:
            return self.edges.sampled(P, R)
        if self.edges.dense:
            scores = (P @ R.T).ravel()
            return scores[np.concatenate([self.edges.flat, self.watched.flat])]
        return np.concatenate([self.edges.sampled(P, R), self.watched.sampled(P, R)])


class PrimalModel(_Model):
    """h = A W Bᵀ at the edges, for node coordinates A (p_a, r_a) and B (p_b, r_b).

    `scale` (r_a, r_b), where given, is the diagonal of the complete graph's normal equations in
    these coordinates: it preconditions the iterations, exactly when no edge is missing.
    """

    def __init__(self, A, B, edges: Edges, watched: Edges | None, sign: int, scale=None):
        super().__init__(edges, watched, sign)
        self.A, self.B = A, B
        self.scale = scale

    def zero(self) -> np.ndarray:
        return np.zeros((self.A.shape[1], self.B.shape[1]))

    def values(self, W: np.ndarray) -> np.ndarray:
        return self._sample(self.A @ W, self.B)

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return mirror(self.A.T @ self.edges.times(residual, self.B), self.sign)

    def precondition(self, W: np.ndarray) -> np.ndarray:
        return W if self.scale is None else W / self.scale

    def inner(self, W: np.ndarray, V: np.ndarray, values_of_V: np.ndarray) -> float:
        return float(np.vdot(W, V))


class DualModel(_Model):
    """h = Σ_e a_e k(e, ·) with the edge kernel of equations 7-9; a function is its vector a."""

    def __init__(self, K_A, K_B, edges: Edges, watched: Edges | None, sign: int):
        super().__init__(edges, watched, sign)
        self.K_A, self.K_B = K_A, K_B
        self._holder = edges.mirrored() if sign else edges

    def zero(self) -> np.ndarray:
        return np.zeros(len(self.edges))

    def _held(self, a: np.ndarray) -> np.ndarray:
        if not self.sign:
            return a
        return np.concatenate([a, self.sign * a])[self._holder.order] / 2

    def values(self, a: np.ndarray) -> np.ndarray:
        VK = self._holder.times(self._held(a), self.K_B)
        return self._sample(self.K_A, VK.T)

    def matrix(self, a: np.ndarray) -> np.ndarray:
        """The (p_a, p_b) coefficients of the expansion over pairs of nodes."""
        return self._holder.matrix(self._held(a))

    def gradient(self, residual: np.ndarray) -> np.ndarray:
        return residual

    def precondition(self, a: np.ndarray) -> np.ndarray:
        return a

    def inner(self, a: np.ndarray, b: np.ndarray, values_of_b: np.ndarray) -> float:
        return float(a @ values_of_b[: len(self.edges)])


@dataclass
class Solution:
    coefficients: np.ndarray
    n_iter: int = 0
    converged: bool = False
    history: dict[str, list[float]] = field(default_factory=dict)


def conjugate_gradients(
    model,
    y: np.ndarray,
    alpha: float,
    centre: Callable[[np.ndarray], np.ndarray],
    *,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
    judge: Callable[[np.ndarray], dict[str, float]] | None = None,
    verbose: int = 0,
) -> Solution:
    """Preconditioned conjugate gradients; stops when the error's energy norm is below tol.

    That norm, relative to the solution's, is estimated from the gain of the last 5 steps; tol = 0
    runs max_iter, standing still once the gradient is rounding error alone. `judge` turns the
    current values into errors for the history; where it gives a "validation_error" the best
    iterate is returned, and 20 iterations without a better one end the run (unless tol = 0).
    """
    q = len(y)
    c = model.zero() if start is None else start.copy()
    f = np.zeros(model.n_values) if start is None else model.values(c)
    solution = Solution(c)
    residual = centre(y - f[:q])
    objective = residual @ residual + alpha * model.inner(c, c, f)
    spread = float(centre(y) @ centre(y))
    energy = float(spread - objective)
    gains: list[float] = []
    steepest = 0.0
    best, best_iteration = np.inf, 0
    d = values_of_d = previous = None
    for iteration in range(1, max_iter + 1):
        slope = model.gradient(residual) - alpha * c
        z = model.precondition(slope)
        values_of_z = model.values(z)
        rho = model.inner(slope, z, values_of_z)
        refuse_overflow(rho)
        if not rho > NOISE**2 * steepest * spread:
            solution.converged = True
            break
        if d is None:
            d, values_of_d = z.copy(), values_of_z
        else:
            d = z + (rho / previous) * d
            values_of_d = values_of_z + (rho / previous) * values_of_d
        along = centre(values_of_d[:q])
        curvature = along @ along + alpha * model.inner(d, d, values_of_d)
        refuse_overflow(curvature)
        if not curvature > 0:
            solution.converged = True
            break
        steepest = max(steepest, curvature / model.inner(d, d, values_of_d))
        step, previous = rho / curvature, rho
        c += step * d
        f += step * values_of_d
        residual = centre(y - f[:q])
        objective = residual @ residual + alpha * model.inner(c, c, f)
        energy += step * rho
        gains.append(step * rho)
        solution.n_iter = iteration
        errors = {"objective": float(objective), "train_loss": float(residual @ residual / q)}
        errors |= judge(f) if judge else {}
        for name, value in errors.items():
            solution.history.setdefault(name, []).append(value)
        if verbose:
            print(f"iteration {iteration}: " + ", ".join(f"{k} {v:.6g}" for k, v in errors.items()))
        watched = errors.get("validation_error")
        if watched is not None and watched < best:
            best, best_iteration = watched, iteration
            solution.coefficients = c.copy()
        if tol > 0 and _is_small(gains, energy, tol):
            solution.converged = True
            break
        if tol > 0 and watched is not None and iteration - best_iteration >= PATIENCE:
            solution.converged = True
            break
    if tol == 0 and solution.n_iter:
        for values in solution.history.values():
            values.extend([values[-1]] * (max_iter - solution.n_iter))
        solution.n_iter = max_iter
    if not best_iteration:
        solution.coefficients = c
    return solution


def _is_small(gains: list[float], energy: float, tol: float) -> bool:
    recent = sum(gains[-DELAY:])
    if len(gains) >= DELAY and recent <= tol**2 * energy:
        return True
    return gains[-1] <= (1e-3 * tol) ** 2 * energy
