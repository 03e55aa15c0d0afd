"""The seam between data and losses: what a learner is told about its items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

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

    @abstractmethod
    def judged_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, 2) pairs of items that a prediction is judged by, and (p, k) their true differences.

        A difference of 0 does not count. O(number of pairs).
        """
