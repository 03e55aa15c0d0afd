"""What a learner of relations is told: labels of pairs of nodes, complete or at some edges."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankwise.validation import check_choice

SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}
LARGEST_LABEL = 1e140


@dataclass(frozen=True)
class RelationTask:
    """What a model of a relation has to do. The words of the arguments are compared only here.

    `ranking` says whether the loss is that of ranking, `by_row` whether rows are the conditions.
    `sign` is 1 for a symmetric relation, −1 for a reciprocal one and 0 for a general one.
    """

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
        return SIGNS[self.relation]

    @property
    def by_row(self) -> bool:
        return self.condition == "row"

    def conditions_first(self, of_rows: Any, of_columns: Any) -> tuple:
        """The one that belongs to the conditions, then the one that belongs to the objects."""
        return (of_rows, of_columns) if self.by_row else (of_columns, of_rows)

    def turned(self, array: np.ndarray, axis: int = 0) -> np.ndarray:
        """Exchange (rows, columns) and (conditions, objects), which lie from `axis` on."""
        return array if self.by_row else np.swapaxes(array, axis, axis + 1)


class Grid(NamedTuple):
    """All edges between some row nodes and some column nodes; None stands for all nodes."""

    Y: np.ndarray
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None


@dataclass
class Labels:
    """One relation between p_a row nodes and p_b column nodes.

    A complete graph is the matrix Y. Any other multiset of edges is y, with the row node and the
    column node of each edge.
    """

    shape: tuple[int, int]
    Y: Any = None
    rows: Any = None
    columns: Any = None
    y: Any = None

    @property
    def is_complete(self) -> bool:
        return self.Y is not None

    def __len__(self) -> int:
        return self.Y.size if self.is_complete else len(self.y)

    def transposed(self) -> Labels:
        Y = self.Y.T if self.is_complete else None
        return Labels(self.shape[::-1], Y, self.columns, self.rows, self.y)

    def as_edges(self) -> Labels:
        """The same labels at explicit edges, ordered by row."""
        if not self.is_complete:
            return self
        rows, columns = (index.ravel() for index in np.indices(self.shape))
        return Labels(self.shape, None, rows, columns, self.Y.ravel())

    def take(self, index: np.ndarray) -> Labels:
        return Labels(self.shape, None, self.rows[index], self.columns[index], self.y[index])

    def lone_rows(self) -> np.ndarray:
        """Which row nodes have one edge only, and so say nothing about an order."""
        if self.is_complete:
            return np.full(self.shape[0], self.shape[1] == 1)
        return np.bincount(self.rows, minlength=self.shape[0]) == 1

    def without_rows(self, dropped: np.ndarray) -> Labels:
        if not dropped.any():
            return self
        labels = self.as_edges()
        return labels.take(np.flatnonzero(~dropped[labels.rows]))

    def grid(self, same_nodes: bool) -> Grid | None:
        """The labels as a matrix if they are a complete graph of some nodes. O(q log q).

        With `same_nodes` the row nodes and the column nodes of that graph have to be the same.
        """
        if self.is_complete:
            return Grid(self.Y)
        rows, row = np.unique(self.rows, return_inverse=True)
        columns, column = np.unique(self.columns, return_inverse=True)
        if len(self) != len(rows) * len(columns):
            return None
        if same_nodes and not np.array_equal(rows, columns):
            return None
        Y = np.full((len(rows), len(columns)), np.nan)
        Y[row, column] = self.y
        return None if np.isnan(Y).any() else Grid(Y, rows, columns)


def check_labels(Y: Any, edges: Any, shape: tuple[int, int]) -> tuple[list[Labels], bool]:
    """The labels of each relation, and whether Y has an axis of relations."""
    if Y is None:
        raise ValueError("requires y to be passed, but the target Y is None.")
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
            f"Y holds values beyond {LARGEST_LABEL:g}, whose squares overflow: rescale it."
        )
    return _labels_of_matrix(Y, shape) if edges is None else _labels_of_edges(Y, edges, shape)


def _labels_of_matrix(Y: np.ndarray, shape: tuple[int, int]) -> tuple[list[Labels], bool]:
    if Y.ndim not in (2, 3) or Y.shape[:2] != shape:
        square = " (Y must be square: rows and columns are the same nodes)"
        raise ValueError(
            f"Y must have shape {shape} or {str(shape)[:-1]}, k) for these nodes, got {Y.shape}"
            f"{square if shape[0] == shape[1] else ''}. For a sample of edges pass y and edges=."
        )
    labels = []
    for relation in np.moveaxis(np.atleast_3d(Y), -1, 0):
        rows, columns = np.nonzero(~np.isnan(relation))
        if len(rows) == relation.size:
            labels.append(Labels(shape, np.ascontiguousarray(relation)))
        else:
            labels.append(Labels(shape, None, rows, columns, relation[rows, columns]))
    return labels, Y.ndim == 3


def _labels_of_edges(
    y: np.ndarray, edges: Any, shape: tuple[int, int]
) -> tuple[list[Labels], bool]:
    edges = check_edges(edges, shape)
    if y.ndim not in (1, 2) or len(y) != len(edges):
        raise ValueError(
            f"y must hold one value per edge: there are {len(edges)} edges, y has shape {y.shape}."
        )
    labels = []
    for relation in np.atleast_2d(y.T):
        seen = ~np.isnan(relation)
        labels.append(Labels(shape, None, edges[seen, 0], edges[seen, 1], relation[seen]))
    return labels, y.ndim == 2


def check_edges(edges: Any, shape: tuple[int, int]) -> np.ndarray:
    """(q, 2) integers: the row node and the column node of each edge."""
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(
            f"edges must have shape (q, 2), a row node and a column node each; got {edges.shape}."
        )
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


def check_early_stopping(
    early_stopping: Any, shape: tuple[int, int], n_relations: int
) -> float | list[Labels] | None:
    """None, the fraction of edges to validate on, or the labels to validate each relation on."""
    if early_stopping is None:
        return None
    if isinstance(early_stopping, numbers.Real) and not isinstance(early_stopping, bool):
        fraction = float(early_stopping)
        if not 0 < fraction < 1:
            raise ValueError(f"early_stopping as a fraction must be in (0, 1); got {fraction!r}.")
        return fraction
    try:
        edges, y = early_stopping
    except (TypeError, ValueError):
        raise ValueError(
            f"early_stopping must be None, a fraction or a pair (edges, y); got {early_stopping!r}."
        ) from None
    labels, _ = check_labels(y, check_edges(edges, shape), shape)
    if len(labels) != n_relations:
        raise ValueError(
            f"early_stopping=(edges, y): y holds labels of {len(labels)} relations, but there are "
            f"{n_relations}; give one column per relation."
        )
    return labels


def warn_if_not_mirrored(labels: list[Labels], task: RelationTask) -> None:
    """Warn if a complete Y is not symmetric or reciprocal although the model will be.

    The ranking loss does not see constants, so there Y + Yᵀ of a reciprocal relation may be any
    constant.
    """
    sign = task.sign
    for label in labels:
        if sign == 0 or not label.is_complete:
            continue
        offset = 2 * label.Y.mean() if sign == -1 and task.ranking else 0.0
        gap = np.abs(label.Y - sign * label.Y.T - offset).max(initial=0.0)
        if gap > 1e-8 * np.abs(label.Y).max(initial=0.0):
            part = "(Y + Yᵀ)/2" if sign == 1 else "(Y − Yᵀ)/2"
            hint = "" if sign == 1 else " (if Y holds probabilities with Y + Yᵀ = 1, subtract ½)"
            warnings.warn(
                f"Y is not {task.relation}: Y and {'' if sign == 1 else '−'}Yᵀ differ by up to "
                f"{gap:.3g}. The model will be {task.relation}, fitted to both directions; for "
                f"regression this equals training on {part}{hint}.",
                UserWarning,
                stacklevel=3,
            )
            return
