"""Summed weights of all walks between labels, compiled: G = L W Lᵀ with W = (I − A)⁻¹ − I.

W = A (I + W), so the row of a vertex follows from the rows of its successors. Vertices are visited
in the order of Tarjan's strongly connected components, successors first. A component of one vertex
without a loop costs O(its edges × n), a component of c vertices also costs the solution of a c × c
system. Dense systems are therefore solved only for cycles: an acyclic graph costs
O(edges × vertices), two disconnected subgraphs are two problems, and W is exactly zero where no
walk leads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rankwise.numerics.compiled import compiled

LARGEST_WALK = 1e12
"""A larger summed weight means that the spectral radius is 1 within rounding."""


class Edges(NamedTuple):
    """Edges of one graph sorted by source: vertex v has the edges starts[v] to starts[v + 1]."""

    starts: np.ndarray
    target: np.ndarray
    weight: np.ndarray


class Walks(NamedTuple):
    """W of one graph, which is zero outside one square block per connected part.

    Part c has the vertices members[starts[c]:starts[c + 1]]; vertex v stands at position[v] of
    part[v]. The rows of the block of c follow each other from W[blocks[c]] on.
    """

    part: np.ndarray
    position: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    blocks: np.ndarray
    W: np.ndarray


def all_walks(
    n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> tuple[Walks, int]:
    """W of a graph with n vertices, and −1.

    If the sum of its walks is not finite, W is incomplete, and the second value is a vertex of the
    first connected part for which this was seen.
    """
    order = np.argsort(source, kind="stable")
    edges = Edges(piece_starts(np.bincount(source, minlength=n)), target[order], weight[order])
    graph = sparse.csr_array((np.ones(len(target)), edges.target, edges.starts), shape=(n, n))
    _, part = csgraph.connected_components(graph, directed=False)
    members, sizes = np.argsort(part, kind="stable"), np.bincount(part)
    starts = piece_starts(sizes)
    position = np.empty(n, np.int64)
    position[members] = np.arange(n) - starts[part[members]]
    blocks = piece_starts(sizes**2)
    walks = Walks(part, position, members, starts, blocks, np.zeros(blocks[-1]))
    return walks, _sum_walks(walks, edges)


def piece_starts(sizes: np.ndarray) -> np.ndarray:
    """Where each of several consecutive pieces begins, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


@compiled
def _sum_walks(walks: Walks, edges: Edges) -> int:
    """Fill W, successors first; a vertex for which the sum diverges, or −1."""
    vertices, bounds = _strong_components(edges)
    inside = np.full(len(walks.part), -1, np.int64)
    for number in range(len(bounds) - 1):
        component = vertices[bounds[number] : bounds[number + 1]]
        v = component[0]
        c = walks.part[v]
        size = walks.starts[c + 1] - walks.starts[c]
        block = walks.W[walks.blocks[c] : walks.blocks[c + 1]].reshape(size, size)
        if len(component) == 1:
            converges = _solve_vertex(v, edges, walks.position, block)
        else:
            converges = _solve_component(component, inside, edges, walks.position, block)
        if not converges:
            return v
    return -1


@compiled
def _solve_vertex(v: int, edges: Edges, position: np.ndarray, W: np.ndarray) -> bool:
    """Fill the row of W of a vertex on no cycle, or with a loop, from the rows it leads to.

    Returns False if the sum diverges.
    """
    starts, target, weight = edges
    row, loop = W[position[v]], 0.0
    for e in range(starts[v], starts[v + 1]):
        successor = target[e]
        row[position[successor]] += weight[e]
        if successor == v:
            loop += weight[e]
        else:
            _add_multiple(row, weight[e], W[position[successor]])
    if abs(loop) >= 1.0:
        return False
    if loop != 0.0:
        row /= 1.0 - loop
    return bool(np.all(np.isfinite(row)))


@compiled
def _solve_component(
    component: np.ndarray, inside: np.ndarray, edges: Edges, position: np.ndarray, W: np.ndarray
) -> bool:
    """The same for the rows R of a component with the matrix A: they become (I − A)⁻¹ R.

    `inside` is −1 for every vertex, before and after.
    """
    starts, target, weight = edges
    c, rows = len(component), position[component]
    for i in range(c):
        inside[component[i]] = i
    A = np.zeros((c, c))
    for i in range(c):
        row = W[rows[i]]
        for e in range(starts[component[i]], starts[component[i] + 1]):
            successor = target[e]
            row[position[successor]] += weight[e]
            if inside[successor] >= 0:
                A[i, inside[successor]] += weight[e]
            else:
                _add_multiple(row, weight[e], W[position[successor]])
    inside[component] = -1
    below_one = _radius_below_one(A)
    if below_one < 0:
        return False
    right = W[rows]
    solved, regular = _solve(np.eye(c) - A, right)
    largest = LARGEST_WALK * (1.0 + np.max(np.abs(right)))
    if not regular or not np.all(np.abs(solved) <= largest):  # nan fails this comparison too
        return False
    W[rows] = solved
    return below_one > 0 or bool(np.all(solved[:, rows] >= -0.5 / c))


@compiled
def _add_multiple(row: np.ndarray, weight: float, other: np.ndarray) -> None:
    for j in range(len(row)):
        row[j] += weight * other[j]


@compiled
def _radius_below_one(A: np.ndarray) -> int:
    """1 if the spectral radius ρ of A is known to be below 1, −1 if it is known not to be, else 0.

    0 is returned only for A ≥ 0, where the signs of W decide: if ρ < 1 then W ≥ 0, and otherwise
    an entry of W is −1/c or less, because the positive left eigenvector u of ρ has
    uᵀW = ρ/(1 − ρ) uᵀ.
    """
    by_rows, by_columns, negative = 0.0, 0.0, False
    for i in range(len(A)):
        by_rows = max(by_rows, np.abs(A[i]).sum())
        by_columns = max(by_columns, np.abs(A[:, i]).sum())
        negative = negative or bool(np.any(A[i] < 0.0))
    if min(by_rows, by_columns) < 1.0:
        return 1
    if not negative:
        return 0
    radius = np.max(np.abs(np.linalg.eigvals(A.astype(np.complex128))))
    return 1 if radius < 1.0 - 1e-12 else -1


@compiled
def _solve(matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, bool]:
    """The solution and True, or False if the matrix is singular."""
    try:
        return np.linalg.solve(matrix, right), True
    except Exception:
        return right, False


@compiled
def _strong_components(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """The vertices by strong component, successors first, and where each component begins.

    Tarjan 1972, with an explicit stack in place of the recursion.
    """
    starts, target, _ = edges
    n = len(starts) - 1
    index, low = np.full(n, -1, np.int64), np.empty(n, np.int64)
    on_stack = np.zeros(n, np.bool_)
    stack, path, edge = np.empty(n, np.int64), np.empty(n, np.int64), starts[:n].copy()
    vertices, bounds = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    counter, height, done, components = 0, 0, 0, 0
    for start in range(n):
        if index[start] >= 0:
            continue
        depth = 0
        path[0] = start
        while depth >= 0:
            v = path[depth]
            if index[v] < 0:
                index[v] = low[v] = counter
                counter += 1
                stack[height] = v
                height += 1
                on_stack[v] = True
            deeper = False
            while edge[v] < starts[v + 1]:
                w = target[edge[v]]
                if index[w] < 0:
                    depth += 1
                    path[depth] = w
                    deeper = True
                    break
                if on_stack[w]:
                    low[v] = min(low[v], low[w])
                edge[v] += 1
            if deeper:
                continue
            if low[v] == index[v]:
                while True:
                    height -= 1
                    w = stack[height]
                    on_stack[w] = False
                    vertices[done] = w
                    done += 1
                    if w == v:
                        break
                components += 1
                bounds[components] = done
            depth -= 1
    return vertices, bounds[: components + 1]
