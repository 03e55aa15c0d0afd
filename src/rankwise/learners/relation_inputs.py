"""What ConditionalRanker is given, checked once: parameters, nodes, labels, edges and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.learners.relation_model import (
    check_domains,
    joined,
    report_repairs,
    several_matrices,
)
from rankwise.solvers.incomplete_graph import Limits
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.solvers.unpenalised_effects import EFFECTS, EffectKind
from rankwise.spaces.node_kernels import SideKernel, relation_kernels
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pairwise_kernels import PAIRWISE, PairwiseKernel
from rankwise.supervision.node_names import (
    edges_by_name,
    index_names,
    labels_by_name,
    square_by_name,
)
from rankwise.supervision.relation import (
    RelationTask,
    check_early_stopping,
    check_edges,
    check_labels,
)
from rankwise.validation import check_choice, check_count, check_positive

if TYPE_CHECKING:
    from rankwise.learners.conditional_ranker import ConditionalRanker

Widths = tuple[list[int] | None, list[int] | None]


def relation_problem(
    ranker: ConditionalRanker, X: Any, Y: Any, edges: Any
) -> tuple[RelationProblem, bool]:
    """The problem that `ranker` has to solve, and whether Y has an axis of relations.

    Nothing is solved yet. Sets n_features_in_, feature_names_in_ and repairs_ of the ranker.
    """
    task = RelationTask(ranker.objective, ranker.relation, ranker.condition)
    kernels = _check_parameters(ranker)
    pairwise, effects = PAIRWISE[ranker.pairwise], EffectKind.of(ranker.effects, task)
    two_domains = isinstance(X, tuple)
    _check_sides(X, task, pairwise, kernels)
    X, names = _named_nodes(X, kernels)
    X, widths = _stacked_nodes(X, kernels)
    A, B = check_domains(ranker, X, task)
    shape = (A.shape[0], B.shape[0])
    if edges is None:
        Y = labels_by_name(Y, *names)
    else:
        edges = check_edges(edges_by_name(edges, *names), shape)
    labels, has_relations = check_labels(Y, edges, shape)
    early_stopping = check_early_stopping(ranker.early_stopping, shape, len(labels))
    _check_combinations(kernels, effects, early_stopping, len(labels))
    titles = ("the row nodes", "the column nodes") if two_domains else ("the nodes", "the nodes")
    options = {
        "recognises": pairwise.recognises or effects.rows or effects.columns,
        "as_kernel": not pairwise.is_kronecker,
    }
    rows = Nodes.build(A, kernels[0], titles[0], widths=widths[0], **options)
    same = B is A and kernels[0] == kernels[1]
    columns = rows if same else Nodes.build(B, kernels[1], titles[1], widths=widths[1], **options)
    report_repairs(ranker, rows, columns)
    solver = "cg" if ranker.alpha == 0 or early_stopping is not None else ranker.solver
    problem = RelationProblem(
        rows,
        columns,
        labels,
        task,
        pairwise,
        effects,
        two_domains,
        solver,
        Limits(float(ranker.tol), int(ranker.max_iter), ranker.verbose),
        early_stopping,
        ranker.random_state,
    )
    return problem, has_relations


def _check_parameters(ranker: ConditionalRanker) -> tuple[SideKernel, SideKernel]:
    check_positive("alpha", ranker.alpha, zero=True)
    check_choice("solver", ranker.solver, ("auto", "closed", "cg"))
    check_choice("pairwise", ranker.pairwise, tuple(PAIRWISE))
    if ranker.effects is not None:
        check_choice("effects", ranker.effects, EFFECTS)
    check_positive("tol", ranker.tol, zero=True)
    kernels = relation_kernels(ranker)
    check_count("max_iter", ranker.max_iter)
    if ranker.solver == "closed" and ranker.alpha == 0:
        raise ValueError('alpha = 0 needs solver="cg" (or "auto"); "closed" needs alpha > 0.')
    if ranker.solver == "closed" and ranker.early_stopping is not None:
        raise ValueError('early_stopping needs solver="cg" (or "auto"): "closed" never iterates.')
    return kernels


def _check_sides(
    X: Any, task: RelationTask, pairwise: PairwiseKernel, kernels: tuple[SideKernel, SideKernel]
) -> None:
    """Refuse two domains, or kernels of two sides, where the relation needs one."""
    if isinstance(X, tuple):
        task.check_domains(X)
    pairwise.check(task.sign, task.relation, isinstance(X, tuple))
    if isinstance(X, tuple) or kernels[0] == kernels[1]:
        return
    if task.sign or pairwise.own_sign:
        needs = f"relation={task.relation!r}" if task.sign else f"pairwise={pairwise.name!r}"
        raise ValueError(
            f"{needs} exchanges the roles of row and column, so both need the same kernel of "
            "nodes: give one value of kernel, gamma, degree, coef0, item_effect and repair, not "
            "a pair."
        )
    if any(side.n_precomputed or len(side.parts) > 1 for side in kernels):
        raise ValueError(
            "kernel: rows and columns are the same nodes X, so a precomputed kernel or a KernelSum "
            "of one side only has no matrix of its own: give the nodes of both sides as (A, B)."
        )


def _check_combinations(
    kernels: tuple[SideKernel, SideKernel], effects: EffectKind, early_stopping: Any, k: int
) -> None:
    if early_stopping is not None and effects.any:
        raise ValueError(
            "early_stopping ends the iterations for h, and effects are fitted after them: use "
            "effects=None, or early_stopping=None with an alpha of your choice."
        )
    if not any(side.profiles for side in kernels):
        return
    if k > 1:
        raise ValueError(
            "an InteractionProfile is made from the labels of one relation, but Y holds "
            f"{k}: fit one model for each relation."
        )
    if isinstance(early_stopping, float):
        raise ValueError(
            "with an InteractionProfile the validation edges must not enter the kernel: give "
            "early_stopping=(edges, y) with edges that are not among the training edges."
        )


def _sides_of(X: Any) -> tuple[Any, ...]:
    return X if isinstance(X, tuple) else (X,)


def _named_nodes(X: Any, kernels: tuple[SideKernel, SideKernel]) -> tuple[Any, tuple[Any, Any]]:
    """The nodes, with columns of named kernels in the order of their rows, and the nodes' names."""
    sides, names = [], []
    titles = ("the kernel of row nodes", "the kernel of column nodes")
    for side, kernel, title in zip(_sides_of(X), kernels, titles):
        if kernel.is_plain and kernel.n_precomputed:
            side = square_by_name(side, title)
        sides.append(side)
        names.append(index_names(side))
    return (tuple(sides) if isinstance(X, tuple) else sides[0]), (names[0], names[-1])


def _stacked_nodes(X: Any, kernels: tuple[SideKernel, SideKernel]) -> tuple[Any, Widths]:
    """One matrix for each side, and the numbers of its columns that belong to each kernel."""
    sides: list[Any] = []
    widths: list[list[int] | None] = []
    for side, kernel, title in zip(_sides_of(X), kernels, ("A", "B")):
        n_parts = len(kernel.parts)
        matrices = several_matrices(side, n_parts)
        if matrices is not None:
            side, width = joined(matrices, title if isinstance(X, tuple) else "X")
            widths.append(width)
        else:
            widths.append(_shared_width(side, kernel, title if isinstance(X, tuple) else "X"))
        sides.append(side)
    return (tuple(sides) if isinstance(X, tuple) else sides[0]), (widths[0], widths[-1])


def _shared_width(side: Any, kernel: SideKernel, name: str) -> list[int] | None:
    """None if all kernels of a side share its columns; equal parts if all are precomputed."""
    n_parts = len(kernel.parts)
    if n_parts == 1 or not kernel.n_precomputed:
        return None
    shape = getattr(side, "shape", np.shape(side))
    if kernel.n_precomputed == n_parts and len(shape) == 2 and shape[1] == n_parts * shape[0]:
        return [shape[0]] * n_parts
    raise ValueError(
        f"{name}: this KernelSum has {kernel.n_precomputed} precomputed kernels among {n_parts}; "
        "give a list with one matrix for each of its kernels."
    )
