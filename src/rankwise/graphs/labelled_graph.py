"""Directed graphs with weighted edges and sets of labels on their vertices."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np


class LabelledGraph:
    """A directed graph: one set of labels per vertex, and edges (from, to, weight).

    Parameters
    ----------
    labels
        One collection of strings per vertex; it may be empty.
    edges
        (from, to, weight), with the numbers of the two vertices; parallel edges add up.

    Attributes
    ----------
    labels
        Tuple of frozensets.
    edges
        List of (int, int, float), as given.
    n_vertices : int
        The number of vertices.

    Examples
    --------
    >>> from rankwise.graphs import LabelledGraph
    >>> LabelledGraph([{"C"}, {"O", "acceptor"}], [(0, 1, 0.5), (1, 0, 0.5)])
    LabelledGraph(2 vertices, 2 edges)
    """

    def __init__(self, labels: Iterable[Iterable[str]], edges: Iterable[tuple[int, int, float]]):
        self.labels = tuple(map(_label_set, labels, count()))
        self.source, self.target, self.weight = _edge_arrays(edges, len(self.labels))
        self.edges: list[tuple[int, int, float]] = list(
            zip(self.source.tolist(), self.target.tolist(), self.weight.tolist())
        )

    @property
    def n_vertices(self) -> int:
        return len(self.labels)

    def adjacency(self) -> np.ndarray:
        """The dense matrix A, A_ij the summed weight of the edges from i to j."""
        A = np.zeros((self.n_vertices, self.n_vertices))
        np.add.at(A, (self.source, self.target), self.weight)
        return A

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelledGraph):
            return NotImplemented
        return self.labels == other.labels and self.edges == other.edges

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LabelledGraph({self.n_vertices} vertices, {len(self.edges)} edges)"


def _label_set(labels: Iterable[str], vertex: int) -> frozenset[str]:
    if isinstance(labels, str | bytes):
        raise ValueError(
            f"labels[{vertex}] is the string {labels!r}; give a set of labels, {{{labels!r}}}."
        )
    try:
        distinct = frozenset(labels)
    except TypeError as error:
        raise ValueError(f"labels[{vertex}] must be a set of strings; got {labels!r}.") from error
    if not all(isinstance(label, str) for label in distinct):
        raise ValueError(f"labels[{vertex}] must hold strings; got {sorted(map(repr, distinct))}.")
    return distinct


def _edge_arrays(edges: Any, n_vertices: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The checked edges as arrays `from` (int64), `to` (int64) and `weight` (float64)."""
    edges = edges if isinstance(edges, np.ndarray) else list(edges)
    if not len(edges):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    try:
        table = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("edges must be triples of numbers (from, to, weight).") from error
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(f"edges must be triples (from, to, weight); got shape {table.shape}.")
    ends, weight = table[:, :2], table[:, 2]
    known = (ends >= 0) & (ends < n_vertices) & (ends == np.floor(ends))
    if not known.all():
        edge = int(np.argmin(known.all(axis=1)))
        raise ValueError(
            f"edges[{edge}] = {tuple(edges[edge])} does not join two of the vertices "
            f"0 to {n_vertices - 1}."
        )
    finite = np.isfinite(weight)
    if not finite.all():
        edge = int(np.argmin(finite))
        raise ValueError(f"edges[{edge}] has the weight {weight[edge]}; weights must be finite.")
    ends = ends.astype(np.int64)
    return ends[:, 0].copy(), ends[:, 1].copy(), weight.copy()
