"""ConditionalRanker: rank objects given an object, also for pairs of objects that are both new."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.relation_holdouts import RelationHoldouts
from rankwise.learners.ranker import KernelArguments
from rankwise.learners.relation_inputs import relation_problem
from rankwise.learners.relation_model import RelationModel
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.node_kernels import pair_of
from rankwise.spaces.nystrom_map import RandomState
from rankwise.spaces.pair_function import PairEffects
from rankwise.supervision.node_names import index_names
from rankwise.supervision.relation import warn_if_not_mirrored
from rankwise.validation import check_alphas, check_positive


@dataclass(eq=False, repr=False)
class ConditionalRanker(KernelArguments, RelationModel):
    """Minimises Σ_(e < e' of one condition v) (y_e − y_e' − h_e + h_e')² / l_v + alpha‖h‖².

    h(u, v) is a function of two nodes with the Kronecker product of their kernels (equation 7 of
    Pahikkala et al. 2013) or another kernel of pairs; l_v is the number of edges at the condition
    v. With objective="regression" the loss is Σ_e (y_e − h_e)². Complete graphs of p nodes are
    solved in closed form, O(p³) for any number of alphas and relations, if the terms of the
    pairwise kernel share eigenvectors. Anything else is solved by conjugate gradients, O(q p) per
    iteration and term for q edges. With n < p features, a linear kernel and pairwise="kronecker" an
    iteration costs O(q n + p n²), which is also the numerically sound route down to alpha = 0.

    Parameters
    ----------
    alpha
        Regulariser, > 0; 0 is allowed with solver="cg", where stopping early regularises.
    objective : {"ranking", "regression"}
    relation
        "general", "symmetric" h(u, v) = h(v, u) or "reciprocal" h(u, v) = −h(v, u), the kernels of
        equations 8 and 9, which carry the factor ½. Labels that contradict it are used as they are:
        a warning tells the pair that differs most, and the model is fitted to both directions, for
        regression on complete graphs to (Y ± Yᵀ)/2.
    kernel, gamma, degree, coef0
        The kernel of the nodes; each may be a pair (rows, columns). "precomputed" takes node
        kernels instead of features, in predict too. A rankwise.kernels.KernelSum is a weighted sum
        of kernels, which may include the kernel of interaction profiles.
    pairwise
        The kernel of pairs of nodes, from the kernels K of row nodes and G of column nodes:
        "kronecker" K·G; "cartesian" K·[v = v'] + [u = u']·G, which tells nothing of a pair of new
        nodes; "linear" K + G, so h(u, v) = f(u) + g(v); "polynomial" (K + G)²; for one domain
        "ranking" (h(u, v) = f(u) − f(v)) and "mlpk", the square of the ranking kernel. Symmetric
        and reciprocal relations use ½ (k(e, e') ± k(e, reversed e')). Closed forms: "kronecker",
        "cartesian" (not for the ranking objective of mirrored relations), "linear" and "ranking".
    item_effect
        δ ≥ 0 or a pair: adds δ·[u = u'] to the kernel of training nodes, so that the model
        remembers what the features do not tell; new nodes get nothing from it. Known nodes are
        recognised in predict by their rows (features, or values of a precomputed kernel), which
        must be exactly those of training. Training nodes with equal rows share their effects
        equally.
    effects
        Unpenalised terms beside h, for objective="regression": None, "intercept", "rows" (a
        constant for each row node), "columns" or "both". Their means are in `intercept_`, so a new
        node gets the mean effect of the training nodes.
    repair
        None refuses indefinite similarities; "clip" sets negative eigenvalues to 0, "flip" takes
        their absolute values, "shift" adds −λ_min to the diagonal; one value or a pair. The values
        of new nodes are changed by the same linear map ("shift" leaves them, and known nodes are
        recognised). `repairs_` and a KernelRepairWarning say how much was changed. Hold-outs and
        folds keep the repaired matrix of all nodes, because it uses no labels.
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
        has n < p features and a linear kernel, that domain still enters through its features. For
        other pairwise kernels it holds the coefficients of their Kronecker terms: "cartesian",
        "linear" and "polynomial" have h(u, v) = `Σ_ij dual_coef_[i, j] k((u, v), (i, j))`.
    intercept_, row_effects_, column_effects_
        The unpenalised effects, if asked for.
    repairs_
        One entry for each repaired matrix: smallest eigenvalue, relative change in the Frobenius
        norm, largest asymmetry.
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
    pairwise: str = "kronecker"
    item_effect: float | tuple[float, float] = 0.0
    effects: str | None = None
    repair: str | tuple[str | None, str | None] | None = None
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
        If nodes are pandas frames whose index holds names, a frame Y is brought into their order,
        and edges may hold names. A node without an edge is treated like a new node: it is predicted
        from its kernel alone.
        """
        problem, self._has_relations = relation_problem(self, X, Y, edges)
        warn_if_not_mirrored(problem.labels, problem.task, index_names(X))
        self._problem, self._two_domains = problem, problem.two_domains
        self._rows, self._columns = problem.nodes
        solutions = [solver.solve(float(self.alpha)) for solver in problem.solvers]
        self.n_skipped_conditions_ = problem.n_skipped_conditions
        points = [solution.w for solution in solutions]
        self._set_coefficients(problem.coefficients(points))
        self._set_effects(problem.effects(points))
        iterated = [s for solver, s in zip(problem.solvers, solutions) if solver.name == "cg"]
        self.solver_ = "cg" if iterated else "closed"
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        histories = [{name: h.tolist() for name, h in s.history.items()} for s in iterated]
        self.history_ = histories if self._has_relations else (histories or [{}])[0]
        self._remember_parameters()
        return self

    def _set_effects(self, effects: PairEffects | None) -> None:
        for name in ("intercept_", "row_effects_", "column_effects_"):
            self.__dict__.pop(name, None)
        if effects is None:
            return
        single = not self._has_relations
        self.intercept_ = float(effects.intercept[0]) if single else effects.intercept
        for name, values in (("row_effects_", effects.rows), ("column_effects_", effects.columns)):
            if values is not None:
                setattr(self, name, self._squeezed(values))

    def _effects(self) -> PairEffects | None:
        if not hasattr(self, "intercept_"):
            return None
        sides = [getattr(self, name, None) for name in ("row_effects_", "column_effects_")]
        intercept = np.atleast_1d(self.intercept_)
        shape = (-1, len(intercept))
        rows, columns = (None if side is None else side.reshape(shape) for side in sides)
        return PairEffects(intercept, rows, columns)

    def _remember_parameters(self) -> None:
        super()._remember_parameters()
        self._fitted["kernel"] = clone(self.kernel, safe=False)  # set_params may change a KernelSum

    def path(self, alphas) -> np.ndarray:
        """(len(alphas), …) coefficients for every alpha, as `coef_` or `dual_coef_`.

        Closed form: no further decomposition, two products per alpha. "cg" with node kernels: all
        alphas share one sequence of products, for about the price of the smallest alpha; otherwise
        each alpha starts from the solution of the next larger one.
        """
        problem = self._fitted_problem()
        iterates = all(solver.name == "cg" for solver in problem.solvers)
        alphas = check_alphas(alphas, zero=iterates)
        size = self.pair_function.coefficients.size
        refuse_too_large(len(alphas), size, "the path", "ask for fewer alphas at a time")
        order = np.argsort(-alphas, kind="stable")
        solutions = problem.path(alphas[order].tolist())
        path = np.stack([problem.coefficients(points) for points in solutions])
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

        This is setting 4. O(q⁴ + p² q²) for p and q ≤ p nodes of the two sides, and O(p⁴) for
        symmetric and reciprocal relations (RelationHoldouts says more). In one domain with a
        general relation u and v still meet the other nodes in their other role;
        rankwise.selection.RowColumnSplit(one_domain=True) prevents that.
        """
        return self._predictions_without("both")

    def _predictions_without(self, what: str) -> np.ndarray:
        problem = self._fitted_problem()
        problem.refuse_holdouts()
        holdouts = RelationHoldouts(problem)
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
        tags.input_tags.pairwise = all(
            isinstance(side, str) and Kernel(side).is_precomputed
            for side in pair_of(self.kernel, "kernel")
        )
        tags.target_tags.required = True
        return tags
