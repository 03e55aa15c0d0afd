"""What may say which items train and which are tested, read one fold at a time."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from rankwise.supervision.queries import Queries
from rankwise.validation import check_index


def read_splits(
    splits, queries: Queries, *, name: str, y=None, random_state=None, repeats: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(train, test) row numbers of every fold.

    `splits`: a number of folds (of whole queries where there are several), a scikit-learn
    splitter, or an iterable of (train, test) or of test sets, whose rest trains. `name` is the
    argument's, for errors; with `repeats` a training set may name a row twice (bootstrap).
    """
    m, several = queries.n_items, len(queries) > 1
    groups = queries.codes if several else None
    items = np.zeros((m, 1))
    if isinstance(splits, numbers.Integral) and not isinstance(splits, bool):
        n_folds = int(splits)
        available, what = (len(queries), "queries") if several else (m, "items")
        if not 2 <= n_folds <= available:
            raise ValueError(f"{name}={splits} folds need between 2 and the {available} {what}.")
        seed = 0 if random_state is None else random_state
        splitter = GroupKFold(n_folds)
        if not several:
            splitter = KFold(n_folds, shuffle=True, random_state=seed)
        given: Iterable = splitter.split(items, groups=groups)
    elif hasattr(splits, "split") and not isinstance(splits, str):
        given = splits.split(items, y, groups)
    elif isinstance(splits, Iterable) and not isinstance(splits, str | bytes):
        given = splits
    else:
        raise ValueError(f"{name} must be an int, a splitter or folds; got {splits!r}.")
    return (_train_and_test(split, m, f"{name} fold {i}", repeats) for i, split in enumerate(given))


def _train_and_test(split, m: int, name: str, repeats: bool) -> tuple[np.ndarray, np.ndarray]:
    if not hasattr(split, "__len__"):
        raise ValueError(f"{name} must be (train, test) or a test set; got {split!r}.")
    if len(split) == 2 and np.ndim(split[0]) == 1 and np.ndim(split[1]) == 1:
        train = check_index(split[0], m, f"{name}'s training set", repeats=repeats)
        test = check_index(split[1], m, f"{name}'s test set")
    else:
        test = check_index(split, m, name)
        train = np.delete(np.arange(m), test)
    trained = np.zeros(m, dtype=bool)
    trained[train] = True
    if trained[test].any():
        raise ValueError(
            f"{name} trains on items that it tests (row {int(test[np.argmax(trained[test])])})."
        )
    return train, test
