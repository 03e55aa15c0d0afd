"""The seam between data and losses: what a learner is told about its items.

`ScoredItems` have real scores, `ComparedItems` explicit preferences ("this item over that one"),
and `CensoredItems` (rankwise.supervision.censored) times of events or of the last look.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np

from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries


class Supervision(ABC):
    """m items in queries, with weights v, and what says which item should be above which.

    A loss (rankwise.losses) turns it into an objective. Hold-outs ask for what is left of it when
    only some items stay. Model selection asks for the pairs to judge by.
    """

    queries: Queries
    weight: np.ndarray

    @property
    def n_items(self) -> int:
        return self.queries.n_items

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """k, the number of score columns."""

    @abstractmethod
    def take(self, items: np.ndarray) -> Self:
        """The supervision of some items, numbered by their position in `items`."""

    @abstractmethod
    def select_outputs(self, columns: np.ndarray) -> Self:
        """The same items with some of the outputs."""

    @abstractmethod
    def check(self) -> None:
        """Refuse supervision that prefers no item to any other; the error says what to do."""

    def judged_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, 2) pairs of items that a prediction is judged by, and (p, k) their true differences.

        A difference of 0 does not count. O(number of pairs).
        """
        pairs = pairs_within(self.queries)
        return pairs, self.differences(pairs)

    def differences(self, pairs: np.ndarray) -> np.ndarray:
        """(p, k) the true differences of pairs of items (p, 2) of the same query, 0 if unknown."""
        raise ValueError("explicit preferences tell differences of their own pairs only.")

    def for_splitters(self) -> np.ndarray | None:
        """The y that splitters of scikit-learn look at, such as those that stratify."""
        return None

    def truths(self) -> list[Any]:
        """What measures take as y, one for each output: scores (m,), or censored outcomes."""
        raise ValueError("cross-validation by folds judges scores y, not explicit preferences.")


class ScoredItems(Supervision):
    """m items with scores Y (m, k), within queries, item i having weight v_i."""

    def __init__(self, Y: np.ndarray, queries: Queries, weight: np.ndarray):
        self.Y, self.queries, self.weight = Y, queries, weight

    @property
    def n_outputs(self) -> int:
        return self.Y.shape[1]

    def take(self, items: np.ndarray) -> ScoredItems:
        return ScoredItems(self.Y[items], self.queries.take(items), self.weight[items])

    def select_outputs(self, columns: np.ndarray) -> ScoredItems:
        if np.array_equal(columns, np.arange(self.n_outputs)):
            return self
        return ScoredItems(np.ascontiguousarray(self.Y[:, columns]), self.queries, self.weight)

    @cached_property
    def shifted(self) -> np.ndarray:
        """(m, k) scores with the differences of Y, but smaller if Y is large beside these.

        If the scores of a query are within a factor of 2 of each other, the one closest to zero is
        subtracted from all, which is exact in floating point. So no digits of 1000.000001 are lost
        when the scores of a query are centred.
        """
        order, starts = self.queries.order, self.queries.starts[:-1]
        low, high = (f.reduceat(self.Y[order], starts) for f in (np.minimum, np.maximum))
        level = np.where((low > 0) & (high <= 2 * low), low, 0.0)
        level += np.where((high < 0) & (low >= 2 * high), high, 0.0)
        return self.Y - level[self.queries.codes] if level.any() else self.Y

    def tie_classes(self, column: int = 0) -> TieClasses:
        """The items of each query grouped by their score in one column; O(m log m)."""
        return TieClasses(self.Y[:, column], self.queries)

    def differences(self, pairs: np.ndarray) -> np.ndarray:
        return self.Y[pairs[:, 0]] - self.Y[pairs[:, 1]]

    def for_splitters(self) -> np.ndarray:
        return self.Y

    def truths(self) -> list[Any]:
        return list(self.Y.T)

    def prefers(self) -> np.ndarray:
        """(k,) whether some pair of a query has different scores and positive weights."""
        order, starts = self.queries.order, self.queries.starts[:-1]
        Y, counted = self.Y[order], self.weight[order, None] > 0
        low = np.minimum.reduceat(np.where(counted, Y, np.inf), starts)
        high = np.maximum.reduceat(np.where(counted, Y, -np.inf), starts)
        return np.any(low < high, axis=0)

    def check(self) -> None:
        refuse_no_preference(self.prefers(), self.n_items, len(self.queries))


def refuse_no_preference(prefers: np.ndarray, n_items: int, n_queries: int) -> None:
    """A ValueError that names the first output for which `prefers` (k,) is false."""
    if prefers.all():
        return
    column = f" in column {int(np.argmin(prefers))}" if len(prefers) > 1 else ""
    raise ValueError(
        f"y holds no single preference{column}: within every query all items (n_samples = "
        f"{n_items}, {n_queries} queries) have the same score or no weight, so there is nothing "
        "to learn an order from."
    )


class ComparedItems(Supervision):
    """m items and l preferences between them; a preference h over j weighs weight · v_h v_j."""

    n_outputs = 1

    def __init__(self, preferences: Preferences, queries: Queries, weight: np.ndarray):
        self.preferences, self.queries, self.weight = preferences, queries, weight

    def take(self, items: np.ndarray) -> ComparedItems:
        kept = self.preferences.take(items, self.queries.n_items)
        return ComparedItems(kept, self.queries.take(items), self.weight[items])

    def select_outputs(self, columns: np.ndarray) -> ComparedItems:
        return self

    def without_statements(self, statements: np.ndarray) -> ComparedItems:
        """The same items without some of the preferences."""
        kept = self.preferences.subset(np.delete(np.arange(len(self.preferences)), statements))
        return ComparedItems(kept, self.queries, self.weight)

    def without_tie_weights(self) -> ComparedItems:
        """The same with ties that weigh nothing."""
        preferences = self.preferences[:]
        preferences.weight = np.where(preferences.tie, 0.0, preferences.weight)
        return ComparedItems(preferences, self.queries, self.weight)

    def with_halved_ties(self) -> ComparedItems:
        """The same with each tie as half a win for either item."""
        return ComparedItems(self.preferences.with_halved_ties(), self.queries, self.weight)

    def pair_weights(self) -> np.ndarray:
        """(l,) the weight of each preference, before the loss has its say."""
        winner, loser = self.preferences.winner, self.preferences.loser
        return self.preferences.weight * self.weight[winner] * self.weight[loser]

    def judged_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        preferences = self.preferences
        pairs = np.column_stack((preferences.winner, preferences.loser))
        return pairs, np.where(preferences.tie, 0.0, preferences.magnitude)[:, None]

    def prefers(self) -> np.ndarray:
        """(1,) whether some preference has a positive weight."""
        return np.array([bool(self.pair_weights().any())])

    def check(self) -> None:
        self.refuse_crossing()
        if not self.prefers().all():
            raise ValueError("preferences hold no single preference with a positive weight.")

    def refuse_crossing(self) -> None:
        """Refuse a preference between items of different queries; the error names it."""
        winner, loser = self.preferences.winner, self.preferences.loser
        codes = self.queries.codes
        crossing = codes[winner] != codes[loser]
        if crossing.any():
            i = int(np.argmax(crossing))
            first, second = (self.queries.labels[codes[side[i]]] for side in (winner, loser))
            raise ValueError(
                f"preference {i}, item {winner[i]} over item {loser[i]}, compares items of "
                f"different queries ({first} and {second}): leave it out, or give both items the "
                "same qid."
            )


class TieClasses:
    """Items sorted by query, then by score; the items of one class have equal scores.

    Class c holds the items ``order[class_starts[c]:class_starts[c + 1]]``. Query q holds the
    classes ``query_classes[q]`` to ``query_classes[q + 1]``.
    """

    def __init__(self, y: np.ndarray, queries: Queries):
        self.order = np.lexsort((y, queries.codes))
        sorted_y, sorted_q = y[self.order], queries.codes[self.order]
        new_query = np.concatenate(([True], sorted_q[1:] != sorted_q[:-1]))
        new_class = new_query | np.concatenate(([True], sorted_y[1:] != sorted_y[:-1]))
        first = np.flatnonzero(new_class)
        self.class_starts = np.append(first, len(y))
        self.query_classes = np.append(np.flatnonzero(new_query[first]), len(first))

    @property
    def key(self) -> bytes:
        """Equal for two score columns exactly if all their ties and orders agree."""
        return self.order.tobytes() + self.class_starts.tobytes()

    def class_sums(self, weight: np.ndarray) -> np.ndarray:
        return np.add.reduceat(weight[self.order], self.class_starts[:-1])

    def query_sums(self, weight: np.ndarray) -> np.ndarray:
        return np.add.reduceat(self.class_sums(weight), self.query_classes[:-1])

    def to_items(self, per_class: np.ndarray) -> np.ndarray:
        """(m,) the value of each item's class."""
        values = np.empty(len(self.order))
        values[self.order] = np.repeat(per_class, np.diff(self.class_starts))
        return values


def pairs_within(queries: Queries) -> np.ndarray:
    """(p, 2) every pair i < j of the same query, in the order of the rows."""
    blocks = []
    for members in queries:
        items = np.sort(members)
        i, j = np.triu_indices(len(items), 1)
        blocks.append(np.column_stack((items[i], items[j])))
    pairs = np.concatenate(blocks)
    return pairs if len(queries) == 1 else pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
