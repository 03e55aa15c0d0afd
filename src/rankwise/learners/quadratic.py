"""The shell around quadratic problems: one fit, one path, all hold-outs, for any supervision."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.holdout.quadratic_holdouts import QuadraticFit, Supervision
from rankwise.holdout.small_holdouts import SmallHoldouts
from rankwise.learners.base import Ranker
from rankwise.solvers.conjugate_gradients import conjugate_gradients
from rankwise.spaces.kernels import check_kernel, kernel_matrix
from rankwise.spaces.space import build_space
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, check_index, check_items, check_positive

SOLVERS = {
    "auto": "cg for sparse linear data too large to decompose, else spectral",
    "spectral": "one symmetric eigendecomposition; exact",
    "cg": "conjugate gradients on the operator, linear kernel only, to a relative residual tol",
}
DECOMPOSABLE = 3000
"""Sparse data with more items and features than this go to conjugate gradients."""


class QuadraticRanker(Ranker):
    """Learners whose objective is Σ (squared differences) + alpha‖f‖²."""

    _space: Any
    _fits: list[tuple[np.ndarray, QuadraticFit]] | None

    def _check_parameters(self) -> None:
        check_positive("alpha", self.alpha)
        check_positive("tol", self.tol)
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive integer; got {self.max_iter!r}.")
        check_choice("solver", self.solver, SOLVERS)
        check_kernel(self.kernel, **self._kernel_parameters())

    def _prepare(self, X, supervision: Supervision):
        """Take a problem on, without solving it yet."""
        self._X, self._supervision = X, supervision
        self._space = self._fits = None
        self._basis = self.basis
        self.n_iter_ = 1
        return self

    def hold_outs(self, X, y=None, *, qid=None, sample_weight=None, preferences=None) -> HeldOut:
        """Temporary: the hold-outs of a problem that is checked and prepared, but not solved."""
        model = clone(self)
        model._check_parameters()
        X = check_items(model, X, reset=True)
        explicit = () if preferences is None else (preferences,)
        supervision, _ = model._supervise(X, y, qid, sample_weight, *explicit)
        if hasattr(supervision, "check"):
            supervision.check()
        return QuadraticHoldOuts(model._prepare(X, supervision))

    def _fit_problem(self, X, supervision: Supervision, single_output: bool):
        """Solve for alpha and set the fitted attributes."""
        self._prepare(X, supervision)
        self._single_output = single_output
        self._set_model(self._solve_path([self.alpha])[0])
        return self

    def _uses_cg(self, X) -> bool:
        if self.solver == "cg" and (self.kernel != "linear" or self.basis is not None):
            raise ValueError('solver="cg" works on linear kernels without basis=.')
        plain = self.kernel == "linear" and self.basis is None
        large = sparse.issparse(X) and min(X.shape) > DECOMPOSABLE
        return self.solver == "cg" or (self.solver == "auto" and plain and large)

    def _cg_path(self, X, supervision, alphas) -> np.ndarray:
        """(a, n, k) weights by conjugate gradients, each alpha started from the next larger."""
        groups = supervision.groups()
        k = sum(len(columns) for columns, _ in groups)
        found = np.empty((len(alphas), X.shape[1], k))
        for columns, part in groups:
            quadratic, start = part.quadratic(), None
            for place in np.argsort(-np.asarray(alphas), kind="stable"):
                start, iterations = conjugate_gradients(
                    X, quadratic, alphas[place], tol=self.tol, max_iter=self.max_iter, start=start
                )
                found[place][:, columns] = start
                self.n_iter_ = max(self.n_iter_, iterations)
        return found

    def _decomposed(self) -> list[tuple[np.ndarray, QuadraticFit]]:
        """The groups of outputs and their problems, decomposed once."""
        if self._fits is None:
            self._refuse_without_items()
            self._space = build_space(
                self._X, self.kernel, self._kernel_parameters(), self._basis, self.random_state
            )
            if self._basis is not None:
                self._basis = self._space.basis_index
            matrix = self._space.matrix
            groups = self._supervision.groups()
            self._fits = [(columns, QuadraticFit(matrix, part)) for columns, part in groups]
        return self._fits

    def _by_output(self, compute) -> np.ndarray:
        """compute(fit) for each group of outputs, joined along the last axis."""
        parts = [(columns, compute(fit)) for columns, fit in self._decomposed()]
        if len(parts) == 1:
            return parts[0][1]
        k = sum(len(columns) for columns, _ in parts)
        out = np.empty((*parts[0][1].shape[:-1], k))
        for columns, values in parts:
            out[..., columns] = values
        return out

    def _solve_path(self, alphas) -> np.ndarray:
        """(a, model dimensions, k)."""
        if self._fits is None and self._supervision is not None and self._uses_cg(self._X):
            return self._cg_path(self._X, self._supervision, alphas)
        solutions = self._by_output(lambda fit: fit.spectrum.path(alphas))
        return np.stack([self._space.to_model(solution) for solution in solutions])

    def _set_model(self, solution: np.ndarray) -> None:
        single = self._single_output
        if self._space is None or self._space.is_linear:
            self.coef_ = solution[:, 0] if single else np.ascontiguousarray(solution.T)
        else:
            self.dual_coef_ = solution[:, 0] if single else solution
        if self._space is not None and hasattr(self._space, "basis_index"):
            self.basis_index_ = self._space.basis_index
            self._X_basis = self._space.X_basis

    def path(self, alphas) -> np.ndarray:
        """Coefficients for every alpha from one decomposition, in the order given.

        (a, n) or (a, k, n) as `coef_` for the linear kernel, (a, r) or (a, r, k) as `dual_coef_`
        for others. After a fit by conjugate gradients each alpha starts from the one before.
        """
        check_is_fitted(self)
        alphas = check_alphas(alphas)
        found = self._solve_path(alphas)
        if self._single_output:
            return found[..., 0]
        return found.swapaxes(1, 2) if self.kernel == "linear" else found

    def _without(self, items: np.ndarray, alphas) -> np.ndarray:
        """(a, |U|, k) predictions without the items; by refitting where nothing is decomposed."""
        if self._uses_cg(self._X):
            staying = np.setdiff1d(np.arange(self._X.shape[0]), items)
            path = self._cg_path(self._X[staying], self._supervision.take(staying), alphas)
            return np.stack([np.asarray(self._X[items] @ w) for w in path])
        return self._by_output(lambda fit: fit.without(items, alphas))

    def _leave_groups_out(self, groups: list[np.ndarray], alphas) -> np.ndarray:
        """(a, m, k) predictions of every item without its group."""
        if not self._uses_cg(self._X):
            return self._by_output(lambda fit: fit.leave_groups_out(groups, alphas))
        parts = [self._without(items, alphas) for items in groups]
        out = np.empty((len(alphas), self._X.shape[0], parts[0].shape[2]))
        for items, part in zip(groups, parts):
            out[:, items] = part
        return out

    def _outputs(self, values: np.ndarray) -> np.ndarray:
        return values[..., 0] if self._single_output else values

    def holdout(self, index) -> np.ndarray:
        """Predictions for the training items `index` by the model trained without them.

        Equal to refitting with the same alpha, basis items among them removed. O(|U|³ + |U|² r)
        where they are whole queries, where the loss is pointwise or where one query has all its
        pairs; else one refit of the queries they touch.
        """
        check_is_fitted(self)
        self._refuse_without_items()
        index = check_index(index, self._X.shape[0])
        return self._outputs(self._without(index, [self.alpha])[0])

    def leave_one_out(self) -> np.ndarray:
        """(m,) or (m, k): each item predicted by the model trained without it.

        O(m r) in all for a pointwise loss or a single query with all its pairs, O(Σ m_q³) with
        queries; O(m_q³) an item for other costs.
        """
        check_is_fitted(self)
        self._refuse_without_items()
        found = self._by_output(lambda fit: SmallHoldouts(fit, self.alpha).leave_each_out())
        return self._outputs(found)

    def leave_query_out(self) -> np.ndarray:
        """(m,) or (m, k): each item predicted by the model trained without its whole query.

        Equation 33 of Pahikkala et al. 2009: O(Σ m_q³ + m_q² r) in all.
        """
        check_is_fitted(self)
        self._refuse_without_items()
        queries = self._supervision.queries
        if len(queries) < 2:
            raise ValueError(
                "leave_query_out needs a model fitted with qid of two or more queries."
            )
        return self._outputs(self._leave_groups_out(list(queries), [self.alpha])[0])

    def leave_pair_out(self, pairs=None) -> np.ndarray:
        """(p, 2) or (p, 2, k): both items of each pair predicted by the model trained without them.

        Default: every pair i < j in row order, with queries only pairs of the same query. One
        query with all its pairs: O(1) a pair after one matrix (equations 36 to 39), O(r) a pair
        where weights differ; with queries the same for each query's block. Tie-free and unit
        costs of r score levels: O(1) a pair after r(r + 1)/2 such matrices. Relative cost and
        explicit preferences: O(m_q³) a pair. Pairs that take basis items along: O(r) each.
        """
        check_is_fitted(self)
        self._refuse_without_items()
        if pairs is None:
            pairs = pairs_within(self._supervision.queries)
        else:
            pairs = _check_pairs(pairs, self._X.shape[0])
        found = self._by_output(lambda fit: SmallHoldouts(fit, self.alpha).leave_out(pairs))
        return self._outputs(found)

    def _refuse_without_items(self) -> None:
        if self._supervision is None:
            raise ValueError(
                "this model holds no training items, which hold-outs and paths need: partial_fit "
                "keeps sums only, and rankwise.save keeps items with training_data=True only."
            )

    def __getstate__(self):
        """Without the decomposition, which any later hold-out finds again."""
        state = super().__getstate__().copy()
        state.update(_fits=None, _space=None)
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class QuadraticHoldOuts(HeldOut):
    """Temporary: the hold-outs of a prepared learner behind the protocol."""

    def __init__(self, model: Any):
        self.model, self.supervision = model, model._supervision

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        return self.model._without(items, alphas)

    def leave_groups_out(self, groups, alphas: Alphas) -> np.ndarray:
        return self.model._leave_groups_out(groups, alphas)

    def leave_each_out(self, alphas: Alphas) -> np.ndarray:
        return self._small(alphas, lambda holdouts: holdouts.leave_each_out())

    def leave_pairs_out(self, pairs: np.ndarray, alphas: Alphas) -> np.ndarray:
        return self._small(alphas, lambda holdouts: holdouts.leave_out(pairs))

    def judge_pairs(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        judged = self._small([alpha], lambda holdouts: np.stack(holdouts.judge_pairs()))[0]
        return judged[0], judged[1]

    def term_sizes(self, alpha: float) -> np.ndarray:
        model = self.model
        if model._uses_cg(model._X):
            w = model._cg_path(model._X, model._supervision, [alpha])[0]
            return np.asarray(abs(model._X) @ np.abs(w))
        sizes = model._by_output(lambda fit: _term_sizes(fit.spectrum, alpha))
        if model.kernel == "linear":
            return sizes
        coefficients, basis = model._solve_path([alpha])[0], model._space.basis_index
        if model.kernel == "precomputed":
            K = model._X[:, basis]
        else:
            parameters = model._kernel_parameters()
            K = kernel_matrix(model._X, model._space.X_basis, model.kernel, **parameters)
        return np.maximum(sizes, np.abs(K) @ np.abs(coefficients))

    def _small(self, alphas: Alphas, compute) -> np.ndarray:
        parts = [
            self.model._by_output(lambda fit, alpha=alpha: compute(SmallHoldouts(fit, alpha)))
            for alpha in alphas
        ]
        return np.stack(parts)


def _term_sizes(spectrum, alpha: float) -> np.ndarray:
    """|P| D |B|ᵀ|β|: the terms of f = P D Bᵀβ."""
    moments = np.abs(spectrum.B).T @ np.abs(spectrum.beta)
    return np.abs(spectrum.P) @ (moments / (spectrum.eigenvalues + alpha)[:, None])


def pairs_within(queries: Queries) -> np.ndarray:
    """(p, 2) every pair i < j of the same query, in row order."""
    blocks = []
    for members in queries:
        items = np.sort(members)
        i, j = np.triu_indices(len(items), 1)
        blocks.append(np.column_stack((items[i], items[j])))
    pairs = np.concatenate(blocks)
    return pairs if len(queries) == 1 else pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _check_pairs(pairs, n_items: int) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"pairs must be an integer array (p, 2), got shape {pairs.shape}.")
    outside = (pairs < 0) | (pairs >= n_items)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(f"pairs[{row}] = {pairs[row]} is not within rows 0 to {n_items - 1}.")
    if (pairs[:, 0] == pairs[:, 1]).any():
        row = int(np.argmax(pairs[:, 0] == pairs[:, 1]))
        raise ValueError(f"pairs[{row}] names item {pairs[row, 0]} twice.")
    return pairs.astype(np.int64)


def check_alphas(alphas) -> np.ndarray:
    try:
        grid = np.atleast_1d(np.asarray(alphas, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"alphas must hold positive numbers; got {alphas!r}.") from error
    if grid.ndim != 1 or not len(grid):
        raise ValueError("alphas must be a non-empty one-dimensional array.")
    for alpha in grid:
        check_positive("every alpha in alphas", float(alpha))
    return grid
