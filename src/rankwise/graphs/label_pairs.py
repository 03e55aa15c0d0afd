"""Features of graphs: what the walks from vertices with label a to vertices with label b weigh."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from rankwise.graphs.walks import Walks, piece_starts
from rankwise.numerics.compiled import compiled


class Labels(NamedTuple):
    """Labels of several graphs, numbered by graph and within each graph by their codes.

    Vertex v has the labels numbers[starts[v]:starts[v + 1]]. Label a has the code codes[a] and
    stands on the vertices carriers[carrier_starts[a]:carrier_starts[a + 1]]. Graph g has the labels
    graph_starts[g] to graph_starts[g + 1] and sizes[g] vertices.
    """

    starts: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    carriers: np.ndarray
    carrier_starts: np.ndarray
    graph_starts: np.ndarray
    sizes: np.ndarray


def number_labels(
    vertices: Sequence[frozenset[str]], sizes: np.ndarray, codes: dict[str, int]
) -> Labels:
    """Number the labels of graphs with `sizes` vertices each; labels without a code are dropped."""
    vertex = np.repeat(np.arange(len(vertices)), list(map(len, vertices)))
    code = np.fromiter(map(codes.get, chain.from_iterable(vertices), repeat(-1)), np.int64)
    vertex, code = vertex[code >= 0], code[code >= 0]
    key = np.repeat(np.arange(len(sizes)), sizes)[vertex] * len(codes) + code
    order = np.argsort(key, kind="stable")
    is_new = np.diff(key[order], prepend=-1) > 0
    numbers = np.empty(len(key), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    distinct = key[order][is_new]
    return Labels(
        piece_starts(np.bincount(vertex, minlength=len(vertices))),
        numbers,
        distinct % max(len(codes), 1),
        vertex[order],
        np.append(np.flatnonzero(is_new), len(key)),
        np.searchsorted(distinct, np.arange(len(sizes) + 1) * len(codes)),
        sizes,
    )


@compiled
def label_pairs(
    walks: Walks, labels: Labels, n_codes: int, maximum: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys a·n_codes + b and values G_ab, sorted by key within each graph, a and b codes of labels.

    Returns keys, values, and the number of keys of each graph. The cost is
    O(nonzero entries of W × labels of the two vertices).
    """
    largest = (np.diff(labels.graph_starts) ** 2).sum()
    keys, values = np.empty(largest, np.int64), np.empty(largest)
    counts, filled = np.zeros(len(labels.sizes), np.int64), 0
    total, seen = np.zeros(len(labels.codes)), np.zeros(len(labels.codes), np.int64)
    for g in range(len(counts)):
        n_pairs = labels.sizes[g] ** 2
        for a in range(labels.graph_starts[g], labels.graph_starts[g + 1]):
            _combine_walks(walks, labels, a, maximum, total, seen)
            for b in range(labels.graph_starts[g], labels.graph_starts[g + 1]):
                if maximum and seen[b] < n_pairs:
                    # pairs of vertices without the labels, or without a walk, count as 0
                    total[b] = max(total[b], 0.0)
                if total[b] != 0.0:
                    keys[filled] = labels.codes[a] * n_codes + labels.codes[b]
                    values[filled] = total[b]
                    filled += 1
                    counts[g] += 1
                total[b], seen[b] = 0.0, 0
    return keys[:filled].copy(), values[:filled].copy(), counts


@compiled
def _combine_walks(
    walks: Walks, labels: Labels, a: int, maximum: bool, total: np.ndarray, seen: np.ndarray
) -> None:
    """Row a of G: the sums (equation 1 of the erratum) or the maxima (equation 2) of W.

    total[b] is taken over the nonzero entries of W from vertices with label a to vertices with
    label b, and seen[b] counts them.
    """
    for k in labels.carriers[labels.carrier_starts[a] : labels.carrier_starts[a + 1]]:
        c = walks.part[k]
        first, size = walks.starts[c], walks.starts[c + 1] - walks.starts[c]
        row = walks.blocks[c] + walks.position[k] * size
        for t in range(size):
            weight = walks.W[row + t]
            if weight == 0.0:
                continue
            l = walks.members[first + t]
            for b in labels.numbers[labels.starts[l] : labels.starts[l + 1]]:
                if not maximum or seen[b] == 0:
                    total[b] += weight
                else:
                    total[b] = max(total[b], weight)
                seen[b] += 1


@compiled
def ranked(keys: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys a·n_labels + b, sorted, and the place of each key among them.

    The result is that of numpy.unique with its inverse, in O(keys + n_labels): the keys are put
    into one bucket per a, and only the distinct b of each bucket are sorted.
    """
    starts = np.zeros(n_labels + 1, np.int64)
    for key in keys:
        starts[key // n_labels + 1] += 1
    starts = np.cumsum(starts)
    fill, bucketed = starts[:-1].copy(), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        a = keys[i] // n_labels
        bucketed[fill[a]] = i
        fill[a] += 1
    distinct, places = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    seen, rank = np.full(n_labels, -1, np.int64), np.empty(n_labels, np.int64)
    partners = np.empty(n_labels, np.int64)
    filled = 0
    for a in range(n_labels):
        count = 0
        for i in bucketed[starts[a] : starts[a + 1]]:
            b = keys[i] - a * n_labels
            if seen[b] != a:
                seen[b], partners[count] = a, b
                count += 1
        for b in np.sort(partners[:count]):
            rank[b], distinct[filled] = filled, a * n_labels + b
            filled += 1
        for i in bucketed[starts[a] : starts[a + 1]]:
            places[i] = rank[keys[i] - a * n_labels]
    return distinct[:filled].copy(), places
