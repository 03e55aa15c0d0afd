"""Queries in several partitions, for losses that need the order of all their scores.

Such a loss depends on the features only through the scores p = Φ w. The workers send the scores of
the m items of these queries, the client counts their pairs, O(m log m), and every worker receives
the derivative dR/dp of its own items, from which it makes its part of Φᵀ dR/dp. What y says is
sent once. The answer is exact. In an evaluation 16 bytes per item travel, and no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.exceptions import TooLarge
from rankwise.losses.risk import NoPreference, Risk
from rankwise.numerics.memory import available_memory
from rankwise.supervision.censored import Censored, CensoredItems
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems, Supervision

ITEM_BYTES = 250
"""What the client needs for an item of a spread query, most of it while it counts pairs."""
OUTPUT_BYTES = 50
"""What every further output adds."""
MOST_ITEMS = 2**31 - 1
"""Ranks of scores are counted in 32 bits."""
FIELDS = ("event", "time")


def spread_labels(spread: Any, has_queries: bool, has_preferences: bool) -> list:
    """The labels that fit(..., spread=) lists, each once."""
    if spread is None:
        return []
    if isinstance(spread, str) or not isinstance(spread, Iterable):
        raise ValueError(f"spread must be a list of query labels, got {spread!r}.")
    try:
        labels = list(dict.fromkeys(spread))
    except TypeError as error:
        raise ValueError(f"spread must be a list of query labels: {error}.") from error
    if labels and has_preferences:
        raise ValueError("spread is for scores: preferences need no whole query.")
    if labels and not has_queries:
        raise ValueError("spread names queries: give qid.")
    return labels


def spread_codes(queries: Queries, has_labels: bool, spread: Sequence) -> np.ndarray:
    """(m,) for each item the place of its query among the labels `spread`, -1 if it is not there.

    Without labels all items belong to the one query [None].
    """
    if not has_labels:
        return np.full(queries.n_items, 0 if len(spread) else -1)
    place = {label: code for code, label in enumerate(spread)}
    codes = np.array([place.get(label, -1) for label in queries.labels.tolist()], dtype=np.intp)
    return codes[queries.codes]


def risks_by_output(
    risks_of: Callable[[Supervision], list[Risk]], supervision: Supervision
) -> list[Risk | None]:
    """The risk of each output, None if it has no pair to learn from."""
    risks: list[Risk | None] = []
    for j in range(supervision.n_outputs):
        try:
            risks += risks_of(supervision.select_outputs(np.array([j])))
        except NoPreference:
            risks.append(None)
    return risks


@dataclass
class Told:
    """What one partition says about its items of spread queries."""

    number: int
    codes: np.ndarray
    """The place of the query of each item in the list of spread queries."""
    truth: np.ndarray | Censored
    weight: np.ndarray

    @classmethod
    def of(cls, number: int, codes: np.ndarray, supervision: Supervision) -> Told:
        if isinstance(supervision, CensoredItems):
            return cls(number, codes, supervision.outcome, supervision.weight)
        assert isinstance(supervision, ScoredItems)
        return cls(number, codes, supervision.Y, supervision.weight)


class SpreadItems:
    """The items of all spread queries in the order of the partitions, as the client knows them."""

    def __init__(self, told: list[Told], n_queries: int):
        self.numbers = [each.number for each in told]
        """The partitions that hold some of the items."""
        self._cuts = np.cumsum([len(each.codes) for each in told])[:-1]
        codes = np.concatenate([each.codes for each in told])
        weight = np.concatenate([each.weight for each in told])
        queries = Queries(codes, np.arange(n_queries))
        self.supervision: Supervision
        outcomes = [each.truth for each in told if isinstance(each.truth, Censored)]
        if len(outcomes) not in (0, len(told)):
            raise ValueError("y holds censored outcomes in some partitions and scores in others.")
        if outcomes:
            event, time = (np.concatenate([getattr(y, name) for y in outcomes]) for name in FIELDS)
            self.supervision = CensoredItems(Censored(event, time), queries, weight)
        else:
            Y: Any = np.concatenate([each.truth for each in told])
            self.supervision = ScoredItems(Y, queries, weight)

    def by_partition(self, values: np.ndarray) -> list[np.ndarray]:
        """(m,) values cut into the parts of the partitions `numbers`."""
        return np.split(values, self._cuts)


def refuse_too_many(n_items: int, n_outputs: int) -> None:
    """Raise TooLarge if the client cannot count the pairs of so many items."""
    needed = n_items * (ITEM_BYTES + OUTPUT_BYTES * (n_outputs - 1))
    available = available_memory()
    if n_items <= MOST_ITEMS and (available is None or needed <= available):
        return
    free = "" if available is None else f", of which {available / 1e9:.1f} GB are free"
    raise TooLarge(
        f"the queries that lie in several partitions have {n_items:,} items together. Their pairs "
        f"are counted by the client, which would take {needed / 1e9:.1f} GB of memory{free}, and "
        f"at most {MOST_ITEMS:,} items. Cut the queries into smaller ones whose items are to be "
        "compared and pass qid; learn from a sample of the items; or use rankwise.dask.RankRLS, "
        "which needs only sums."
    )
