"""The measure of each condition of a relation."""

from __future__ import annotations

import numpy as np

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics.scorers import OwnMeasure, Scorer
from rankwise.supervision.queries import Queries


def condition_values(
    measure: Scorer | OwnMeasure, y: np.ndarray, s: np.ndarray, conditions: Queries
) -> np.ndarray:
    """(q,) the measure of each condition, nan if it has nothing to judge.

    Concordance takes one pass over all conditions, O(m log m).
    """
    if isinstance(measure, Scorer) and measure.name == "concordance":
        pairs, right = concordant_pairs(y, s[:, None], conditions)
        return np.divide(right[:, 0], pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    values = []
    for items in conditions:
        try:
            values.append(measure.measure(y[items], s[items]) if np.ptp(y[items]) > 0 else np.nan)
        except UndefinedMetric:
            values.append(np.nan)
    return np.array(values)
