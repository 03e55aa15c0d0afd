"""Compiled leave-pair-out over the pairs of items of two tie classes, judged at once.

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

from rankwise.holdout.class_systems import (
    ClassBase,
    add_inverse_noise,
    eliminate,
    inverse_noise,
    solve_in_place,
    times_inverse_noise,
)
from rankwise.metrics.ties import tied
from rankwise.numerics.compiled import compiled

# What works on one pair of classes is inlined: for small classes, counting references to arrays
# would cost more than the work itself.

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


class Workspace(NamedTuple):
    """Arrays that are used again for each pair of classes; see `two_classes` for their parts."""

    rhs: np.ndarray
    S: np.ndarray
    Y_e: np.ndarray
    e_a: np.ndarray
    M_aa: np.ndarray
    effect_a: np.ndarray
    effect_b: np.ndarray
    effect_e: np.ndarray


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


@compiled
def first_class(base: ClassBase, lost: float, a: int) -> FirstClass:
    """Class a loses one item: one system of its size."""
    S, rows = system_of_class(base, lost, a)
    solve_in_place(S, rows)
    return solved_class(base, lost, a, rows)


@compiled
def first_small_class(base: ClassBase, lost: float, a: int) -> FirstClass:
    """The same, by elimination only."""
    S, rows = system_of_class(base, lost, a)
    eliminate(S, rows)
    return solved_class(base, lost, a, rows)


@compiled
def system_of_class(base: ClassBase, lost: float, a: int) -> tuple[np.ndarray, np.ndarray]:
    """S = Z⁻² − M on class a, and the rows of class a of M, e and the steps."""
    first, n = base.class_starts[a], base.class_starts[a + 1] - base.class_starts[a]
    m, k, r = len(base.M), base.e.shape[1], base.steps.shape[1]
    S, rows = np.empty((n, n)), np.empty((n, m + k + r))
    for i in range(n):
        for x in range(m):
            rows[i, x] = base.M[first + i, x]
        for c in range(k):
            rows[i, m + c] = base.e[first + i, c]
        for b in range(r):
            rows[i, m + k + b] = base.steps[first + i, b]
        for j in range(n):
            S[i, j] = -base.M[first + i, first + j]
    add_inverse_noise(S, base.root[first : first + n], inverse_noise(base, a, lost))
    return S, rows


@compiled
def solved_class(base: ClassBase, lost: float, a: int, rows: np.ndarray) -> FirstClass:
    """What class a leaves behind, from the solution `rows` of its system."""
    first, last, m = base.class_starts[a], base.class_starts[a + 1], len(base.M)
    u, after, sums = base.root[first:last], rows.copy(), np.zeros(m)
    times_inverse_noise(after, u, inverse_noise(base, a, lost))
    for i in range(last - first):
        for x in range(m):
            sums[x] += u[i] * after[i, x]
    return FirstClass(a, first, last, rows, after, sums)


@compiled
def workspace(base: ClassBase, others: np.ndarray, n_a: int) -> Workspace:
    """Room for class a of n_a items and any of the other classes."""
    most, k = 0, base.e.shape[1]
    for b in others:
        most = max(most, base.class_starts[b + 1] - base.class_starts[b])
    effects = (np.empty(n_a), np.empty(most), np.empty(k))
    return Workspace(
        np.empty((most, most + n_a + k)),
        np.empty((most, most)),
        np.empty((n_a, k)),
        np.empty((n_a, k)),
        np.empty(n_a),
        *effects,
    )


@compiled(inline="always")
def two_classes(
    base: ClassBase, lost: float, of_a: FirstClass, b: int, room: Workspace
) -> TwoClasses:
    """Class b loses one item after class a did."""
    k, first = base.e.shape[1], base.class_starts[b]
    n_a, n_b = of_a.last - of_a.first, base.class_starts[b + 1] - first
    change_targets(base, lost, of_a, b, room)
    rhs, e_a = room.rhs[:n_b, : n_b + n_a + k], room.e_a
    change_rows(base, lost, of_a, b, room, rhs)
    M_aa, effect_a = room.M_aa, room.effect_a
    for i in range(n_a):
        M_aa[i] = of_a.after[i, of_a.first + i]
        effect_a[i] = of_a.sums[of_a.first + i]
    if n_b > 1:
        u, noise, S = (
            base.root[first : first + n_b],
            inverse_noise(base, b, lost),
            room.S[:n_b, :n_b],
        )
        for j in range(n_b):
            for x in range(n_b):
                S[j, x] = -rhs[j, x]
        add_inverse_noise(S, u, noise)
        solve_in_place(S, rhs)
        for j in range(n_b):
            sum_j = of_a.sums[first + j]
            for i in range(n_a):
                before = of_a.after[i, first + j]
                M_aa[i] += before * rhs[j, n_b + i]
                effect_a[i] += sum_j * rhs[j, n_b + i]
                for c in range(k):
                    e_a[i, c] += before * rhs[j, n_b + n_a + c]
        times_inverse_noise(rhs, u, noise)
    blocks = (rhs[:, n_b : n_b + n_a], rhs[:, :n_b], e_a, rhs[:, n_b + n_a :])
    return TwoClasses(M_aa, *blocks, effect_a, room.effect_b[:n_b], room.effect_e)


@compiled(inline="always")
def change_targets(base: ClassBase, lost: float, of_a: FirstClass, b: int, room: Workspace) -> None:
    """S⁻¹e and e of class a for the targets of both classes, and the step between the targets."""
    m, k, ranked = len(base.M), base.e.shape[1], base.steps.shape[1] > 0
    change = lost / base.V
    for c in range(k):
        room.effect_e[c] = 0.0
        if ranked:
            room.effect_e[c] = 2.0 * change if of_a.a < b else -2.0 * change
    for i in range(of_a.last - of_a.first):
        of_Y, of_e = 0.0, 0.0
        if ranked:
            of_Y = change * (of_a.Y[i, m + k + of_a.a] + of_a.Y[i, m + k + b])
            of_e = change * (of_a.after[i, m + k + of_a.a] + of_a.after[i, m + k + b])
        for c in range(k):
            room.Y_e[i, c] = of_a.Y[i, m + c] - of_Y
            room.e_a[i, c] = of_a.after[i, m + c] - of_e


@compiled(inline="always")
def change_rows(
    base: ClassBase, lost: float, of_a: FirstClass, b: int, room: Workspace, rhs: np.ndarray
) -> None:
    """[M_bb, M_ba, e_b] after class a lost its item, into `rhs`."""
    n_a, n_b, k = of_a.last - of_a.first, len(rhs), base.e.shape[1]
    M, Y, first, change = base.M, of_a.Y, base.class_starts[b], 0.0
    large = n_a * n_b * n_b >= SMALL_PRODUCT
    if large:
        between = np.ascontiguousarray(M[first : first + n_b, of_a.first : of_a.last])
        product = np.dot(between, np.ascontiguousarray(Y[:, first : first + n_b]))
        for j in range(n_b):
            for x in range(n_b):
                rhs[j, x] = product[j, x] + M[first + j, first + x]
    for j in range(n_b):
        if base.steps.shape[1] > 0:
            change = lost / base.V * (base.steps[first + j, of_a.a] + base.steps[first + j, b])
        for c in range(k):
            rhs[j, n_b + n_a + c] = base.e[first + j, c] - change
        for i in range(n_a):
            rhs[j, n_b + i] = of_a.after[i, first + j]
        if not large:
            for x in range(n_b):
                rhs[j, x] = M[first + j, first + x]
        for i in range(n_a):
            factor = M[first + j, of_a.first + i]
            for c in range(k):
                rhs[j, n_b + n_a + c] += factor * room.Y_e[i, c]
            if not large:
                for x in range(n_b):
                    rhs[j, x] += factor * Y[i, first + x]


@compiled(inline="always")
def add_effects(
    base: ClassBase, firsts: tuple[int, int], gaps: tuple[float, float], two: TwoClasses
) -> None:
    """Fill the effects, of which `effect_a` holds uᵀM over class a so far.

    `firsts` are the first rows of both classes, and `gaps` their d = V − V_k + ℓ_k.
    """
    of_sums_a, of_sums_b = 1.0 / (base.V * gaps[0]), 1.0 / (base.V * gaps[1])
    n_a, n_b = len(two.M_aa), len(two.M_bb)
    u_a = base.root[firsts[0] : firsts[0] + n_a]
    for j in range(n_b):
        two.effect_b[j] = 0.0
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


@compiled(inline="always")
def judge_two_classes(
    base: ClassBase, lost: float, of_a: FirstClass, b: int, room: Workspace, judging: Judging
) -> None:
    """All pairs of an item of class a and an item of class b."""
    two = two_classes(base, lost, of_a, b, room)
    # The noise of a class of one item leaves with it, so it was never changed.
    lost_by_b = lost if len(two.M_bb) > 1 else 0.0
    gap_a = base.V - base.class_weight[of_a.a] + lost
    gap_b = base.V - base.class_weight[b] + lost_by_b
    firsts = (of_a.first, base.class_starts[b])
    add_effects(base, firsts, (gap_a, gap_b), two)
    judge_rows(base, firsts, two, 0, len(two.M_aa), judging)


@compiled
def two_whole_classes(base: ClassBase, lost: float) -> TwoClasses:
    """The only two classes of a base whose V_k are already those of all hold-outs."""
    n, k = base.class_starts[1], base.e.shape[1]
    effect_a = np.dot(np.ascontiguousarray(base.M[:n, :n]), base.root[:n])
    blocks = (base.M[n:, :n], base.M[n:, n:], base.e[:n].copy(), base.e[n:])
    effects = (effect_a, np.zeros(len(base.M) - n), np.zeros(k))
    two = TwoClasses(np.diag(base.M)[:n].copy(), *blocks, *effects)
    gaps = (base.V - base.class_weight[0] + lost, base.V - base.class_weight[1] + lost)
    add_effects(base, (0, n), gaps, two)
    return two


@compiled(inline="always")
def judge_rows(
    base: ClassBase,
    firsts: tuple[int, int],
    two: TwoClasses,
    low: int,
    high: int,
    judging: Judging,
) -> None:
    """All pairs of one of the items low to high of class a and an item of class b."""
    targets, root, (s, scale, smallest_pivot, smallest_angle) = base.targets, base.root, judging[:4]
    unsafe, counted, right = judging[4:]
    M_aa, M_ba, M_bb, e_a, e_b, effect_a, effect_b, effect_e = two
    for i in range(low, high):
        x, M_ii = firsts[0] + i, M_aa[i]
        to_i = effect_a[i] + 1.0 / root[x]
        for j in range(len(M_bb)):
            y, M_ij, M_jj = firsts[1] + j, M_ba[j, i], M_bb[j, j]
            least = smallest_pivot * max(scale[x], scale[y])
            if has_lost_digits(M_ii, M_ij, M_jj, least, smallest_angle):
                unsafe[x, y] = True
                continue
            to_j = effect_b[j] - 1.0 / root[y]
            inverse = 1.0 / (M_ii * M_jj - M_ij * M_ij)
            for_i = (to_i * M_jj - to_j * M_ij) * inverse
            for_j = (to_j * M_ii - to_i * M_ij) * inverse
            for c in range(len(effect_e)):
                gap, fitted = s[x, c] - s[y, c], targets[x, c] - targets[y, c] + effect_e[c]
                share = agreement(gap, fitted, for_i * e_a[i, c], for_j * e_b[j, c])
                counted[x, c] += 1.0
                counted[y, c] += 1.0
                right[x, c] += share
                right[y, c] += share


@compiled
def judge_items(base: ClassBase, lost: float, a: int, others: np.ndarray, judging: Judging) -> None:
    """The item of class a against those of `others`, classes of one item each.

    Such classes leave nothing behind, so that nothing changes but the rows that leave.
    """
    M, e, steps, targets, root, starts, class_weight = base[:7]
    V, (s, scale, smallest_pivot, smallest_angle) = base.V, judging[:4]
    unsafe, counted, right = judging[4:]
    i, ranked, change = starts[a], steps.shape[1] > 0, lost / V
    M_ii, u_i = M[i, i], root[i]
    of_i = u_i / (V * (V - class_weight[a]))
    for b in others:
        j = starts[b]
        M_ij, M_jj, u_j = M[i, j], M[j, j], root[j]
        least = smallest_pivot * max(scale[i], scale[j])
        if has_lost_digits(M_ii, M_ij, M_jj, least, smallest_angle):
            unsafe[i, j] = True
            continue
        of_j = u_j / (V * (V - class_weight[b]))
        to_i = 1.0 / u_i + of_i * M_ii - of_j * M_ij
        to_j = of_i * M_ij - of_j * M_jj - 1.0 / u_j
        inverse = 1.0 / (M_ii * M_jj - M_ij * M_ij)
        for_i, for_j = (to_i * M_jj - to_j * M_ij) * inverse, (to_j * M_ii - to_i * M_ij) * inverse
        step, change_i, change_j = 0.0, 0.0, 0.0
        if ranked:
            step = 2.0 * change if a < b else -2.0 * change
            change_i = change * (steps[i, a] + steps[i, b])
            change_j = change * (steps[j, a] + steps[j, b])
        for c in range(e.shape[1]):
            e_i, e_j = e[i, c] - change_i, e[j, c] - change_j
            fitted = targets[i, c] - targets[j, c] + step + of_i * e_i - of_j * e_j
            share = agreement(s[i, c] - s[j, c], fitted, for_i * e_i, for_j * e_j)
            counted[i, c] += 1.0
            counted[j, c] += 1.0
            right[i, c] += share
            right[j, c] += share


@compiled
def has_lost_digits(a: float, b: float, d: float, pivot: float, angle: float) -> bool:
    """Whether the second pivot of [[a, b], [b, d]] is below `pivot`, or `angle` of its diagonal."""
    determinant = a * d - b * b
    return determinant <= angle * a * d or determinant <= pivot * max(a, d)


@compiled
def agreement(gap: float, fitted: float, own: float, other: float) -> float:
    """Whether the predicted difference fitted − own − other has the sign of `gap`; ½ if tied."""
    predicted = fitted - own - other
    if tied(predicted, abs(fitted) + abs(own) + abs(other)):  # type: ignore[arg-type]
        return 0.5
    return 1.0 if (predicted > 0.0) == (gap > 0.0) else 0.0
