"""The width of a kernel by the median heuristic."""

from __future__ import annotations

from typing import Any

import numpy as np

MEDIAN_DISTANCE = {"rbf": ("euclidean", 2), "laplacian": ("manhattan", 1)}
"""Kernels that have a width: the distance between items that they use, and its power."""
MEDIAN_OF = 1000
"""The number of items from which the median heuristic takes its distances."""


def median_gamma(X: Any, kernel: str, seed: int = 0) -> float:
    """The gamma for which two items at the median distance have a kernel value of e^-½.

    The median is over the pairs of at most 1000 random items; the result is 1 if all are equal.
    """
    from sklearn.metrics import pairwise_distances
    from sklearn.utils import check_random_state

    m = X.shape[0]
    index = np.arange(m)
    if m > MEDIAN_OF:
        index = np.sort(check_random_state(seed).choice(m, MEDIAN_OF, replace=False))
    metric, power = MEDIAN_DISTANCE[kernel]
    distances = pairwise_distances(X[index], metric=metric)[np.triu_indices(len(index), 1)]
    apart = distances[distances > 1e-12 * max(distances.max(initial=0.0), 1e-300)]
    if not len(apart):
        return 1.0
    return float(0.5 / np.median(apart) ** power)
