"""Rᵀ or R of a Laplacian L = R Rᵀ over queries and tie classes, applied in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.numerics.compiled import compiled


class HalfRows(NamedTuple):
    """after · M^½ · before, with the symmetric M of `score_laplacian.ScoreLaplacian`.

    `root` is √v. Class c holds the items order[class_starts[c]:class_starts[c + 1]], and query q
    the classes query_classes[q] to query_classes[q + 1], with their total weights and scales.
    """

    before: np.ndarray
    after: np.ndarray
    root: np.ndarray
    order: np.ndarray
    class_starts: np.ndarray
    query_classes: np.ndarray
    class_weight: np.ndarray
    query_weight: np.ndarray
    scale: np.ndarray


class Span(NamedTuple):
    """The queries and the columns that one call works on."""

    first_query: int
    last_query: int
    first_column: int
    last_column: int


@compiled
def half_rows(
    Z: np.ndarray, operator: HalfRows, span: Span, first_item: int, base: int, out: np.ndarray
) -> None:
    """out = after · M^½ (before · Z) for the queries and columns of the span.

    Row 0 of Z is the row of item `first_item`. The row of an item is written to the same row of
    `out`, which may be Z itself; with base ≥ 0 it is written to its place in `order` − base.
    """
    low, high, first, last = span
    before, after, root, order, class_starts, query_classes = operator[:6]
    class_weight, query_weight, scale = operator[6:]
    width = last - first
    total, within = np.empty(width), np.empty(width)
    for q in range(low, high):
        V = query_weight[q]
        between = np.sqrt(scale[q] * V)
        for j in range(width):
            total[j] = 0.0
        for place in range(class_starts[query_classes[q]], class_starts[query_classes[q + 1]]):
            i = order[place]
            factor, row = root[i] * before[i], Z[i - first_item, first:last]
            for j in range(width):
                total[j] += factor * row[j]
        if V > 0:
            for j in range(width):
                total[j] /= V
        for k in range(query_classes[q], query_classes[q + 1]):
            tied = class_starts[k + 1] - class_starts[k] > 1
            inside = between
            if tied:
                inside = np.sqrt(scale[q] * max(V - class_weight[k], 0.0))
                for j in range(width):
                    within[j] = 0.0
                for place in range(class_starts[k], class_starts[k + 1]):
                    i = order[place]
                    factor, row = root[i] * before[i], Z[i - first_item, first:last]
                    for j in range(width):
                        within[j] += factor * row[j]
                if class_weight[k] > 0:
                    for j in range(width):
                        within[j] /= class_weight[k]
            for place in range(class_starts[k], class_starts[k + 1]):
                i = order[place]
                written = i - first_item if base < 0 else place - base
                row, target = Z[i - first_item, first:last], out[written, first:last]
                start, end, own = before[i], after[i], root[i]
                if tied:
                    for j in range(width):
                        mean = own * within[j]
                        value = inside * (start * row[j] - mean)
                        value += between * (mean - own * total[j])
                        target[j] = end * value
                else:
                    scale_row, scale_mean = end * between * start, end * between * own
                    for j in range(width):
                        target[j] = scale_row * row[j] - scale_mean * total[j]
