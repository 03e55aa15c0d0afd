"""TwoStepRanker: a relation by ridge regression over its rows, then over its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.two_step_holdouts import TwoStepHoldouts
from rankwise.learners.relation_model import RelationModel, check_domains, nodes_of, report_repairs
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.two_step import Alphas, RidgeSide, TwoStep
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.node_kernels import pair_of, repaired_kernels
from rankwise.supervision.filled_relation import Fill, FilledRelation, check_fill
from rankwise.supervision.node_names import index_names
from rankwise.supervision.relation import RelationTask, check_labels, warn_if_not_mirrored
from rankwise.validation import check_positive

COPIES = 8
"""Number of matrices of the size of Y, or of a kernel, that a fit holds at its peak."""


@dataclass(eq=False, repr=False)
class SideKernelArguments:
    """Constructor arguments of the kernels, each one value or a pair (rows, columns)."""

    _: KW_ONLY
    kernel: str | Callable | tuple = "linear"
    gamma: float | tuple | None = None
    degree: float | tuple = 3
    coef0: float | tuple = 1.0
    repair: str | tuple[str | None, str | None] | None = None


@dataclass(eq=False, repr=False)
class TwoStepRanker(SideKernelArguments, RelationModel):
    """Predicts F = H_row Y H_columnᵀ with two hat matrices H = K (K + alpha)⁻¹ of ridge regression.

    The first step predicts the labels of new rows from those of the training rows, the second step
    those of new columns (Pahikkala et al. 2014; Stock et al. 2018). Each side has an alpha of its
    own. Two decompositions, O(p³), give every pair of alphas; every hold-out of an edge, a row, a
    column or both costs a few products and equals refitting.

    Parameters
    ----------
    alpha
        Regulariser > 0, one number or a pair (rows, columns).
    kernel, gamma, degree, coef0
        The kernel of the nodes, each one value or a pair (rows, columns); "precomputed" takes node
        kernels instead of features, in predict too.
    repair
        None refuses indefinite similarities; "clip", "flip" and "shift" make them semi-definite, as
        in ConditionalRanker; one value or a pair (rows, columns). `repairs_` and a
        KernelRepairWarning say how much was changed. Hold-outs keep the repaired matrix of all
        nodes, because it uses no labels.
    relation
        "general"; "symmetric" and "reciprocal" are the symmetric and the antisymmetric part of F,
        learnt from that part of Y. A warning tells the pair that differs most if Y has another
        part.
    condition
        "row" ranks columns for each row, "column" ranks rows for each column (for `rank` and
        `score`; the model is the same).
    fill
        What happens to cells of Y that were not observed. None refuses them. A number, "mean",
        "row" or "column" (the mean of all observed cells, or of those of the row or column) is put
        into them. "model" is the value that the model itself predicts there, found by conjugate
        gradients: this is kernel ridge regression on the observed edges with the pairwise kernel
        whose fit to a complete Y is F.

    Attributes
    ----------
    coef_
        (n_a, n_b[, k]) with h(u, v) = uᵀ `coef_` v, for linear kernels with n < p.
    dual_coef_
        Otherwise, (p_a, p_b[, k]) with h(u, v) = k(u, A)ᵀ `dual_coef_` k(v, B); if only one domain
        has n < p features and a linear kernel, that domain still enters through its features.
    n_filled_
        Number of cells that were filled.
    repairs_
        If repair is asked for, one entry for each repaired matrix: smallest eigenvalue, relative
        change in the Frobenius norm, largest asymmetry.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import TwoStepRanker
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(30, 4)), rng.normal(size=(20, 3))
    >>> Y = drugs @ rng.normal(size=(4, 3)) @ targets.T + 0.1 * rng.normal(size=(30, 20))
    >>> model = TwoStepRanker(alpha=(1.0, 0.1)).fit((drugs, targets), Y)
    >>> best, scores = model.rank(drugs[0], targets, k=3)
    >>> held_out = model.leave_both_out()
    >>> print(f"{np.corrcoef(held_out.ravel(), Y.ravel())[0, 1]:.2f}")
    1.00
    """

    alpha: float | tuple = (1.0, 1.0)
    _: KW_ONLY
    relation: str = "general"
    condition: str = "row"
    fill: Fill = None

    def fit(self, X, Y, *, edges=None) -> TwoStepRanker:
        """Learn from Y (p, p[, k]), nan where not observed, or from y (q[, k]) at `edges` (q, 2).

        X holds the nodes, or is a pair (A, B) of the row nodes and the column nodes of two domains.
        """
        alphas = check_two_alphas(self.alpha)
        problem, self._has_relations = two_step_problem(self, X, Y, edges)
        self._problem, self._two_domains = problem, isinstance(X, tuple)
        self._rows, self._columns = problem.rows.nodes, problem.columns.nodes
        self._set_coefficients(problem.coefficients(alphas))
        self.n_filled_ = sum(relation.n_missing for relation in problem.relations)
        self._remember_parameters()
        return self

    def leave_edge_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge by the model without that edge (setting 1).

        The cell of the edge is filled by the rule `fill`, without the held-out value; fill=None
        counts as "model". In a symmetric or reciprocal relation its reverse leaves too. Cells that
        were not observed keep the scores of the fitted model. O(p³) for all.
        """
        return self._predictions_without("edge")

    def leave_row_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each row by the model trained without it. O(p³) for all.

        In a symmetric or reciprocal relation the node leaves with its row and its column.
        """
        return self._predictions_without("row")

    def leave_column_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each column by the model trained without it. O(p³) for all."""
        return self._predictions_without("column")

    def leave_both_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge (u, v) by the model without row u and column v.

        This is setting 4. In a symmetric or reciprocal relation both nodes leave with all their
        edges. O(p³) for all.
        """
        return self._predictions_without("both")

    def _predictions_without(self, kind: str) -> np.ndarray:
        check_is_fitted(self)
        if self._problem is None:
            raise ValueError(
                "this model comes from a file, which keeps no labels: hold-outs need fit."
            )
        holdouts = TwoStepHoldouts(self._problem)
        return self._squeezed(holdouts.without(kind, check_two_alphas(self.alpha)))

    def __sklearn_tags__(self):
        return kernel_tags(super().__sklearn_tags__(), self.kernel)


def kernel_tags(tags, kernel):
    """The tags of a learner of relations whose kernel is one value or a pair."""
    tags.input_tags.sparse = True
    kernels = pair_of(kernel, "kernel")
    tags.input_tags.pairwise = any(
        isinstance(one, str) and Kernel(one).is_precomputed for one in kernels
    )
    tags.target_tags.required = True
    return tags


def check_two_alphas(alpha: Any) -> Alphas:
    """(rows, columns), both positive."""
    rows, columns = pair_of(alpha, "alpha")
    return check_positive("alpha", rows), check_positive("alpha", columns)


def two_step_problem(model: Any, X: Any, Y: Any, edges: Any) -> tuple[TwoStep, bool]:
    """The problem that the model has to solve, and whether Y has an axis of relations.

    Nothing but the decompositions is computed. Sets `n_features_in_`, `feature_names_in_` and
    `repairs_` of the model.
    """
    task = RelationTask("regression", model.relation, model.condition)
    fill, kernels = check_fill(model.fill), repaired_kernels(model)
    if task.sign and kernels[0] != kernels[1]:
        raise ValueError(
            f"relation={task.relation!r} has one kernel and one repair for rows and columns; got "
            f"{model.kernel!r} and {model.repair!r}."
        )
    A, B = check_domains(model, X, task)
    shape = (A.shape[0], B.shape[0])
    way_out = "take fewer nodes, or ConditionalRanker on a sample of edges"
    refuse_too_large(*shape, "the complete matrix Y", way_out, copies=COPIES)
    labels, has_relations = check_labels(Y, edges, shape)
    warn_if_not_mirrored(labels, task, index_names(X))
    relations = [FilledRelation.of_labels(one, fill, task.sign) for one in labels]
    sides = nodes_of(A, B, kernels)
    rows = RidgeSide(sides[0])
    columns = rows if sides[1] is sides[0] else RidgeSide(sides[1])
    report_repairs(model, *sides)
    return TwoStep(rows, columns, relations, task.sign), has_relations
