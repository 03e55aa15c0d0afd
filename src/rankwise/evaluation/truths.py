"""What held-out scores are judged by: real scores, or censored outcomes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from rankwise.supervision.censored import Censored, CensoredItems
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems

Truth: TypeAlias = np.ndarray | Censored
"""Scores (m,), or the outcomes of m items; both can be indexed by arrays of items."""


def supervision_of(y: Truth, queries: Queries | None = None) -> ScoredItems | CensoredItems:
    """The items as a learner is told about them, all with weight 1."""
    if queries is None:
        queries = Queries.from_labels(None, len(y))
    weight = np.ones(len(y))
    if isinstance(y, Censored):
        return CensoredItems(y, queries, weight)
    return ScoredItems(y[:, None], queries, weight)


def split_labels(y: Truth) -> np.ndarray:
    """(m,) what splitters look at: the scores, or whether the event was observed."""
    return y.event if isinstance(y, Censored) else y


def most_units(y: Truth, units: int) -> int:
    """How many independent units there are at most: each pair of censored outcomes needs an event,
    so that many items with few events say no more than their events do."""
    return min(units, int(y.event.sum())) if isinstance(y, Censored) else units
