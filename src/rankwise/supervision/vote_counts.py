"""Statements counted by pair of items: all that a model of probabilities needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse.csgraph import connected_components

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
        starts, order = _rows(statements, n_items)
        n_cells = _count_cells(statements, starts, order)
        first, second, counts = _add_up(statements, starts, order, n_cells)
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


@njit(cache=True, nogil=True)
def _first_of(statements: Statements, s: int) -> int:
    return statements[0][s] if statements[4][s] else statements[1][s]


@njit(cache=True, nogil=True)
def _second_of(statements: Statements, s: int) -> int:
    return statements[1][s] if statements[4][s] else statements[0][s]


@njit(cache=True, nogil=True)
def _rows(statements: Statements, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The statements in the order of their first item, by counting."""
    l = len(statements[0])
    starts = np.zeros(m + 1, dtype=np.int64)
    for s in range(l):
        starts[_first_of(statements, s) + 1] += 1
    for i in range(m):
        starts[i + 1] += starts[i]
    free = starts[:-1].copy()
    order = np.empty(l, dtype=np.int64)
    for s in range(l):
        i = _first_of(statements, s)
        order[free[i]] = s
        free[i] += 1
    return starts, order


@njit(cache=True, nogil=True)
def _count_cells(statements: Statements, starts: np.ndarray, order: np.ndarray) -> int:
    m = len(starts) - 1
    last_row = np.full(m, -1)
    cells = 0
    for i in range(m):
        for k in range(starts[i], starts[i + 1]):
            j = _second_of(statements, order[k])
            if last_row[j] != i:
                last_row[j] = i
                cells += 1
    return cells


@njit(cache=True, nogil=True)
def _add_up(
    statements: Statements, starts: np.ndarray, order: np.ndarray, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and second item of each pair, and (3, p) weights won, lost and tied."""
    winner, _, tie, weight, _ = statements
    m = len(starts) - 1
    first, second = np.empty(n_cells, dtype=np.int32), np.empty(n_cells, dtype=np.int32)
    counts = np.zeros((3, n_cells))
    last_row, cell = np.full(m, -1), np.zeros(m, dtype=np.int64)
    end = 0
    for i in range(m):
        begin = end
        for k in range(starts[i], starts[i + 1]):
            j = _second_of(statements, order[k])
            if last_row[j] != i:
                last_row[j] = i
                second[end] = j
                end += 1
        second[begin:end] = np.sort(second[begin:end])
        for c in range(begin, end):
            first[c] = i
            cell[second[c]] = c
        for k in range(starts[i], starts[i + 1]):
            s = order[k]
            c = cell[_second_of(statements, s)]
            outcome = 2 if tie[s] else (0 if winner[s] == i else 1)
            counts[outcome, c] += weight[s]
    return first, second, counts
