"""Compiled leave-pair-out over all pairs of items of different tie classes, judged at once.

O(n³) for each pair of classes of n items together, and O(1) for each pair of items. The differences
of predictions need no kernel: the residual operator alone gives them (see class_systems).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from rankwise.holdout.class_systems import (
    ClassBase,
    Kind,
    changes_noise,
    class_rows,
    gather,
    of_kind,
    solve_system,
    times_inverse_noise,
)
from rankwise.metrics.ties import tied


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


@njit(cache=True, nogil=True)
def judge_blocks(
    base: ClassBase, lost: float, blocks: np.ndarray, pairs: np.ndarray, judging: Judging
) -> None:
    """Judge the pairs of items of different classes, for some pairs of blocks of classes.

    Every item that leaves weighs `lost`. Block i holds the classes blocks[i] to blocks[i + 1];
    neighbouring classes are judged together because their rows share cache lines.
    """
    for p in range(len(pairs)):
        first, second = pairs[p]
        for a in range(blocks[first], blocks[first + 1]):
            for b in range(max(a + 1, blocks[second]), blocks[second + 1]):
                kind = Kind(a, b, lost, lost)
                if changes_noise(base, kind):
                    judge_two_classes(base, kind, judging)
                else:
                    judge_two_items(base, kind, judging)


@njit(cache=True, nogil=True)
def judge_two_classes(base: ClassBase, kind: Kind, judging: Judging) -> None:
    """All pairs of an item of class a and an item of class b.

    Up to a constant the prediction for a held-out item of class a is t − x/√v − γ_a, with
    x = M_UU⁻¹ e_U and the effect γ_a of its class: −1/(V d_a) times the √v-weighted sum over class
    a of e − M_:U x, where d_a = V − V_a + ℓ_a.
    """
    V, root, starts = base.V, base.root, base.class_starts
    rows = class_rows(starts, kind)
    n, k, n_a = len(rows), base.e.shape[1], starts[kind.a + 1] - starts[kind.a]
    rhs = np.empty((n, n + k))
    rhs[:, :n] = gather(base.M, rows, rows)
    rhs[:, n:] = of_kind(base.e, base.steps, rows, kind, V)
    Y = solve_system(base, kind, rhs[:, :n].copy(), rhs)
    times_inverse_noise(base, kind, Y)
    of_a = 1.0 / (V * (V - base.class_weight[kind.a] + kind.lost_a))
    of_b = 1.0 / (V * (V - base.class_weight[kind.b] + kind.lost_b))
    effect = np.zeros(n + k)
    for i in range(n):
        factor = root[rows[i]] * (of_a if i < n_a else -of_b)
        for j in range(n + k):
            effect[j] += factor * Y[i, j]
    step = step_between(base, kind)
    for i in range(n_a):
        for j in range(n_a, n):
            at_i, at_j = rows[i], rows[j]
            a, b, d = Y[i, i], Y[i, j], Y[j, j]
            if mark_unsafe(judging, at_i, at_j, a, b, d):
                continue
            to_i, to_j = effect[i] + 1.0 / root[at_i], effect[j] - 1.0 / root[at_j]
            inverse = 1.0 / (a * d - b * b)
            for_i, for_j = (to_i * d - to_j * b) * inverse, (to_j * a - to_i * b) * inverse
            for c in range(k):
                fitted = base.targets[at_i, c] - base.targets[at_j, c] + step + effect[n + c]
                own, other = for_i * Y[i, n + c], for_j * Y[j, n + c]
                count_pair(judging, at_i, at_j, c, fitted, own, other)


@njit(cache=True, nogil=True)
def judge_two_items(base: ClassBase, kind: Kind, judging: Judging) -> None:
    """The same for two classes of one item each: nothing but the two rows changes."""
    i, j = base.class_starts[kind.a], base.class_starts[kind.b]
    a, b, d = base.M[i, i], base.M[i, j], base.M[j, j]
    if mark_unsafe(judging, i, j, a, b, d):
        return
    u_i, u_j, V = base.root[i], base.root[j], base.V
    of_a = u_i / (V * (V - base.class_weight[kind.a] + kind.lost_a))
    of_b = u_j / (V * (V - base.class_weight[kind.b] + kind.lost_b))
    to_i, to_j = 1.0 / u_i + of_a * a - of_b * b, of_a * b - of_b * d - 1.0 / u_j
    inverse = 1.0 / (a * d - b * b)
    for_i, for_j = (to_i * d - to_j * b) * inverse, (to_j * a - to_i * b) * inverse
    step, change_i, change_j = step_between(base, kind), 0.0, 0.0
    if base.steps.shape[1] > 0:
        change_i = (kind.lost_a * base.steps[i, kind.a] + kind.lost_b * base.steps[i, kind.b]) / V
        change_j = (kind.lost_a * base.steps[j, kind.a] + kind.lost_b * base.steps[j, kind.b]) / V
    for c in range(base.e.shape[1]):
        e_i, e_j = base.e[i, c] - change_i, base.e[j, c] - change_j
        fitted = base.targets[i, c] - base.targets[j, c] + step + of_a * e_i - of_b * e_j
        count_pair(judging, i, j, c, fitted, for_i * e_i, for_j * e_j)


@njit(cache=True, nogil=True)
def step_between(base: ClassBase, kind: Kind) -> float:
    """How much the target of class a < b gains on that of class b when both lose weight."""
    return (kind.lost_a + kind.lost_b) / base.V if base.steps.shape[1] > 0 else 0.0


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
