"""Nodes, relations and edges, checked once at the door."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from rankwise.validation import check_items, refuse_non_finite

SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}
LARGEST = 1e140


@dataclass
class Labels:
    """One relation between p_a row nodes and p_b column nodes: the matrix Y, or y at edges."""

    shape: tuple[int, int]
    Y: Any = None
    rows: Any = None
    columns: Any = None
    y: Any = None

    @property
    def is_complete(self) -> bool:
        return self.Y is not None

    def transposed(self) -> Labels:
        Y = None if self.Y is None else self.Y.T
        return Labels(self.shape[::-1], Y, self.columns, self.rows, self.y)

    def as_edges(self) -> Labels:
        """The same labels at explicit edges, rows first."""
        if self.Y is None:
            return self
        rows, columns = (index.ravel() for index in np.indices(self.shape))
        return Labels(self.shape, None, rows, columns, self.Y.ravel())

    def take(self, index: np.ndarray) -> Labels:
        return Labels(self.shape, None, self.rows[index], self.columns[index], self.y[index])


def check_domains(estimator, X) -> tuple:
    """(A, B, whether they are two domains); B is A in one domain. Sets n_features_in_."""
    if not isinstance(X, tuple):
        X = check_items(estimator, X, reset=True)
        return X, X, False
    if len(X) != 2:
        raise ValueError(f"two domains are given as a pair (A, B); got a tuple of {len(X)}.")
    if estimator.relation != "general":
        raise ValueError(
            f"relation={estimator.relation!r} needs rows and columns of one domain, but X is "
            "a pair (A, B) of two: use relation='general', or one X for both."
        )
    A, B = check_nodes(X[0], "A"), check_nodes(X[1], "B")
    estimator.n_features_in_ = (A.shape[1], B.shape[1])
    return A, B, True


def check_nodes(X, name: str, n_features: int | None = None):
    """A float matrix or CSR of nodes; n_features is what training saw in that domain."""
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=name
    )
    refuse_non_finite(X, name)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{name} has {X.shape[1]} features, the model was fitted with {n_features}."
        )
    return X


def check_labels(Y, edges, shape: tuple[int, int]) -> tuple[list[Labels], bool]:
    """The labels of each relation, and whether there was an axis of relations."""
    if Y is None:
        raise ValueError("requires y to be passed, but the target Y is None.")
    Y = np.asarray(Y)
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"Y must hold real numbers, got dtype {Y.dtype}.")
    Y = Y.astype(np.float64)
    if np.isinf(Y).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(Y))[0])
        raise ValueError(f"Input Y contains infinity (the first at {place}).")
    if Y.ndim > 1 and Y.shape[-1] == 0:
        raise ValueError(f"Y holds no relation: its shape is {Y.shape}.")
    if np.abs(Y).max(initial=0.0, where=~np.isnan(Y)) > LARGEST:
        raise ValueError(f"Y holds values beyond {LARGEST:g}, whose squares overflow: rescale it.")
    if edges is None:
        return _labels_of_matrix(Y, shape)
    return _labels_of_edges(Y, edges, shape)


def _labels_of_matrix(Y: np.ndarray, shape: tuple[int, int]):
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


def _labels_of_edges(y: np.ndarray, edges, shape: tuple[int, int]):
    edges = check_edges(edges, shape)
    if y.ndim not in (1, 2) or len(y) != len(edges):
        raise ValueError(
            f"y must hold one value an edge: there are {len(edges)} edges, y has shape {y.shape}."
        )
    labels = []
    for column in np.atleast_2d(y.T):
        seen = ~np.isnan(column)
        labels.append(Labels(shape, None, edges[seen, 0], edges[seen, 1], column[seen]))
    return labels, y.ndim == 2


def check_edges(edges, shape: tuple[int, int], name: str = "edges") -> np.ndarray:
    """(q, 2) integers: a row node and a column node each."""
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(
            f"{name} must have shape (q, 2): a row and a column node; got {edges.shape}."
        )
    if not len(edges):
        raise ValueError(f"{name} is empty.")
    whole = edges.dtype.kind == "f" and np.all(edges == np.floor(edges))
    if edges.dtype.kind not in "iu" and not whole:
        raise ValueError(f"{name} must hold integers (node numbers), got dtype {edges.dtype}.")
    for side, what in enumerate(("row", "column")):
        outside = (edges[:, side] < 0) | (edges[:, side] >= shape[side])
        if outside.any():
            first = int(np.argmax(outside))
            raise ValueError(
                f"{name}[{first}] names the {what} node {edges[first, side]}, out of range: there "
                f"are {shape[side]} {what} nodes, numbered from 0."
            )
    return edges.astype(np.intp)


def warn_if_not_mirrored(labels: list[Labels], relation: str, ranking: bool) -> None:
    """Say what a symmetric or reciprocal model makes of a complete Y that is not so.

    A constant does not matter to the ranking loss, so there Y + Yᵀ may be constant, not zero.
    """
    sign = SIGNS[relation]
    for label in labels:
        if sign == 0 or not label.is_complete:
            continue
        offset = 2 * label.Y.mean() if sign == -1 and ranking else 0.0
        gap = np.abs(label.Y - sign * label.Y.T - offset).max(initial=0.0)
        if gap > 1e-8 * np.abs(label.Y).max(initial=0.0):
            part = "(Y + Yᵀ)/2" if sign == 1 else "(Y − Yᵀ)/2"
            hint = "" if sign == 1 else " (probabilities with Y + Yᵀ = 1: subtract ½ first)"
            warnings.warn(
                f"Y is not {relation}: Y and {'' if sign == 1 else '−'}Yᵀ differ by up to "
                f"{gap:.3g}. The model is, and is fitted to both directions; for regression that "
                f"is the same as training on {part}{hint}.",
                UserWarning,
                stacklevel=3,
            )
            return
