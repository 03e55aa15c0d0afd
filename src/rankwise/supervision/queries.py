"""Query labels, in any order and of any type, as contiguous runs of one permutation.

Notation in the whole package: m items, n features, q queries, l preferences, k outputs. The page
docs/glossary.md has all symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from rankwise.validation import refuse_masked

Labels = ArrayLike | None
"""One label per item, of any type; None for a single query."""


class Queries:
    """The partition of m items into q queries; query i is ``order[starts[i]:starts[i+1]]``.

    ``codes`` gives the query number of each item, ``labels`` the name of each query. ``order`` is
    stable, so items keep their order inside a query. O(m log m), or O(m) for sorted integers.
    """

    def __init__(self, codes: np.ndarray, labels: np.ndarray):
        self.codes = codes
        self.labels = labels
        self.sizes = np.bincount(codes, minlength=len(labels))
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)))
        self.is_sorted = bool(np.all(codes[1:] >= codes[:-1]))
        if self.is_sorted:
            self.order = np.arange(len(codes))
        else:
            self.order = np.argsort(codes, kind="stable")

    @classmethod
    def from_labels(
        cls, qid: Labels, n_items: int, name: str = "qid", each: str = "item"
    ) -> Queries:
        """Any 1-d labels (numbers, strings, mixed objects); None is one query over all items.

        Labels keep their type: 1 and 1.0 are one label, 3 and "3" are two. Errors speak of the
        argument `name`, which has one label for `each`.
        """
        if qid is None:
            return cls(np.zeros(n_items, dtype=np.intp), np.array([0]))
        refuse_masked(qid, name)
        array = _labels(qid, name, each)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1 or len(array) != n_items:
            raise ValueError(
                f"{name} must hold one label per {each}: expected shape ({n_items},), got "
                f"{array.shape}."
            )
        if array.dtype.kind == "c":
            raise ValueError(f"{name} holds complex numbers: give integers or text.")
        _refuse_missing(array, name, each)
        _refuse_merged(array, name, each)
        try:
            return cls(*_factorize(array))
        except TypeError as error:
            raise ValueError(f"{name} must hold hashable labels: {error}.") from error

    @property
    def n_items(self) -> int:
        return len(self.codes)

    def __len__(self) -> int:
        return len(self.labels)

    def members(self, query: int | np.integer) -> np.ndarray:
        """The items of one query."""
        return self.order[self.starts[query] : self.starts[query + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.members(i) for i in range(len(self)))

    def centred(self, values: np.ndarray) -> np.ndarray:
        """Values (m,) less their mean in each query, O(m)."""
        if len(self) == 1:
            return values - values.mean()
        return values - (np.bincount(self.codes, values) / self.sizes)[self.codes]

    def take(self, index: np.ndarray) -> Queries:
        """The partition of a subset of the items; queries without items disappear."""
        kept, codes = np.unique(self.codes[index], return_inverse=True)
        return Queries(codes, self.labels[kept])


def check_scored_queries(fitted_with_queries: bool, qid: Labels, n_items: int) -> Queries:
    """Queries for `score`; a model fitted with queries refuses to be scored without them."""
    if qid is None and fitted_with_queries:
        raise ValueError(
            "this model was fitted with queries, so score needs qid=: without it, items of "
            "different queries would be compared silently. Inside a scikit-learn search call "
            "sklearn.set_config(enable_metadata_routing=True) and pass qid to its fit. "
            "permutation_importance takes scoring=rankwise.metrics.scorer('concordance', qid=qid)."
        )
    return Queries.from_labels(qid, n_items)


def _labels(qid: Labels, name: str, each: str) -> np.ndarray:
    """An array of the labels; a list of numbers and strings keeps both, which NumPy would not."""
    if isinstance(qid, list | tuple):
        several = (isinstance(label, list | tuple) and len(label) != 1 for label in qid)
        row = next((i for i, found in enumerate(several) if found), None)
        if row is not None:
            raise ValueError(
                f"{name} must hold one label per {each}: that of {each} {row} is {qid[row]!r}. "
                "Join its parts to one text."
            )
    array = np.asarray(qid)
    if not isinstance(qid, list | tuple) or array.ndim != 1:
        return array
    if array.dtype.kind in "US":
        changed = not all(isinstance(label, str | bytes) for label in qid)
    else:
        changed = array.dtype.kind == "f" and any(isinstance(label, Integral) for label in qid)
    return np.asarray(qid, dtype=object) if changed else array


def _refuse_merged(array: np.ndarray, name: str, each: str) -> None:
    """Refuse floats that are so large that different whole numbers are the same float: from 2**53
    on in double precision, from 2**24 on in single precision."""
    if array.dtype.kind != "f":
        return
    bits = int(np.finfo(array.dtype).nmant) + 1
    large = ~(np.abs(array) < 2.0**bits)
    if large.any():
        row = int(np.argmax(large))
        raise ValueError(
            f"{name} of {each} {row} is the float {array[row]!r}: from 2**{bits} on, different "
            f"whole numbers are the same {array.dtype.name}. Give the labels as integers or text."
        )


def _refuse_missing(array: np.ndarray, name: str, each: str) -> None:
    if array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    elif array.dtype.kind == "O":
        missing = np.array([_is_missing(label) for label in array], dtype=bool)
    else:
        return
    if missing.any():
        raise ValueError(
            f"{name} is missing for {each} {int(np.argmax(missing))}; every {each} needs one."
        )


def _is_missing(label: object) -> bool:
    """None, and everything that does not equal itself: nan, NaT and pandas' NA."""
    if label is None:
        return True
    try:
        return not bool(label == label)
    except (TypeError, ValueError):
        return True


def _factorize(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if array.dtype.kind in "iub" and len(array):
        steps = array[1:] != array[:-1]
        if np.all(array[1:] >= array[:-1]):
            codes = np.concatenate(([0], np.cumsum(steps)))
            return codes, array[np.concatenate(([True], steps))]
    if array.dtype.kind != "O":
        labels, codes = np.unique(array, return_inverse=True)
        return codes, labels
    seen: dict[object, int] = {}
    codes = np.fromiter((seen.setdefault(x, len(seen)) for x in array), np.intp, len(array))
    labels = np.empty(len(seen), dtype=object)
    labels[:] = list(seen)
    return codes, labels
