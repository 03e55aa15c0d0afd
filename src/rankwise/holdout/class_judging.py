"""Compiled leave-pair-out over all pairs of items of different tie classes, judged at once.

Class a loses an item first: one system of its t_a rows, for all columns. Each other class b then
needs one system of its t_b rows, and each pair of items O(1). In all O(m² t) operations, t being
the size of the largest class. The differences of predictions need no kernel: up to a constant the
prediction for a held-out item of class a is

    target − x/√v − γ_a ,   x = M_UU⁻¹ e_U ,   γ_a = −uᵀ(e − M_:U x)/(V d_a) ,

with the effect γ_a of its class, u = √v on the class and 0 elsewhere, and d_a = V − V_a + ℓ_a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from rankwise.holdout.class_systems import (
    ClassBase,
    add_inverse_noise,
    inverse_noise,
    solve_spd,
    times_inverse_noise,
)
from rankwise.metrics.ties import tied

SMALL_PRODUCT = 30_000
"""Products of fewer multiplications than this are not worth a call of BLAS."""


class Judging(NamedTuple):
    """The scores `s` (m, k) to judge by, what makes a pair unsafe, and where the counts go.

    A pair is marked in `unsafe` (m, m) and not counted if the second pivot of its 2 × 2 system is
    less than `smallest_angle` of its diagonal, or less than `smallest_pivot` of `scale` (m,).
    """

    s: np.ndarray
    scale: np.ndarray
    smallest_pivot: float
    smallest_angle: float
    unsafe: np.ndarray
    counted: np.ndarray
    right: np.ndarray


class FirstClass(NamedTuple):
    """Class a after it lost one item: its rows [first, last).

    `Y` (t, m + k + r) is S⁻¹ times these rows of [M, e, steps], and `after` is Z⁻² Y, their values
    now. `sums` (m,) is uᵀM over the class.
    """

    a: int
    first: int
    last: int
    Y: np.ndarray
    after: np.ndarray
    sums: np.ndarray


class TwoClasses(NamedTuple):
    """What the pairs of an item of class a and one of class b need after both lost one item.

    The diagonal of M for class a, M between b and a, and M and e of both. `effect` of a row is
    uᵀM/(V d) of its column over class a less the same over class b; `effect_e` is that of e, plus
    the step between the targets of the two classes.
    """

    M_aa: np.ndarray
    M_ba: np.ndarray
    M_bb: np.ndarray
    e_a: np.ndarray
    e_b: np.ndarray
    effect_a: np.ndarray
    effect_b: np.ndarray
    effect_e: np.ndarray


@njit(cache=True, nogil=True)
def judge_classes(
    base: ClassBase,
    lost: float,
    which: tuple[np.ndarray, np.ndarray],
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """Judge the classes order[low:high] against all later classes of `order`.

    Every item that leaves weighs `lost`. `which` is the order, larger classes first, and a matrix
    that says which pairs of classes are wanted; a matrix without rows wants all of them.
    """
    order, wanted = which
    starts = base.class_starts
    for position in range(low, high):
        a = order[position]
        others = order[position + 1 :]
        if len(wanted) > 0:
            others = others[wanted[a][others]]
        if len(others) == 0:
            continue
        if starts[a + 1] - starts[a] == 1:
            for b in others:
                judge_two_items(base, lost, a, b, judging)
        else:
            of_a = first_class(base, lost, a)
            for b in others:
                judge_two_classes(base, lost, of_a, b, judging)


@njit(cache=True, nogil=True)
def first_class(base: ClassBase, lost: float, a: int) -> FirstClass:
    first, last = base.class_starts[a], base.class_starts[a + 1]
    m, k, r = len(base.M), base.e.shape[1], base.steps.shape[1]
    rows = np.empty((last - first, m + k + r))
    rows[:, :m] = base.M[first:last]
    rows[:, m : m + k] = base.e[first:last]
    rows[:, m + k :] = base.steps[first:last]
    u, noise = base.root[first:last], inverse_noise(base, a, lost)
    S = -base.M[first:last, first:last]
    add_inverse_noise(S, u, noise)
    Y = solve_spd(S, rows)
    after = Y.copy()
    times_inverse_noise(after, u, noise)
    sums = np.zeros(m)
    for i in range(last - first):
        for x in range(m):
            sums[x] += u[i] * after[i, x]
    return FirstClass(a, first, last, Y, after, sums)


@njit(cache=True, nogil=True)
def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, by BLAS if it is large."""
    n, inner, width = A.shape[0], A.shape[1], B.shape[1]
    if n * inner * width >= SMALL_PRODUCT:
        return np.dot(np.ascontiguousarray(A), np.ascontiguousarray(B))
    out = np.zeros((n, width))
    for i in range(n):
        for shared in range(inner):
            factor = A[i, shared]
            for c in range(width):
                out[i, c] += factor * B[shared, c]
    return out


@njit(cache=True, nogil=True)
def two_classes(base: ClassBase, lost: float, of_a: FirstClass, b: int) -> TwoClasses:
    """Class b loses one item after class a did."""
    m, k = len(base.M), base.e.shape[1]
    first, last = base.class_starts[b], base.class_starts[b + 1]
    n_a, n_b, u = of_a.last - of_a.first, last - first, base.root[first:last]
    Y_e, e_a = of_a.Y[:, m : m + k].copy(), of_a.after[:, m : m + k].copy()
    e_b, effect_e = base.e[first:last].copy(), np.zeros(k)
    if base.steps.shape[1] > 0:
        change = lost / base.V
        effect_e[:] = 2.0 * change if of_a.a < b else -2.0 * change
        for step in (of_a.a, b):
            for c in range(k):
                Y_e[:, c] -= change * of_a.Y[:, m + k + step]
                e_a[:, c] -= change * of_a.after[:, m + k + step]
                e_b[:, c] -= change * base.steps[first:last, step]
    before = base.M[first:last, of_a.first : of_a.last]
    M_bb = base.M[first:last, first:last] + product(before, of_a.Y[:, first:last])
    e_b += product(before, Y_e)
    M_ba = np.ascontiguousarray(of_a.after[:, first:last].T)
    M_aa, effect_a = np.empty(n_a), of_a.sums[of_a.first : of_a.last].copy()
    for i in range(n_a):
        M_aa[i] = of_a.after[i, of_a.first + i]
    if n_b > 1:
        rhs = np.empty((n_b, n_b + n_a + k))
        rhs[:, :n_b], rhs[:, n_b : n_b + n_a], rhs[:, n_b + n_a :] = M_bb, M_ba, e_b
        noise, S = inverse_noise(base, b, lost), -M_bb
        add_inverse_noise(S, u, noise)
        X = solve_spd(S, rhs)
        for j in range(n_b):
            for i in range(n_a):
                M_aa[i] += M_ba[j, i] * X[j, n_b + i]
                effect_a[i] += of_a.sums[first + j] * X[j, n_b + i]
                for c in range(k):
                    e_a[i, c] += M_ba[j, i] * X[j, n_b + n_a + c]
        times_inverse_noise(X, u, noise)
        M_bb, M_ba = X[:, :n_b].copy(), X[:, n_b : n_b + n_a].copy()
        e_b = X[:, n_b + n_a :].copy()
    effects = (effect_a, np.zeros(n_b), effect_e)
    return TwoClasses(M_aa, M_ba, M_bb, e_a, e_b, *effects)


@njit(cache=True, nogil=True)
def add_effects(
    base: ClassBase, firsts: tuple[int, int], gaps: tuple[float, float], two: TwoClasses
) -> None:
    """Fill the effects, of which `effect_a` holds uᵀM over class a so far.

    `firsts` are the first rows of both classes, and `gaps` their d = V − V_k + ℓ_k.
    """
    of_sums_a, of_sums_b = 1.0 / (base.V * gaps[0]), 1.0 / (base.V * gaps[1])
    n_a, n_b = len(two.M_aa), len(two.M_bb)
    u_a = base.root[firsts[0] : firsts[0] + n_a]
    for i in range(n_a):
        two.effect_a[i] *= of_sums_a
        for c in range(len(two.effect_e)):
            two.effect_e[c] += of_sums_a * u_a[i] * two.e_a[i, c]
    for j in range(n_b):
        u = base.root[firsts[1] + j]
        for i in range(n_a):
            two.effect_a[i] -= of_sums_b * u * two.M_ba[j, i]
            two.effect_b[j] += of_sums_a * u_a[i] * two.M_ba[j, i]
        for x in range(n_b):
            two.effect_b[x] -= of_sums_b * u * two.M_bb[j, x]
        for c in range(len(two.effect_e)):
            two.effect_e[c] -= of_sums_b * u * two.e_b[j, c]


@njit(cache=True, nogil=True)
def judge_two_classes(
    base: ClassBase, lost: float, of_a: FirstClass, b: int, judging: Judging
) -> None:
    """All pairs of an item of class a and an item of class b."""
    two = two_classes(base, lost, of_a, b)
    # The noise of a class of one item leaves with it, so it was never changed.
    lost_by_b = lost if len(two.M_bb) > 1 else 0.0
    gap_a = base.V - base.class_weight[of_a.a] + lost
    gap_b = base.V - base.class_weight[b] + lost_by_b
    firsts = (of_a.first, base.class_starts[b])
    add_effects(base, firsts, (gap_a, gap_b), two)
    judge_rows(base, firsts, two, 0, len(two.M_aa), judging)


@njit(cache=True, nogil=True)
def two_whole_classes(base: ClassBase, lost: float) -> TwoClasses:
    """The only two classes of a base whose V_k are already those of all hold-outs."""
    n, k = base.class_starts[1], base.e.shape[1]
    effect_a = np.dot(np.ascontiguousarray(base.M[:n, :n]), base.root[:n])
    blocks = (base.M[n:, :n].copy(), base.M[n:, n:].copy(), base.e[:n].copy(), base.e[n:].copy())
    effects = (effect_a, np.zeros(len(base.M) - n), np.zeros(k))
    two = TwoClasses(np.diag(base.M)[:n].copy(), *blocks, *effects)
    gaps = (base.V - base.class_weight[0] + lost, base.V - base.class_weight[1] + lost)
    add_effects(base, (0, n), gaps, two)
    return two


@njit(cache=True, nogil=True)
def judge_rows(
    base: ClassBase,
    firsts: tuple[int, int],
    two: TwoClasses,
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """All pairs of one of the items low to high of class a and an item of class b."""
    targets = base.targets
    for i in range(low, high):
        x, M_ii = firsts[0] + i, two.M_aa[i]
        to_i = two.effect_a[i] + 1.0 / base.root[x]
        for j in range(len(two.M_bb)):
            y, M_ij, M_jj = firsts[1] + j, two.M_ba[j, i], two.M_bb[j, j]
            if mark_unsafe(judging, x, y, M_ii, M_ij, M_jj):
                continue
            to_j = two.effect_b[j] - 1.0 / base.root[y]
            inverse = 1.0 / (M_ii * M_jj - M_ij * M_ij)
            for_i = (to_i * M_jj - to_j * M_ij) * inverse
            for_j = (to_j * M_ii - to_i * M_ij) * inverse
            for c in range(len(two.effect_e)):
                fitted = targets[x, c] - targets[y, c] + two.effect_e[c]
                count_pair(judging, x, y, c, fitted, for_i * two.e_a[i, c], for_j * two.e_b[j, c])


@njit(cache=True, nogil=True)
def judge_two_items(base: ClassBase, lost: float, a: int, b: int, judging: Judging) -> None:
    """The same for two classes of one item each, which leave nothing behind."""
    i, j, V = base.class_starts[a], base.class_starts[b], base.V
    M_ii, M_ij, M_jj = base.M[i, i], base.M[i, j], base.M[j, j]
    if mark_unsafe(judging, i, j, M_ii, M_ij, M_jj):
        return
    u_i, u_j = base.root[i], base.root[j]
    of_i, of_j = u_i / (V * (V - base.class_weight[a])), u_j / (V * (V - base.class_weight[b]))
    to_i = 1.0 / u_i + of_i * M_ii - of_j * M_ij
    to_j = of_i * M_ij - of_j * M_jj - 1.0 / u_j
    inverse = 1.0 / (M_ii * M_jj - M_ij * M_ij)
    for_i, for_j = (to_i * M_jj - to_j * M_ij) * inverse, (to_j * M_ii - to_i * M_ij) * inverse
    step, change_i, change_j = 0.0, 0.0, 0.0
    if base.steps.shape[1] > 0:
        step = 2.0 * lost / V if a < b else -2.0 * lost / V
        change_i = lost * (base.steps[i, a] + base.steps[i, b]) / V
        change_j = lost * (base.steps[j, a] + base.steps[j, b]) / V
    for c in range(base.e.shape[1]):
        e_i, e_j = base.e[i, c] - change_i, base.e[j, c] - change_j
        fitted = base.targets[i, c] - base.targets[j, c] + step + of_i * e_i - of_j * e_j
        count_pair(judging, i, j, c, fitted, for_i * e_i, for_j * e_j)


@njit(cache=True, nogil=True)
def mark_unsafe(judging: Judging, i: int, j: int, a: float, b: float, d: float) -> bool:
    """Whether the 2 × 2 system [[a, b], [b, d]] of rows i and j has lost its digits."""
    pivot = a * d - b * b
    scale = judging.smallest_pivot * max(judging.scale[i], judging.scale[j])
    if pivot > judging.smallest_angle * a * d and pivot > scale * max(a, d):
        return False
    judging.unsafe[i, j] = True
    return True


@njit(cache=True, nogil=True)
def count_pair(
    judging: Judging, i: int, j: int, c: int, fitted: float, own: float, other: float
) -> None:
    """Count the predicted difference fitted − own − other of items i and j in output c."""
    gap, predicted = judging.s[i, c] - judging.s[j, c], fitted - own - other
    if gap == 0.0:
        return
    right = 1.0 if (predicted > 0.0) == (gap > 0.0) else 0.0
    if tied(predicted, abs(fitted) + abs(own) + abs(other)):
        right = 0.5
    judging.counted[i, c] += 1.0
    judging.counted[j, c] += 1.0
    judging.right[i, c] += right
    judging.right[j, c] += right
