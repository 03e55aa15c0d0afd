"""Votes between two named items, as they come: which item won, or neither."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.supervision.queries import Queries

OUTCOMES = {"a": 0, "1": 0, "1.0": 0, "b": 1, "0": 1, "0.0": 1, "tie": 2, "0.5": 2}
"""What a vote may say as text, besides the name of an item: 0 if a won, 1 if b did, 2 neither."""
TIED = 2
NOTHING = -1
"""Stands for a word that is no outcome, and for a text that is the name of no item."""


class VoteError(ValueError):
    """A vote that cannot be read: its `row`, the `argument` at fault, and the `reason`."""

    def __init__(self, argument: str, row: int, reason: str):
        self.argument, self.row, self.reason = argument, row, reason
        super().__init__(f"{argument} at row {row}: {reason}")


class Votes(NamedTuple):
    """Item numbers of each vote, whether it is a tie, names of the items, and whether a won.

    A tie has a's item as its winner.
    """

    winner: np.ndarray
    loser: np.ndarray
    tie: np.ndarray
    items: np.ndarray
    winner_first: np.ndarray


def read_votes(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: ArrayLike | None = None
) -> Votes:
    """The votes of Preferences.from_votes, checked; errors name the row."""
    columns = {"a": _labelled(a, "a"), "b": _labelled(b, "b")}
    said = _labelled(outcome, "outcome")
    lengths = [one.n_items for one in (*columns.values(), said)]
    if len(set(lengths)) > 1:
        raise ValueError(f"a, b and outcome must have the same length, got {lengths}.")
    if items is None:
        names = _in_order({name for side in columns.values() for name in _plain(side)})
    else:
        names = _given(items)
    number = {name: i for i, name in enumerate(_plain_array(names))}
    first, second = (_numbers(side, number, column) for column, side in columns.items())
    if (first == second).any():
        row = int(np.argmax(first == second))
        reason = f"item {names[first[row]]!s} is compared with itself: leave the row out."
        raise VoteError("b", row, reason)
    result = _results(first, second, said, number)
    winner, loser = np.where(result == 1, (second, first), (first, second))
    return Votes(winner, loser, result == 2, names, result != 1)


def _labelled(values: ArrayLike, name: str) -> Queries:
    """The rows by their value; a row without a value is refused."""
    if not isinstance(values, list | tuple) and np.ndim(values) != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {np.shape(values)}.")
    return Queries.from_labels(values, len(values), name, "row")  # type: ignore[arg-type]


def _plain_array(names: np.ndarray) -> list[Any]:
    """Python's own numbers and texts, of which 1 and 1.0 are equal, and 3 and "3" are not."""
    return list(names) if names.dtype.kind in "mM" else names.tolist()


def _plain(side: Queries) -> list[Any]:
    return _plain_array(side.labels)


def _in_order(names: Iterable[Any]) -> np.ndarray:
    """The names sorted: numbers, then text, then everything else by type and text."""

    def key(name: Any) -> tuple[int, Any, str]:
        if isinstance(name, Real):
            return 0, name, ""
        if isinstance(name, str):
            return 1, name, ""
        return 2, type(name).__name__, str(name)

    ordered = sorted(names, key=key)
    kinds = {np.asarray(name).dtype.kind for name in ordered}
    if len(kinds) == 1 and not kinds & {"O"}:
        array = np.array(ordered)
        if array.ndim == 1 and array.dtype.kind in kinds:
            return array
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def _given(items: ArrayLike) -> np.ndarray:
    by_name = _labelled(items, "items")
    if (by_name.sizes > 1).any():
        raise ValueError(f"items contains {by_name.labels[np.argmax(by_name.sizes > 1)]!s} twice.")
    return by_name.labels[by_name.codes]


def _numbers(side: Queries, number: dict[Any, int], column: str) -> np.ndarray:
    """The position of each row's name among the items."""
    found = [number.get(name, NOTHING) for name in _plain(side)]
    numbers = np.array(found, dtype=np.intp)[side.codes]
    unknown = numbers == NOTHING
    if unknown.any():
        row = int(np.argmax(unknown))
        name = _plain(side)[side.codes[row]]
        different = " (the number 3 and the text '3' are different names)"
        raise VoteError(column, row, f"{name!r} is not among items{different}.")
    return numbers


def _results(
    first: np.ndarray, second: np.ndarray, said: Queries, number: dict[Any, int]
) -> np.ndarray:
    """(l,) 0 if the first item won, 1 if the second did, 2 for a tie.

    A text that is no name stands for the only item whose name is written so: "7" for the number 7.
    The items may be called 0, 1, a or b. If an outcome can then be read in two ways, the reading
    that fits all rows is meant, if only one does.
    """
    written: dict[str, int] = {}
    for name, i in number.items():
        written[str(name)] = NOTHING if str(name) in written else i
    labels = [int(label) if isinstance(label, bool) else label for label in _plain(said)]
    words = [OUTCOMES.get(str(label).strip().lower(), NOTHING) for label in labels]
    named = [number.get(label, written.get(str(label), NOTHING)) for label in labels]
    word, item = (np.array(of_label, dtype=np.intp)[said.codes] for of_label in (words, named))
    name = np.where(item == first, 0, np.where(item == second, 1, NOTHING))
    names = list(number)
    unknown = (word == NOTHING) & (name == NOTHING)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise VoteError(
            "outcome",
            row,
            f"{str(labels[said.codes[row]])[:80]!r} is no outcome; it must be 1, 'a' or "
            f"{names[first[row]]!s} if a won, 0, 'b' or {names[second[row]]!s} if b won, or 0.5 or "
            "'tie'.",
        )
    unclear = (word != NOTHING) & (name != NOTHING) & (word != name)
    if unclear.any():
        are_words = bool((word != NOTHING).all())
        are_names = bool(((name != NOTHING) | (word == TIED)).all())
        if are_words and not are_names:
            return word
        if are_names and not are_words and not (unclear & (word == TIED)).any():
            return np.where(name != NOTHING, name, word)
        row = int(np.argmax(unclear))
        raise VoteError(
            "outcome",
            row,
            f"{str(labels[said.codes[row]])[:80]!r} is also the name of an item of that vote, and "
            "both readings are possible: give the items other names.",
        )
    return np.where(word != NOTHING, word, name)
