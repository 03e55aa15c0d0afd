"""ConditionalRanker: rank objects given an object, for pairs of objects never seen in training."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.learners import conditional_inputs as inputs
from rankwise.learners.conditional_holdouts import HoldOuts
from rankwise.learners.conditional_inputs import SIGNS, Labels
from rankwise.learners.conditional_prediction import Predictions
from rankwise.learners.conditional_problem import (
    ClosedProblem,
    EdgeProblem,
    Iterations,
    as_grid,
    without_lone_edges,
)
from rankwise.numerics.memory import refuse_too_large
from rankwise.spaces.kernels import check_kernel
from rankwise.spaces.nodes_and_edges import Nodes
from rankwise.validation import check_choice, check_positive


class ConditionalRanker(Predictions, HoldOuts, BaseEstimator):
    """Minimises Σ_(e < e' of one condition v) (y_e − y_e' − h_e + h_e')² / l_v + alpha‖h‖².

    h(u, v) is a function of two nodes with the Kronecker product of their kernels (equation 7 of
    Pahikkala et al. 2013), l_v the number of edges at the condition v; with objective="regression"
    the loss is Σ_e (y_e − h_e)². Complete graphs of p nodes are solved in closed form, O(p³) (any
    number of alphas and relations after two decompositions); any other multiset of q edges by
    conjugate gradients, O(q p) an iteration, or O(q n + p n²) through n < p features of a linear
    kernel, which is also the numerically sound route down to alpha = 0.

    Parameters
    ----------
    alpha : regulariser, > 0; 0 is allowed with solver="cg", where stopping early regularises
    objective : "ranking" or "regression"
    relation : "general", "symmetric" h(u, v) = h(v, u) or "reciprocal" h(u, v) = −h(v, u), the
        kernels of equations 8 and 9, which carry the factor ½
    kernel, gamma, degree, coef0 : the node kernel, of both domains; "precomputed" takes the node
        kernels themselves, in predict too
    condition : "row" ranks columns for each row, "column" the reverse
    solver : "closed" (complete graphs), "cg", or "auto": closed where it exists
    tol : "cg" stops when the energy norm of its error is estimated below tol times the solution's;
        tol=0 runs max_iter plain iterations
    max_iter : most iterations of "cg"
    early_stopping : None, a fraction of the edges to validate on, or (edges, y); the iterate with
        the least conditional ranking error on them is kept
    random_state : draws the fraction
    verbose : 1 prints every iteration

    Attributes
    ----------
    coef_ : (n_a, n_b[, k]) with h(u, v) = uᵀ coef_ v, for linear kernels with n < p
    dual_coef_ : otherwise, (p_a, p_b[, k]) with h(u, v) = k(u, A)ᵀ dual_coef_ k(v, B); a domain
        with a linear kernel and n < p enters through its features even then
    history_ : errors after each iteration of "cg": "objective", "train_loss" and, with early
        stopping, "train_error" and "validation_error" (equation 4); a list of such with k relations
    n_iter_ : iterations (the most of all relations); 0 in closed form
    solver_ : the solver used
    n_skipped_conditions_ : conditions with one edge only, which say nothing about an order
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        objective="ranking",
        relation="general",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        condition="row",
        solver="auto",
        tol=1e-6,
        max_iter=200,
        early_stopping=None,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.objective = objective
        self.relation = relation
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.condition = condition
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, Y, *, edges=None):
        """Learn from Y (p, p[, k]), nan where not observed, or from y (q[, k]) at `edges` (q, 2).

        X holds the nodes, or (A, B) the row and the column nodes of two domains.
        """
        self._check_parameters()
        labels = self._fit_nodes(X, Y, edges)
        inputs.warn_if_not_mirrored(labels, self.relation, self.objective == "ranking")
        self._problems = self._prepare(labels)
        self._set_coefficients(self._joined(p.path([float(self.alpha)]) for p in self._problems))
        solutions = [p.solution for p in self._problems if isinstance(p, EdgeProblem)]
        self.solver_ = "cg" if solutions else "closed"
        self.n_iter_ = max((s.n_iter for s in solutions), default=0)
        histories = [s.history for s in solutions]
        self.history_ = histories if self._has_relations else (histories or [{}])[0]
        return self

    def _check_parameters(self) -> None:
        check_positive("alpha", self.alpha, zero=True)
        check_choice("objective", self.objective, ("ranking", "regression"))
        check_choice("relation", self.relation, tuple(SIGNS))
        check_choice("condition", self.condition, ("row", "column"))
        check_choice("solver", self.solver, ("auto", "closed", "cg"))
        check_positive("tol", self.tol, zero=True)
        check_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive integer; got {self.max_iter!r}.")
        if self.solver == "closed" and self.alpha == 0:
            raise ValueError('alpha = 0 needs solver="cg" (or "auto"); "closed" needs alpha > 0.')
        if self.solver == "closed" and self.early_stopping is not None:
            raise ValueError(
                'early_stopping needs solver="cg" (or "auto"): "closed" never iterates.'
            )

    def _fit_nodes(self, X, Y, edges) -> list[Labels]:
        A, B, self._two_domains = inputs.check_domains(self, X)
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        labels, self._has_relations = inputs.check_labels(Y, edges, (A.shape[0], B.shape[0]))
        name = "the row nodes" if self._two_domains else "the nodes"
        self._rows = Nodes.build(A, self.kernel, parameters, name)
        self._columns = self._rows
        if self._two_domains:
            self._columns = Nodes.build(B, self.kernel, parameters, "the column nodes")
        return labels

    # Problems have conditions as rows; `_oriented` turns what goes in, `_joined` what comes out.

    def _prepare(self, labels: list[Labels], first: int = 0, n_relations: int = 0) -> list:
        """One problem for all relations where all are complete, else one each.

        `labels` are those of all relations, or of some of n_relations from the number `first` on.
        """
        n_relations = n_relations or len(labels)
        ranking, sign = self.objective == "ranking", SIGNS[self.relation]
        rows, columns = self._oriented((self._rows, self._columns))
        if self.condition == "column":
            labels = [label.transposed() for label in labels]
        self.n_skipped_conditions_ = 0
        if ranking:
            found = [without_lone_edges(label) for label in labels]
            labels = [label for label, _ in found]
            self.n_skipped_conditions_ = sum(skipped for _, skipped in found)
        for number, label in enumerate(labels):
            if (len(label.y) == 0) if not label.is_complete else (ranking and label.shape[1] < 2):
                where = f" of relation {number}" if self._has_relations else ""
                raise ValueError(
                    f"no condition ({self.condition}){where} has two edges, so there is no "
                    "preference to learn from."
                    if ranking
                    else f"no edge{where} is observed: all of its labels are nan."
                )
        grids = [as_grid(label, sign) for label in labels] if self._may_be_closed() else []
        if grids and all(label.is_complete for label in labels):
            return [ClosedProblem(rows, columns, grids, ranking, sign)]
        problems: list[ClosedProblem | EdgeProblem] = []
        for number, label in enumerate(labels):
            if grids and grids[number] is not None:
                problems.append(ClosedProblem(rows, columns, [grids[number]], ranking, sign))
            elif self.solver == "closed":
                raise ValueError(
                    f'solver="closed" needs every edge between the nodes once, but of '
                    f"{label.shape[0]} x {label.shape[1]} there are {len(label.y)} edges here: use "
                    'solver="cg" (or "auto").'
                )
            else:
                label, how = self._iterations(label.as_edges(), first + number, n_relations)
                problems.append(EdgeProblem(rows, columns, label, ranking, sign, how))
        return problems

    def _may_be_closed(self) -> bool:
        return self.solver != "cg" and self.alpha > 0 and self.early_stopping is None

    def _iterations(
        self, label: Labels, number: int, n_relations: int
    ) -> tuple[Labels, Iterations]:
        """The edges to train on, and how: with a fraction, some become those to stop on."""
        how = Iterations(float(self.tol), int(self.max_iter), None, self.verbose)
        wanted = self.early_stopping
        if isinstance(wanted, int | float | np.number) and not isinstance(wanted, bool):
            if not 0 < wanted < 1:
                raise ValueError(f"early_stopping as a fraction must be in (0, 1); got {wanted!r}.")
            order = check_random_state(self.random_state).permutation(len(label.y))
            held = max(1, round(wanted * len(order)))
            how.validation = label.take(order[:held])
            label = label.take(np.sort(order[held:]))
            most = np.bincount(label.rows, minlength=1).max()
            if most < (2 if self.objective == "ranking" else 1):
                raise ValueError(
                    f"early_stopping={wanted!r} leaves too few of {len(order)} edges to train on "
                    f"({len(label.y)}): hold out a smaller fraction, or give (edges, y)."
                )
        elif wanted is not None:
            try:
                edges, y = wanted
            except (TypeError, ValueError):
                raise ValueError(
                    f"early_stopping must be None, a fraction or a pair (edges, y); got {wanted!r}."
                ) from None
            shape = (len(self._rows), len(self._columns))
            found, _ = inputs.check_labels(y, inputs.check_edges(edges, shape), shape)
            if len(found) != n_relations:
                raise ValueError(
                    f"early_stopping=(edges, y): y holds labels of {len(found)} relations, but "
                    f"there are {n_relations}; give one column a relation."
                )
            mine = found[number]
            how.validation = mine if self.condition == "row" else mine.transposed()
        return label, how

    def _joined(self, paths) -> np.ndarray:
        """(alphas, d_a, d_b[, k]) from the problems' paths."""
        found = np.concatenate([np.stack(list(path)) for path in paths], axis=-1)
        found = found if self.condition == "row" else np.swapaxes(found, 1, 2)
        return found if self._has_relations else found[..., 0]

    def _set_coefficients(self, path: np.ndarray) -> None:
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        features = self._rows.through_features and self._columns.through_features
        setattr(self, "coef_" if features else "dual_coef_", path[0])

    def path(self, alphas) -> np.ndarray:
        """(len(alphas), …) coefficients for every alpha, as `coef_` or `dual_coef_`.

        Closed form: no further decomposition, two products an alpha. "cg": each alpha starts from
        the solution of the next larger one.
        """
        check_is_fitted(self)
        alphas = np.asarray(alphas, dtype=float)
        if alphas.ndim != 1 or not len(alphas):
            raise ValueError("alphas must be a non-empty sequence of numbers.")
        self._refuse_loaded()
        closed = any(isinstance(problem, ClosedProblem) for problem in self._problems)
        for alpha in alphas:
            check_positive("alphas", float(alpha), zero=not closed)
        size = self._coefficients.size
        refuse_too_large(len(alphas), size, "the path", "ask for fewer alphas at a time")
        order = np.argsort(-alphas, kind="stable")
        found = self._joined(problem.path(alphas[order].tolist()) for problem in self._problems)
        return found[np.argsort(order)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = True
        return tags
