"""ConditionalRanker: rank objects given an object, also for pairs of objects that are both new."""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.relation_holdouts import RelationHoldouts
from rankwise.learners.ranker import KernelArguments
from rankwise.learners.relation_model import RelationModel, check_domains
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.incomplete_graph import Limits
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.nystrom_map import RandomState
from rankwise.supervision.relation import (
    RelationTask,
    check_early_stopping,
    check_labels,
    warn_if_not_mirrored,
)
from rankwise.validation import check_alphas, check_choice, check_positive


@dataclass(eq=False, repr=False)
class ConditionalRanker(KernelArguments, RelationModel):
    """Minimises Σ_(e < e' of one condition v) (y_e − y_e' − h_e + h_e')² / l_v + alpha‖h‖².

    h(u, v) is a function of two nodes with the Kronecker product of their kernels (equation 7 of
    Pahikkala et al. 2013); l_v is the number of edges at the condition v. With
    objective="regression" the loss is Σ_e (y_e − h_e)². Complete graphs of p nodes are solved in
    closed form, O(p³) for any number of alphas and relations. Any other multiset of q edges is
    solved by conjugate gradients, O(q p) per iteration. With n < p features and a linear kernel an
    iteration costs O(q n + p n²), which is also the numerically sound route down to alpha = 0.

    Parameters
    ----------
    alpha : regulariser, > 0; 0 is allowed with solver="cg", where stopping early regularises
    objective : "ranking" or "regression"
    relation : "general", "symmetric" h(u, v) = h(v, u) or "reciprocal" h(u, v) = −h(v, u), the
        kernels of equations 8 and 9, which carry the factor ½
    kernel, gamma, degree, coef0 : the kernel of the nodes of both domains; "precomputed" takes node
        kernels instead of features, in predict too
    condition : "row" ranks columns for each row, "column" ranks rows for each column
    solver : "closed" (complete graphs), "cg", or "auto": closed form where there is one
    tol : "cg" stops when it estimates the energy norm of its error to be below tol times that of
        the solution; tol=0 runs max_iter iterations without a preconditioner
    max_iter : largest number of iterations of "cg"
    early_stopping : None, a fraction of the edges to validate on, or (edges, y); the iterate with
        the least conditional ranking error on them is kept
    random_state : draws the fraction
    verbose : 1 prints every iteration

    Attributes
    ----------
    coef_ : (n_a, n_b[, k]) with h(u, v) = uᵀ coef_ v, for linear kernels with n < p
    dual_coef_ : otherwise, (p_a, p_b[, k]) with h(u, v) = k(u, A)ᵀ dual_coef_ k(v, B); if only one
        domain has n < p features and a linear kernel, that domain still enters through its features
    history_ : errors after each iteration of "cg": "objective", "train_loss" and, with early
        stopping, "train_error" and "validation_error" (equation 4); with k relations a list of them
    n_iter_ : number of iterations (the largest of all relations); 0 in closed form
    solver_ : the solver used
    n_skipped_conditions_ : number of conditions with a single edge, which tell nothing of an order
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

    Nothing is solved yet. Sets n_features_in_ and feature_names_in_ of the ranker.
    """
    task = RelationTask(ranker.objective, ranker.relation, ranker.condition)
    _check_parameters(ranker)
    A, B = check_domains(ranker, X, task)
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
