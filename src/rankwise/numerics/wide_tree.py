"""A tree with nodes of 64 cells: sums over the first cells of an array that changes, O(log n) each.

It does the work of a Fenwick tree in fewer, wider steps. A node holds the sums of its children to
the left of each place. A sum over the first cells reads one number on each level: three levels
suffice for 262,143 cells, where a Fenwick tree has eighteen. Adding a value changes the rest of one
node on each level, for which the processor has instructions that work on many numbers at once.

The levels follow each other in one array of `tree_length(n)` zeros, the cells themselves first.

numba compiles these functions into the loops that call them, and it takes a cached loop as valid
if the file of that loop has not changed. So a changed function needs a new name: its callers then
change too, and no old machine code stays in use.
"""

from __future__ import annotations

import numpy as np

from rankwise.numerics.compiled import compiled

WIDTH = 64
# Unsigned numbers: numba tests a signed index for being negative.
NODE, LAST, BITS = np.uintp(WIDTH), np.uintp(WIDTH - 1), np.uintp(6)


@compiled(plain=True)
def tree_length(n: int) -> int:
    """The number of numbers in a tree of n cells."""
    nodes = n // WIDTH + 1
    length = nodes * WIDTH
    while nodes > 1:
        nodes = (nodes - 1) // WIDTH + 1
        length += nodes * WIDTH
    return length


@compiled
def add_to_cell(tree: np.ndarray, n: int, cell: int, value: float) -> None:
    """Add `value` to a cell; cell n may be changed too, but no sum counts it."""
    size, place, level = np.uintp(n + 1), np.uintp(cell), np.uintp(0)
    while True:
        node, child = level + (place & ~LAST), place & LAST
        for k in range(WIDTH):
            if np.uintp(k) > child:
                tree[node + np.uintp(k)] += value
        if size <= NODE:
            break
        size = (size + LAST) >> BITS
        level += size << BITS
        place >>= BITS


@compiled
def sum_of_first(tree: np.ndarray, n: int, cells: int) -> float:
    """The sum of the first `cells` ≤ n cells."""
    size, place, level = np.uintp(n + 1), np.uintp(cells), np.uintp(0)
    total = tree[place]
    while size > NODE:
        size = (size + LAST) >> BITS
        level += size << BITS
        place >>= BITS
        total += tree[level + place]
    return total
