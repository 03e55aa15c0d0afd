"""Explicit preferences about rows of several partitions: both items of a statement meet in a block.

A loss over statements needs the rows that they name, and no others. So each statement belongs to
the partition of its winner, and that partition receives the rows of other partitions which its
statements name. With qid every query lies in one partition, and its statements find all rows there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from rankwise.dask.cluster import Cluster, added
from rankwise.dask.partition_layout import Layout, refuse_split, split_queries
from rankwise.dask.partitions import Block, check_block, check_rows, stacked
from rankwise.losses.pair_losses import PairLoss
from rankwise.losses.query_weights import PAIRS
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.supervision import ComparedItems


class ComparedPartitions:
    """Partitions of X, and blocks of the items that some statements are about."""

    def __init__(self, blocks: list[Delayed], has_queries: bool, preferences: Any, y: Any):
        """Rows are numbered through the partitions. One pass finds the sizes of the partitions."""
        self.cluster, self.has_queries = Cluster(), has_queries
        unscored = delayed(_unscored, pure=False)
        self.items = [unscored(block) for block in blocks]
        """The partitions with their rows, queries and weights, and scores 0."""
        self.layout = Layout.of(self.items, self.cluster)
        refuse_split(split_queries(self.layout, self.items, self.cluster), "")
        self.preferences = check_preferences(preferences, y, self.layout.n_items)
        self.statements = self._blocks_of_statements()
        """Blocks with preferences, for the partitions that own some."""

    def _owner(self, rows: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.layout.first_rows, rows, side="right") - 1

    def _blocks_of_statements(self) -> list[Delayed]:
        preferences, blocks = self.preferences, []
        home = self._owner(preferences.winner)
        away = np.flatnonzero(self._owner(preferences.loser) != home)
        if self.has_queries and len(away):
            i = int(away[0])
            raise ValueError(
                f"preference {i}, item {preferences.winner[i]} over item {preferences.loser[i]}, "
                "compares items of different partitions, and so of different queries: leave it "
                "out, or give both items the same qid."
            )
        for number in np.unique(home).tolist():
            own = preferences.subset(np.flatnonzero(home == number))
            blocks.append(self._whole(number, own) if self.has_queries else self._met(own))
        return blocks

    def _whole(self, number: int, own: Preferences) -> Delayed:
        """All items of a partition, because the weight of a query may depend on all of them."""
        first = int(self.layout.first_rows[number])
        rows = np.arange(first, first + int(self.layout.sizes[number]))
        with_statements = delayed(_with_statements, pure=False)
        told = delayed(own.take(rows, self.layout.n_items), pure=False, traverse=False)
        return with_statements(self.items[number], told)

    def _met(self, own: Preferences) -> Delayed:
        """The items that some statements name, from whatever partitions."""
        rows = np.unique(np.concatenate((own.winner, own.loser)))
        owner = self._owner(rows)
        taken, meeting = delayed(_taken, pure=False), delayed(_meeting, pure=False)
        pieces = [
            taken(
                self.items[number], number, rows[owner == number] - self.layout.first_rows[number]
            )
            for number in np.unique(owner).tolist()
        ]
        told = delayed(own.take(rows, self.layout.n_items), pure=False, traverse=False)
        return meeting(pieces, told)

    def scale(self, loss: PairLoss) -> float:
        """The weight c of the one query that all items form without qid; 1 with qid."""
        if self.has_queries or loss.weighting is PAIRS:
            return 1.0
        (V,) = self.cluster.reduce(self.items, _item_weight, added)
        (U,) = self.cluster.reduce(self.statements, _statement_weight, added, loss)
        return float(loss.weighting.scale(float(V), float(U)))

    def local_loss(self, loss: PairLoss) -> PairLoss:
        """The loss whose sums over the blocks add up: without qid, `scale` weighs them."""
        return loss if self.has_queries else loss.counting_pairs()


def _unscored(block: Block) -> Block:
    return Block(block.X, np.zeros(block.n_items), block.qid, block.weight)


def _with_statements(block: Block, preferences: Preferences) -> Block:
    return Block(block.X, None, block.qid, block.weight, preferences)


def _taken(block: Block, number: int, rows: np.ndarray) -> Block:
    """Some rows of a partition, checked."""
    items = check_block(block, number)
    assert items is not None
    X = check_rows(block.X, [np.float64, np.float32])
    return Block(X[rows], None, None, items.supervision.weight[rows])


def _meeting(pieces: list[Block], preferences: Preferences) -> Block:
    X, weight = stacked([piece.X for piece in pieces]), [piece.weight for piece in pieces]
    return Block(X, None, None, np.concatenate(weight), preferences)


def _item_weight(block: Block, number: int) -> list[np.ndarray] | None:
    items = check_block(block, number)
    return None if items is None else [items.supervision.weight.sum()]


def _statement_weight(block: Block, number: int, loss: PairLoss) -> list[np.ndarray] | None:
    items = check_block(block, number)
    assert items is not None and isinstance(items.supervision, ComparedItems)
    return [loss.statement_costs(items.supervision).weight.sum()]
