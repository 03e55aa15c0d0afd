"""Summed weights of all walks between labels, compiled: G = L W Lᵀ with W = (I − A)⁻¹ − I.

W = A (I + W), so the row of a vertex follows from the rows of its successors. Vertices come in the
order of Tarjan's strongly connected components, successors first: a component of one vertex without
a loop costs O(its edges × n), one of c vertices the solution of a c × c system. Only what a
component cannot do without is ever solved densely: an acyclic graph costs O(edges × vertices),
two disconnected subgraphs are two problems, and what cannot be reached stays exactly zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CONVERGES, DIVERGES = 0, 1
LARGEST_WALK = 1e12
"""A summed weight beyond this means a spectral radius of 1 within rounding."""


@njit(cache=True, nogil=True)
def label_pairs(vertices, edges, source, target, weight, label_starts, labels, n_labels, maximum):
    """Keys a·n_labels + b and values G_ab of several graphs, sorted by key within each.

    Graph g has the vertices vertices[g] to vertices[g + 1], numbered from 0 in its edges, and the
    edges edges[g] to edges[g + 1]. Returns keys, values, where each graph's begin, and the status
    of each graph.
    """
    n_graphs = len(vertices) - 1
    keys, values = np.empty(1024, np.int64), np.empty(1024)
    starts = np.zeros(n_graphs + 1, np.int64)
    status = np.zeros(n_graphs, np.int64)
    filled = 0
    for g in range(n_graphs):
        first, last = edges[g], edges[g + 1]
        n = vertices[g + 1] - vertices[g]
        part, place, sizes, members, offsets, W, fine = _all_walks(
            n, source[first:last], target[first:last], weight[first:last]
        )
        status[g] = CONVERGES if fine else DIVERGES
        if fine:
            marks = label_starts[vertices[g] : vertices[g + 1] + 1]
            keys, values, filled = _combine(
                part, place, sizes, members, offsets, W, marks, labels, n_labels, maximum,
                keys, values, filled,
            )  # fmt: skip
        starts[g + 1] = filled
    return keys[:filled], values[:filled], starts, status


@njit(cache=True, nogil=True)
def _all_walks(n, source, target, weight):
    """W by connected parts: vertex v is number place[v] of part[v], whose square block of W
    starts at offsets[part[v]]; members lists the vertices part by part."""
    order = np.argsort(source, kind="mergesort")
    successors, weights = target[order], weight[order]
    starts = np.zeros(n + 1, np.int64)
    for v in source:
        starts[v + 1] += 1
    starts = np.cumsum(starts)
    part, place, sizes = _connected_parts(n, source, target)
    begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes * sizes)))
    members = np.empty(n, np.int64)
    for v in range(n):
        members[begins[part[v]] + place[v]] = v
    W = np.zeros(offsets[-1])
    stack, bounds = _strong_components(n, starts, successors)
    inside = np.full(n, -1, np.int64)
    fine = True
    for component in range(len(bounds) - 1):
        own = stack[bounds[component] : bounds[component + 1]]
        for i in range(len(own)):
            inside[own[i]] = i
        c = part[own[0]]
        size, base = sizes[c], offsets[c]
        block = W[base : base + size * size].reshape(size, size)
        fine = _solve_component(own, inside, starts, successors, weights, place, block) and fine
        if not fine:
            break
        for v in own:
            inside[v] = -1
    return part, place, sizes, members, offsets, W, fine


@njit(cache=True, nogil=True)
def _solve_component(own, inside, starts, successors, weights, place, W):
    """Rows of W for one strong component, given those that it leads to; False if it diverges."""
    c, n = len(own), W.shape[1]
    A = np.zeros((c, c))
    for i in range(c):
        v = own[i]
        row = W[place[v]]
        for e in range(starts[v], starts[v + 1]):
            successor, w = successors[e], weights[e]
            row[place[successor]] += w
            if inside[successor] >= 0:
                A[i, inside[successor]] += w
            else:
                beyond = W[place[successor]]
                for j in range(n):
                    row[j] += w * beyond[j]
    if c == 1:
        loop = A[0, 0]
        if loop != 0.0:
            if abs(loop) >= 1.0:
                return False
            W[place[own[0]]] /= 1.0 - loop
        return np.all(np.isfinite(W[place[own[0]]]))
    known = _radius_below_one(A)
    if known < 0:
        return False
    rows = np.empty((c, n))
    for i in range(c):
        rows[i] = W[place[own[i]]]
    solved, regular = _solve(np.eye(c) - A, rows)
    if not regular:
        return False
    largest = LARGEST_WALK * (1.0 + np.max(np.abs(rows)))
    for i in range(c):
        for j in range(n):
            if not abs(solved[i, j]) <= largest:
                return False
        W[place[own[i]]] = solved[i]
    if known == 0:
        for i in range(c):
            for j in range(c):
                if solved[i, place[own[j]]] < -0.5 / c:
                    return False
    return True


@njit(cache=True, nogil=True)
def _radius_below_one(A):
    """1 where the spectral radius ρ of A is known to be below 1, −1 where it is not, 0 where A ≥ 0
    and the signs of W tell: W ≥ 0 if ρ < 1, else an entry is −1/c or less, for the positive left
    eigenvector u of ρ has uᵀW = ρ/(1 − ρ) uᵀ."""
    by_rows, by_columns, negative = 0.0, 0.0, False
    for i in range(len(A)):
        by_rows = max(by_rows, np.abs(A[i]).sum())
        by_columns = max(by_columns, np.abs(A[:, i]).sum())
        negative = negative or np.any(A[i] < 0.0)
    if min(by_rows, by_columns) < 1.0:
        return 1
    if not negative:
        return 0
    radius = np.max(np.abs(np.linalg.eigvals(A.astype(np.complex128))))
    return 1 if radius < 1.0 - 1e-12 else -1


@njit(cache=True, nogil=True)
def _solve(matrix, right):
    try:
        return np.linalg.solve(matrix, right), True
    except Exception:
        return right, False


@njit(cache=True, nogil=True)
def _connected_parts(n, source, target):
    """Each vertex's part, ignoring directions, its place in it, and the parts' sizes."""
    parent = np.arange(n)
    for e in range(len(source)):
        a, b = _root(parent, source[e]), _root(parent, target[e])
        parent[max(a, b)] = min(a, b)
    part, place = np.full(n, -1, np.int64), np.empty(n, np.int64)
    sizes = np.zeros(n, np.int64)
    parts = 0
    for v in range(n):
        root = _root(parent, v)
        if root == v:
            part[v] = parts
            parts += 1
        c = part[root]
        part[v], place[v] = c, sizes[c]
        sizes[c] += 1
    return part, place, sizes[:parts]


@njit(cache=True, nogil=True)
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@njit(cache=True, nogil=True)
def _strong_components(n, starts, successors):
    """Vertices component by component and where each begins; successors before predecessors.

    Tarjan 1972, with the recursion written out.
    """
    index, low = np.full(n, -1, np.int64), np.empty(n, np.int64)
    on_stack = np.zeros(n, np.bool_)
    stack, path, edge = np.empty(n, np.int64), np.empty(n, np.int64), starts[:n].copy()
    found, bounds = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
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
                w = successors[edge[v]]
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
                    found[done] = w
                    done += 1
                    if w == v:
                        break
                components += 1
                bounds[components] = done
            depth -= 1
    return found, bounds[: components + 1]


@njit(cache=True, nogil=True)
def _combine(
    part, place, sizes, members, offsets, W, marks, labels, n_labels, maximum, keys, values, filled
):
    """Append the label pairs of one graph: sums (equation 1 of the erratum) or maxima (2)."""
    n = len(part)
    own = labels[marks[0] : marks[-1]]
    order = np.argsort(own, kind="mergesort")
    carrier = np.empty(len(own), np.int64)
    for v in range(n):
        carrier[marks[v] - marks[0] : marks[v + 1] - marks[0]] = v
    local, distinct = np.empty(len(own), np.int64), np.empty(len(own), np.int64)
    begins = np.empty(len(own) + 1, np.int64)
    count = 0
    for i in range(len(order)):
        if i == 0 or own[order[i]] != own[order[i - 1]]:
            distinct[count], begins[count] = own[order[i]], i
            count += 1
        local[order[i]] = count - 1
    begins[count] = len(order)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    total, seen = np.zeros(count), np.zeros(count, np.int64)
    for a in range(count):
        for i in range(begins[a], begins[a + 1]):
            k = carrier[order[i]]
            c = part[k]
            row = offsets[c] + place[k] * sizes[c]
            for t in range(sizes[c]):
                w = W[row + t]
                if w == 0.0:
                    continue
                l = members[starts[c] + t]
                for p in range(marks[l] - marks[0], marks[l + 1] - marks[0]):
                    b = local[p]
                    if not maximum or seen[b] == 0:
                        total[b] += w
                    else:
                        total[b] = max(total[b], w)
                    seen[b] += 1
        if filled + count > len(keys):
            keys, values = _grown(keys, filled + count), _grown(values, filled + count)
        for b in range(count):
            if seen[b] > 0:
                if maximum and seen[b] < n * n:
                    total[b] = max(total[b], 0.0)
                if total[b] != 0.0:
                    keys[filled] = distinct[a] * n_labels + distinct[b]
                    values[filled] = total[b]
                    filled += 1
                total[b], seen[b] = 0.0, 0
    return keys, values, filled


@njit(cache=True, nogil=True)
def _grown(array, least):
    wider = np.empty(max(2 * len(array), least), array.dtype)
    wider[: len(array)] = array
    return wider


@njit(cache=True, nogil=True)
def ranked(keys, n_labels):
    """The distinct keys a·n_labels + b, sorted, and each key's place among them.

    As numpy.unique with its inverse, but O(keys + n_labels): by buckets of a, and of each bucket
    only the distinct b are sorted.
    """
    starts = np.zeros(n_labels + 1, np.int64)
    for key in keys:
        starts[key // n_labels + 1] += 1
    starts = np.cumsum(starts)
    fill, bucketed = starts[:-1].copy(), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        a = keys[i] // n_labels
        bucketed[fill[a]] = i
        fill[a] += 1
    distinct, places = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    seen, rank = np.full(n_labels, -1, np.int64), np.empty(n_labels, np.int64)
    found = np.empty(n_labels, np.int64)
    filled = 0
    for a in range(n_labels):
        count = 0
        for p in range(starts[a], starts[a + 1]):
            b = keys[bucketed[p]] - a * n_labels
            if seen[b] != a:
                seen[b], found[count] = a, b
                count += 1
        for b in np.sort(found[:count]):
            rank[b], distinct[filled] = filled, a * n_labels + b
            filled += 1
        for p in range(starts[a], starts[a + 1]):
            places[bucketed[p]] = rank[keys[bucketed[p]] - a * n_labels]
    return distinct[:filled].copy(), places
