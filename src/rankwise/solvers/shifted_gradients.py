"""Conjugate gradients for many alphas at the price of one: they share a Krylov space.

The dual variables solve (S + alpha) a = L y with S = L R L, R the kernel of the edges and L the
projection of the loss. The Krylov space of S and L y does not depend on alpha, so the iterations of
the smallest alpha serve all others: each of them needs only a recurrence of its own, O(q) per
iteration, and no further product with R (Jegerlehner 1996, section 2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from rankwise.solvers.solver import CONVERGED, MAX_ITER, Solution

ROUNDING = 8 * np.finfo(float).eps
"""A residual this small relative to the right side consists of rounding errors."""


class SharedSystem(Protocol):
    """What the shared iterations need of a system in dual variables."""

    y: np.ndarray
    project: Callable[[np.ndarray], np.ndarray]

    def values_of(self, w: np.ndarray) -> np.ndarray: ...


def shifted_solutions(
    system: SharedSystem, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Solution]:
    """Solutions for all alphas > 0, each to a relative error `tol` of h in the energy norm.

    The squared energy norm of the error of h is eᵀS(S + alpha)e ≤ ‖r‖², where r is the residual of
    the dual system; that of h itself is (Ly)ᵀ S a. So an alpha stops when ‖r‖² ≤ tol² (Ly)ᵀ S a.
    """
    right = system.project(system.y)
    shifts = np.asarray(alphas, dtype=float)
    base = float(shifts.min())
    n, q = len(shifts), len(right)
    points, directions = np.zeros((n, q)), np.tile(right, (n, 1))
    iterations = np.zeros(n, dtype=int)
    running = np.full(n, float(right @ right) > 0)
    residual, direction = right.copy(), right.copy()
    squared = float(residual @ residual)
    zeta, zeta_before = np.ones(n), np.ones(n)
    size_before, growth = 1.0, 0.0
    target = float(right @ right)
    for iteration in range(1, max_iter + 1):
        if not running.any():
            break
        product = system.project(system.values_of(direction)[:q]) + base * direction
        curvature = float(direction @ product)
        if not curvature > 0:
            break
        size = squared / curvature
        offsets = shifts - base
        zeta_next = (zeta * zeta_before * size_before) / (
            size * growth * (zeta_before - zeta) + zeta_before * size_before * (1 + offsets * size)
        )
        zeta_next[~running] = zeta[~running] = 1.0  # they would vanish
        sizes = size * zeta_next / zeta
        for i in np.flatnonzero(running):
            points[i] += sizes[i] * directions[i]
        residual -= size * product
        before, squared = squared, float(residual @ residual)
        growth = squared / before
        growths = growth * (zeta_next / zeta) ** 2
        for i in np.flatnonzero(running):
            directions[i] *= growths[i]
            directions[i] += zeta_next[i] * residual
            iterations[i] = iteration
            # (Ly)ᵀ S a = (Ly)ᵀ (Ly − r − alpha a), and r is nearly orthogonal to L y
            energy = target - zeta_next[i] * float(right @ residual)
            energy -= shifts[i] * float(right @ points[i])
            if zeta_next[i] ** 2 * squared <= tol**2 * max(energy, 0.0):
                running[i] = False
        zeta_before, zeta, size_before = zeta, zeta_next, size
        zeta_before[~running] = zeta[~running] = 1.0
        direction *= growth
        direction += residual
        if not squared > ROUNDING**2 * target:
            running[:] = False
    return [
        Solution(w, MAX_ITER if more else CONVERGED, n_iter=int(number))
        for w, more, number in zip(points, running, iterations)
    ]
