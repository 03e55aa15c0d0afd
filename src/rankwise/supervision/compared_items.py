"""Items that are compared by explicit preferences, "this item over that one"."""

from __future__ import annotations

import numpy as np

from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import Supervision


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

    def pair_weights(self) -> np.ndarray:
        """(l,) the weight of each preference, before the loss has its say."""
        winner, loser = self.preferences.winner, self.preferences.loser
        return self.preferences.weight * self.weight[winner] * self.weight[loser]

    def judged_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        pairs = np.column_stack((self.preferences.winner, self.preferences.loser))
        return pairs, self.preferences.magnitude[:, None]

    def check(self) -> None:
        winner, loser = self.preferences.winner, self.preferences.loser
        codes = self.queries.codes
        crossing = codes[winner] != codes[loser]
        if crossing.any():
            i = int(np.argmax(crossing))
            first, second = (self.queries.labels[codes[side[i]]] for side in (winner, loser))
            raise ValueError(
                f"preference {i} compares items of different queries ({first} and {second})."
            )
        if not self.pair_weights().any():
            raise ValueError("preferences hold no single preference with a positive weight.")
