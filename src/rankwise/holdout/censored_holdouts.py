"""Hold-outs of one or two items with censored outcomes, from features: one small system each.

Without item i, the normal equations FᵀLF lose the pairs of i:

    Σ_j v_i v_j (x_i − x_j)(x_i − x_j)ᵀ = v_i [ V_J x_i x_iᵀ − x_i s_Jᵀ − s_J x_iᵀ + S_J ]

with V_J, s_J, S_J = Σ_J v, Σ_J v x, Σ_J v x xᵀ. The partners J of i are the events of smaller
levels and, if i had the event, all items of greater levels: in the order of the levels these sums
are running sums, O(n²) for each item. So no hold-out passes over the data again. Without two items
both sums leave, and their own pair, which was counted twice, comes back. A hold-out then costs one
Cholesky factorisation for each alpha, O(n³), in compiled code on all cores. Dual problems (kernels)
have no such sums: each hold-out is a refit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankwise.losses.censored_laplacian import CensoredLaplacian
from rankwise.losses.quadratic_loss import ComparableRows
from rankwise.numerics.arrays import dense
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import over_ranges
from rankwise.spaces.space import Features

if TYPE_CHECKING:
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts

ENTRIES = 2e7
"""Entries of the sums of all items that are held at once."""
LITTLE = 1e-6
"""If less than this share of the weights of a query is left, the difference has lost digits."""
LOST = 1e7 * float(np.finfo(float).eps)
"""A pivot below this share of the largest diagonal entry has lost its digits: refit."""


class Moments(NamedTuple):
    """FᵀLF (…, n, n), Fᵀb (…, n) and the weight U of the pairs (…,), all before the scale c."""

    G: np.ndarray
    b: np.ndarray
    U: np.ndarray

    @classmethod
    def zeros(cls, count: int, n: int) -> Moments:
        return cls(np.zeros((count, n, n)), np.zeros((count, n)), np.zeros(count))


class Items(NamedTuple):
    """Items sorted by query and level; X are their features, centred by query."""

    X: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    event: np.ndarray
    opens: np.ndarray
    starts: np.ndarray
    is_unit: bool


class Holdouts(NamedTuple):
    """p hold-outs of u items: places (p, u) in Items, and how the sums change, as factors (p, u).

    FᵀLF grows by `base` times that of the item's query, falls by `cut` times the item's pairs, and
    gets back `edge` (p,) times the pair of the two items, whose target is `gap` (p,).
    """

    places: np.ndarray
    number: np.ndarray
    query: np.ndarray
    base: np.ndarray
    cut: np.ndarray
    edge: np.ndarray
    gap: np.ndarray


class CensoredHoldouts:
    """Hold-outs of u ≤ 2 items from one problem with features."""

    def __init__(self, problem: QuadraticHoldouts, rule: ComparableRows):
        laplacian = problem.quadratic.laplacian
        assert isinstance(problem.matrix, Features) and isinstance(laplacian, CensoredLaplacian)
        self._laplacian = laplacian
        self._matrix, self._rule, queries = problem.matrix, rule, rule.queries
        order = np.lexsort((rule.level, queries.codes))
        self._place = np.argsort(order)
        self._codes, self._level = queries.codes[order], rule.level[order]
        self._F = np.ascontiguousarray(dense(self._matrix.F[order]), dtype=np.float64)
        opens = np.ones(len(order), dtype=bool)
        opens[1:] = np.diff(self._codes) + np.diff(self._level) != 0
        opens[queries.starts[:-1]] = True
        means = np.add.reduceat(self._F, queries.starts[:-1]) / queries.sizes[:, None]
        target = np.zeros(len(order)) if rule.target is None else rule.target[order]
        known = (target, rule.weight[order], rule.event[order], opens, queries.starts)
        self._items = Items(self._F - means[self._codes], *known, rule.target is None)
        self._whole, self._queries = self._known_sums()

    def _known_sums(self) -> tuple[Moments, Moments]:
        """Of all queries with their scales c; and of each query, if c depends on what is in it."""
        q, n = len(self._rule.queries), self._F.shape[1]
        couples = self._rule.weighting.couples_items
        twice = Moments.zeros(q if couples else 1, n)  # each pair counts at both of its items
        _add_pairs_of_items(self._items, self._codes if couples else 0 * self._codes, twice)
        U = self._laplacian.sums.pair_weights(q)  # which is exactly 0 where there is no pair
        queries = Moments(twice.G / 2, twice.b / 2, U if couples else U.sum(keepdims=True))
        self._V = np.bincount(self._codes, self._items.weight, minlength=q)
        self._c = self._laplacian.scale if couples else np.ones(1)
        whole = (np.asarray(np.tensordot(self._c, part, axes=1)) for part in queries)
        return Moments(*whole), queries

    def leave_out(self, held: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, p, u, 1) predictions of hold-outs (p, u), and (a, p) which must be refitted."""
        (p, u), n = held.shape, self._F.shape[1]
        out, lost = np.zeros((p, u, len(alphas))), np.zeros((p, len(alphas)), dtype=np.bool_)
        places, at_once = self._place[held], max(2, int(ENTRIES / max(n, 1) ** 2))
        step = p if len(np.unique(places)) <= at_once else at_once // u
        for low in range(0, p, max(step, 1)):
            part = slice(low, low + step)
            needed, number = np.unique(places[part], return_inverse=True)
            removed = Moments.zeros(len(needed), n)
            wanted = np.full(len(self._F), -1)
            wanted[needed] = np.arange(len(needed))
            _add_pairs_of_items(self._items, wanted, removed)
            holdouts, unsure = self._changes(places[part], number.reshape(-1, u), removed)
            lost[part] |= unsure[:, None]
            self._solve(holdouts, removed, alphas, out[part], lost[part])
        lost |= self._matrix.in_basis[held].any(axis=1)[:, None]
        return out.transpose(2, 0, 1)[..., None], lost.T

    def _changes(
        self, places: np.ndarray, number: np.ndarray, removed: Moments
    ) -> tuple[Holdouts, np.ndarray]:
        """How the sums change, and (p,) the hold-outs after which a query has next to no pairs."""
        items, query = self._items, self._codes[places]
        u = places.shape[1]
        edge, gap = np.zeros(len(places)), np.zeros(len(places))
        if u == 2:
            i, j = places.T
            above = items.event[j] & (self._level[i] > self._level[j])
            below = items.event[i] & (self._level[j] > self._level[i])
            is_pair = (above | below) & (query[:, 0] == query[:, 1])
            edge = np.where(is_pair, items.weight[i] * items.weight[j], 0.0)
            gap = items.target[i] - items.target[j]
            if items.is_unit:
                gap = above.astype(float) - below
        base, cut = np.zeros(places.shape), np.ones(places.shape)
        if not self._rule.weighting.couples_items:
            return Holdouts(places, number, query * 0, base, cut, edge, gap), np.zeros(
                len(places), dtype=bool
            )
        together = (query == query[:, :1]).all(axis=1) & (u == 2)
        U, v = removed.U[number], items.weight[places]
        U = np.where(together[:, None], U.sum(axis=1, keepdims=True) - edge[:, None], U)
        v = np.where(together[:, None], v.sum(axis=1, keepdims=True), v)
        all_U, all_V = self._queries.U[query], self._V[query]
        has_pairs = all_U > 0
        unsure = has_pairs & ((all_U - U <= LITTLE * all_U) | (all_V - v <= LITTLE * all_V))
        cut = self._rule.weighting.scale(all_V - v, np.where(unsure, 1.0, all_U - U)) * has_pairs
        base = cut - self._c[query] * has_pairs
        base[together, 1:] = 0.0
        return Holdouts(places, number, query, base, cut, edge * cut[:, 0], gap), unsure.any(axis=1)

    def _solve(
        self,
        holdouts: Holdouts,
        removed: Moments,
        alphas: np.ndarray,
        out: np.ndarray,
        lost: np.ndarray,
    ) -> None:
        smallest = LOST * float(np.diagonal(self._whole.G).max(initial=0.0))
        sums = (self._whole, self._queries, removed)
        n = self._F.shape[1]

        def task(low: int, high: int) -> None:
            room = np.empty((2, n, n)), np.empty((2, n))
            limits = (low, high, smallest)
            _solve_holdouts(
                (self._F, self._items.X), holdouts, sums, alphas, limits, room, out, lost
            )

        over_ranges(task, len(out), work=float(len(out)) * len(alphas) * n**3)


@compiled
def _add_pairs_of_items(items: Items, number: np.ndarray, out: Moments) -> None:
    """Add the sums over the pairs of each item to entry `number` of `out`; −1 is for none.

    `earlier` sums v y yᵀ over the events of smaller levels, with y = (1, x, target), `later` over
    all items of greater levels: what all items of the query sum to, less those seen.
    """
    X, target, weight, event, opens, starts, is_unit = items
    n = X.shape[1]
    y = np.ones(n + 2)
    earlier, later = np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    for query in range(len(starts) - 1):
        earlier[:], later[:] = 0.0, 0.0
        for i in range(starts[query], starts[query + 1]):
            _set_row(y, X[i], target[i])
            _add_square(later, y, weight[i])
        first = starts[query]
        while first < starts[query + 1]:
            stop = first + 1
            while stop < starts[query + 1] and not opens[stop]:
                stop += 1
            for i in range(first, stop):
                _set_row(y, X[i], target[i])
                _add_square(later, y, -weight[i])
            for i in range(first, stop):
                if number[i] >= 0:
                    sign = -1.0 if is_unit else 1.0
                    _add_pairs(X[i], target[i], weight[i], earlier, 1.0, is_unit, out, number[i])
                    if event[i]:
                        _add_pairs(X[i], target[i], weight[i], later, sign, is_unit, out, number[i])
            for i in range(first, stop):
                if event[i]:
                    _set_row(y, X[i], target[i])
                    _add_square(earlier, y, weight[i])
            first = stop


@compiled
def _set_row(y: np.ndarray, x: np.ndarray, target: float) -> None:
    """y becomes (1, x, target), where its 1 already stands."""
    for a in range(len(x)):
        y[a + 1] = x[a]
    y[len(x) + 1] = target


@compiled
def _add_square(sums: np.ndarray, y: np.ndarray, v: float) -> None:
    """The lower triangle of v y yᵀ."""
    for a in range(len(y)):
        for b in range(a + 1):
            sums[a, b] += v * y[a] * y[b]


@compiled
def _add_pairs(
    x: np.ndarray,
    target: float,
    v: float,
    sums: np.ndarray,
    sign: float,
    is_unit: bool,
    out: Moments,
    at: int,
) -> None:
    """Add the pairs of one item with the items behind `sums` to entry `at` of `out`.

    The targets of the pairs are `sign` (unit loss), or the differences of the targets.
    """
    n, V = len(x), sums[0, 0]
    out.U[at] += v * V
    for a in range(n):
        s_a = sums[a + 1, 0]
        if is_unit:
            out.b[at, a] += v * sign * (V * x[a] - s_a)
        else:
            of_target = sums[n + 1, a + 1] - x[a] * sums[n + 1, 0]
            out.b[at, a] += v * (target * (V * x[a] - s_a) + of_target)
        for b in range(a + 1):
            inside = V * x[a] * x[b] - x[a] * sums[b + 1, 0] - s_a * x[b] + sums[a + 1, b + 1]
            out.G[at, a, b] += v * inside


@compiled
def _solve_holdouts(
    rows: tuple[np.ndarray, np.ndarray],
    holdouts: Holdouts,
    sums: tuple[Moments, Moments, Moments],
    alphas: np.ndarray,
    limits: tuple[int, int, float],
    room: tuple[np.ndarray, np.ndarray],
    out: np.ndarray,
    lost: np.ndarray,
) -> None:
    """Predictions (p, u, a) of hold-outs low to high; `lost` where a pivot is too small."""
    F, X = rows
    whole, queries, removed = sums
    low, high, smallest = limits
    A, C, b, w = room[0][0], room[0][1], room[1][0], room[1][1]
    n, u = F.shape[1], holdouts.places.shape[1]
    for p in range(low, high):
        for j in range(n):
            b[j] = whole.b[j]
            for k in range(j + 1):
                A[j, k] = whole.G[j, k]
        for side in range(u):
            base, cut = holdouts.base[p, side], holdouts.cut[p, side]
            q, at = holdouts.query[p, side], holdouts.number[p, side]
            for j in range(n):
                b[j] -= cut * removed.b[at, j]
                for k in range(j + 1):
                    A[j, k] -= cut * removed.G[at, j, k]
                if base != 0.0:
                    b[j] += base * queries.b[q, j]
                    for k in range(j + 1):
                        A[j, k] += base * queries.G[q, j, k]
        edge = holdouts.edge[p]
        if edge != 0.0:
            first, second = X[holdouts.places[p, 0]], X[holdouts.places[p, 1]]
            for j in range(n):
                step = first[j] - second[j]
                b[j] += edge * holdouts.gap[p] * step
                for k in range(j + 1):
                    A[j, k] += edge * step * (first[k] - second[k])
        for i in range(len(alphas)):
            for j in range(n):
                w[j] = b[j]
            lost[p, i] |= _solve_shifted(A, alphas[i], C, w) < smallest
            for side in range(u):
                x, total = F[holdouts.places[p, side]], 0.0
                for j in range(n):
                    total += x[j] * w[j]
                out[p, side, i] = total


@compiled
def _solve_shifted(A: np.ndarray, alpha: float, C: np.ndarray, w: np.ndarray) -> float:
    """Replace w by (A + alpha I)⁻¹ w and return the smallest pivot; w is 0 if it is not positive.

    Only the lower triangle of A is read; C takes the Cholesky factor.
    """
    n, smallest = len(w), np.inf
    for j in range(n):
        for k in range(j + 1):
            value = A[j, k] + (alpha if j == k else 0.0)
            for i in range(k):
                value -= C[j, i] * C[k, i]
            if j > k:
                C[j, k] = value / C[k, k]
                continue
            smallest = min(smallest, value)
            if not value > 0.0:
                w[:] = 0.0
                return -1.0
            C[j, j] = np.sqrt(value)
    for j in range(n):
        for i in range(j):
            w[j] -= C[j, i] * w[i]
        w[j] /= C[j, j]
    for j in range(n - 1, -1, -1):
        for i in range(j + 1, n):
            w[j] -= C[i, j] * w[i]
        w[j] /= C[j, j]
    return smallest
