"""Rows in tight groups: samples of the same thing that nobody has named.

Patients with several samples each give rows that are nearly equal. Their scores agree within a
patient, and cross-validation that separates them is too good. Such data differ from a smooth
function of the features in one thing: the nearest row tells the score, and a row that is only the
tenth nearest, which is several times as far away, tells hardly anything.
"""

from __future__ import annotations

import numpy as np

SAMPLE, MOST_ENTRIES = 200, 2_000_000
"""So many rows are compared with all rows; larger data are not looked at."""
FEWEST_ROWS, FEWEST_FEATURES = 30, 3
NEIGHBOURS = (10, 30)
"""The nearest row is compared with the k-th nearest. Groups of k + 1 rows or more are not seen."""
TIGHT = 0.5
"""The distance to the nearest row, divided by what the distance to the k-th lets expect."""
NEAREST_TELLS = 0.25
"""Mean squared difference of scores to the nearest row, divided by that to the k-th nearest."""
FURTHER_TELLS_LITTLE = 0.5
"""The least mean squared difference to the k-th nearest row, divided by that of random pairs."""


def in_tight_groups(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the nearest row is very near and tells the score, and the k-th nearest does not.

    In d dimensions the distance to the k-th nearest row grows as k^(1/d); d is read off the
    distances to the k-th and the 3k-th nearest row, so data near a curve have a small d. Features
    are standardised first. O(200 m n).
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or len(X) < FEWEST_ROWS or X.size > MOST_ENTRIES or len(y) != len(X):
        return False
    X, variance = _standardised(X), float(y.var())
    if X.shape[1] < FEWEST_FEATURES or not variance > 0:
        return False
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), SAMPLE)).astype(int))
    squared = np.einsum("ij,ij->i", X, X)
    distances = np.maximum(squared[rows, None] + squared - 2 * X[rows] @ X.T, 0.0)
    distances[np.arange(len(rows)), rows] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, : min(3 * NEIGHBOURS[-1], len(X) - 1)]
    away = np.sqrt(np.median(np.take_along_axis(distances, order, axis=1), axis=0))
    apart = ((y[order] - y[rows, None]) ** 2).mean(axis=0) / (2 * variance)
    for k in NEIGHBOURS:
        if order.shape[1] < 2 * k:
            break
        tells_little = apart[k - 1] >= FURTHER_TELLS_LITTLE
        if tells_little and apart[0] <= NEAREST_TELLS * apart[k - 1] and _is_tight(away, k):
            return True
    return False


def _standardised(X: np.ndarray) -> np.ndarray:
    """The features that vary and whose variance can be computed."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = X.mean(axis=0), X.std(axis=0)
    varies = (spread > 0) & np.isfinite(spread)
    return (X[:, varies] - mean[varies]) / spread[varies]


def _is_tight(away: np.ndarray, k: int) -> bool:
    """`away` holds the typical distance to the nearest row, the second nearest, and so on."""
    last = min(3 * k, len(away))
    kth, beyond = away[k - 1], away[last - 1]
    if not beyond > kth > 0:
        return False
    one_over_d = np.log(beyond / kth) / np.log(last / k)
    return bool(away[0] < TIGHT * kth * k**-one_over_d)
