"""Statements counted by pair of items: all that a model of probabilities needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankwise.numerics.compiled import compiled
from rankwise.supervision.preferences import Preferences

Statements = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""winner, loser, tie, weight, and whether the winner counts as the first item."""


@dataclass(frozen=True)
class VoteCounts:
    """p pairs of items with the summed weights of their statements, O(l + p log p).

    `won[e]` is the weight of the statements that prefer item `first[e]` to item `second[e]`,
    `lost[e]` of those that prefer the second, and `tied[e]` of those that judge both equal. Pairs
    are in ascending order. If the counts are `by_order`, the first item is the one that was shown
    first, so that the same two items may make two pairs; otherwise it has the smaller number.
    Pairs whose statements weigh nothing are left out.
    """

    n_items: int
    first: np.ndarray
    second: np.ndarray
    won: np.ndarray
    lost: np.ndarray
    tied: np.ndarray
    by_order: bool = False

    @classmethod
    def gather(
        cls,
        preferences: Preferences,
        n_items: int,
        *,
        by_order: bool = False,
        weight: np.ndarray | None = None,
    ) -> VoteCounts:
        """The counts of statements; `weight` (l,) replaces the weights of the preferences."""
        winner, loser = preferences.winner, preferences.loser
        if by_order:
            if preferences.winner_first is None:
                raise ValueError(
                    "order_effect=True needs to know which item was shown first: make the "
                    "preferences with Preferences.from_votes(a, b, outcome), or set "
                    "preferences.winner_first."
                )
            is_first = np.asarray(preferences.winner_first, dtype=bool)
            if is_first.shape != winner.shape:
                raise ValueError(
                    f"preferences.winner_first must have shape {winner.shape}, got "
                    f"{is_first.shape}."
                )
        else:
            is_first = winner < loser
        weight = preferences.weight if weight is None else weight
        statements = (winner, loser, preferences.tie, weight, is_first)
        order = _in_order_of_pairs(statements, n_items)
        n_cells = _count_cells(statements, order)
        first, second, counts = _add_up(statements, order, n_cells)
        used = counts.any(axis=0)
        if not used.all():
            first, second, counts = first[used], second[used], counts[:, used]
        won, lost, tied = counts
        return cls(n_items, first, second, won, lost, tied, by_order)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def total(self) -> np.ndarray:
        """(p,) the weight of all statements about each pair."""
        return self.won + self.lost + self.tied

    def statements(self) -> Preferences:
        """At most three statements for each pair that say the same as all of them together."""
        first, second = self.first.astype(np.intp), self.second.astype(np.intp)
        weight = np.concatenate((self.won, self.lost, self.tied))
        winner = np.concatenate((first, second, first))
        loser = np.concatenate((second, first, second))
        shown_first = np.repeat([True, False, True], len(self))
        tie = np.repeat([False, False, True], len(self))
        said = weight > 0
        found = Preferences(winner[said], loser[said], None, weight[said], self.n_items, tie[said])
        if self.by_order:
            found.winner_first = shown_first[said]
        return found

    def wins(self) -> sparse.csr_array:
        """(m, m) the weight of the statements that prefer the row's item, ties as ½ each way."""
        ends = (np.append(self.first, self.second), np.append(self.second, self.first))
        values = np.append(self.won + self.tied / 2, self.lost + self.tied / 2)
        return sparse.coo_array((values, ends), shape=(self.n_items,) * 2).tocsr()

    def components(self) -> np.ndarray:
        """(m,) the number of each item's component, −1 for items that no statement is about.

        Components are numbered by their first item; no statement connects two of them.
        """
        compared = np.zeros(self.n_items, dtype=bool)
        compared[self.first] = compared[self.second] = True
        graph = sparse.coo_array(
            (np.ones(len(self)), (self.first, self.second)), shape=(self.n_items,) * 2
        )
        label = connected_components(graph, directed=False)[1]
        found = np.full(self.n_items, -1)
        _, start, code = np.unique(label[compared], return_index=True, return_inverse=True)
        found[compared] = np.argsort(np.argsort(start))[code]
        return found


@compiled
def _first_of(statements: Statements, s: int) -> int:
    return statements[0][s] if statements[4][s] else statements[1][s]


@compiled
def _second_of(statements: Statements, s: int) -> int:
    return statements[1][s] if statements[4][s] else statements[0][s]


@compiled
def _in_order_of_pairs(statements: Statements, m: int) -> np.ndarray:
    """The statements in the order of their first item, then of their second, by counting twice.

    Statements about the same pair keep their order.
    """
    l = len(statements[0])
    of_first, of_second = np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1, dtype=np.int64)
    for s in range(l):
        of_first[_first_of(statements, s) + 1] += 1
        of_second[_second_of(statements, s) + 1] += 1
    for i in range(m):
        of_first[i + 1] += of_first[i]
        of_second[i + 1] += of_second[i]
    by_second: np.ndarray = np.empty(l, dtype=np.int64)
    order = np.empty(l, dtype=np.int64)
    for s in range(l):
        j = _second_of(statements, s)
        by_second[of_second[j]] = s
        of_second[j] += 1
    for statement in by_second:
        i = _first_of(statements, statement)
        order[of_first[i]] = statement
        of_first[i] += 1
    return order


@compiled
def _count_cells(statements: Statements, order: np.ndarray) -> int:
    cells, last_first, last_second = 0, -1, -1
    for s in order:
        i, j = _first_of(statements, s), _second_of(statements, s)
        if i != last_first or j != last_second:
            cells, last_first, last_second = cells + 1, i, j
    return cells


@compiled
def _add_up(
    statements: Statements, order: np.ndarray, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and second item of each pair, and (3, p) weights won, lost and tied."""
    winner, _, tie, weight, _ = statements
    first, second = np.empty(n_cells, dtype=np.int32), np.empty(n_cells, dtype=np.int32)
    counts = np.zeros((3, n_cells))
    cell, last_first, last_second = -1, -1, -1
    for s in order:
        i, j = _first_of(statements, s), _second_of(statements, s)
        if i != last_first or j != last_second:
            cell, last_first, last_second = cell + 1, i, j
            first[cell], second[cell] = i, j
        outcome = 2 if tie[s] else (0 if winner[s] == i else 1)
        counts[outcome, cell] += weight[s]
    return first, second, counts
