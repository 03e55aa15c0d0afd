"""The piecewise linear lower bound of a risk, and the minimum of that model plus alpha‖w‖²."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import piqp

IDLE_LIMIT = 30
"""A plane is dropped after so many iterations in which it supported no minimiser."""
QP_ACCURACY = 1e-14
"""Of the quadratic programme: what it leaves out, later planes would magnify."""


class Plane(NamedTuple):
    """R(Φw') ≥ offset + ⟨slope, w'⟩ for all w', found at w, where p = Φw and R(p) = exact."""

    w: np.ndarray
    p: np.ndarray
    exact: float
    slope: np.ndarray
    offset: float


class CuttingPlanes:
    """R(w) ≥ max_i ⟨a_i, w⟩ + b_i, with the Gram matrix of the slopes a_i."""

    def __init__(self) -> None:
        self._slopes: list[np.ndarray] = []
        self._offsets = np.zeros(0)
        self._gram = np.zeros((0, 0))
        self._support = np.zeros(0)
        self._idle = np.zeros(0, dtype=int)

    def __len__(self) -> int:
        return len(self._slopes)

    def add(self, slope: np.ndarray, offset: float) -> None:
        """Lines 5 to 7 of Algorithm 1; O(t n) for the new row of the Gram matrix."""
        t = len(self)
        self._slopes.append(slope)
        gram = np.empty((t + 1, t + 1))
        gram[:t, :t] = self._gram
        gram[t] = gram[:, t] = [other @ slope for other in self._slopes]
        self._gram = gram
        self._offsets = np.append(self._offsets, offset)
        self._support = np.append(self._support, 0.0 if t else 1.0)
        self._idle = np.append(self._idle, 0)

    def minimise(self, alpha: float) -> tuple[np.ndarray, float]:
        """Line 8: argmin J_t and the lower bound J_t of min J, through the dual on the simplex.

        Any point v of the simplex proves bᵀv − vᵀGv/(4 alpha) ≤ min J, so the bound holds however
        precisely the programme was solved. It is computed as bᵀv − alpha‖w‖², for the rounding
        errors of G, over a small alpha, may exceed the gap.
        """
        candidates = [self._support, _simplex_minimum(self._gram / (2 * alpha), self._offsets)]
        bounds = [self._dual(v, alpha) for v in candidates]
        best = candidates[int(np.argmax(bounds))]
        used = best > 1e-9
        self._support = np.where(used, best, 0.0) / best[used].sum()
        bound = float(self._offsets @ self._support)
        w = np.zeros_like(self._slopes[0])
        for i in np.flatnonzero(used):
            w -= (self._support[i] / (2 * alpha)) * self._slopes[i]
        self._drop_idle(used)
        return w, bound - alpha * float(w @ w)

    def _dual(self, v: np.ndarray, alpha: float) -> float:
        return float(self._offsets @ v - v @ self._gram @ v / (4 * alpha))

    def _drop_idle(self, used: np.ndarray) -> None:
        self._idle = np.where(used, 0, self._idle + 1)
        kept = np.flatnonzero(self._idle <= IDLE_LIMIT)
        if len(kept) < len(self):
            self._slopes = [self._slopes[i] for i in kept]
            self._offsets, self._idle = self._offsets[kept], self._idle[kept]
            self._gram = self._gram[np.ix_(kept, kept)]
            self._support = self._support[kept] / self._support[kept].sum()


def _simplex_minimum(P: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin ½vᵀPv − bᵀv over v ≥ 0, Σv = 1."""
    t = len(b)
    if t == 1:
        return np.ones(1)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = QP_ACCURACY
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = QP_ACCURACY
    solver.setup(np.asfortranarray(P), -b, np.ones((1, t), order="F"), np.ones(1), x_l=np.zeros(t))
    solver.solve()
    v = np.maximum(solver.result.x, 0.0)
    total = v.sum()
    return v / total if np.isfinite(total) and total > 0 else np.full(t, 1.0 / t)
