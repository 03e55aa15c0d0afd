"""What partitions report about themselves: their layout, and whether each query lies in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dask.delayed import Delayed
from scipy import sparse

from rankwise.dask.cluster import Cluster, joined
from rankwise.dask.label_hashes import label_hashes
from rankwise.dask.partitions import Block, Items, check_block
from rankwise.exceptions import SplitQuery
from rankwise.supervision.queries import Queries

SPREAD = (
    "; a query that is too large for any partition may stay spread if fit(..., spread=[label]) "
    "names it"
)
"""What to do with a query that is split, beside bringing it into one partition."""


@dataclass
class Facts:
    """The report of one partition: a few numbers, and 8 bytes per query whatever its label."""

    number: int
    n_items: int
    n_features: int = 0
    names: tuple[str, ...] | None = None
    is_sparse: bool = False
    n_outputs: int = 1
    single: bool = True
    hashes: np.ndarray | None = None

    @classmethod
    def of(cls, block: Block, items: Items | None, number: int) -> Facts:
        if items is None:
            return cls(number, 0)
        m, n = items.X.shape
        outputs, labels = items.supervision.n_outputs, items.supervision.queries.labels
        hashes = None if block.qid is None else label_hashes(labels)
        kind = (_names_of(block.X), sparse.issparse(items.X))
        return cls(number, m, n, *kind, outputs, items.single, hashes)


def facts_of(block: Block, number: int) -> list[Facts]:
    return [Facts.of(block, check_block(block, number), number)]


class Layout:
    """All partitions together, checked against each other."""

    def __init__(self, facts: list[Facts]):
        self.sizes = np.array([each.n_items for each in facts])
        filled = [each for each in facts if each.n_items]
        if not filled:
            raise ValueError("all partitions of X are empty: Found array with 0 sample(s).")
        first = filled[0]
        for other in filled[1:]:
            if (other.n_features, other.names) != (first.n_features, first.names):
                raise ValueError(
                    f"partition {other.number} of X has {other.n_features} features"
                    f"{_first_names(other.names)}, partition {first.number} has "
                    f"{first.n_features}{_first_names(first.names)}."
                )
            if (other.n_outputs, other.single) != (first.n_outputs, first.single):
                raise ValueError(
                    f"partition {other.number} of y has {other.n_outputs} outputs, partition "
                    f"{first.number} has {first.n_outputs}."
                )
        self.n_filled, self.n_items = len(filled), int(self.sizes.sum())
        self.n_features, self.names = first.n_features, first.names
        self.n_outputs, self.single = first.n_outputs, first.single
        self.is_sparse = any(each.is_sparse for each in filled)
        self.hashes = {each.number: each.hashes for each in filled if each.hashes is not None}

    @classmethod
    def of(cls, blocks: list[Delayed], cluster: Cluster) -> Layout:
        """One pass over the data that reads nothing else."""
        return cls(cluster.reduce(blocks, facts_of, joined))

    @property
    def first_rows(self) -> np.ndarray:
        """The number of the first row of each partition, counted through all partitions."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def n_queries(self) -> int:
        """The number of distinct queries; 1 without qid."""
        return len(np.unique(np.concatenate(list(self.hashes.values())))) if self.hashes else 1


def split_queries(layout: Layout, blocks: list[Delayed], cluster: Cluster) -> dict:
    """The labels that lie in several partitions, each with those partitions, in a fixed order.

    Hashes find the labels that may be split. The labels themselves are compared only for those, so
    different labels with the same hash are told apart.
    """
    if len(layout.hashes) < 2:
        return {}
    by_partition = [np.unique(hashes) for hashes in layout.hashes.values()]
    hashes, counts = np.unique(np.concatenate(by_partition), return_counts=True)
    shared = hashes[counts > 1]
    partitions = [i for i, own in layout.hashes.items() if np.isin(own, shared, kind="sort").any()]
    if not partitions:
        return {}
    labels = cluster.reduce(blocks, _labels_with, joined, shared, only=partitions)
    owners: dict = {}
    for number, label in labels:
        owners.setdefault(label, []).append(number)
    return {label: numbers for label, numbers in owners.items() if len(numbers) > 1}


def _labels_with(block: Block, number: int, hashes: np.ndarray) -> list[tuple]:
    labels = Queries.from_labels(block.qid, block.n_items).labels
    return [
        (number, label)
        for label in labels[np.isin(label_hashes(labels), hashes, kind="sort")].tolist()
    ]


def refuse_split(split: dict, way_out: str) -> None:
    if not split:
        return
    label, numbers = next(iter(split.items()))
    others = f" (and {len(split) - 1} more are split)" if len(split) > 1 else ""
    shown = ", ".join(str(number) for number in numbers[:-1][:5])
    more = f" and {len(numbers) - 6} others" if len(numbers) > 6 else ""
    raise SplitQuery(
        f"query {label!r} is split between partitions {shown} and {numbers[-1]}{more}{others}: "
        "pairs across partitions would silently be left out. rankwise.dask.partition_by_query "
        f"brings every query into one partition{way_out}."
    )


def _names_of(X: object) -> tuple[str, ...] | None:
    """Column names, if X is a frame whose names are all strings."""
    names: Sequence | None = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _first_names(names: tuple[str, ...] | None) -> str:
    return "" if names is None else f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
