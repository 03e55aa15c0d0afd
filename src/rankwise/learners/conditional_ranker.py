"""ConditionalRanker: rank objects given an object, also for pairs of objects that are both new."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from rankwise.holdout.relation_holdouts import RelationHoldouts
from rankwise.learners.fit_memory import FitMemory
from rankwise.learners.ranker import KernelArguments
from rankwise.metrics import conditional_error
from rankwise.numerics.frame_columns import column_names, require_columns
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.incomplete_graph import Limits
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.nystrom_map import RandomState
from rankwise.spaces.pair_function import PairFunction
from rankwise.supervision.relation import (
    RelationTask,
    check_early_stopping,
    check_edges,
    check_labels,
    warn_if_not_mirrored,
)
from rankwise.validation import (
    check_alphas,
    check_choice,
    check_items,
    check_positive,
    naming_text,
    refuse_non_finite,
    refuse_unreal,
)


@dataclass(eq=False, repr=False)
class ConditionalRanker(KernelArguments, FitMemory, BaseEstimator):
    """Minimises Σ_(e < e' of one condition v) (y_e − y_e' − h_e + h_e')² / l_v + alpha‖h‖².

    h(u, v) is a function of two nodes with the Kronecker product of their kernels (equation 7 of
    Pahikkala et al. 2013); l_v is the number of edges at the condition v. With
    objective="regression" the loss is Σ_e (y_e − h_e)². Complete graphs of p nodes are solved in
    closed form, O(p³) for any number of alphas and relations. Any other multiset of q edges is
    solved by conjugate gradients, O(q p) per iteration. With n < p features and a linear kernel an
    iteration costs O(q n + p n²), which is also the numerically sound route down to alpha = 0.

    Parameters
    ----------
    alpha
        Regulariser, > 0; 0 is allowed with solver="cg", where stopping early regularises.
    objective : {"ranking", "regression"}
    relation
        "general", "symmetric" h(u, v) = h(v, u) or "reciprocal" h(u, v) = −h(v, u), the kernels of
        equations 8 and 9, which carry the factor ½.
    kernel, gamma, degree, coef0
        The kernel of the nodes of both domains; "precomputed" takes node kernels instead of
        features, in predict too.
    condition
        "row" ranks columns for each row, "column" ranks rows for each column.
    solver
        "closed" (complete graphs), "cg", or "auto": closed form where there is one.
    tol
        "cg" stops when it estimates the energy norm of its error to be below tol times that of the
        solution; tol=0 runs max_iter iterations without a preconditioner.
    max_iter
        Largest number of iterations of "cg".
    early_stopping
        None, a fraction of the edges to validate on, or (edges, y); the iterate with the least
        conditional ranking error on them is kept.
    random_state
        Draws the fraction.
    verbose
        1 prints every iteration.

    Attributes
    ----------
    coef_
        (n_a, n_b[, k]) with h(u, v) = uᵀ `coef_` v, for linear kernels with n < p.
    dual_coef_
        Otherwise, (p_a, p_b[, k]) with h(u, v) = k(u, A)ᵀ `dual_coef_` k(v, B); if only one domain
        has n < p features and a linear kernel, that domain still enters through its features.
    history_
        Errors after each iteration of "cg": "objective", "train_loss" and, with early stopping,
        "train_error" and "validation_error" (equation 4); with k relations a list of them.
    n_iter_
        Number of iterations (the largest of all relations); 0 in closed form.
    solver_
        The solver used.
    n_skipped_conditions_
        Number of conditions with a single edge, which tell nothing of an order.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> rng = np.random.default_rng(0)
    >>> users, films = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    >>> model = ConditionalRanker().fit((users, films), users @ films.T)
    >>> best, scores = model.rank(users[0], films, k=3)
    >>> best.tolist() == np.argsort(-users[0] @ films.T)[:3].tolist()
    True
    """

    alpha: float = 1.0
    _: KW_ONLY
    objective: str = "ranking"
    relation: str = "general"
    condition: str = "row"
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 200
    early_stopping: float | tuple | None = None
    random_state: RandomState = None
    verbose: int = 0

    def fit(self, X, Y, *, edges=None) -> ConditionalRanker:
        """Learn from Y (p, p[, k]), nan where not observed, or from y (q[, k]) at `edges` (q, 2).

        X holds the nodes, or is a pair (A, B) of the row nodes and the column nodes of two domains.
        """
        problem, self._has_relations = relation_problem(self, X, Y, edges)
        warn_if_not_mirrored(problem.labels, problem.task)
        self._problem, self._two_domains = problem, problem.two_domains
        self._rows, self._columns = problem.rows, problem.columns
        solutions = [solver.solve(float(self.alpha)) for solver in problem.solvers]
        self.n_skipped_conditions_ = problem.n_skipped_conditions
        self._set_coefficients(problem.coefficients([solution.w for solution in solutions]))
        iterated = [s for solver, s in zip(problem.solvers, solutions) if solver.name == "cg"]
        self.solver_ = "cg" if iterated else "closed"
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        histories = [{name: h.tolist() for name, h in s.history.items()} for s in iterated]
        self.history_ = histories if self._has_relations else (histories or [{}])[0]
        self._remember_parameters()
        return self

    def _set_coefficients(self, coefficients: np.ndarray) -> None:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        features = self._rows.through_features and self._columns.through_features
        setattr(self, "coef_" if features else "dual_coef_", self._squeezed(coefficients))

    def _squeezed(self, array: np.ndarray) -> np.ndarray:
        """Without its last axis, unless Y had an axis of relations."""
        return array if self._has_relations else array[..., 0]

    @property
    def pair_function(self) -> PairFunction:
        """The learnt function h: the spaces of row nodes and column nodes, and coefficients."""
        check_is_fitted(self)
        coefficients = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        return PairFunction(self._rows, self._columns, np.atleast_3d(coefficients))

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

        u is a row node, or a column node with condition="column". Candidates are scored in blocks
        and only the k best are sorted, O(len(V)) besides the kernel; k=None ranks all of them.
        Equal scores keep the order of V. With several relations both results have a last axis of
        relations.
        """
        check_is_fitted(self)
        u = np.atleast_2d(u) if isinstance(u, list | np.ndarray) else u
        task = RelationTask(condition=self.fitted_parameters.condition)
        u, V = map(self._check_side, (u, V), task.conditions_first("row", "column"))
        if u.shape[0] != 1:
            raise ValueError(f"u must be one node, got {u.shape[0]}.")
        n_best = V.shape[0] if k is None else k
        if not isinstance(n_best, numbers.Integral) or n_best < 1:
            raise ValueError(f"k must be a positive integer or None; got {k!r}.")
        function, _ = task.conditions_first(self.pair_function, self.pair_function.transposed())
        index, scores = function.best(u, V, int(n_best))
        return self._squeezed(index), self._squeezed(scores)

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

    def path(self, alphas) -> np.ndarray:
        """(len(alphas), …) coefficients for every alpha, as `coef_` or `dual_coef_`.

        Closed form: no further decomposition, two products per alpha. "cg": each alpha starts from
        the solution of the next larger one.
        """
        problem = self._fitted_problem()
        iterates = all(solver.name == "cg" for solver in problem.solvers)
        alphas = check_alphas(alphas, zero=iterates)
        size = self.pair_function.coefficients.size
        refuse_too_large(len(alphas), size, "the path", "ask for fewer alphas at a time")
        order = np.argsort(-alphas, kind="stable")
        path = np.stack(list(problem.path(alphas[order].tolist())))
        return self._squeezed(path[np.argsort(order)])

    def leave_row_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each row by the model trained without it (setting 2 or 3)."""
        return self._predictions_without("row")

    def leave_column_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each column by the model trained without it."""
        return self._predictions_without("column")

    def leave_edge_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge by the model without that edge (setting 1)."""
        return self._predictions_without("edge")

    def leave_both_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge (u, v) by the model without row u and column v.

        This is setting 4. In one domain with a general relation u and v still meet the other nodes
        in their other role; rankwise.selection.RowColumnSplit(one_domain=True) prevents that.
        """
        return self._predictions_without("both")

    def _predictions_without(self, what: str) -> np.ndarray:
        holdouts = RelationHoldouts(self._fitted_problem())
        alpha = check_positive("alpha", self.alpha, zero=True)
        return self._squeezed(holdouts.without(what, alpha))

    def _fitted_problem(self) -> RelationProblem:
        check_is_fitted(self)
        if self._problem is None:
            raise ValueError(
                "this model comes from a file, which keeps no labels: hold-outs and paths need fit."
            )
        return self._problem

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = Kernel(self.kernel).is_precomputed
        tags.target_tags.required = True
        return tags


def relation_problem(
    ranker: ConditionalRanker, X: Any, Y: Any, edges: Any
) -> tuple[RelationProblem, bool]:
    """The problem that `ranker` has to solve, and whether Y has an axis of relations.

    Nothing is solved yet. Sets `n_features_in_` and `feature_names_in_` of the ranker.
    """
    task = RelationTask(ranker.objective, ranker.relation, ranker.condition)
    _check_parameters(ranker)
    A, B = _check_domains(ranker, X, task)
    shape = (A.shape[0], B.shape[0])
    labels, has_relations = check_labels(Y, edges, shape)
    kernel = Kernel.of(ranker)
    rows = Nodes.build(A, kernel, "the nodes" if B is A else "the row nodes")
    columns = rows if B is A else Nodes.build(B, kernel, "the column nodes")
    early_stopping = check_early_stopping(ranker.early_stopping, shape, len(labels))
    solver = "cg" if ranker.alpha == 0 or early_stopping is not None else ranker.solver
    limits = Limits(float(ranker.tol), int(ranker.max_iter), ranker.verbose)
    options = solver, limits, early_stopping, ranker.random_state
    return RelationProblem(rows, columns, labels, task, *options), has_relations


def _check_parameters(ranker: ConditionalRanker) -> None:
    check_positive("alpha", ranker.alpha, zero=True)
    check_choice("solver", ranker.solver, ("auto", "closed", "cg"))
    check_positive("tol", ranker.tol, zero=True)
    Kernel.of(ranker)
    if not isinstance(ranker.max_iter, numbers.Integral) or ranker.max_iter < 1:
        raise ValueError(f"max_iter must be a positive integer; got {ranker.max_iter!r}.")
    if ranker.solver == "closed" and ranker.alpha == 0:
        raise ValueError('alpha = 0 needs solver="cg" (or "auto"); "closed" needs alpha > 0.')
    if ranker.solver == "closed" and ranker.early_stopping is not None:
        raise ValueError('early_stopping needs solver="cg" (or "auto"): "closed" never iterates.')


def _check_domains(ranker: ConditionalRanker, X: Any, task: RelationTask) -> tuple[Any, Any]:
    """The row nodes A and the column nodes B; B is A if there is one domain."""
    if not isinstance(X, tuple):
        X = check_items(ranker, X, reset=True)
        return X, X
    if len(X) != 2:
        raise ValueError(f"two domains are given as a pair (A, B); got a tuple of {len(X)}.")
    if task.sign:
        raise ValueError(
            f"relation={task.relation!r} needs rows and columns of one domain, but X is a pair "
            "(A, B) of two domains: use relation='general', or one X for both."
        )
    A, B = check_nodes(X[0], "A"), check_nodes(X[1], "B")
    ranker.n_features_in_ = (A.shape[1], B.shape[1])
    ranker.__dict__.pop("feature_names_in_", None)
    names = (column_names(X[0]), column_names(X[1]))
    if any(one is not None for one in names):
        ranker.feature_names_in_ = names
    return A, B


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
