"""Problem(space, loss): one training set with a quadratic loss, its path and all its hold-outs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import MissingRequirement
from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from rankwise.holdout.statement_holdouts import TurnedStatements
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.quadratic_loss import ComparableRows, QuadraticLoss
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.cholesky import CholeskySolver, LostDigits, NormalEquations
from rankwise.solvers.conjugate_gradients import ConjugateGradientSolver
from rankwise.solvers.rounding_errors import NEARLY_EQUAL, STANDARDISE, stiffness
from rankwise.solvers.solver import CONVERGED
from rankwise.solvers.spectrum import PrimalSpectrum
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import Basis, RandomState
from rankwise.spaces.space import (
    Features,
    ItemMatrix,
    LinearSpace,
    ReducedSpace,
    Space,
    build_space,
)
from rankwise.supervision.supervision import ComparedItems, Supervision
from rankwise.validation import refuse_non_finite

SOLVERS = {
    "auto": "cg for sparse linear data if it converges in the time of a decomposition; else "
    "cholesky for one alpha, and spectral for paths and hold-outs",
    "cholesky": "one Cholesky factorisation for each alpha; hold-outs decompose",
    "spectral": "one symmetric eigendecomposition for all alphas; exact",
    "cg": "conjugate gradients on the operator, linear kernel only, to a relative residual tol",
}
DECOMPOSABLE = 3000
"""Sparse data with more items and more features than this are not decomposed automatically."""
ACCURACY = 1e-10
"""The relative error of the coefficients at which automatic conjugate gradients stop."""
FEWEST = 100
"""Conjugate gradients are worth a try if a decomposition takes the time of so many iterations."""


def affordable_iterations(X: Matrix, supervision: Supervision) -> int:
    """How many iterations of conjugate gradients take the time of a decomposition; 0 if X is dense.

    The constants are seconds on one ordinary core: for each n³ of a symmetric eigendecomposition,
    for each number of a sparse product, and for each iteration besides its products.
    """
    if isinstance(X, np.ndarray):
        return 0
    pairs = len(supervision.preferences) if isinstance(supervision, ComparedItems) else 0
    iteration = 2e-9 * (2 * X.nnz + 2 * pairs + X.shape[0]) + 5e-5
    return int(2e-10 * min(X.shape) ** 3 / (iteration * supervision.n_outputs))


def choose_solver(solver: str, X: Matrix, kernel: Kernel, basis: Basis) -> str:
    """The solver that `solver` means for these items: one of SOLVERS, "auto" if it depends on use.

    MissingRequirement if conjugate gradients are asked for without the features of the items.
    """
    plain = kernel.is_linear and basis is None
    if solver == "cg" and not plain:
        raise MissingRequirement(
            'solver="cg" requires the features of the items: use a linear kernel without basis='
            ', or solver="spectral".'
        )
    if solver == "auto" and plain and sparse.issparse(X) and min(X.shape) > DECOMPOSABLE:
        return "cg"
    return solver


def sums_show_finiteness(X: Matrix, kernel: Kernel, basis: Basis, solver: str) -> bool:
    """Whether X is solved through XᵀLX, which is not finite if an entry of X is not.

    PrimalSpectrum then names the entry, so that no other pass over X has to look for it.
    """
    is_plain = kernel.is_linear and basis is None and isinstance(X, np.ndarray)
    return is_plain and X.shape[1] <= X.shape[0] and solver in ("auto", "spectral")


class QuadraticProblem(HeldOut):
    """The solutions for every alpha, and predictions for held-out items.

    Nothing is computed before it is needed. A single alpha with a kernel matrix takes one Cholesky
    factorisation in place, after which the kernel matrix is gone. Paths of features and of a
    reduced set take sums over blocks of items, which one alpha factorises and several decompose;
    only hold-outs need the map of all items. The first longer path or
    hold-out builds the space (again) and decomposes it, once for each group of outputs that share
    a Laplacian.
    """

    def __init__(
        self,
        X: Matrix,
        supervision: Supervision,
        loss: QuadraticLoss,
        kernel: Kernel,
        *,
        basis: Basis = None,
        random_state: RandomState = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ):
        self.X, self.supervision, self.loss, self.kernel = X, supervision, loss, kernel
        self.basis, self.random_state = basis, random_state
        self.tol, self.max_iter = tol, max_iter
        self.n_iter = 1
        self.solver = choose_solver(solver, X, kernel, basis)
        self.uses_cg = self.solver == "cg"
        self._accuracy = np.inf if solver == "cg" else ACCURACY
        self._affordable = 0
        if self.solver == "auto" and kernel.is_linear and basis is None:
            self._affordable = affordable_iterations(X, supervision)

    @cached_property
    def space(self) -> Space:
        if self.uses_cg:
            return LinearSpace(self.X, may_be_dual=False)
        space = self._build_space(self.basis)
        if self.basis is not None:
            self.basis = space.representation.basis_index
        return space

    def _build_space(self, basis: Basis) -> Space:
        given = (self.X, self.kernel, basis, self.random_state)
        return build_space(*given, ignore_offsets=self.loss.ignores_offsets)

    @cached_property
    def parts(self) -> list[tuple[np.ndarray, QuadraticHoldouts]]:
        """The groups of outputs that share a Laplacian, each with its decomposed problem."""
        space = self.space
        if self.uses_cg:  # a decomposition is asked for after all: take the cheaper side
            space = self._build_space(None)
        parts = []
        for columns in self.loss.output_groups(self.supervision):
            told = self.supervision.select_outputs(columns)
            parts.append((columns, QuadraticHoldouts(space.matrix, told, self.loss)))
        if self._known_sums and self.basis is None:
            for (_, part), (_, sums) in zip(parts, self._sums):
                part.sums = sums
        return parts

    def by_output(self, compute: Callable[[QuadraticHoldouts], np.ndarray]) -> np.ndarray:
        """compute(part) for each group of outputs, joined along the last axis."""
        return self._joined([(columns, compute(part)) for columns, part in self.parts])

    def _joined(self, results: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Results of each group of outputs, joined along the last axis."""
        if len(results) == 1:
            return results[0][1]
        out = np.empty((*results[0][1].shape[:-1], self.supervision.n_outputs))
        for columns, values in results:
            out[..., columns] = values
        return out

    def path(self, alphas: Alphas) -> np.ndarray:
        """(a, d, k) coefficients of the model for every alpha.

        Conjugate gradients that are not asked for may take the time of a decomposition; if they
        have not converged by then, the problem is decomposed after all.
        """
        if self.uses_cg or (self._affordable >= FEWEST and "parts" not in vars(self)):
            weights = self._cg_path(Features(self.X), self.supervision, alphas)
            if weights is not None:
                return weights
        solutions = None
        if self._factorises(alphas):
            solutions = self._cholesky_path(alphas)
        elif self._has_sums and "parts" not in vars(self):
            solutions = self._joined([(c, sums.path(alphas)) for c, sums in self._sums])
        if solutions is None:
            solutions = self.by_output(lambda part: part.spectrum.path(alphas))
        self._warn_of_equal_values(float(np.min(alphas)))
        return np.stack([self.space.to_model(solution) for solution in solutions])

    def _warn_of_equal_values(self, alpha: float) -> None:
        """Warn if a reduced set may have lost differences of kernel values that alpha makes use of.

        An exact kernel matrix says for itself what its rounding errors do: see DualSpectrum.
        """
        if not (isinstance(self.space, ReducedSpace) and self.loss.ignores_offsets):
            return
        digits = self.space.digits
        if digits.nearly_equal:
            quadratic = self.loss.quadratic(self.supervision.select_outputs(np.array([0])))
            if digits.may_miss_terms(stiffness(quadratic.laplacian) / alpha):
                warnings.warn(f"{NEARLY_EQUAL}: {STANDARDISE}.", ConvergenceWarning, stacklevel=4)

    def _factorises(self, alphas: Alphas) -> bool:
        """Whether Cholesky factorisations are asked for, or cheaper than what is known already."""
        if self.solver != "auto":
            return self.solver == "cholesky"
        decomposed = "parts" in vars(self) and any(
            "spectrum" in vars(part) for _, part in self.parts
        )
        return len(alphas) == 1 and not decomposed and self.space.has_kernel_matrix

    @property
    def _has_sums(self) -> bool:
        """Whether paths are solved through normal equations: of features, or of a reduced set."""
        if self.basis is not None:
            return True
        is_primal = isinstance(self.space, LinearSpace) and self.X.shape[1] <= self.X.shape[0]
        return is_primal and self.solver == "auto"

    @property
    def _known_sums(self) -> bool:
        return "_sums" in vars(self)

    @cached_property
    def _sums(self) -> list[tuple[np.ndarray, NormalEquations]]:
        """The normal equations of features or of a reduced set, one group of outputs each.

        Blocks of items are summed; the map of a reduced set is never there as a whole.
        """
        rows = self.space.rows if isinstance(self.space, ReducedSpace) else self.X
        sums = []
        for columns in self.loss.output_groups(self.supervision):
            quadratic = self.loss.quadratic(self.supervision.select_outputs(columns))
            with np.errstate(over="ignore", invalid="ignore"):
                G, moments = quadratic.laplacian.gram(rows, quadratic.target)
            if rows is self.X and not np.isfinite(G).all():
                refuse_non_finite(self.X, "X")
            sums.append((columns, NormalEquations(G, moments)))
        return sums

    def _cholesky_path(self, alphas: Alphas) -> np.ndarray | None:
        """(a, r, k) coefficients of `space.matrix`, or None if some alpha is too small for it."""
        groups = self.loss.output_groups(self.supervision)
        matrix = self.space.matrix
        if "parts" not in vars(self):
            del self.space.matrix  # it is overwritten below
        solutions: np.ndarray | None = None
        for columns in groups:
            quadratic = self.loss.quadratic(self.supervision.select_outputs(columns))
            overwrite = columns is groups[-1] and "parts" not in vars(self)
            try:
                solver = CholeskySolver(matrix, quadratic, overwrite=overwrite)
                found = np.stack([solver.solve(alpha).w for alpha in alphas])
            except LostDigits:
                return None
            del solver  # and its matrix, before the next one is formed
            if solutions is None:
                solutions = np.empty((*found.shape[:2], self.supervision.n_outputs))
            solutions[..., columns] = found
        return solutions

    def _cg_path(
        self, matrix: ItemMatrix, supervision: Supervision, alphas: Alphas
    ) -> np.ndarray | None:
        """(a, n, k) weights by conjugate gradients, each alpha started from the next larger.

        None if they did not become accurate, unless the problem `uses_cg` in any case.
        """
        limits: dict[str, Any] = {"accuracy": self._accuracy, "has_alternative": not self.uses_cg}
        weights = np.empty((len(alphas), self.X.shape[1], supervision.n_outputs))
        left, most = self._affordable, 0
        for columns in self.loss.output_groups(supervision):
            quadratic = self.loss.quadratic(supervision.select_outputs(columns))
            solver = ConjugateGradientSolver(matrix, quadratic, tol=self.tol, **limits)
            start: np.ndarray | None = None
            for i in np.argsort(-np.asarray(alphas), kind="stable"):
                solver.max_iter = self.max_iter if self.uses_cg else min(self.max_iter, left)
                solution = solver.solve(alphas[i], start=start)
                is_accurate = solution.status == CONVERGED and solution.error <= self._accuracy
                if not (is_accurate or self.uses_cg):
                    return None
                start = weights[i][:, columns] = solution.w
                left, most = left - solution.n_iter, max(most, solution.n_iter)
        self.n_iter = max(self.n_iter, most)
        return weights

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        if not self.uses_cg:
            return self.by_output(lambda part: part.without(items, alphas))
        return self.scores_without(items, items, alphas)

    def scores_without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        if not self.uses_cg:
            return self.by_output(lambda part: part.scores_without(items, predicted, alphas))
        staying = np.setdiff1d(np.arange(self.n_items), items)
        path = self._cg_path(Features(self.X[staying]), self.supervision.take(staying), alphas)
        assert path is not None
        return np.stack([np.asarray(self.X[predicted] @ w) for w in path])

    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray:
        if not self.uses_cg:
            return self.by_output(lambda part: part.without_statements(statements, alphas))
        preferences, rest = self.split_statements(statements)
        if not rest.pair_weights().any():
            return np.zeros((len(alphas), len(statements), 1))
        path = self._cg_path(Features(self.X), rest, alphas)
        assert path is not None
        winner, loser = preferences.winner[statements], preferences.loser[statements]
        return np.stack([np.asarray((self.X[winner] - self.X[loser]) @ w) for w in path])

    def leave_preferences_out(self, alphas: Alphas) -> np.ndarray:
        return self.by_output(lambda part: part.leave_preferences_out(alphas))

    def turned_statements(self) -> TurnedStatements | None:
        """Hold-outs after statements were turned round; None if they need a solution each."""
        if self.uses_cg or not isinstance(self.supervision, ComparedItems):
            return None
        (_, part), *others = self.parts
        if not isinstance(part.rule, ComparedPairs) or part.offset is not None or others:
            return None
        return TurnedStatements(part, part.rule)

    def leave_groups_out(self, groups: Sequence[np.ndarray], alphas: Alphas) -> np.ndarray:
        if self.uses_cg:
            return super().leave_groups_out(groups, alphas)
        return self.by_output(lambda part: part.leave_groups_out(groups, alphas))

    def leave_each_out(self, alphas: Alphas) -> np.ndarray:
        return self.by_output(lambda part: part.leave_each_out(alphas))

    def leave_pairs_out(self, pairs: np.ndarray, alphas: Alphas) -> np.ndarray:
        return self.by_output(lambda part: part.leave_pairs_out(pairs, alphas))

    def judge_pairs(self, alphas: Alphas) -> Judged:
        return Judged(*self.by_output(lambda part: np.stack(part.judge_pairs(alphas))))

    def pair_matrices(self) -> int:
        """Summed over the groups of outputs; nothing is decomposed."""
        matrices = 0
        for columns in self.loss.output_groups(self.supervision):
            rule = self.loss.holdout_rule(self.supervision.select_outputs(columns))
            if isinstance(rule, ComparableRows):
                n = self._n_features
                matrices += super().pair_matrices() if n is None else rule.pair_matrices_for(n)
            else:
                matrices += super().pair_matrices() if rule is None else rule.pair_matrices
        return matrices

    @property
    def _n_features(self) -> int | None:
        """The number of features that hold-outs see; None if they see a kernel matrix."""
        if self.basis is not None:
            return self.basis if isinstance(self.basis, int) else len(self.basis)
        m, n = self.X.shape
        return n if self.kernel.is_linear and n <= m else None

    def term_sizes(self, alpha: float) -> np.ndarray:
        """The larger of two sums: over eigenvectors, and over features or basis items."""
        of_spectrum = None
        if not self.uses_cg:
            of_spectrum = self.by_output(lambda part: part.spectrum.term_sizes(alpha))
        coefficients = np.abs(self.path([alpha])[0])
        of_model = np.asarray(abs(self.space.represent(self.X)) @ coefficients)
        if of_spectrum is None:
            return of_model
        return of_spectrum if self.kernel.is_linear else np.maximum(of_spectrum, of_model)

    def known_equations(self) -> tuple[list[np.ndarray], np.ndarray] | None:
        """XᵀLX and Xᵀb as the fit computed them; None if it did not need them.

        One matrix if all outputs share the Laplacian, otherwise one matrix for each output.
        """
        known: list[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]] = []
        if self._known_sums and self.basis is None:
            known = [(columns, sums.gram) for columns, sums in self._sums]
        elif "parts" in vars(self):
            for columns, part in self.parts:
                if isinstance(part.spectrum, PrimalSpectrum):
                    known.append((columns, part.spectrum.gram))
        if not known or self.X.shape[1] > self.X.shape[0]:
            return None  # more features than items are solved in other coordinates
        grams: dict[int, np.ndarray] = {}
        moments = np.zeros((self.X.shape[1], self.supervision.n_outputs))
        for columns, (G, of_columns) in known:
            moments[:, columns] = of_columns
            grams |= {int(j): G for j in columns}
        outputs = [0] if self.loss.outputs_always_share else sorted(grams)
        return [grams[j] for j in outputs], moments

    def __getstate__(self) -> dict[str, object]:
        """Without the decomposition, which any later hold-out computes again."""
        computed = ("space", "parts", "_sums")
        return {name: value for name, value in vars(self).items() if name not in computed}
