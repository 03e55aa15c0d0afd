"""Folds of a relation for its four settings: which of rows and columns are new at test time.

| setting | condition | objects | folds |
|---|---|---|---|
| 1 | seen | seen | `EdgeSplit` |
| 2 | new | seen | `RowSplit` (`ColumnSplit` if columns are conditions) |
| 3 | seen | new | `ColumnSplit` (`RowSplit` if columns are conditions) |
| 4 | new | new | `RowColumnSplit` |

(Section 1.2 of Pahikkala et al. 2013.) An estimate for one setting says little about another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankwise.model_selection.folds import Fold, RandomState
from rankwise.validation import check_count


class _Split(ABC):
    """n_splits folds, drawn at random.

    one_domain=True says that rows and columns are the same nodes. Then no training edge touches a
    held-out node in either role, and an edge and its reverse are held out together.
    """

    def __init__(
        self, n_splits: int = 5, random_state: RandomState = None, *, one_domain: bool = False
    ):
        self.n_splits = n_splits
        self.random_state = random_state
        self.one_domain = one_domain

    def get_n_splits(self, edges: object = None, y: object = None, groups: object = None) -> int:
        return self.n_splits

    def split(self, edges: ArrayLike, y: object = None, groups: object = None) -> Iterator[Fold]:
        """(train, test) row numbers of `edges` (q, 2), one pair per fold."""
        edges = np.asarray(edges)
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must have shape (q, 2), got {edges.shape}.")
        check_count("n_splits", self.n_splits, 2)
        rng = check_random_state(self.random_state)
        folds = self._fold_numbers(edges, rng)
        for fold in range(self.n_splits):
            held_out = folds == fold
            train, test = ~held_out.any(axis=1), self._tested(held_out)
            for name, mask in (("training", train), ("test", test)):
                if not mask.any():
                    raise ValueError(
                        f"fold {fold} of {type(self).__name__} has no {name} edge: the graph is "
                        f"too sparse for n_splits={self.n_splits}."
                    )
            yield np.flatnonzero(train), np.flatnonzero(test)

    @abstractmethod
    def _fold_numbers(self, edges: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """(q, 1) the fold of each edge, or (q, 2) the folds of its two nodes."""

    def _tested(self, held_out: np.ndarray) -> np.ndarray:
        return np.all(held_out, axis=1)

    def _folds(self, labels: np.ndarray, rng: np.random.RandomState, what: str) -> np.ndarray:
        """The fold of every label; equal labels share one, and sizes differ by at most one."""
        distinct, codes = np.unique(labels, return_inverse=True)
        if len(distinct) < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits}, but there are {len(distinct)} {what}.")
        return (rng.permutation(len(distinct)) % self.n_splits)[codes].reshape(labels.shape)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_splits={self.n_splits}, random_state={self.random_state}, "
            f"one_domain={self.one_domain})"
        )


class EdgeSplit(_Split):
    """Setting 1, both nodes seen: edges are held out, parallel edges together.

    Parameters
    ----------
    n_splits : int
        The number of folds.
    random_state
        Draws the folds.
    one_domain : bool
        Whether rows and columns are the same nodes. An edge and its reverse then leave together.

    Examples
    --------
    >>> from rankwise.selection import EdgeSplit
    >>> edges = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> [test.tolist() for train, test in EdgeSplit(2, random_state=0).split(edges)]
    [[0, 3], [1, 2]]
    """

    def _fold_numbers(self, edges: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        pairs = np.sort(edges, axis=1) if self.one_domain else edges
        _, codes = np.unique(pairs, axis=0, return_inverse=True)
        return self._folds(codes.reshape(-1, 1), rng, "pairs of nodes")


class _SideSplit(_Split):
    side: int
    what: str

    def _fold_numbers(self, edges: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.one_domain:
            return self._folds(edges, rng, "nodes")
        return self._folds(edges[:, [self.side]], rng, self.what)

    def _tested(self, held_out: np.ndarray) -> np.ndarray:
        if not self.one_domain:
            return held_out[:, 0]
        return held_out[:, self.side] & ~held_out[:, 1 - self.side]


class RowSplit(_SideSplit):
    """Whole rows are held out: setting 2 if rows are the conditions.

    Parameters
    ----------
    n_splits, random_state
        As in `EdgeSplit`.
    one_domain : bool
        Whether rows and columns are the same nodes. A held-out node then leaves in both roles.

    Examples
    --------
    >>> from rankwise.selection import RowSplit
    >>> edges = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> [test.tolist() for train, test in RowSplit(2, random_state=0).split(edges)]
    [[2, 3], [0, 1]]
    """

    side, what = 0, "rows"


class ColumnSplit(_SideSplit):
    """Whole columns are held out: setting 3 if rows are the conditions.

    Parameters
    ----------
    n_splits, random_state, one_domain
        As in `RowSplit`.

    Examples
    --------
    >>> from rankwise.selection import ColumnSplit
    >>> edges = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> [test.tolist() for train, test in ColumnSplit(2, random_state=0).split(edges)]
    [[1, 3], [0, 2]]
    """

    side, what = 1, "columns"


class RowColumnSplit(_Split):
    """Setting 4, both nodes new: each fold holds out some rows and some columns.

    Test edges connect two held-out nodes, training edges two other nodes; the rest is not used.

    Parameters
    ----------
    n_splits, random_state, one_domain
        As in `RowSplit`.

    Examples
    --------
    >>> from rankwise.selection import RowColumnSplit
    >>> edges = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> for train, test in RowColumnSplit(2, random_state=0).split(edges):
    ...     print("train", train, "test", test)
    train [1] test [2]
    train [2] test [1]
    """

    def _fold_numbers(self, edges: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.one_domain:
            return self._folds(edges, rng, "nodes")
        rows = self._folds(edges[:, 0], rng, "rows")
        return np.column_stack([rows, self._folds(edges[:, 1], rng, "columns")])
