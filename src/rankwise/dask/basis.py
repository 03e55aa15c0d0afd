"""Reduced sets on a cluster: basis rows gathered once, their kernel map broadcast."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.dask.blocks import Block, check_rows
from rankwise.dask.cluster import Cluster
from rankwise.dask.proof import Layout
from rankwise.spaces.nystrom_map import choose_basis
from rankwise.spaces.space import ReducedSpace


def reduced_space(model, cluster: Cluster, blocks: list, layout: Layout) -> ReducedSpace:
    """The space over the basis items that the local class would choose."""
    index = choose_basis(model.basis, layout.n_items, model.random_state)
    if model.kernel == "precomputed" and layout.n_features != layout.n_items:
        raise ValueError(
            f"a precomputed kernel has as many columns as rows: X has {layout.n_features} columns "
            f"and {layout.n_items} rows."
        )
    starts = np.concatenate(([0], np.cumsum(layout.sizes)))
    owner = np.searchsorted(starts, index, side="right") - 1
    numbers = np.unique(owner)
    wanted = [index[owner == number] - starts[number] for number in numbers]
    chosen = [blocks[number] for number in numbers]
    gathered = cluster.reduce(chosen, _rows, _joined, wanted)
    rows = _stacked(gathered)
    place = np.empty(len(index), dtype=np.intp)
    place[np.concatenate([np.flatnonzero(owner == number) for number in numbers])] = np.arange(
        len(index)
    )
    return ReducedSpace.of_basis(rows[place], index, model.kernel, model._kernel_parameters())


def _rows(block: Block, number: int, wanted: list[np.ndarray]) -> list:
    return [check_rows(block.X, np.float64)[wanted[number]]]


def _joined(lists: list[list]) -> list:
    return [rows for part in lists for rows in part]


def _stacked(parts: list):
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
