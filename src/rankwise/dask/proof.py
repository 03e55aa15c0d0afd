"""What every partition reports about itself, and the proof that no query is split between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from rankwise.dask.blocks import Block, Items, names_of
from rankwise.dask.cluster import Cluster
from rankwise.dask.hashes import label_hashes
from rankwise.exceptions import SplitQuery
from rankwise.losses.hinge import NoPreference
from rankwise.supervision.queries import Queries


@dataclass
class Facts:
    """8 bytes a query, whatever its label, and a few numbers."""

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
        outputs = (items.Y.shape[1], items.single)
        hashes = None if block.qid is None else label_hashes(items.queries.labels)
        return cls(number, m, n, names_of(block.X), sparse.issparse(items.X), *outputs, hashes)


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
                    f"{_listed(other.names)}, partition {first.number} has {first.n_features}"
                    f"{_listed(first.names)}."
                )
            if (other.n_outputs, other.single) != (first.n_outputs, first.single):
                raise ValueError(
                    f"partition {other.number} of y has {other.n_outputs} outputs, partition "
                    f"{first.number} has {first.n_outputs}."
                )
        self.filled = [each.number for each in filled]
        self.n_items, self.n_features = int(self.sizes.sum()), first.n_features
        self.names, self.is_sparse = first.names, first.is_sparse
        self.n_outputs, self.single = first.n_outputs, first.single
        self.hashes = {each.number: each.hashes for each in filled if each.hashes is not None}

    @property
    def n_queries(self) -> int:
        """Distinct queries; 1 without qid."""
        if not self.hashes:
            return 1
        return len(np.unique(np.concatenate(list(self.hashes.values()))))

    def describe(self, model) -> None:
        """n_features_in_ and feature_names_in_, as scikit-learn sets them; how much was seen."""
        model._trained_on = (self.n_items, self.n_queries if self.hashes else None)
        if self.names is None:
            meta = np.empty((1, self.n_features))
        else:
            meta = pd.DataFrame(np.empty((1, self.n_features)), columns=list(self.names))
        vars(model).pop("feature_names_in_", None)
        validate_data(model, meta, reset=True, skip_check_array=True)

    def shared_hashes(self) -> dict[int, list[int]]:
        """Hashes that several partitions report, each with those partitions."""
        if len(self.hashes) < 2:
            return {}
        numbers = np.concatenate([np.full(len(h), i) for i, h in self.hashes.items()])
        hashes = np.concatenate(list(self.hashes.values()))
        order = np.argsort(hashes, kind="stable")
        hashes, numbers = hashes[order], numbers[order]
        again = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        found = {}
        for value in again:
            low, high = np.searchsorted(hashes, [value, value], side="left")
            high = np.searchsorted(hashes, value, side="right")
            found[int(value)] = sorted({int(i) for i in numbers[low:high]})
        return {value: parts for value, parts in found.items() if len(parts) > 1}


def split_queries(layout: Layout, blocks: list, cluster: Cluster) -> dict:
    """Labels that lie in several partitions, with those partitions, in a fixed order.

    Equal hashes of different labels are told apart by the labels themselves.
    """
    suspected = layout.shared_hashes()
    found: dict = {}
    wanted = np.array(sorted(suspected), dtype=np.uint64)
    parts = sorted({number for numbers in suspected.values() for number in numbers})
    if not parts:
        return found
    chosen = [blocks[number] for number in parts]
    labels = cluster.reduce(chosen, labels_with, _joined, wanted)
    for number, named in zip(parts, labels):
        for label in named:
            found.setdefault(label, []).append(number)
    return {label: numbers for label, numbers in found.items() if len(numbers) > 1}


def labels_with(block: Block, number: int, wanted: np.ndarray) -> list[list]:
    if block.qid is None or not block.X.shape[0]:
        return [[]]
    labels = Queries.from_labels(block.qid, block.X.shape[0]).labels
    return [[plain(label) for label in labels[np.isin(label_hashes(labels), wanted)]]]


def _joined(lists: list[list]) -> list:
    return [entry for each in lists for entry in each]


def plain(label):
    return label.item() if isinstance(label, np.generic) else label


def refuse_split(found: dict, way_out: str) -> None:
    if not found:
        return
    label, numbers = next(iter(found.items()))
    more = f" (and {len(found) - 1} more are split)" if len(found) > 1 else ""
    raise SplitQuery(
        f"query {label!r} is split between partitions {_counted(numbers)}{more}: pairs across "
        "partitions would be left out silently. rankwise.dask.partition_by_query brings every "
        f"query into one partition{way_out}."
    )


def refuse_no_preference(prefers: np.ndarray, layout: Layout) -> None:
    """prefers: whether each output has a pair anywhere."""
    if prefers.all():
        return
    column = f" in column {int(np.argmin(prefers))}" if len(prefers) > 1 else ""
    raise NoPreference(
        f"y holds no single preference{column}: within every query all items (n_samples = "
        f"{layout.n_items}, {layout.n_queries} queries) have the same score or no weight, so there "
        "is nothing to learn an order from."
    )


def _counted(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:-1][:5])
    more = f" and {len(numbers) - 6} others" if len(numbers) > 6 else ""
    return f"{shown} and {numbers[-1]}{more}"


def _listed(names) -> str:
    return "" if names is None else f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
