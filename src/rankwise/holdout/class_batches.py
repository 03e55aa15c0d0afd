"""Leave-pair-out of class_judging for many small classes: those of one size are treated together.

Classes of the same size need systems of the same shape, and with equal weights they change the
noise in the same way. The last axis of all arrays here, the lanes, numbers the classes b of a
batch: each step of the small systems is one loop over contiguous numbers, instead of a loop over
two or three of them for each pair of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.holdout.class_judging import (
    FirstClass,
    Judging,
    first_class,
    first_small_class,
    judge_items,
    judge_two_classes,
    workspace,
)
from rankwise.holdout.class_systems import ClassBase, inverse_noise
from rankwise.metrics.ties import tied
from rankwise.numerics.compiled import compiled

SMALL = 8
"""Classes of at most this many items are treated in batches."""
LANES = 64
"""The most classes of a batch, so that its arrays stay in the fastest memory."""


class Batch(NamedTuple):
    """Classes b of n items each: their first rows, and what TwoClasses holds, for each lane."""

    firsts: np.ndarray
    M_aa: np.ndarray
    M_ba: np.ndarray
    M_bb: np.ndarray
    e_a: np.ndarray
    e_b: np.ndarray
    effect_a: np.ndarray
    effect_b: np.ndarray
    effect_e: np.ndarray


def judge_classes(
    base: ClassBase,
    lost: float,
    which: tuple[np.ndarray, np.ndarray],
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """Judge the classes order[low:high] against all later classes of `order`.

    Every item weighs `lost`. `which` is the order, larger classes first, and a matrix that says
    which pairs of classes are wanted; a matrix without rows wants all of them.
    """
    largest = which[0][low]
    size = base.class_starts[largest + 1] - base.class_starts[largest]
    judge = judge_small_classes if size <= SMALL else judge_all_classes
    judge(base, lost, which, low, high, judging)


@compiled
def judge_small_classes(
    base: ClassBase,
    lost: float,
    which: tuple[np.ndarray, np.ndarray],
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """`judge_classes` if no class has more than SMALL items. Compiling the rest takes seconds."""
    order, starts, others = which[0], base.class_starts, np.empty_like(which[0])
    for position in range(low, high):
        a = order[position]
        count, _ = wanted_classes(which, position, starts, others)
        if count > 0 and starts[a + 1] - starts[a] == 1:
            judge_items(base, lost, a, others[:count], judging)
        elif count > 0:
            of_a = first_small_class(base, lost, a)
            judge_batches(base, lost, of_a, others[:count], judging)


@compiled
def judge_all_classes(
    base: ClassBase,
    lost: float,
    which: tuple[np.ndarray, np.ndarray],
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """`judge_classes` if some class has more than SMALL items."""
    order, starts, others = which[0], base.class_starts, np.empty_like(which[0])
    for position in range(low, high):
        a = order[position]
        count, large = wanted_classes(which, position, starts, others)
        if count > 0 and starts[a + 1] - starts[a] == 1:
            judge_items(base, lost, a, others[:count], judging)
        elif count > 0:
            of_a = first_class(base, lost, a)
            room = workspace(base, others[:large], starts[a + 1] - starts[a])
            for b in others[:large]:
                judge_two_classes(base, lost, of_a, b, room, judging)
            judge_batches(base, lost, of_a, others[large:count], judging)


@compiled
def wanted_classes(
    which: tuple[np.ndarray, np.ndarray], position: int, starts: np.ndarray, others: np.ndarray
) -> tuple[int, int]:
    """The wanted classes after `position` go into `others`: how many, and how many are large."""
    order, wanted = which
    a, count, large = order[position], 0, 0
    for b in order[position + 1 :]:
        if len(wanted) == 0 or wanted[a, b]:
            others[count] = b
            count += 1
            if starts[b + 1] - starts[b] > SMALL:
                large = count
    return count, large


@compiled(inline="always")
def judge_batches(
    base: ClassBase, lost: float, of_a: FirstClass, others: np.ndarray, judging: Judging
) -> None:
    """All pairs of an item of class a and an item of a small class, by runs of equal sizes."""
    starts, start = base.class_starts, 0
    while start < len(others):
        size, stop = starts[others[start] + 1] - starts[others[start]], start + 1
        while stop < min(len(others), start + LANES):
            if starts[others[stop] + 1] - starts[others[stop]] != size:
                break
            stop += 1
        judge_batch(base, lost, of_a, others[start:stop], judging)
        start = stop


@compiled(inline="always")
def judge_batch(
    base: ClassBase, lost: float, of_a: FirstClass, others: np.ndarray, judging: Judging
) -> None:
    """All pairs of an item of class a and an item of `others`, classes of the same size."""
    n = base.class_starts[others[0] + 1] - base.class_starts[others[0]]
    batch = first_values(base, lost, of_a, others)
    if n > 1:
        change_second_classes(base, inverse_noise(base, others[0], lost), of_a, batch)
    # The noise of a class of one item leaves with it, so it was never changed.
    gap_a = base.V - base.class_weight[of_a.a] + lost
    gap_b = base.V - base.class_weight[others[0]] + (lost if n > 1 else 0.0)
    add_batch_effects(base.root[0] / (base.V * gap_a), base.root[0] / (base.V * gap_b), batch)
    judge_lanes(base, of_a, batch, judging)


@compiled
def first_values(base: ClassBase, lost: float, of_a: FirstClass, others: np.ndarray) -> Batch:
    """The batch after class a lost its item.

    So far `effect_a` holds uᵀM over class a, divided by u, and `effect_e` the step between the
    targets of the two classes.
    """
    lanes, k, m, first_a = len(others), base.e.shape[1], len(base.M), of_a.first
    n, n_a = base.class_starts[others[0] + 1] - base.class_starts[others[0]], of_a.last - first_a
    M, Y, after, steps, firsts = base.M, of_a.Y, of_a.after, base.steps, base.class_starts[others]
    change = lost / base.V if steps.shape[1] > 0 else 0.0
    M_aa, effect_a = np.empty((n_a, lanes)), np.empty((n_a, lanes))
    M_ba, M_bb = np.empty((n, n_a, lanes)), np.empty((n, n, lanes))
    e_a, e_b, Y_e = np.empty((n_a, k, lanes)), np.empty((n, k, lanes)), np.empty((n_a, k, lanes))
    effect_b, effect_e = np.zeros((n, lanes)), np.zeros((k, lanes))
    of_classes = np.zeros(lanes)
    for i in range(n_a):
        M_aa[i, :] = after[i, first_a + i]
        effect_a[i, :] = of_a.sums[first_a + i] / base.root[0]
        for rows, out in ((Y, Y_e), (after, e_a)):
            if change > 0.0:
                for l in range(lanes):
                    of_classes[l] = rows[i, m + k + of_a.a] + rows[i, m + k + others[l]]
            for c in range(k):
                for l in range(lanes):
                    out[i, c, l] = rows[i, m + c] - change * of_classes[l]
    for j in range(n):
        if change > 0.0:
            for l in range(lanes):
                y = firsts[l] + j
                of_classes[l] = steps[y, of_a.a] + steps[y, others[l]]
        for c in range(k):
            for l in range(lanes):
                e_b[j, c, l] = base.e[firsts[l] + j, c] - change * of_classes[l]
                effect_e[c, l] = 2.0 * change if of_a.a < others[l] else -2.0 * change
        for x in range(n):
            for l in range(lanes):
                M_bb[j, x, l] = M[firsts[l] + j, firsts[l] + x]
        for i in range(n_a):
            for l in range(lanes):
                M_ba[j, i, l] = after[i, firsts[l] + j]
                of_classes[l] = M[first_a + i, firsts[l] + j]
            for x in range(n):
                for l in range(lanes):
                    M_bb[j, x, l] += of_classes[l] * Y[i, firsts[l] + x]
            for c in range(k):
                for l in range(lanes):
                    e_b[j, c, l] += of_classes[l] * Y_e[i, c, l]
    return Batch(firsts, M_aa, M_ba, M_bb, e_a, e_b, effect_a, effect_b, effect_e)


@compiled(error_model="numpy")
def change_second_classes(
    base: ClassBase, noise: tuple[float, float], of_a: FirstClass, batch: Batch
) -> None:
    """Each class b loses one item after class a did; its Z⁻² is given by `noise`."""
    diagonal, rank_one = noise[0], noise[1] * base.root[0] ** 2
    firsts, M_aa, M_ba, M_bb, e_a, e_b, effect_a = batch[:7]
    n, n_a, lanes = M_ba.shape
    before, sums, S = M_ba.copy(), np.empty(lanes), np.empty((n, n, lanes))
    for j in range(n):
        for x in range(n):
            for l in range(lanes):
                S[j, x, l] = (rank_one + diagonal if x == j else rank_one) - M_bb[j, x, l]
    solve_lanes(S, M_ba, M_bb, e_b)
    for j in range(n):
        for l in range(lanes):
            sums[l] = of_a.sums[firsts[l] + j] / base.root[0]
        for i in range(n_a):
            for l in range(lanes):
                M_aa[i, l] += before[j, i, l] * M_ba[j, i, l]
                effect_a[i, l] += sums[l] * M_ba[j, i, l]
            for c in range(e_b.shape[1]):
                for l in range(lanes):
                    e_a[i, c, l] += before[j, i, l] * e_b[j, c, l]
    for X in (M_ba, M_bb, e_b):
        for c in range(X.shape[1]):
            for l in range(lanes):
                sums[l] = 0.0
            for j in range(n):
                for l in range(lanes):
                    sums[l] += rank_one * X[j, c, l]
            for j in range(n):
                for l in range(lanes):
                    X[j, c, l] = diagonal * X[j, c, l] + sums[l]


@compiled(error_model="numpy")
def solve_lanes(S: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """A, B and C become S⁻¹ times them in each lane, by elimination; S is overwritten."""
    n, lanes = len(S), S.shape[2]
    factor = np.empty(lanes)
    for j in range(n):
        for l in range(lanes):
            S[j, j, l] = 1.0 / S[j, j, l]
        for i in range(j + 1, n):
            for l in range(lanes):
                factor[l] = S[i, j, l] * S[j, j, l]
            for c in range(j + 1, n):
                for l in range(lanes):
                    S[i, c, l] -= factor[l] * S[j, c, l]
            for X in (A, B, C):
                for c in range(X.shape[1]):
                    for l in range(lanes):
                        X[i, c, l] -= factor[l] * X[j, c, l]
    for j in range(n - 1, -1, -1):
        for X in (A, B, C):
            for c in range(X.shape[1]):
                for l in range(lanes):
                    X[j, c, l] *= S[j, j, l]
                for i in range(j):
                    for l in range(lanes):
                        X[i, c, l] -= S[i, j, l] * X[j, c, l]


@compiled
def add_batch_effects(of_sums_a: float, of_sums_b: float, batch: Batch) -> None:
    """Fill the effects as `add_effects` does; the factors are u/(V d) of both classes."""
    _, _, M_ba, M_bb, e_a, e_b, effect_a, effect_b, effect_e = batch
    n, n_a, lanes = M_ba.shape
    for i in range(n_a):
        for l in range(lanes):
            effect_a[i, l] *= of_sums_a
        for c in range(len(effect_e)):
            for l in range(lanes):
                effect_e[c, l] += of_sums_a * e_a[i, c, l]
    for j in range(n):
        for i in range(n_a):
            for l in range(lanes):
                effect_a[i, l] -= of_sums_b * M_ba[j, i, l]
                effect_b[j, l] += of_sums_a * M_ba[j, i, l]
        for x in range(n):
            for l in range(lanes):
                effect_b[x, l] -= of_sums_b * M_bb[j, x, l]
        for c in range(len(effect_e)):
            for l in range(lanes):
                effect_e[c, l] -= of_sums_b * e_b[j, c, l]


@compiled(error_model="numpy")
def judge_lanes(base: ClassBase, of_a: FirstClass, batch: Batch, judging: Judging) -> None:
    """All pairs of an item of class a and an item of a class of the batch, as in `judge_rows`."""
    s, scale, smallest_pivot, smallest_angle, unsafe, counted, right = judging
    targets, by_root = base.targets, 1.0 / base.root[0]
    firsts, M_aa, M_ba, M_bb, e_a, e_b, effect_a, effect_b, effect_e = batch
    n, n_a, lanes = M_ba.shape
    safe, for_i, for_j = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    share = np.empty(lanes)
    for i in range(n_a):
        x = of_a.first + i
        for j in range(n):
            # The scale of an item depends on the size of its class alone.
            least = smallest_pivot * max(scale[x], scale[firsts[0] + j])
            for l in range(lanes):
                M_ii, M_ij, M_jj = M_aa[i, l], M_ba[j, i, l], M_bb[j, j, l]
                to_i, to_j = effect_a[i, l] + by_root, effect_b[j, l] - by_root
                determinant, larger = M_ii * M_jj - M_ij * M_ij, M_ii if M_ii > M_jj else M_jj
                lost = (determinant <= smallest_angle * M_ii * M_jj) | (
                    determinant <= least * larger
                )
                safe[l] = 0.0 if lost else 1.0
                for_i[l] = (to_i * M_jj - to_j * M_ij) / determinant
                for_j[l] = (to_j * M_ii - to_i * M_ij) / determinant
            for c in range(len(effect_e)):
                for l in range(lanes):
                    y = firsts[l] + j
                    fitted = targets[x, c] - targets[y, c] + effect_e[c, l]
                    own, other = for_i[l] * e_a[i, c, l], for_j[l] * e_b[j, c, l]
                    predicted = fitted - own - other
                    is_right = (predicted > 0.0) == (s[x, c] - s[y, c] > 0.0)
                    size = abs(fitted) + abs(own) + abs(other)
                    value = 0.5 if tied(predicted, size) else 1.0 if is_right else 0.0  # type: ignore[arg-type]
                    share[l] = value if safe[l] > 0.0 else 0.0
                for l in range(lanes):
                    y = firsts[l] + j
                    counted[y, c] += safe[l]
                    right[y, c] += share[l]
                    counted[x, c] += safe[l]
                    right[x, c] += share[l]
            for l in range(lanes):
                if safe[l] == 0.0:
                    unsafe[x, firsts[l] + j] = True
