"""Summed weights of all walks between labels, compiled: G = L W Lᵀ with W = (I − A)⁻¹ − I.

W = A (I + W), so the row of a vertex follows from the rows of its successors. Vertices are visited
in the order of Tarjan's strongly connected components, successors first. A component of one vertex
without a loop costs O(its edges × n), a component of c vertices also costs the solution of a c × c
system. Dense systems are therefore solved only for cycles: an acyclic graph costs
O(edges × vertices), two disconnected subgraphs are two problems, and W is exactly zero where no
walk leads.

The sum is finite only if every component has a spectral radius below 1. For any other component the
entries of (I − A)⁻¹ weigh no walks: they may be negative or infinite. The edges within such a
component are therefore scaled down together until its radius is LARGEST_RADIUS. All other edges
keep their weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rankwise.numerics.compiled import compiled

LARGEST_WALK = 1e12
"""A larger summed weight means that the spectral radius is 1 within rounding."""
LARGEST_RADIUS = 0.9
"""The radius of a component after scaling: its walks lose a tenth of their weight per step, as
along the heaviest edges of Airola et al. 2008."""


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
    n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray, longest: int | None = None
) -> tuple[Walks, np.ndarray]:
    """W of a graph with n vertices, and (n,) what was found about cycles.

    `longest` is the number of edges of the longest walks; None for walks of every length. The
    second result is 0, but for one vertex of each component that was scaled down its spectral
    radius, and nan for a vertex with walks too heavy for a floating-point number.
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
    if longest is None:
        return walks, _sum_walks(walks, edges)
    return walks, _sum_short_walks(walks, edges, longest)


def piece_starts(sizes: np.ndarray) -> np.ndarray:
    """Where each of several consecutive pieces begins, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


@compiled
def _sum_walks(walks: Walks, edges: Edges) -> np.ndarray:
    """Fill W, successors first; (n,) the radius of each scaled component, see all_walks."""
    vertices, bounds = _strong_components(edges)
    inside = np.full(len(walks.part), -1, np.int64)
    radii = np.zeros(len(walks.part))
    for number in range(len(bounds) - 1):
        component = vertices[bounds[number] : bounds[number + 1]]
        block = _block(walks, walks.part[component[0]])
        if len(component) == 1:
            radii[component[0]] = _solve_vertex(component[0], edges, walks.position, block)
        else:
            radii[component[0]] = _solve_component(component, inside, edges, walks.position, block)
    return radii


@compiled
def _sum_short_walks(walks: Walks, edges: Edges, longest: int) -> np.ndarray:
    """Fill W with A + A² + … of so many terms, by W ← A (I + W); (n,) nan where it overflows.

    O(edges × vertices) per term. An acyclic part ends when no walk is longer.
    """
    overflows = np.zeros(len(walks.part))
    for c in range(len(walks.starts) - 1):
        W, members = _block(walks, c), walks.members[walks.starts[c] : walks.starts[c + 1]]
        for _ in range(longest):
            longer = np.zeros_like(W)
            for i in range(len(members)):
                for e in range(edges.starts[members[i]], edges.starts[members[i] + 1]):
                    successor = walks.position[edges.target[e]]
                    longer[i, successor] += edges.weight[e]
                    _add_multiple(longer[i], edges.weight[e], W[successor])
            if not np.all(np.isfinite(longer)):
                overflows[members[0]] = np.nan
                break
            if np.array_equal(longer, W):
                break
            W[:] = longer
    return overflows


@compiled
def _block(walks: Walks, part: int) -> np.ndarray:
    """The square block of W of one connected part."""
    size = walks.starts[part + 1] - walks.starts[part]
    return walks.W[walks.blocks[part] : walks.blocks[part + 1]].reshape(size, size)


@compiled
def _solve_vertex(v: int, edges: Edges, position: np.ndarray, W: np.ndarray) -> float:
    """Fill the row of W of a vertex on no cycle, or with a loop, from the rows it leads to.

    Returns 0; the size of the loop if it had to be scaled down; or nan if a weight overflows.
    """
    starts, target, weight = edges
    row, loop, radius = W[position[v]], 0.0, 0.0
    for e in range(starts[v], starts[v + 1]):
        successor = target[e]
        if successor == v:
            loop += weight[e]
        else:
            row[position[successor]] += weight[e]
            _add_multiple(row, weight[e], W[position[successor]])
    if not np.isfinite(loop):
        return np.nan
    if loop != 0.0:
        if abs(loop) >= 1.0:
            radius, loop = abs(loop), np.sign(loop) * LARGEST_RADIUS
        row[position[v]] += loop
        row /= 1.0 - loop
    return radius if np.all(np.isfinite(row)) else np.nan


@compiled
def _solve_component(
    component: np.ndarray, inside: np.ndarray, edges: Edges, position: np.ndarray, W: np.ndarray
) -> float:
    """Fill the rows of W of a component with the matrix A, from the rows R to which it leads.

    The rows become (I − A)⁻¹ (A + R). Returns 0; the radius of A if it had to be scaled down; or
    nan if a weight overflows. `inside` is −1 for every vertex, before and after.
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
            if inside[successor] >= 0:
                A[i, inside[successor]] += weight[e]
            else:
                row[position[successor]] += weight[e]
                _add_multiple(row, weight[e], W[position[successor]])
    inside[component] = -1
    R = W[rows]
    if _solve_rows(A, rows, R, W):
        return 0.0
    if not (np.all(np.isfinite(A)) and np.all(np.isfinite(R))):
        return np.nan
    radius = _radius(A)
    if _solve_rows(A * (LARGEST_RADIUS / max(radius, LARGEST_RADIUS)), rows, R, W):
        return max(radius, 1.0)
    return np.nan


@compiled
def _solve_rows(A: np.ndarray, rows: np.ndarray, R: np.ndarray, W: np.ndarray) -> bool:
    """Write (I − A)⁻¹ (A + R) into the rows of W; False, and anything there, if A diverges."""
    right = R.copy()
    for i in range(len(A)):
        for j in range(len(A)):
            right[i, rows[j]] += A[i, j]
    if not np.all(np.isfinite(right)):
        return False
    below_one = _radius_below_one(A)
    if below_one < 0:
        return False
    solved, regular = _solve(np.eye(len(A)) - A, right)
    largest = LARGEST_WALK * (1.0 + np.max(np.abs(right)))
    if not regular or not np.all(np.abs(solved) <= largest):  # nan fails this comparison too
        return False
    W[rows] = solved
    return below_one > 0 or bool(np.all(solved[:, rows] >= -0.5 / len(A)))


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
    return 1 if _radius(A) < 1.0 - 1e-12 else -1


@compiled
def _radius(A: np.ndarray) -> float:
    """The spectral radius, the largest size of an eigenvalue."""
    largest = np.max(np.abs(A))
    return float(largest * np.max(np.abs(np.linalg.eigvals((A / largest).astype(np.complex128)))))


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
