"""A Fenwick tree: sums over the first cells of an array whose cells change, O(log n) each.

The tree is a plain array of n cells that starts as zeros. Cell c holds the sum of a range that ends
with c, so that adding a value and summing all cells before one visit O(log n) cells.

numba compiles these functions into the loops that call them, and it takes a cached loop as valid
if the file of that loop has not changed. So a changed function needs a new name: its callers then
change too, and no old machine code stays in use.
"""

from __future__ import annotations

import numpy as np

from rankwise.numerics.compiled import compiled

ONE = np.uintp(1)  # unsigned numbers: numba tests a signed index for being negative


@compiled
def add_to_tree(tree: np.ndarray, cell: int, value: float) -> None:
    """Add `value` to a cell; a cell beyond the last one is ignored."""
    visited = np.uintp(cell)
    while visited < np.uintp(len(tree)):
        tree[visited] += value
        visited |= visited + ONE


@compiled
def sum_before(tree: np.ndarray, cell: int) -> float:
    """The sum of all cells before `cell`, which may be len(tree)."""
    end, total = np.uintp(cell), tree.dtype.type(0)
    while end:
        total += tree[end - ONE]
        end &= end - ONE
    return total
