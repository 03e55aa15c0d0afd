"""Rows that belong together although no groups were named.

They show as repeated rows, as tight groups of rows, and as columns of names. Such rows make
cross-validation too good, because a model has seen in training what it is judged on.

Patients with several samples each give rows in tight groups: their scores agree within a patient.
Such data differ from a smooth function of the features in one thing: the nearest row tells the
score, and a row that is only the tenth nearest, which is several times as far away, tells hardly
anything.

A column is like a name (of a patient, of a document) if
1. its values are text or integers; 5 or more of them occur at least twice, and these rows are at
   least half of all;
2. rows with the same value are nearly equal: for at least half of the other features, the mean
   square within values is less than a quarter of the mean square over all rows; or they have the
   same score (by the same rule, or exactly, for two score levels);
3. for what 2 is true, neighbouring values are not alike: if values are sorted, the mean squared
   difference of neighbouring means is at least 0.6 of what it would be in a random order. Counts,
   years and grades, which say something by their order, fail here.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rankwise.exceptions import DependenceWarning
from rankwise.metrics.ties import twins_of

FEWEST_VALUES, SHARE_OF_ROWS = 5, 0.5
NEARLY_EQUAL = 0.25
"""The mean square within values, divided by that over all rows."""
UNORDERED = 0.6
"""The mean squared difference of neighbours, divided by that of a random order."""
OTHERS = 30
"""The largest number of other features that are looked at."""
MOST_ENTRIES, MOST_ROWS = 20_000_000, 50_000
"""Larger data are not looked at: the search must cost little beside a fit."""
MANY_REPEATED, CONTINUOUS = 0.1, 10
"""Repeated rows are pointed out if they are this share of all rows, and if a feature has more
distinct values than that: rows of a few binary features repeat by chance."""
TIGHT_GROUPS = (
    "Rows of X lie in tight groups: the nearest row has nearly the same score, and rows a little "
    "further away tell hardly anything."
)
SAMPLE, MOST_DENSE_ENTRIES = 200, 2_000_000
"""So many rows are compared with all rows to find tight groups; larger data are not looked at."""
FEWEST_ROWS, FEWEST_FEATURES = 30, 3
NEIGHBOURS = (10, 30)
"""The nearest row is compared with the k-th nearest. Groups of k + 1 rows or more are not seen."""
TIGHT = 0.5
"""The distance to the nearest row, divided by what the distance to the k-th lets expect."""
NEAREST_TELLS = 0.25
"""Mean squared difference of scores to the nearest row, divided by that to the k-th nearest."""
FURTHER_TELLS_LITTLE = 0.5
"""The least mean squared difference to the k-th nearest row, divided by that of random pairs."""


class NameLike(NamedTuple):
    """A column that is like a name, how many values it has, and what equal values imply."""

    column: str
    number: int
    values: int
    rows: int
    implies: str

    def __str__(self) -> str:
        return (
            f"column {self.column!r} looks like the name of something that occurs several times "
            f"({self.values} values in {self.rows} rows, and rows with the same value "
            f"{self.implies})"
        )


def repeated_rows(X: Any) -> int:
    """The number of rows of X that occur more than once, 0 if that may well be chance."""
    if sparse.issparse(X) or np.ndim(X) != 2 or np.shape(X)[1] < 2 or len(X) > MOST_ROWS:
        return 0
    twins = twins_of(X)
    if twins is None:
        return 0
    sizes = np.bincount(twins)
    repeated = int(sizes[sizes > 1].sum())
    if repeated < MANY_REPEATED * len(twins):
        return 0
    distinct = max(len(np.unique(column)) for column in np.asarray(X).T)
    return repeated if distinct > CONTINUOUS else 0


def name_like(X: Any, y: Any = None, names: Sequence[str] | None = None) -> NameLike | None:
    """The first column of X that is like a name; None if there is none, or if X is large or sparse.

    `names` are those of the columns; a frame brings its own. O(m n) for each column of integers.
    """
    columns = _columns(X, names)
    if columns is None:
        return None
    m = len(columns[0][1])
    numbers = [values for _, values in columns if values.dtype.kind in "biuf"]
    y = None if y is None or np.ndim(y) != 1 else np.asarray(y)
    y = y.astype(float) if y is not None and y.dtype.kind in "biuf" else None
    for number, (name, values) in enumerate(columns):
        codes = _repeating_values(values)
        if codes is None:
            continue
        others = [column for column in numbers if column is not values]
        ordered = values.dtype.kind in "iuf"
        implies = _implied(codes, others, y, ordered)
        if implies:
            return NameLike(str(name), number, int(codes.max()) + 1, m, implies)
    return None


def nearly_repeated_rows(X: Any, y: Any) -> bool:
    """Whether rows lie in tight groups by their scores and their features of many values."""
    columns = _columns(X, None)
    y = None if y is None or np.ndim(y) != 1 else np.asarray(y)
    if columns is None or y is None or y.dtype.kind not in "biuf":
        return False
    numbers = [values.astype(float) for _, values in columns if values.dtype.kind in "biuf"]
    numbers = [values for values in numbers if np.isfinite(values).all()]
    numbers = [values for values in numbers if len(np.unique(values)) > CONTINUOUS]
    return bool(numbers) and in_tight_groups(np.column_stack(numbers), y)


def warn_of_dependent_rows(
    X: Any, y: Any, names: Sequence[str] | None = None, stacklevel: int = 3
) -> None:
    """Warn of repeated rows, of tight groups of rows, or of a column that is like a name."""
    too_good = "models have seen it in training, and the estimate is too good"
    found = name_like(X, y, names)
    if found is not None:
        warnings.warn(
            f"{found}: {too_good}. Name what belongs together by groups=, and leave the column out "
            "of X.",
            DependenceWarning,
            stacklevel=stacklevel + 1,
        )
        return
    repeated = repeated_rows(X)
    if repeated:
        warnings.warn(
            f"{repeated} of {len(X)} rows of X occur more than once. If they are samples of the "
            f"same thing, {too_good}: name what belongs together by groups=.",
            DependenceWarning,
            stacklevel=stacklevel + 1,
        )
    elif nearly_repeated_rows(X, y):
        warnings.warn(
            f"{TIGHT_GROUPS} If the rows of a group are samples of the same thing, {too_good}: "
            "name what belongs together by groups=.",
            DependenceWarning,
            stacklevel=stacklevel + 1,
        )


def _columns(X: Any, names: Sequence[str] | None) -> list[tuple[Any, np.ndarray]] | None:
    """Each column with its name; None if X is not looked at."""
    if sparse.issparse(X) or np.ndim(X) != 2 or not len(X) or len(X) > MOST_ROWS:
        return None
    if np.size(X) > MOST_ENTRIES or np.shape(X)[1] < 1:
        return None
    if hasattr(X, "columns"):
        return [(name, np.asarray(X[name])) for name in X.columns]
    array = np.asarray(X)
    labels = [f"{j}" for j in range(array.shape[1])] if names is None else list(names)
    return list(zip(labels, array.T))


def _repeating_values(values: np.ndarray) -> np.ndarray | None:
    """(m,) numbers of the values in their order, if they may be names by rule 1."""
    if values.dtype.kind == "f":
        if not np.isfinite(values).all() or np.any(values != np.floor(values)):
            return None
    elif values.dtype.kind in "OSU":
        values = values.astype(str)
    elif values.dtype.kind not in "iu":
        return None
    _, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    repeated = sizes[sizes > 1]
    if len(repeated) < FEWEST_VALUES or repeated.sum() < SHARE_OF_ROWS * len(values):
        return None
    return codes


def _implied(
    codes: np.ndarray, others: list[np.ndarray], y: np.ndarray | None, ordered: bool
) -> str:
    """What equal values imply by rules 2 and 3; empty if they imply nothing."""
    step = max(1, -(-len(others) // OTHERS))
    varying = [column.astype(float) for column in others[::step]]
    varying = [c for c in varying if np.isfinite(c).all() and c.max() > c.min()]
    alike = [_is_implied(codes, column, ordered) for column in varying]
    if alike and 2 * sum(alike) >= len(alike) and sum(alike) > 0:
        return "are nearly equal"
    if y is not None and np.isfinite(y).all() and y.max() > y.min():
        return "have the same score" if _is_implied(codes, y, ordered) else ""
    return ""


def _is_implied(codes: np.ndarray, column: np.ndarray, ordered: bool) -> bool:
    m, k = len(codes), int(codes.max()) + 1
    sizes = np.bincount(codes)
    column = column - column.mean()
    scale = float(np.abs(column).max())
    column = column / scale if scale > 0 else column
    means = np.bincount(codes, column) / sizes
    within = float(((column - means[codes]) ** 2).sum()) / max(m - k, 1)
    if within >= NEARLY_EQUAL * float((column**2).sum()) / (m - 1):
        return False
    if not ordered:
        return True
    # The expected squared difference of two means in a random order is twice their variance.
    return float((np.diff(means) ** 2).mean()) >= UNORDERED * 2 * float(means.var(ddof=1))


def in_tight_groups(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the nearest row is very near and tells the score, and the k-th nearest does not.

    In d dimensions the distance to the k-th nearest row grows as k^(1/d); d is read off the
    distances to the k-th and the 3k-th nearest row, so data near a curve have a small d. Features
    are standardised first. O(200 m n).
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or len(X) < FEWEST_ROWS or X.size > MOST_DENSE_ENTRIES or len(y) != len(X):
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
