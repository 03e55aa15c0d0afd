"""From the arguments of ConditionalRanker and of its fit to a problem, checked once."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from rankwise.solvers.incomplete_graph import Limits
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.spaces.kernels import check_kernel
from rankwise.spaces.nodes import Nodes
from rankwise.supervision.relation import RelationTask, check_early_stopping, check_labels
from rankwise.validation import check_choice, check_items, check_positive, refuse_non_finite

if TYPE_CHECKING:
    from rankwise.learners.conditional_ranker import ConditionalRanker


def relation_problem(
    ranker: ConditionalRanker, X: Any, Y: Any, edges: Any
) -> tuple[RelationProblem, bool]:
    """The problem that `ranker` has to solve, and whether Y has an axis of relations.

    Nothing is solved yet. Sets n_features_in_ and feature_names_in_ of the ranker.
    """
    task = RelationTask(ranker.objective, ranker.relation, ranker.condition)
    _check_parameters(ranker)
    A, B = _check_domains(ranker, X)
    shape = (A.shape[0], B.shape[0])
    labels, has_relations = check_labels(Y, edges, shape)
    kernel = ranker.kernel
    parameters = {"gamma": ranker.gamma, "degree": ranker.degree, "coef0": ranker.coef0}
    if B is A:
        rows = columns = Nodes.build(A, kernel, parameters, "the nodes")
    else:
        rows = Nodes.build(A, kernel, parameters, "the row nodes")
        columns = Nodes.build(B, kernel, parameters, "the column nodes")
    early_stopping = check_early_stopping(ranker.early_stopping, shape, len(labels))
    must_iterate = ranker.alpha == 0 or early_stopping is not None
    problem = RelationProblem(
        rows,
        columns,
        labels,
        task,
        solver="cg" if must_iterate else ranker.solver,
        limits=Limits(float(ranker.tol), int(ranker.max_iter), ranker.verbose),
        early_stopping=early_stopping,
        random_state=ranker.random_state,
    )
    return problem, has_relations


def _check_parameters(ranker: ConditionalRanker) -> None:
    check_positive("alpha", ranker.alpha, zero=True)
    check_choice("solver", ranker.solver, ("auto", "closed", "cg"))
    check_positive("tol", ranker.tol, zero=True)
    check_kernel(ranker.kernel, gamma=ranker.gamma, degree=ranker.degree, coef0=ranker.coef0)
    if not isinstance(ranker.max_iter, numbers.Integral) or ranker.max_iter < 1:
        raise ValueError(f"max_iter must be a positive integer; got {ranker.max_iter!r}.")
    if ranker.solver == "closed" and ranker.alpha == 0:
        raise ValueError('alpha = 0 needs solver="cg" (or "auto"); "closed" needs alpha > 0.')
    if ranker.solver == "closed" and ranker.early_stopping is not None:
        raise ValueError('early_stopping needs solver="cg" (or "auto"): "closed" never iterates.')


def _check_domains(ranker: ConditionalRanker, X: Any) -> tuple[Any, Any]:
    """The row nodes A and the column nodes B; B is A if there is one domain."""
    if not isinstance(X, tuple):
        X = check_items(ranker, X, reset=True)
        return X, X
    if len(X) != 2:
        raise ValueError(f"two domains are given as a pair (A, B); got a tuple of {len(X)}.")
    if RelationTask(relation=ranker.relation).sign:
        raise ValueError(
            f"relation={ranker.relation!r} needs rows and columns of one domain, but X is a pair "
            "(A, B) of two domains: use relation='general', or one X for both."
        )
    A, B = check_nodes(X[0], "A"), check_nodes(X[1], "B")
    ranker.n_features_in_ = (A.shape[1], B.shape[1])
    return A, B


def check_nodes(X: Any, name: str, n_features: int | None = None) -> Any:
    """A float matrix or CSR matrix of nodes, with the number of features of the training nodes."""
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=name
    )
    refuse_non_finite(X, name)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{name} has {X.shape[1]} features, the model was fitted with {n_features}."
        )
    return X
