"""What cross-validation holds out: named schemes, a number of folds, splitters and given folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold

from rankwise.supervision.queries import Queries
from rankwise.validation import check_index

NAMED = ("auto", "leave-pair-out", "leave-query-out", "leave-one-out")
LEAVE_PAIR_OUT_UP_TO = 4000
MATRICES_UP_TO = 500
"""Leave-pair-out is no automatic choice if it needs more matrices than this for each alpha."""
DEFAULT_FOLDS = 10
GROUPS_FROM, GROUPS_UP_TO = 5, 40
"""The numbers of groups for which cv="auto" holds out every pair of groups."""

GROUPS_JOIN_QUERIES = (
    "groups cross queries, so that holding out a query with the groups of its items leaves nothing "
    "to train on. Leave qid or groups out, or hold out groups alone: RankRLSCV and RankSVMCV take "
    "cv=GroupKFold(5), which compares items of the same query and fold."
)

RandomState = int | np.random.RandomState | None
Fold = tuple[np.ndarray, np.ndarray]
Splits: TypeAlias = int | str | BaseCrossValidator | Iterable[ArrayLike]
Scheme: TypeAlias = Callable[[Queries], Iterable[np.ndarray]]
SCHEMES: dict[str, Scheme] = {}
"""Further schemes by name: a function of the queries that gives the test set of each fold.

They are checked, sorted and judged like folds that a user gives, by every learner alike.
"""


class Folds:
    """The items that cross-validation holds out, fold by fold.

    cv : "leave-pair-out", "leave-query-out", "leave-one-out", a number of folds, a scikit-learn
        splitter, or an iterable of (train, test) or of test sets. "auto" is leave-query-out with
        several queries, else leave-pair-out where it is cheap, else 10 folds
    y : (m,) or (m, k) scores, which only splitters look at; None if there are none
    groups : (m,) labels; items of one group are always held out together. A number of folds then
        keeps groups whole (and queries), "leave-one-out" leaves each group out, "leave-pair-out"
        leaves the groups of both items out ("auto" takes it for 5 to 40 groups, for fewer if each
        is a single item), and "leave-query-out" also holds out the other items of the groups that
        the query touches
    pair_matrices : how many m × m matrices leave-pair-out needs for each alpha (see HeldOut), or
        infinity if the measure needs more than pairs.
        "auto" takes leave-pair-out if they are at most 500, and their m³ operations together no
        more than those of one matrix of 4000 items

    `kind` says what is held out: "leave-pair-out", "leave-query-out", "leave-one-out",
    "leave-group-out" or "folds". A fold that leaves no item to train on is refused.
    """

    def __init__(
        self,
        cv: Splits,
        queries: Queries,
        y: np.ndarray | None = None,
        groups: ArrayLike | None = None,
        random_state: RandomState = None,
        pair_matrices: float = 1,
    ):
        self.queries = queries
        self._pair_matrices = pair_matrices
        if isinstance(cv, str) and cv in SCHEMES:
            cv = SCHEMES[cv](queries)
        self.groups = group_labels(groups, queries.n_items)
        self.kind = self._kind(cv)
        self._given: list[Fold] = []
        self._of = ""
        if self.kind == "folds":
            if isinstance(cv, str):
                available = queries.n_items if self.groups is None else len(self.groups)
                cv = min(DEFAULT_FOLDS, available)
            y = y[:, 0] if y is not None and y.ndim == 2 and y.shape[1] == 1 else y
            every_item = np.arange(queries.n_items)
            splits = read_splits(
                cv, queries, name="cv", y=y, groups=self.groups, random_state=random_state
            )
            self._given = [(np.setdiff1d(every_item, train), test) for train, test in splits]
            if self.groups is not None:
                self._of = " of groups"
            elif len(queries) > 1 and isinstance(cv, int | np.integer):
                self._of = " of queries"
        self._refuse_empty_training()

    def _kind(self, cv: Splits) -> str:
        if not isinstance(cv, str):
            return "folds"
        if cv not in NAMED:
            names = (*NAMED, *SCHEMES)
            raise ValueError(f"cv must be one of {names}, an int, a splitter or folds; got {cv!r}.")
        several = len(self.queries) > 1
        if cv == "leave-query-out" and not several:
            raise ValueError("cv='leave-query-out' needs qid with two or more queries.")
        if cv == "auto":
            if several:
                return "leave-query-out"
            return "leave-pair-out" if self._pairs_are_cheap() else "folds"
        if self.groups is None:
            return cv
        if cv == "leave-pair-out" and len(self.groups) < 3:
            raise ValueError(
                f"cv='leave-pair-out' leaves two groups out, and there are {len(self.groups)}: it "
                "needs three groups or more."
            )
        return "leave-group-out" if cv == "leave-one-out" else cv

    def _pairs_are_cheap(self) -> bool:
        if self.groups is not None and np.isfinite(self._pair_matrices):
            single = len(self.groups) == self.queries.n_items  # a fold of few has no pair to judge
            return (3 if single else GROUPS_FROM) <= len(self.groups) <= GROUPS_UP_TO
        work = self._pair_matrices * float(self.queries.n_items) ** 3
        few = self._pair_matrices <= MATRICES_UP_TO and work <= float(LEAVE_PAIR_OUT_UP_TO) ** 3
        return few

    def _refuse_empty_training(self) -> None:
        joined = self.kind == "leave-query-out" and self._groups_join_queries()
        if joined and any(len(held) == self.queries.n_items for held, _ in self.splits):
            raise ValueError(GROUPS_JOIN_QUERIES)
        if self.kind == "leave-group-out" and self.groups is not None and len(self.groups) < 2:
            raise ValueError(
                "all items are of one group: holding it out leaves nothing to train on."
            )
        for number, (held, _) in enumerate(self._given):
            if len(held) == self.queries.n_items:
                raise ValueError(f"cv fold {number} leaves no item to train on.")

    @property
    def is_leave_pair_out(self) -> bool:
        return self.kind == "leave-pair-out"

    @property
    def blocks(self) -> list[np.ndarray] | None:
        """The sets that are held out and tested one after the other, if they cover each item once.

        None for leave-pair-out, for folds, and if a query shares a group with another query.
        """
        if self.kind == "leave-query-out" and not self._groups_join_queries():
            return list(self.queries)
        if self.kind == "leave-group-out" and self.groups is not None:
            return list(self.groups)
        if self.kind == "leave-one-out":
            return list(np.arange(self.queries.n_items)[:, None])
        return None

    @property
    def splits(self) -> list[Fold]:
        """(held out, tested) row numbers of each fold, held-out ones ascending; the others train.

        The tested items are some of those held out: a given training set may leave items aside,
        which are then neither trained on nor tested. Empty for leave-pair-out.
        """
        blocks = self.blocks
        if blocks is not None:
            return [(np.sort(items), np.sort(items)) for items in blocks]
        if self.kind == "leave-query-out":
            return [(self._with_groups(items), items) for items in self.queries]
        return [(held, test) for held, test in self._given if len(test)]

    def _groups_join_queries(self) -> bool:
        if self.groups is None:
            return False
        joint = np.unique(self.queries.codes * len(self.groups) + self.groups.codes)
        return len(joint) > len(self.groups)

    def _with_groups(self, items: np.ndarray) -> np.ndarray:
        """The items and all others of their groups, in the order of the rows."""
        assert self.groups is not None
        return np.flatnonzero(np.isin(self.groups.codes, self.groups.codes[items]))

    def units(self, number: int, test: np.ndarray) -> np.ndarray:
        """Labels of the units in which tested items are compared: queries within fold `number`."""
        return number * len(self.queries) + self.queries.codes[test]

    def independent(self, influence: np.ndarray) -> int:
        """The number of units that influence values (a, units, ...) are about.

        Two items make one pair, where influence values are those of items.
        """
        number = influence.shape[1]
        of_items = number >= self.queries.n_items > 1 and len(self.queries) == 1
        return number // 2 if of_items else number

    def __str__(self) -> str:
        if self.kind == "leave-query-out" and self._groups_join_queries():
            return "leave-query-out with the groups of its items"
        if self.kind == "leave-pair-out" and self.groups is not None:
            return "leave-pair-out of groups"
        if self.kind != "folds":
            return self.kind
        return f"{len(self._given)} folds{self._of}"


def read_splits(
    splits: Splits,
    queries: Queries,
    *,
    name: str,
    y: np.ndarray | None = None,
    groups: Queries | None = None,
    random_state: RandomState = None,
    repeats: bool = False,
) -> Iterator[Fold]:
    """(train, test) row numbers of each fold.

    `splits` is a number of folds (of whole queries if there are several, and of whole groups), a
    scikit-learn splitter, or an iterable of (train, test) or of test sets; without a training set
    all other items train. `name` is the name of the argument for error messages. With `repeats` a
    training set may name a row twice (bootstrap).
    """
    m, together = queries.n_items, kept_together(queries, groups)
    items = np.zeros((m, 1))
    given: Iterable
    if isinstance(splits, int | np.integer) and not isinstance(splits, bool):
        available = m if together is None else int(together.max()) + 1
        if available < 2 and groups is not None and len(queries) > 1:
            raise ValueError(GROUPS_JOIN_QUERIES)
        if not 2 <= splits <= available:
            what = "items" if together is None else "queries" if groups is None else "groups"
            if groups is not None and len(queries) > 1:
                what = "sets of queries that share no group"
            raise ValueError(
                f"{name}={splits} is no possible number of folds: it must lie between 2 and the "
                f"{available} {what}."
            )
        seed = 0 if random_state is None else random_state
        shuffled = KFold(int(splits), shuffle=True, random_state=seed)
        splitter = shuffled if together is None else GroupKFold(int(splits))
        given = splitter.split(items, groups=together)
    elif hasattr(splits, "split") and not isinstance(splits, str):
        given = splits.split(items, y, together if groups is None else groups.codes)
    elif isinstance(splits, Iterable) and not isinstance(splits, str | bytes):
        given = splits
    else:
        raise ValueError(f"{name} must be an int, a splitter or folds; got {splits!r}.")
    return (
        _train_and_test(split, m, groups, f"{name} fold {number}", repeats)
        for number, split in enumerate(given)
    )


def kept_together(queries: Queries, groups: Queries | None) -> np.ndarray | None:
    """(m,) equal numbers for items that must share a fold: those connected by queries and groups.

    None if every item may be held out on its own.
    """
    if groups is None:
        return queries.codes if len(queries) > 1 else None
    if len(queries) == 1:
        return groups.codes
    n = len(queries) + len(groups)
    ends = (queries.codes, len(queries) + groups.codes)
    graph = sparse.coo_array((np.ones(queries.n_items), ends), shape=(n, n))
    _, component = connected_components(graph, directed=False)
    return component[queries.codes]


def _train_and_test(
    split: Sequence, m: int, groups: Queries | None, name: str, repeats: bool
) -> Fold:
    if not hasattr(split, "__len__"):
        raise ValueError(f"{name} must be (train, test) or a test set; got {split!r}.")
    if len(split) == 2 and np.ndim(split[0]) == 1 and np.ndim(split[1]) == 1:
        train = check_index(split[0], m, f"the training set of {name}", repeats=repeats)
        test = check_index(split[1], m, f"the test set of {name}")
    else:
        test = check_index(split, m, name)
        train = np.delete(np.arange(m), test)
    trained = np.zeros(m, dtype=bool)
    trained[train] = True
    if trained[test].any():
        raise ValueError(
            f"{name} trains on items that it tests (row {int(test[np.argmax(trained[test])])})."
        )
    if groups is not None:
        split_groups = np.intersect1d(groups.codes[train], groups.codes[test])
        if len(split_groups):
            raise ValueError(
                f"{name} trains on items of group {groups.labels[split_groups[0]]!s} and tests "
                "others: items of one group must be held out together. Give a number of folds, or "
                "GroupKFold, which keep groups whole."
            )
    return train, test


def group_labels(groups: ArrayLike | None, n_items: int) -> Queries | None:
    """Groups are a partition of the items like queries, but errors must name the argument."""
    return None if groups is None else Queries.from_labels(groups, n_items, "groups")
