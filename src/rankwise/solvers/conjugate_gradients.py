"""Conjugate gradients on the normal equations as an operator: O(nnz) an iteration, never dense."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.solvers.solver import Solution, Solver
from rankwise.spaces.space import ItemMatrix


def conjugate_gradients(
    F, quadratic: Quadratic, alpha: float, *, tol: float, max_iter: int, start=None
) -> tuple[np.ndarray, int]:
    """w of (FᵀLF + λI) w = Fᵀb to a relative residual `tol`, and the iterations it took.

    Section 4.3 of Pahikkala et al. 2009. One column after another; warns where max_iter ends it.
    """
    n = F.shape[1]
    laplacian = quadratic.laplacian
    right = np.asarray(F.T @ quadratic.target.b)

    def product(w):
        return F.T @ laplacian.apply(F @ w) + alpha * w

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    w = np.zeros_like(right)
    most = 0
    for j in range(right.shape[1]):
        count = _Counter()
        first = None if start is None else start[:, j]
        w[:, j], status = cg(
            operator, right[:, j], x0=first, rtol=tol, atol=0.0, maxiter=max_iter, callback=count
        )
        most = max(most, count.iterations)
        if status > 0:
            residual = np.linalg.norm(product(w[:, j]) - right[:, j]) / np.linalg.norm(right[:, j])
            warnings.warn(
                f"conjugate gradients stopped after {max_iter} iterations with a relative "
                f"residual of {residual:.1e}, above tol={tol:g}; raise max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return w, most


class _Counter:
    def __init__(self):
        self.iterations = 0

    def __call__(self, _):
        self.iterations += 1


class ConjugateGradientSolver(Solver):
    name = "cg"
    requires = frozenset({"features", "quadratic"})

    def __init__(self, matrix: ItemMatrix, quadratic: Quadratic, *, tol: float, max_iter: int):
        self.check(matrix, quadratic)
        self._F, self._quadratic, self._limits = (
            matrix.F,
            quadratic,
            {"tol": tol, "max_iter": max_iter},
        )

    def solve(self, alpha, *, start=None) -> Solution:
        w, n_iter = conjugate_gradients(
            self._F, self._quadratic, alpha, start=start, **self._limits
        )
        return Solution(w, n_iter=n_iter)
