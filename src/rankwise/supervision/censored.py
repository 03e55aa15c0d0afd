"""Censored outcomes: items that are followed until an event, or until nobody looks any longer.

If item j had its event at time t_j and item h was followed for longer, h survived j, whatever
happened to h later. Such pairs are *comparable*; nothing is known about the order of the others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems, Supervision
from rankwise.validation import refuse_masked, refuse_non_finite, refuse_unreal

KINDS = (
    "Only right-censored outcomes are supported, where an item without the event lived at least as "
    "long as its time; interval-censored and left-censored outcomes are not."
)


class Censored:
    """Right-censored times: item i had its event at time_i, or was last seen without it at time_i.

    Items that live longer should score higher. The comparable pairs, in which item h should be
    above item j, are those with time_j < time_h where j had the event, and those with equal times
    where j had the event and h did not. Two events at the same time, and pairs whose shorter time
    is censored, are no pairs.

    Parameters
    ----------
    event
        (m,) bool (or 0 and 1): whether the event was observed; otherwise the time is censored.
    time
        (m,) numbers, not negative: the time of the event, or of the last look at the item.

    Notes
    -----
    `y[rows]` are the outcomes of some items, so that scikit-learn splits the object as it splits
    arrays. Learners also take the structured arrays of scikit-survival, with one bool and one float
    field.

    Examples
    --------
    >>> from rankwise import Censored
    >>> Censored(event=[True, False, True], time=[2.0, 5.0, 5.0])
    Censored(3 items, 2 events, times 2 to 5)
    """

    __slots__ = ("event", "time")

    def __init__(self, event: ArrayLike, time: ArrayLike):
        self.event = _events(event)
        self.time = _times(time)
        if len(self.event) != len(self.time):
            raise ValueError(
                f"event and time must have the same length, got {len(self.event)} and "
                f"{len(self.time)}."
            )
        for array in (self.event, self.time):
            array.flags.writeable = False  # models keep the outcomes that they learnt from

    @property
    def shape(self) -> tuple[int]:
        return (len(self.event),)

    @property
    def dtype(self) -> np.dtype:
        """The type of a structured array with these outcomes."""
        return np.dtype([("event", bool), ("time", np.float64)])

    def __len__(self) -> int:
        return len(self.event)

    def __getitem__(self, rows: Any) -> Censored:
        """The outcomes of some items: an index array, a mask or a slice."""
        if isinstance(rows, tuple):  # scikit-learn asks for y[rows, ...]
            rows = rows[0]
        return Censored(np.atleast_1d(self.event[rows]), np.atleast_1d(self.time[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The same as a structured array, as scikit-survival has it."""
        array = np.empty(len(self), dtype=self.dtype)
        array["event"], array["time"] = self.event, self.time
        return array if dtype is None else array.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Censored):
            return NotImplemented
        return np.array_equal(self.event, other.event) and np.array_equal(self.time, other.time)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple:
        return Censored, (self.event, self.time)

    def __repr__(self) -> str:
        if not len(self):
            return "Censored(0 items)"
        number = int(self.event.sum())
        return (
            f"Censored({len(self)} item{'s' * (len(self) != 1)}, {number} "
            f"event{'s' * (number != 1)}, times {self.time.min():g} to {self.time.max():g})"
        )

    def levels(self, *, equal_times: bool = True) -> np.ndarray:
        """(m,) numbers such that h is comparable with j, and above it, exactly if j had the event
        and level_h > level_j. O(m log m).

        At equal times the events come first, unless pairs of `equal_times` are to be left out.
        """
        last = ~self.event if equal_times else self.event
        order = np.lexsort((last, self.time))
        time, last = self.time[order], last[order]
        opens = np.ones(len(order), dtype=bool)
        opens[1:] = (time[1:] != time[:-1]) | (last[1:] != last[:-1])
        level = np.empty(len(order), dtype=np.int64)
        level[order] = np.cumsum(opens) - 1
        return level


def read_censored(y: Any) -> Censored | None:
    """Censored outcomes given as such or as a structured array; None if y is something else."""
    if isinstance(y, Censored):
        return y
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None:
        _refuse_frame_of_outcomes(y)
        return None
    refuse_masked(y, "y")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y must be a one-dimensional structured array, got shape {array.shape}.")
    events = [name for name in names if array.dtype[name].kind == "b"]
    times = [name for name in names if array.dtype[name].kind in "fiu"]
    if len(names) != 2 or len(events) != 1 or len(times) != 1:
        fields = ", ".join(f"{name} ({array.dtype[name]})" for name in names)
        raise ValueError(
            f"a structured y must have two fields, one bool (the event) and one float (the time); "
            f"it has {fields}. {KINDS}"
        )
    return Censored(array[events[0]], array[times[0]])


def checked_outcome(y: Any, name: str) -> Censored:
    """Censored outcomes with at least one item, or an error that names the argument."""
    outcome = read_censored(y)
    if outcome is None:
        raise ValueError(
            f"{name} must hold censored outcomes: rankwise.Censored(event, time), or a structured "
            "array with one bool and one float field."
        )
    if not len(outcome):
        raise UndefinedMetric(f"{name} is empty: there is no outcome to look at.")
    return outcome


def _refuse_frame_of_outcomes(y: Any) -> None:
    """A frame of events and times would otherwise be taken for two columns of scores."""
    names = list(getattr(y, "columns", ()))
    if len(names) != 2:
        return
    is_event = [str(dtype).lower().startswith("bool") for dtype in y.dtypes]
    if is_event.count(True) == 1:
        event, time = (names[is_event.index(kind)] for kind in (True, False))
        raise ValueError(
            f"y is a frame with a column of True and False ({event}) and one other ({time}). For "
            f"censored outcomes give Censored(y[{event!r}], y[{time!r}]); for two outputs convert "
            "it to numbers."
        )


def _events(event: ArrayLike) -> np.ndarray:
    refuse_masked(event, "event")
    array = _vector(event, "event")
    if array.dtype == bool:
        return array.copy()
    if array.dtype.kind in "iuf":
        known = (array == 0) | (array == 1)
    else:
        known = np.array([_is_truth(value) for value in array.tolist()], dtype=bool)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"event must hold True (the event was observed) or False (censored): row {row} is "
            f"{array[row]!s:.40}. Censored(event, time) takes the event first. {KINDS}"
        )
    return array.astype(bool)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (0, 1)


def _times(time: ArrayLike) -> np.ndarray:
    refuse_unreal(time, "time")
    array = _vector(time, "time")
    if array.dtype == bool:
        raise ValueError("time holds True and False: Censored(event, time) takes the event first.")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"time must hold numbers: {error}.") from error
    refuse_non_finite(array, "time")
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise ValueError(
            f"time is negative at row {row} ({array[row]:g}): times count from when an item is "
            "first at risk. For logarithms take np.log1p(time)."
        )
    return array + 0.0  # turns -0.0 into 0.0


def _vector(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    return array


class CensoredItems(Supervision):
    """m items with censored outcomes within queries (strata), item i having weight v_i."""

    n_outputs = 1

    def __init__(self, outcome: Censored, queries: Queries, weight: np.ndarray):
        self.outcome, self.queries, self.weight = outcome, queries, weight

    def take(self, items: np.ndarray) -> CensoredItems:
        return CensoredItems(self.outcome[items], self.queries.take(items), self.weight[items])

    def select_outputs(self, columns: np.ndarray) -> CensoredItems:
        return self

    @cached_property
    def level(self) -> np.ndarray:
        """(m,) the levels of the outcomes, pairs of equal times included."""
        return self.outcome.levels()

    @cached_property
    def shifted_times(self) -> np.ndarray:
        """(m,) times with the same differences within queries, see ScoredItems.shifted."""
        times = ScoredItems(self.outcome.time[:, None], self.queries, self.weight)
        return times.shifted[:, 0]

    def differences(self, pairs: np.ndarray) -> np.ndarray:
        """1 where the first item of a pair should be above the second, −1 below, 0 unknown."""
        i, j = pairs.T
        event, level = self.outcome.event, self.level
        above = event[j] & (level[i] > level[j])
        below = event[i] & (level[j] > level[i])
        same = self.queries.codes[i] == self.queries.codes[j]
        return (same * (above.astype(float) - below))[:, None]

    def for_splitters(self) -> np.ndarray:
        """Whether the event was observed, so that StratifiedKFold balances the events."""
        return self.outcome.event

    def truths(self) -> list[Any]:
        return [self.outcome]

    def prefers(self) -> np.ndarray:
        """(1,) whether some pair is comparable and has positive weights."""
        counted, codes = self.weight > 0, self.queries.codes
        last = np.full(len(self.queries), -1)
        np.maximum.at(last, codes[counted], self.level[counted])
        return np.array([(self.outcome.event & counted & (self.level < last[codes])).any()])

    def check(self) -> None:
        if self.prefers().all():
            return
        counted = self.weight > 0
        event = self.outcome.event & counted
        reason = "every event is after the last look at all other items of its stratum"
        if not event.any():
            reason = "every time is censored" if counted.all() else "no item with weight had one"
        raise ValueError(
            f"y holds no single preference: {reason}, so no item is known to have lived longer "
            f"than another (n_samples = {self.n_items}, {int(event.sum())} events, "
            f"{len(self.queries)} queries)."
        )
