"""Explicit preferences: a multigraph of "this item over that one"."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankwise.supervision.queries import Labels, Queries
from rankwise.supervision.statement_checks import (
    MOST_ITEMS,
    Values,
    checked_item_numbers,
    checked_marks,
    checked_positions,
    checked_values,
    refuse_where,
)
from rankwise.supervision.votes import read_votes
from rankwise.validation import refuse_unreal


class Preferences:
    """Statements "this item over that one": a multigraph of l edges over the items.

    Section 2.1 of Pahikkala et al. (2009); an edge e_i is (winner, loser, magnitude).

    Parameters
    ----------
    winner, loser : (l,) integer arrays
        Row numbers of the items; parallel preferences are allowed, an item over itself is not.
    magnitude : (l,) positive array, default ones
        How much the winner is better. For a tie: how much a win would have been worth, or 0,
        which counts as 1.
    weight : (l,) non-negative array, default ones
        How much the preference counts.
    n_items : int, optional
        The number of rows of X. If it is given, `fit` refuses any other number.
    tie : (l,) array of bool, optional
        The statements that judge both items equal; it does not matter which of them is called the
        winner. Least squares give them the target 0, hinge losses half a win each way.

    Attributes
    ----------
    items
        Names of the items in the order of their numbers, or None; `from_votes` sets it.
    winner_first
        (l,) whether the winner was shown first, or None; `from_votes` sets it, item a being the
        first. Of a tie it speaks of the item that is called the winner.
    judge
        (l,) who made each statement, or None; `from_votes` sets it. Pass it as `groups` to keep the
        statements of one judge in one fold, and to count judges in place of pairs of items.
    n_ties, n_contradictions, n_repetitions, n_components, never_compared
        What is said about whom.

    Notes
    -----
    `preferences[statements]` (a slice, a mask or an array of positions) holds some of the
    statements, about the same items. `take(items)` keeps some of the items instead.

    Examples
    --------
    >>> from rankwise import Preferences, RankRLS
    >>> X = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]]
    >>> preferences = Preferences(winner=[2, 1, 2], loser=[1, 0, 0])
    >>> preferences
    Preferences(3 preferences about 3 items, 0 ties, 1 component)
    >>> RankRLS().fit(X, preferences=preferences).predict(X).argsort()
    array([0, 1, 2])
    """

    items: np.ndarray | None = None
    winner_first: np.ndarray | None = None
    judge: np.ndarray | None = None

    def __init__(
        self,
        winner: Values,
        loser: Values,
        magnitude: Values | None = None,
        weight: Values | None = None,
        n_items: int | None = None,
        tie: Sequence[bool] | np.ndarray | None = None,
    ):
        self.winner = checked_item_numbers(winner, "winner")
        self.loser = checked_item_numbers(loser, "loser")
        length = len(self.winner)
        if len(self.loser) != length:
            raise ValueError(
                f"winner and loser must have the same length, got {length} and {len(self.loser)}."
            )
        self.magnitude = checked_values(magnitude, "magnitude", length)
        self.weight = checked_values(weight, "weight", length)
        self.tie = checked_marks(tie, length)
        if n_items is not None and not isinstance(n_items, Integral):
            raise ValueError(f"n_items must be an integer; got {n_items!r}.")
        if n_items is not None and not 0 <= n_items <= MOST_ITEMS:
            raise ValueError(f"n_items must lie between 0 and 2**31; got {n_items!r}.")
        self.n_items = None if n_items is None else int(n_items)
        self.magnitude = np.where(self.tie & (self.magnitude == 0), 1.0, self.magnitude)
        refuse_where(
            self.magnitude <= 0, "magnitude must be positive: swap winner and loser, or mark a tie"
        )
        refuse_where(self.weight < 0, "weight must not be negative: leave the preference out")
        refuse_where(self.winner == self.loser, "an item cannot be preferred over itself")
        if self.n_items is not None:
            self.check_range(self.n_items)
        for array in (self.winner, self.loser, self.magnitude, self.weight):
            array.flags.writeable = False  # models keep the preferences that they learnt from

    @classmethod
    def from_scores(cls, y: Values, qid: Labels = None) -> Preferences:
        """Every pair with y_h > y_j inside a query, magnitude y_h − y_j; O(number of pairs)."""
        refuse_unreal(y, "y")
        y = np.asarray(y, dtype=float)
        if y.ndim != 1:
            raise ValueError(f"y must be one-dimensional to enumerate preferences, got {y.shape}.")
        if not np.isfinite(y).all():
            raise ValueError(f"y is not finite at row {int(np.argmin(np.isfinite(y)))}.")
        winners, losers = [], []
        for items in Queries.from_labels(qid, len(y)):
            better, worse = np.nonzero(y[items][:, None] > y[items][None, :])
            winners.append(items[better])
            losers.append(items[worse])
        winner = np.concatenate(winners) if winners else np.zeros(0, dtype=np.intp)
        loser = np.concatenate(losers) if losers else np.zeros(0, dtype=np.intp)
        return cls(winner, loser, magnitude=y[winner] - y[loser], n_items=len(y))

    @classmethod
    def from_votes(
        cls,
        a: ArrayLike,
        b: ArrayLike,
        outcome: ArrayLike,
        items: ArrayLike | None = None,
        weight: Values | None = None,
        judge: ArrayLike | None = None,
    ) -> Preferences:
        """Votes between named items, one per row, as preferences with `items`; O(l log l).

        Parameters
        ----------
        a, b : (l,) names of the two items of each vote, of any type: 1 and 1.0 are the same name,
            3 and "3" are two
        outcome : (l,) 1, "a" or the name of a's item if a won; 0, "b" or the name of b's item if b
            won; 0.5 or "tie" if neither did
        items : names of all items, in the order of the rows of X; default the names that occur,
            sorted: numbers, then text, then everything else by type and text. An item that no vote
            is about is listed in `never_compared`
        weight : (l,) how much each vote counts
        judge : (l,) who cast each vote, of any type
        """
        votes = read_votes(a, b, outcome, items)
        found = cls(votes.winner, votes.loser, None, weight, len(votes.items), votes.tie)
        found.items, found.winner_first = votes.items, votes.winner_first
        if judge is not None:
            by_judge = Queries.from_labels(judge, len(found), "judge", "row")
            found.judge = by_judge.labels[by_judge.codes]
        return found

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        """What the preferences hold, in O(l log l)."""
        parts = [
            _counted(len(self), "preference") + " about " + _counted(self._n_known_items, "item"),
            _counted(self.n_ties, "tie"),
            _counted(self.n_components, "component"),
        ]
        if self.judge is not None:
            judges = len(Queries.from_labels(self.judge, len(self)))
            parts.append(_counted(judges, "judge"))
        if self.n_contradictions:
            parts.append(_counted(self.n_contradictions, "contradicted pair"))
        if self.n_repetitions:
            parts.append(_counted(self.n_repetitions, "repetition"))
        never = self._n_known_items - len(self._compared)
        if never:
            parts.append(_counted(never, "item") + " never compared")
        return f"Preferences({', '.join(parts)})"

    @property
    def _n_known_items(self) -> int:
        """n_items, or one more than the largest row number."""
        if self.n_items is not None:
            return self.n_items
        return int(max(self.winner.max(initial=-1), self.loser.max(initial=-1))) + 1

    @property
    def n_ties(self) -> int:
        return int(self.tie.sum())

    @property
    def n_contradictions(self) -> int:
        """The number of pairs of items of which each has won at least once."""
        decided = self.subset(~self.tie)
        pair_of, pairs = decided.unordered_pairs(decided._n_known_items)
        first_won = decided.winner < decided.loser
        ways = [np.bincount(pair_of[won], minlength=len(pairs)) for won in (first_won, ~first_won)]
        return int(np.count_nonzero((ways[0] > 0) & (ways[1] > 0)))

    @property
    def n_repetitions(self) -> int:
        """The number of statements that say the same as an earlier one about the same two items."""
        pair_of, _ = self.unordered_pairs(self._n_known_items)
        said = np.where(self.tie, 2, self.winner < self.loser)
        return len(self) - len(np.unique(3 * pair_of + said))

    @property
    def n_components(self) -> int:
        """Groups of compared items that no statement connects; never compared items are none.

        What is learnt about items of different components comes from their features alone.
        """
        compared = self._compared
        ends = tuple(np.searchsorted(compared, side) for side in (self.winner, self.loser))
        shape = (len(compared), len(compared))
        graph = sparse.coo_array((np.ones(len(self)), ends), shape=shape)
        return int(connected_components(graph, directed=False)[0]) if len(self) else 0

    @property
    def _compared(self) -> np.ndarray:
        """The row numbers of the items that a statement is about, in ascending order."""
        return np.unique(np.concatenate((self.winner, self.loser)))

    @property
    def never_compared(self) -> np.ndarray:
        """The items that no statement is about: their names, or their row numbers."""
        compared = np.zeros(self._n_known_items, dtype=bool)
        compared[self.winner] = compared[self.loser] = True
        rows = np.flatnonzero(~compared)
        return rows if self.items is None else self.items[rows]

    def __getitem__(self, statements: slice | int | np.ndarray) -> Preferences:
        return self.subset(statements)

    def check_range(self, n_items: int) -> None:
        """Refuse preferences that do not fit n_items rows."""
        if self.n_items is not None and self.n_items != n_items:
            raise ValueError(
                f"preferences speak of {self.n_items} items but X has {n_items} rows; "
                "a subset of the rows needs preferences of its own."
            )
        for name in ("winner", "loser"):
            numbers = getattr(self, name)
            outside = (numbers < 0) | (numbers >= n_items)
            if outside.any():
                i = int(np.argmax(outside))
                raise ValueError(
                    f"preferences.{name}[{i}] = {int(numbers[i])} is not a row of X "
                    f"(0 to {n_items - 1})."
                )

    def subset(self, statements: slice | int | np.ndarray) -> Preferences:
        """Some of the statements, about the same items: a slice, a mask or positions."""
        if isinstance(statements, slice):
            chosen = np.arange(len(self))[statements]
        else:
            chosen = checked_positions(np.atleast_1d(np.asarray(statements)), len(self))
        return self._like(self.winner[chosen], self.loser[chosen], chosen, self.n_items, self.items)

    def _like(
        self,
        winner: np.ndarray,
        loser: np.ndarray,
        chosen: np.ndarray,
        n_items: int | None,
        items: np.ndarray | None,
    ) -> Preferences:
        """The `chosen` statements with other numbers of the items."""
        values = (self.magnitude[chosen], self.weight[chosen])
        found = Preferences(winner, loser, *values, n_items, self.tie[chosen])
        if items is not None:
            found.items = items
        if self.winner_first is not None:
            found.winner_first = self.winner_first[chosen]
        if self.judge is not None:
            found.judge = self.judge[chosen]
        return found

    def exchanged(self, statements: np.ndarray) -> Preferences:
        """The same with winner and loser exchanged where the mask `statements` is true."""
        winner = np.where(statements, self.loser, self.winner)
        loser = np.where(statements, self.winner, self.loser)
        found = self._like(winner, loser, np.arange(len(self)), self.n_items, self.items)
        if found.winner_first is not None:
            found.winner_first = found.winner_first != np.asarray(statements, dtype=bool)
        return found

    def with_halved_ties(self) -> Preferences:
        """The same without ties: each is half a win for either item."""
        if not self.tie.any():
            return self
        each = np.append(np.arange(len(self)), np.flatnonzero(self.tie))
        back = np.arange(len(each)) >= len(self)
        winner = np.where(back, self.loser[each], self.winner[each])
        loser = np.where(back, self.winner[each], self.loser[each])
        weight = self.weight[each] * np.where(self.tie[each], 0.5, 1.0)
        return Preferences(winner, loser, self.magnitude[each], weight, self.n_items)

    def unordered_pairs(self, n_items: int) -> tuple[np.ndarray, np.ndarray]:
        """(l,) the number of each preference's pair of items, and (p, 2) the pairs, i < j.

        Pairs are numbered in ascending order; O(l log l).
        """
        low, high = np.minimum(self.winner, self.loser), np.maximum(self.winner, self.loser)
        keys, pair_of = np.unique(low * n_items + high, return_inverse=True)
        return pair_of.ravel(), np.column_stack((keys // n_items, keys % n_items))

    def take(self, index: np.ndarray, n_items: int | None = None) -> Preferences:
        """The preferences among the items `index`, numbered by their position in it.

        `n_items` is the number of all items, if the preferences do not know it.
        """
        n_items = self._n_known_items if n_items is None else n_items
        index = checked_positions(np.asarray(index), n_items)
        position = np.full(n_items, -1)
        position[index] = np.arange(len(index))
        if np.count_nonzero(position >= 0) < len(index):
            raise ValueError("an item is taken twice, so that its preferences have two places.")
        winner, loser = position[self.winner], position[self.loser]
        kept = np.flatnonzero((winner >= 0) & (loser >= 0))
        names = None if self.items is None else self.items[index]
        return self._like(winner[kept], loser[kept], kept, len(index), names)


def check_preferences(preferences: object, y: object, n_items: int) -> Preferences:
    """Explicit preferences that fit n_items rows and replace y."""
    if not isinstance(preferences, Preferences):
        raise ValueError(
            f"preferences must be a rankwise.Preferences, got {type(preferences).__name__}."
        )
    if y is not None:
        raise ValueError("give either y or preferences, not both.")
    preferences.check_range(n_items)
    if not len(preferences) or not preferences.weight.any():
        raise ValueError("preferences hold no single preference with a positive weight.")
    return copy(preferences)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
