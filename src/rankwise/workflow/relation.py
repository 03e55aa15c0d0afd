"""Edges between named objects, with the objects' features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.workflow.items import Items, counted


@dataclass
class Relation:
    """q edges (row node, column node), values y where known; `columns` is None in one domain."""

    rows: Items
    columns: Items | None
    edges: np.ndarray
    y: Any
    source: str = "data"

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def column_items(self) -> Items:
        return self.rows if self.columns is None else self.columns

    @property
    def nodes(self):
        """What ConditionalRanker.fit takes."""
        return self.rows.X if self.columns is None else (self.rows.X, self.columns.X)

    def condition_names(self, condition: str) -> np.ndarray:
        """(q,) the name of the node that each edge is ranked under: its query."""
        side = 0 if condition == "row" else 1
        names = self.rows.names if side == 0 else self.column_items.names
        return names[self.edges[:, side]]

    def candidate_names(self, condition: str) -> np.ndarray:
        """(q,) the name of the node that is ranked."""
        side = 1 if condition == "row" else 0
        names = self.rows.names if side == 0 else self.column_items.names
        return names[self.edges[:, side]]

    def as_items(self, condition: str) -> Items:
        """The edges as items: a condition is a query over its candidates; no features."""
        return Items(
            np.zeros((len(self), 1)),
            self.y,
            self.condition_names(condition),
            self.candidate_names(condition),
            ["edge"],
            self.source,
        )

    def describe(self) -> str:
        parts = [counted(len(self), "edge")]
        if self.columns is None:
            parts.append(counted(len(self.rows), "node"))
        else:
            parts += [
                counted(len(self.rows), "row node"),
                counted(len(self.columns), "column node"),
            ]
        return ", ".join(parts)
