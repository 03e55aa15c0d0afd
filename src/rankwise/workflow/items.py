"""Items as files hold them: features, scores, queries and names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries


@dataclass
class Items:
    """m items: X (m, n), y and qid where known, names of items and of features.

    `preferences` stand in place of y; `named` says whether items have names of their own.
    """

    X: Any
    y: Any = None
    qid: Any = None
    names: Any = None
    features: list[str] = field(default_factory=list)
    source: str = "data"
    preferences: Preferences | None = None

    def __post_init__(self):
        self.named = self.names is not None
        if self.names is None:
            self.names = np.array([f"row {i + 1}" for i in range(self.X.shape[0])])
        if not self.features:
            self.features = [f"feature {j + 1}" for j in range(self.X.shape[1])]

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def queries(self) -> Queries:
        return Queries.from_labels(self.qid, len(self))

    def take(self, index: np.ndarray) -> Items:
        return replace(
            self,
            X=self.X[index],
            y=None if self.y is None else self.y[index],
            qid=None if self.qid is None else self.qid[index],
            names=self.names[index],
            preferences=None,
        )

    def query(self, label: str) -> np.ndarray:
        """Row numbers of the query of that name."""
        if self.qid is None:
            raise ValueError(f"{self.source} has no queries: leave the query out.")
        found = np.flatnonzero(np.array([str(q) == str(label) for q in self.qid]))
        if not len(found):
            labels = [str(q) for q in self.queries.labels]
            shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
            raise ValueError(f"{self.source} has no query {label!r}; it has {shown}.")
        return found

    def refuse_missing(self, way_out: str) -> None:
        """An error that names the first item and feature without a value."""
        values = self.X.data if sparse.issparse(self.X) else self.X
        if not np.isnan(values).any():
            return
        row, column = np.argwhere(np.isnan(_dense(self.X)))[0]
        raise ValueError(
            f"{self.source}: {self.features[column]!r} of {self.names[row]} is missing. {way_out}"
        )

    def describe(self) -> str:
        """One line: how many items, features, queries, and what they are told by."""
        n = self.X.shape[1]
        parts = [counted(len(self), "item"), counted(n, "feature")]
        if self.qid is not None:
            parts.append(counted(len(self.queries), "query", "queries"))
        if self.preferences is not None:
            parts.append(counted(len(self.preferences), "preference"))
        elif self.y is not None:
            levels = np.unique(self.y)
            if len(levels) <= 6:
                parts.append("scores " + ", ".join(f"{level:g}" for level in levels))
            else:
                parts.append(f"scores {levels[0]:g} to {levels[-1]:g}")
        return ", ".join(parts)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 item`, `2,000 items`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
