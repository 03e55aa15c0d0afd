"""What all models of a relation share: their nodes, prediction for pairs of nodes, ranking, score.

`fit` of a learner sets `_rows`, `_columns`, `_two_domains`, `_has_relations` and, by
`_set_coefficients`, `coef_` or `dual_coef_`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from rankwise.exceptions import KernelRepairWarning
from rankwise.learners.fit_memory import FitMemory
from rankwise.metrics import conditional_error
from rankwise.numerics.frame_columns import column_names, require_columns
from rankwise.solvers.rounding_errors import STANDARDISE
from rankwise.spaces.kernel_digits import EPS, TOLERATED
from rankwise.spaces.node_kernels import SideKernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pair_function import Catalogue, PairEffects, PairFunction
from rankwise.spaces.pairwise_kernels import KRONECKER, PAIRWISE
from rankwise.supervision.relation import RelationTask, check_edges
from rankwise.validation import (
    check_count,
    check_items,
    naming_text,
    refuse_non_finite,
    refuse_unreal,
)

LOOKED_AT = 64
"""Conditions whose scores tell whether their digits suffice."""


class RelationModel(FitMemory, BaseEstimator):
    """h(u, v) for pairs of nodes, with conditions that rank objects.

    The kernel of pairs is the argument `pairwise` of a learner, else the Kronecker kernel.
    """

    _rows: Nodes
    _columns: Nodes
    _two_domains: bool
    _has_relations: bool

    def _set_coefficients(self, coefficients: np.ndarray) -> None:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        features = self._rows.through_features and self._columns.through_features
        setattr(self, "coef_" if features else "dual_coef_", self._squeezed(coefficients))
        if self._pairwise == KRONECKER.name and self._loses_digits(coefficients):
            warnings.warn(
                f"rounding errors may change the scores of {type(self).__name__} by more than 1% "
                "of their range, because alpha is so small beside the values of the kernels: "
                f"{STANDARDISE}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _loses_digits(self, coefficients: np.ndarray) -> bool:
        """Whether rounding errors may change scores beside their range within a condition.

        The scores R A Cᵀ, with nodes as rows of R and C, have errors of about the root of Σ (eps
        R_ui A_ij C_vj)². O(p²): some conditions are looked at.
        """
        task = RelationTask(condition=self.condition)
        sides = (self._rows.rows, self._columns.rows)
        R, C = task.conditions_first(*(side / (np.abs(side).max() or 1.0) for side in sides))
        R = R[:: -(-len(R) // LOOKED_AT)]
        if np.ptp(C, axis=0).max() <= 8 * EPS:  # all objects are equal, and so are their scores
            return False
        for A in np.moveaxis(coefficients, 2, 0):
            A = task.conditions_first(A, A.T)[0] / (np.abs(A).max() or 1.0)
            errors = EPS * np.sqrt(R**2 @ A**2 @ (C**2).T)
            if errors.max() > TOLERATED * np.ptp(R @ A @ C.T, axis=1).max():
                return True
        return False

    @property
    def _pairwise(self) -> str:
        """The name of the kernel of pairs that `fit` uses."""
        return getattr(self, "pairwise", KRONECKER.name)

    def _squeezed(self, array: np.ndarray) -> np.ndarray:
        """Without its last axis, unless Y had an axis of relations."""
        return array if self._has_relations else array[..., 0]

    @property
    def pair_function(self) -> PairFunction:
        """The learnt function h: the spaces of row nodes and column nodes, and coefficients."""
        check_is_fitted(self)
        coefficients = np.atleast_3d(self.coef_ if hasattr(self, "coef_") else self.dual_coef_)
        kernel = PAIRWISE[getattr(self.fitted_parameters, "pairwise", KRONECKER.name)]
        return PairFunction(self._rows, self._columns, coefficients, kernel, self._effects())

    def _effects(self) -> PairEffects | None:
        """Unpenalised effects, where a learner has them."""
        return None

    def predict(self, U, V=None) -> np.ndarray:
        """(len(U), len(V)[, k]) scores h(u, v); V=None means U. Kernels are evaluated in blocks."""
        U, V = self._check_pair(U, V)
        return self._squeezed(self.pair_function.scores(U, V))

    def predict_edges(self, U, V, edges) -> np.ndarray:
        """(n[, k]) scores of only the pairs (U[i], V[j]) of `edges` (n, 2)."""
        U, V = self._check_pair(U, V)
        edges = check_edges(edges, (U.shape[0], V.shape[0]))
        return self._squeezed(self.pair_function.at_edges(U, V, edges))

    def rank(self, u, V, k=None) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the k best of V given the node u, best first, and their scores.

        u is a row node, or a column node with condition="column". With several nodes u both results
        have one row for each of them. V holds the candidates, or is their `catalogue`. The model is
        folded into one vector for each u first; candidates are then scored in blocks and only the k
        best are sorted, O(len(V)) besides the kernel; k=None ranks all of them. Equal scores keep
        the order of V. With several relations both results have a last axis of relations.
        """
        check_is_fitted(self)
        k = check_count("k", k, none=True)
        task = RelationTask(condition=self.fitted_parameters.condition)
        given, ranked = task.conditions_first("row", "column")
        u = self._check_side(one_or_more(u), given)
        if isinstance(V, Catalogue):
            index, scores = V.best(u, V.n if k is None else k)
        else:
            V = self._check_side(V, ranked)
            n_best = V.shape[0] if k is None else k
            index, scores = self._conditional_function().best(u, V, n_best)
        index, scores = self._squeezed(index), self._squeezed(scores)
        return (index[0], scores[0]) if u.shape[0] == 1 else (index, scores)

    def catalogue(self, V) -> Catalogue:
        """The candidates V prepared for many calls of `rank(u, catalogue, k)`.

        Their kernel values are multiplied with the coefficients once, O(len(V) d_a d_b). Then a new
        node u costs its own kernel values and one product of length d_a per candidate, however
        expensive the kernel of the candidates is. Memory: len(V) · d_a numbers.
        """
        check_is_fitted(self)
        task = RelationTask(condition=self.fitted_parameters.condition)
        _, ranked = task.conditions_first("row", "column")
        return Catalogue(self._conditional_function(), self._check_side(V, ranked))

    def _conditional_function(self) -> PairFunction:
        """The learnt function with conditions as rows."""
        task = RelationTask(condition=self.fitted_parameters.condition)
        return task.conditions_first(self.pair_function, self.pair_function.transposed())[0]

    def score(self, U, V, Y) -> float:
        """1 − conditional ranking error (equation 4) of the scores of U × V; V=None means U."""
        S, Y = np.atleast_3d(self.predict(U, V)), np.atleast_3d(np.asarray(Y, dtype=float))
        if S.shape != Y.shape:
            raise ValueError(f"Y must have the shape of the predictions {S.shape}, got {Y.shape}.")
        relations = zip(np.moveaxis(Y, 2, 0), np.moveaxis(S, 2, 0))
        condition = self.fitted_parameters.condition
        errors = [conditional_error(y, s, condition) for y, s in relations]
        return 1 - float(np.mean(errors))

    def _check_side(self, U: Any, side: str) -> Any:
        nodes = self._rows if side == "row" else self._columns
        U = side_by_side(U, len(nodes.parts), f"{side} nodes")
        if not self._two_domains:
            return check_items(self, U, reset=False)
        number = ("row", "column").index(side)
        names = getattr(self, "feature_names_in_", (None, None))[number]
        if names is not None:
            U = require_columns(U, names, f"the frame of {side} nodes")
        return check_nodes(U, f"{side} nodes", self.n_features_in_[number])

    def _check_pair(self, U: Any, V: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        if V is None and self._two_domains:
            raise ValueError(
                "V is required: this model has two domains, U holds row nodes and V column nodes."
            )
        U = self._check_side(U, "row")
        return U, U if V is None else self._check_side(V, "column")


def check_domains(model: Any, X: Any, task: RelationTask) -> tuple[Any, Any]:
    """The row nodes A and the column nodes B; B is A if there is one domain.

    Sets n_features_in_ and feature_names_in_ of the model.
    """
    if not isinstance(X, tuple):
        X = check_items(model, X, reset=True)
        return X, X
    task.check_domains(X)
    A, B = check_nodes(X[0], "A"), check_nodes(X[1], "B")
    model.n_features_in_ = (A.shape[1], B.shape[1])
    model.__dict__.pop("feature_names_in_", None)
    names = (column_names(X[0]), column_names(X[1]))
    if any(one is not None for one in names):
        model.feature_names_in_ = names
    return A, B


def nodes_of(A: Any, B: Any, kernels: tuple[SideKernel, SideKernel]) -> tuple[Nodes, Nodes]:
    """The row nodes and the column nodes, which are the same object if nothing tells them apart."""
    rows = Nodes.build(A, kernels[0], "the nodes" if B is A else "the row nodes")
    same = B is A and kernels[0] == kernels[1]
    return rows, rows if same else Nodes.build(B, kernels[1], "the column nodes")


def report_repairs(model: Any, rows: Nodes, columns: Nodes, stacklevel: int = 4) -> None:
    """Set `repairs_` of a model with repair=, and warn of each matrix that was changed."""
    model.__dict__.pop("repairs_", None)
    if model.repair is None:
        return
    sides = (rows,) if columns is rows else (rows, columns)
    model.repairs_ = [report for side in sides for report in side.repairs]
    for report in model.repairs_:
        warnings.warn(
            f"the kernel of {report['nodes']} was repaired (repair={report['repair']!r}): its "
            f"smallest eigenvalue was {report['smallest_eigenvalue']:.3g} (the largest "
            f"{report['largest_eigenvalue']:.3g}), and the matrix changed by "
            f"{report['relative_change']:.2%} in the Frobenius norm.",
            KernelRepairWarning,
            stacklevel=stacklevel,
        )


def check_nodes(X: Any, name: str, n_features: int | None = None) -> Any:
    """A float matrix or CSR matrix of nodes, with the number of features of the training nodes."""
    refuse_unreal(X, name)
    with naming_text(X, name):
        X = check_array(
            X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=name
        )
    refuse_non_finite(X, name)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{name} has {X.shape[1]} features, the model was fitted with {n_features}."
        )
    return X


def one_or_more(u: Any) -> Any:
    """Nodes as rows of a matrix; a vector is one node."""
    is_vector = isinstance(u, np.ndarray) and u.ndim == 1
    is_list = isinstance(u, list) and not any(hasattr(one, "__len__") for one in u)
    return np.atleast_2d(u) if is_vector or is_list else u


def side_by_side(U: Any, n_parts: int, name: str) -> Any:
    """A list with one matrix for each kernel of a sum, as one matrix; anything else as it is."""
    matrices = several_matrices(U, n_parts)
    return U if matrices is None else joined(matrices, name)[0]


def several_matrices(side: Any, n_parts: int) -> list[Any] | None:
    if isinstance(side, np.ndarray) and side.ndim == 3:
        side = list(side)
    if not isinstance(side, list) or n_parts < 2 or not side:
        return None
    if not all(hasattr(one, "shape") and len(one.shape) == 2 for one in side):
        return None
    if len(side) != n_parts:
        raise ValueError(
            f"a KernelSum of {n_parts} kernels of nodes takes as many matrices (interaction "
            f"profiles take none); got {len(side)}."
        )
    return side


def joined(matrices: list[Any], name: str) -> tuple[Any, list[int]]:
    checked = [check_nodes(one, f"{name}[{i}]") for i, one in enumerate(matrices)]
    if len({one.shape[0] for one in checked}) > 1:
        rows = ", ".join(str(one.shape[0]) for one in checked)
        raise ValueError(f"{name}: the matrices of a side must have as many rows; got {rows}.")
    widths = [one.shape[1] for one in checked]
    if any(sparse.issparse(one) for one in checked):
        return sparse.hstack([sparse.csr_array(one) for one in checked], format="csr"), widths
    return np.hstack(checked), widths
