"""Do things happen as often as a model says?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

LEAST = 20
"""The fewest statements of a bin."""


class Reliability(NamedTuple):
    """How often predicted probabilities came true, in bins.

    Attributes
    ----------
    predicted : (b,) array
        The mean predicted probability of each bin.
    observed, error : (b,) arrays
        The observed share, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.evaluation import Reliability
    >>> curve = Reliability(np.array([0.6, 0.9]), np.array([0.58, 0.91]), np.array([0.05, 0.03]))
    >>> np.abs(curve.observed - curve.predicted) < 2 * curve.error
    array([ True,  True])
    """

    predicted: np.ndarray
    observed: np.ndarray
    error: np.ndarray


def reliability_curve(
    probability: ArrayLike, weight: ArrayLike | None = None, *, bins: int = 10
) -> Reliability:
    """How often the likelier item won, against the probability that the model gave it.

    The bins hold about equal numbers of statements, at least 20. Errors take statements as
    independent. O(l log l).

    Parameters
    ----------
    probability : (l,) array
        What a model said about the winner of each statement that it has not seen,
        such as `preference_proba(X, pairs)` with the winners first; ties are left out before.
    weight : (l,) array, optional
        How much each statement counts.
    bins : int
        The largest number of bins.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.evaluation import reliability_curve
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> said_of_winner = np.where(rng.uniform(size=1000) < p, p, 1 - p)
    >>> curve = reliability_curve(said_of_winner, bins=3)
    >>> curve.predicted.round(2), curve.observed.round(2)
    (array([0.58, 0.75, 0.91]), array([0.58, 0.73, 0.93]))
    """
    p = np.asarray(probability, dtype=float)
    if p.ndim != 1 or not len(p) or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("probability must be one-dimensional, with values between 0 and 1.")
    w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    if w.shape != p.shape or not np.all(w >= 0) or not w.any():
        raise ValueError(f"weight must have shape {p.shape}, not be negative, and not all be 0.")
    if bins < 1:
        raise ValueError(f"bins must be a positive number; got {bins!r}.")
    likelier = np.maximum(p, 1 - p)
    right = np.where(p == 0.5, 0.5, p > 0.5)
    order = np.argsort(likelier, kind="stable")
    count = max(1, min(int(bins), len(order) // LEAST))
    parts = [part for part in np.array_split(order, count) if w[part].any()]
    predicted = np.array([np.average(likelier[part], weights=w[part]) for part in parts])
    observed = np.array([np.average(right[part], weights=w[part]) for part in parts])
    effective = np.array([w[part].sum() ** 2 / (w[part] ** 2).sum() for part in parts])
    spread = np.maximum(observed * (1 - observed), predicted * (1 - predicted))
    return Reliability(predicted, observed, np.sqrt(spread / effective))
