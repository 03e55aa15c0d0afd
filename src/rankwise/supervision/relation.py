"""What a learner of relations is told: labels of pairs of nodes, complete or at some edges."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from rankwise.validation import check_choice, refuse_masked

SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}
LARGEST_LABEL = 1e140
Shape = tuple[int, int]
Grid = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]
Side = TypeVar("Side")
_nothing = partial(np.zeros, 0, np.intp)


@dataclass(frozen=True)
class RelationTask:
    """What a model of a relation has to do; only this class compares the words of the arguments."""

    objective: str = "ranking"
    relation: str = "general"
    condition: str = "row"

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, ("ranking", "regression"))
        check_choice("relation", self.relation, tuple(SIGNS))
        check_choice("condition", self.condition, ("row", "column"))

    @property
    def ranking(self) -> bool:
        return self.objective == "ranking"

    @property
    def sign(self) -> int:
        """1 for a symmetric relation, −1 for a reciprocal one, 0 for a general one."""
        return SIGNS[self.relation]

    def check_domains(self, X: tuple[Any, ...]) -> None:
        """Refuse what is no pair (A, B), and a pair if the relation is within one domain."""
        if len(X) != 2:
            raise ValueError(f"two domains are given as a pair (A, B); got a tuple of {len(X)}.")
        if self.sign:
            raise ValueError(
                f"relation={self.relation!r} needs rows and columns of one domain, but X is a pair "
                "(A, B) of two domains: use relation='general', or one X for both."
            )

    def conditions_first(self, of_rows: Side, of_columns: Side) -> tuple[Side, Side]:
        """The one that belongs to the conditions, then the one that belongs to the objects."""
        return (of_rows, of_columns) if self.condition == "row" else (of_columns, of_rows)

    def turned(self, array: np.ndarray) -> np.ndarray:
        """Exchange (rows, columns) and (conditions, objects), the first two axes."""
        return array if self.condition == "row" else np.swapaxes(array, 0, 1)


@dataclass
class Labels:
    """One relation between p_a row nodes and p_b column nodes.

    A complete graph is the matrix Y. Any other multiset of edges is y, with the row node and the
    column node of each edge.
    """

    shape: Shape
    Y: np.ndarray = field(default_factory=_nothing)
    rows: np.ndarray = field(default_factory=_nothing)
    columns: np.ndarray = field(default_factory=_nothing)
    y: np.ndarray = field(default_factory=_nothing)

    @property
    def is_complete(self) -> bool:
        return self.Y.ndim == 2

    def __len__(self) -> int:
        return self.Y.size if self.is_complete else len(self.y)

    def transposed(self) -> Labels:
        return Labels(self.shape[::-1], self.Y.T, self.columns, self.rows, self.y)

    def as_edges(self) -> Labels:
        """The same labels at explicit edges, ordered by row."""
        if not self.is_complete:
            return self
        rows, columns = (index.ravel() for index in np.indices(self.shape))
        return Labels(self.shape, rows=rows, columns=columns, y=self.Y.ravel())

    def take(self, index: np.ndarray) -> Labels:
        return replace(self, rows=self.rows[index], columns=self.columns[index], y=self.y[index])

    def without_lone_rows(self) -> tuple[Labels, int]:
        """The labels without rows of one edge, which tell nothing of an order, and their number."""
        if self.is_complete and self.shape[1] > 1:
            return self, 0
        edges = self.as_edges()
        lone = np.bincount(edges.rows, minlength=self.shape[0]) == 1
        return edges.take(np.flatnonzero(~lone[edges.rows])), int(lone.sum())

    def grid(self, same_nodes: bool) -> Grid | None:
        """(Y, row nodes, column nodes) if the edges are a complete graph of some nodes, else None.

        Nodes are None if they are all nodes; with `same_nodes` rows and columns have to be the same
        nodes. O(q log q).
        """
        if self.is_complete:
            return self.Y, None, None
        rows, row = np.unique(self.rows, return_inverse=True)
        columns, column = np.unique(self.columns, return_inverse=True)
        if len(self) != len(rows) * len(columns):
            return None
        Y = np.full((len(rows), len(columns)), np.nan)
        Y[row, column] = self.y
        if np.isnan(Y).any() or (same_nodes and not np.array_equal(rows, columns)):
            return None
        return Y, rows, columns


Profile = tuple[np.ndarray, np.ndarray]
"""Mean labels (p, p') of each node's pairs, and which of them were observed."""


def label_profiles(labels: Labels, sign: int, two_domains: bool) -> tuple[Profile, Profile]:
    """The interaction profiles of the row nodes and of the column nodes.

    Parallel edges are averaged. In one domain a node has one profile for both roles: in a symmetric
    or reciprocal relation an edge and its reverse are one, in a general one the profile holds the
    node's row and, after it, its column.
    """
    if labels.is_complete:
        total, count = labels.Y.copy(), np.ones(labels.shape)
    else:
        flat, size = labels.rows * labels.shape[1] + labels.columns, np.prod(labels.shape)
        total = np.bincount(flat, labels.y, minlength=size).reshape(labels.shape)
        count = np.bincount(flat, minlength=size).reshape(labels.shape).astype(float)
    if sign:
        total, count = total + sign * total.T, count + count.T
    Y, seen = total / np.maximum(count, 1), count > 0
    if two_domains:
        return (Y, seen), (Y.T, seen.T)
    both = (Y, seen) if sign else (np.hstack([Y, Y.T]), np.hstack([seen, seen.T]))
    return both, both


def check_labels(
    Y: ArrayLike | None, edges: ArrayLike | None, shape: Shape
) -> tuple[list[Labels], bool]:
    """The labels of each relation, and whether Y has an axis of relations; nan is not observed."""
    Y = _check_values(Y)
    if edges is not None:
        edges = check_edges(edges, shape)
        if Y.ndim not in (1, 2) or len(Y) != len(edges):
            raise ValueError(
                f"y must hold one value per edge: there are {len(edges)} edges, y has shape "
                f"{Y.shape}."
            )
    elif Y.ndim not in (2, 3) or Y.shape[:2] != shape:
        square = " (Y must be square: rows and columns are the same nodes)"
        raise ValueError(
            f"Y must have shape {shape} or {str(shape)[:-1]}, k) for these nodes, got {Y.shape}"
            f"{square if shape[0] == shape[1] else ''}. For a sample of edges pass y and edges=."
        )
    has_relations = Y.ndim == (3 if edges is None else 2)
    labels = []
    for relation in np.moveaxis(Y if has_relations else Y[..., None], -1, 0):
        seen = ~np.isnan(relation)
        if edges is None and seen.all():
            labels.append(Labels(shape, np.ascontiguousarray(relation)))
        else:
            rows, columns = np.nonzero(seen) if edges is None else edges[seen].T
            labels.append(Labels(shape, rows=rows, columns=columns, y=relation[seen]))
    return labels, has_relations


def _check_values(Y: ArrayLike | None) -> np.ndarray:
    if Y is None:
        raise ValueError("requires y to be passed, but the target Y is None.")
    refuse_masked(Y, "Y")
    Y = np.asarray(Y)
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"Y must hold real numbers, got dtype {Y.dtype}.")
    Y = Y.astype(np.float64)
    if np.isinf(Y).any():
        first = tuple(int(i) for i in np.argwhere(np.isinf(Y))[0])
        raise ValueError(f"Input Y contains infinity (the first at {first}).")
    if Y.ndim > 1 and Y.shape[-1] == 0:
        raise ValueError(f"Y holds no relation: its shape is {Y.shape}.")
    if np.abs(Y).max(initial=0.0, where=~np.isnan(Y)) > LARGEST_LABEL:
        raise ValueError(
            f"Y holds values beyond {LARGEST_LABEL:g}: their squares overflow, rescale."
        )
    return Y


def check_edges(edges: ArrayLike, shape: Shape) -> np.ndarray:
    """(q, 2) integers: the row node and the column node of each edge."""
    refuse_masked(edges, "edges")
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges must have shape (q, 2), row and column node; got {edges.shape}.")
    if not len(edges):
        raise ValueError("edges is empty.")
    whole = edges.dtype.kind == "f" and np.all(edges == np.floor(edges))
    if edges.dtype.kind not in "iu" and not whole:
        raise ValueError(f"edges must hold integers (node numbers), got dtype {edges.dtype}.")
    for side, name in enumerate(("row", "column")):
        outside = (edges[:, side] < 0) | (edges[:, side] >= shape[side])
        if outside.any():
            first = int(np.argmax(outside))
            raise ValueError(
                f"edges[{first}] names the {name} node {edges[first, side]}, out of range: there "
                f"are {shape[side]} {name} nodes, numbered from 0."
            )
    return edges.astype(np.intp)


def check_early_stopping(wanted: object, shape: Shape, k: int) -> float | list[Labels] | None:
    """None, the fraction of edges to validate on, or validation labels for each of k relations."""
    if isinstance(wanted, numbers.Real) and not isinstance(wanted, bool):
        if not 0 < float(wanted) < 1:
            raise ValueError(f"early_stopping as a fraction must be in (0, 1); got {wanted!r}.")
        return float(wanted)
    if wanted is None:
        return None
    try:
        edges, y = cast(tuple[ArrayLike, ArrayLike], wanted)
    except (TypeError, ValueError):
        raise ValueError(
            f"early_stopping must be None, a fraction or a pair (edges, y); got {wanted!r}."
        ) from None
    labels, _ = check_labels(y, check_edges(edges, shape), shape)
    if len(labels) != k:
        raise ValueError(
            f"early_stopping=(edges, y): y holds labels of {len(labels)} relations, but there are "
            f"{k}; give one column per relation."
        )
    return labels


def warn_if_not_mirrored(
    labels: list[Labels], task: RelationTask, names: Sequence[object] | None = None
) -> None:
    """Warn if labels are not symmetric or reciprocal although the model will be.

    The warning tells the two nodes whose labels differ most, by name if nodes have `names`.
    The ranking loss does not see constants: there Y + Yᵀ of a reciprocal relation may be constant.
    Of edges, those are compared whose reverse is there too; repeated ones by their means.
    """
    sign = task.sign
    for one in labels if sign else ():
        rows, columns, there, back = _both_directions(one)
        if not len(rows):
            continue
        offset = float(np.mean(there + back)) if sign == -1 and task.ranking else 0.0
        gaps = np.abs(there - sign * back - offset)
        worst = int(np.argmax(gaps))
        if gaps[worst] > 1e-8 * np.abs(there).max():
            at = int(rows[worst]), int(columns[worst])
            u, v = (str(node) if names is None else repr(names[node]) for node in at)
            mirrored, half = ("Yᵀ", "(Y + Yᵀ)/2") if sign == 1 else ("−Yᵀ", "(Y − Yᵀ)/2")
            hint = "" if sign == 1 else " (if Y holds probabilities with Y + Yᵀ = 1, subtract ½)"
            warnings.warn(
                f"Y is not {task.relation}: Y and {mirrored} differ by up to {gaps[worst]:.3g}, at "
                f"the nodes {u} and {v} ({there[worst]:.6g} and {back[worst]:.6g}). The model will "
                f"be {task.relation}, fitted to both directions; for regression this equals "
                f"training on {half}{hint}.",
                UserWarning,
                stacklevel=3,
            )
            return


def _both_directions(labels: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of nodes (u, v) with an edge in both directions, and their mean labels."""
    if labels.is_complete:
        rows, columns = (index.ravel() for index in np.indices(labels.shape))
        return rows, columns, labels.Y.ravel(), labels.Y.T.ravel()
    p = max(labels.shape)
    codes, inverse = np.unique(labels.rows * p + labels.columns, return_inverse=True)
    means = np.bincount(inverse, labels.y) / np.bincount(inverse)
    rows, columns = np.divmod(codes, p)
    reverse = columns * p + rows
    place = np.searchsorted(codes, reverse).clip(max=max(len(codes) - 1, 0))
    found = codes[place] == reverse if len(codes) else np.zeros(0, dtype=bool)
    return rows[found], columns[found], means[found], means[place[found]]
