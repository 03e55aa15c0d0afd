"""Votes between two named items, as they come: which item won, or neither."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.validation import refuse_masked

OUTCOMES = (("a", "1", "1.0"), ("b", "0", "0.0"), ("tie", "0.5"))
"""What a vote may say as text, besides the name of an item: a won, b won, neither did."""


class Votes(NamedTuple):
    """Item numbers of each vote, whether it is a tie, and the names of the items."""

    winner: np.ndarray
    loser: np.ndarray
    tie: np.ndarray
    items: np.ndarray


def read_votes(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: ArrayLike | None = None
) -> Votes:
    """The votes of Preferences.from_votes, checked; errors name the row."""
    columns = [_column(values, name) for values, name in ((a, "a"), (b, "b"), (outcome, "outcome"))]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"a, b and outcome must have the same length, got {lengths}.")
    first, second, said = columns
    if first.dtype.kind != second.dtype.kind:
        first, second = first.astype(str), second.astype(str)
    names = np.unique(np.concatenate((first, second))) if items is None else _names(items, first)
    numbers = [_numbers(side, names, name) for side, name in ((first, "a"), (second, "b"))]
    same = numbers[0] == numbers[1]
    if same.any():
        row = int(np.argmax(same))
        raise ValueError(f"row {row} compares item {first[row]!s} with itself: leave the row out.")
    result = _results(first, second, said)
    winner = np.where(result == 1, numbers[1], numbers[0])
    loser = np.where(result == 1, numbers[0], numbers[1])
    return Votes(winner, loser, result == 2, names)


def _column(values: ArrayLike, name: str) -> np.ndarray:
    """One-dimensional, numbers or text; a row without a value is refused."""
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if array.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in array], dtype=bool)
    else:
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), dtype=bool)
    if missing.any():
        raise ValueError(f"{name} has no value at row {int(np.argmax(missing))}.")
    if array.dtype.kind == "b":
        return array.astype(int)
    return array if array.dtype.kind in "iuf" else array.astype(str)


def _names(items: ArrayLike, like: np.ndarray) -> np.ndarray:
    names = _column(items, "items")
    if names.dtype.kind != like.dtype.kind:
        names = names.astype(like.dtype if like.dtype.kind in "iuf" else str)
    distinct, counts = np.unique(names, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"items contains {distinct[np.argmax(counts > 1)]!s} twice.")
    return names


def _numbers(side: np.ndarray, names: np.ndarray, column: str) -> np.ndarray:
    """The position of each name among the items."""
    if not len(names):
        return np.zeros(0, dtype=np.intp)
    order = np.argsort(names)
    place = np.minimum(np.searchsorted(names, side, sorter=order), len(names) - 1)
    numbers = order[place]
    unknown = names[numbers] != side
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(f"{column} at row {row} is {side[row]!s}, which is not among items.")
    return numbers


def _results(first: np.ndarray, second: np.ndarray, said: np.ndarray) -> np.ndarray:
    """(l,) 0 if the first item won, 1 if the second did, 2 for a tie."""
    text = said.astype(str)
    plain = np.char.lower(np.char.strip(text)) if len(text) else text
    by_word = [np.isin(plain, words) for words in OUTCOMES]
    by_name = [text == side.astype(str) for side in (first, second)]
    by_name.append(np.zeros(len(text), dtype=bool))
    known = np.any(by_word, axis=0) | np.any(by_name, axis=0)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"outcome at row {row} is {str(text[row])!r}: it must be 1, 'a' or {first[row]!s} if a "
            f"won, 0, 'b' or {second[row]!s} if b won, or 0.5 or 'tie'."
        )
    word, name = np.argmax(by_word, axis=0), np.argmax(by_name, axis=0)
    has_word, has_name = np.any(by_word, axis=0), np.any(by_name, axis=0)
    unclear = has_word & has_name & (word != name)
    if unclear.any():
        row = int(np.argmax(unclear))
        raise ValueError(
            f"outcome at row {row} is {str(text[row])!r}, which is also the name of an item of "
            "that vote: give the items other names, or name the winner in every row."
        )
    return np.where(has_word, word, name)
