"""Explicit preferences: a multigraph of "this item over that one"."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral

import numpy as np

from rankwise.supervision.queries import Labels, Queries
from rankwise.validation import refuse_masked, refuse_unreal

Values = Sequence[float] | np.ndarray


class Preferences:
    """l preferences e_i = (winner, loser, magnitude), a multigraph over items (section 2.1 of
    Pahikkala et al. 2009).

    Parameters
    ----------
    winner, loser : (l,) integer arrays
        Row numbers of the items; parallel preferences are allowed, an item over itself is not.
    magnitude : (l,) positive array, default ones
        How much the winner is better.
    weight : (l,) non-negative array, default ones
        How much the preference counts.
    n_items : int, optional
        The number of rows of X. If it is given, `fit` refuses any other number.
    """

    def __init__(
        self,
        winner: Values,
        loser: Values,
        magnitude: Values | None = None,
        weight: Values | None = None,
        n_items: int | None = None,
    ):
        self.winner = _item_numbers(winner, "winner")
        self.loser = _item_numbers(loser, "loser")
        length = len(self.winner)
        if len(self.loser) != length:
            raise ValueError(
                f"winner and loser must have the same length, got {length} and {len(self.loser)}."
            )
        self.magnitude = _values(magnitude, "magnitude", length)
        self.weight = _values(weight, "weight", length)
        if n_items is not None and not isinstance(n_items, Integral):
            raise ValueError(f"n_items must be an integer; got {n_items!r}.")
        self.n_items = None if n_items is None else int(n_items)
        _refuse_where(self.magnitude <= 0, "magnitude must be positive: swap winner and loser")
        _refuse_where(self.weight < 0, "weight must not be negative: leave the preference out")
        _refuse_where(self.winner == self.loser, "an item cannot be preferred over itself")
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

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        return f"Preferences({len(self)} preferences, n_items={self.n_items})"

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

    def take(self, index: np.ndarray, n_items: int) -> Preferences:
        """The preferences among the items `index`, numbered by their position in it."""
        position = np.full(n_items, -1)
        position[index] = np.arange(len(index))
        winner, loser = position[self.winner], position[self.loser]
        kept = (winner >= 0) & (loser >= 0)
        return Preferences(
            winner[kept], loser[kept], self.magnitude[kept], self.weight[kept], len(index)
        )


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


def _item_numbers(values: Values, name: str) -> np.ndarray:
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    whole = array.dtype.kind == "f" and np.isfinite(array).all() and np.all(array % 1 == 0)
    if array.dtype.kind not in "iu" and not whole:
        raise ValueError(f"{name} must hold row numbers (integers), got {array.dtype}.")
    return array.astype(np.intp)


def _values(values: Values | None, name: str, length: int) -> np.ndarray:
    if values is None:
        return np.ones(length)
    refuse_unreal(values, name)
    array = np.array(values, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}.")
    _refuse_where(~np.isfinite(array), f"{name} must be finite")
    return array


def _refuse_where(bad: np.ndarray, reason: str) -> None:
    if bad.any():
        raise ValueError(f"preference {int(np.argmax(bad))}: {reason}.")
