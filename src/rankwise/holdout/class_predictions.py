"""Compiled predictions for one or two held-out items, kind by kind (see class_systems).

The prediction is f_U − Q_UU M_UU⁻¹ e_U with Q = K M/λ, which keeps its digits for every λ. Where
hold-outs remove basis items of a reduced set, the constraints of pair_systems join.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.holdout.class_systems import (
    ClassBase,
    Kind,
    add_inverse_noise,
    changes_noise,
    class_rows,
    gather,
    inverse_noise,
    of_kind,
    solve_in_place,
    times_inverse_noise,
)
from rankwise.holdout.pair_systems import (
    BasisConstraints,
    RowSystem,
    solve_constrained_rows,
    solve_pair_rows,
)
from rankwise.numerics.compiled import compiled


class KernelPart(NamedTuple):
    """Q (m, m), f (m, k) = Q times the targets, and `steps` (m, r) = Q times the signs."""

    Q: np.ndarray
    f: np.ndarray
    steps: np.ndarray


class BasisPart(NamedTuple):
    """`BasisConstraints` of all h basis items; `number` (m,) is −1 for other items.

    `known_steps` (h, r) are NᵀDc for the signs in place of the targets.
    """

    number: np.ndarray
    redundancy: np.ndarray
    BN: np.ndarray
    PN: np.ndarray
    NN: np.ndarray
    known: np.ndarray
    known_steps: np.ndarray


class KindList(NamedTuple):
    """The classes (q, 2) that lose weights `lost` (q, 2), and where their hold-outs start."""

    classes: np.ndarray
    lost: np.ndarray
    starts: np.ndarray


class Limits(NamedTuple):
    """What makes a 2 × 2 system unsafe, as in class_judging.Judging."""

    scale: np.ndarray
    smallest_pivot: float
    smallest_angle: float


class Problem(NamedTuple):
    """Everything that the hold-outs of one base have in common."""

    base: ClassBase
    kernel: KernelPart
    basis: BasisPart
    limits: Limits


@compiled
def predict_kinds(
    problem: Problem,
    kinds: KindList,
    held: np.ndarray,
    low: int,
    high: int,
    out: np.ndarray,
    unsafe: np.ndarray,
) -> None:
    """(p, u, k) predictions for the hold-outs `held` (p, u) of kinds low to high.

    Hold-outs whose system has lost its digits are marked in `unsafe` (p,).
    """
    starts = problem.base.class_starts
    for q in range(low, high):
        a, b = kinds.classes[q]
        kind = Kind(a, b, kinds.lost[q, 0], kinds.lost[q, 1])
        system, constraints = kind_system(problem, kind)
        n_a = starts[a + 1] - starts[a]
        rows = np.empty((1, held.shape[1]), dtype=np.int64)
        for p in range(kinds.starts[q], kinds.starts[q + 1]):
            constrained = False
            for i in range(held.shape[1]):
                item = held[p, i]
                inside = starts[a] <= item < starts[a + 1]
                rows[0, i] = item - starts[a] if inside else n_a + item - starts[b]
                constrained |= constraints.number[rows[0, i]] >= 0
            unsafe[p] = is_unsafe(system.M, rows[0], held[p], constrained, problem.limits)
            if unsafe[p]:
                continue
            if constrained:
                solve_constrained_rows(system, constraints, rows, 0, 1, out[p : p + 1])
            elif held.shape[1] == 2:
                solve_pair_rows(system, rows, 0, 1, out[p : p + 1])
            else:
                i = rows[0, 0]
                out[p, 0] = system.f[i] - system.Q[i, i] / system.M[i, i] * system.e[i]


@compiled
def kind_system(problem: Problem, kind: Kind) -> tuple[RowSystem, BasisConstraints]:
    """The rows of the classes of a kind, after these classes lost their weights."""
    base, kernel, basis, _ = problem
    rows = class_rows(base.class_starts, kind)
    n, k = len(rows), base.e.shape[1]
    members = np.empty(n, dtype=np.int64)
    number = np.full(n, -1)
    h = 0
    for i in range(n):
        if basis.number[rows[i]] >= 0:
            members[h] = basis.number[rows[i]]
            number[i] = h
            h += 1
    members = members[:h]
    M, Q = gather(base.M, rows, rows), gather(kernel.Q, rows, rows)
    e = of_kind(base.e, base.steps, rows, kind, base.V)
    f = of_kind(kernel.f, kernel.steps, rows, kind, base.V)
    BN, PN = gather(basis.BN, rows, members), gather(basis.PN, rows, members)
    NN = gather(basis.NN, members, members)
    known = of_kind(basis.known, basis.known_steps, members, kind, base.V)
    if changes_noise(base, kind):
        rhs = np.empty((n, n + k + h))
        rhs[:, :n], rhs[:, n : n + k], rhs[:, n + k :] = M, e, BN
        n_a = base.class_starts[kind.a + 1] - base.class_starts[kind.a]
        u, of_a = base.root[rows], inverse_noise(base, kind.a, kind.lost_a)
        of_b = inverse_noise(base, kind.b, kind.lost_b) if n > n_a else of_a
        S = -M
        add_inverse_noise(S[:n_a, :n_a], u[:n_a], of_a)
        add_inverse_noise(S[n_a:, n_a:], u[n_a:], of_b)
        Y = rhs
        solve_in_place(S, Y)
        Y_M, Y_e, Y_B = Y[:, :n].copy(), Y[:, n : n + k].copy(), Y[:, n + k :].copy()
        f = f + np.dot(Q, Y_e)
        if h > 0:
            across = np.ascontiguousarray(BN.T)
            PN = PN - np.dot(Q, Y_B)
            NN = NN - np.dot(across, Y_B)
            known = known + np.dot(across, Y_e)
        Q = Q + np.dot(Q, Y_M)
        times_inverse_noise(Y[:n_a], u[:n_a], of_a)
        times_inverse_noise(Y[n_a:], u[n_a:], of_b)
        M, e, BN = Y[:, :n].copy(), Y[:, n : n + k].copy(), Y[:, n + k :].copy()
    redundancy = gather(basis.redundancy, members, members)
    return RowSystem(M, Q, f, e), BasisConstraints(number, redundancy, BN, PN, NN, known)


@compiled
def is_unsafe(
    M: np.ndarray, rows: np.ndarray, items: np.ndarray, constrained: bool, limits: Limits
) -> bool:
    """Whether M on one or two rows has lost its digits; removed basis items need them more."""
    smallest = max(limits.smallest_pivot, 1e-6) if constrained else limits.smallest_pivot
    i, scale = rows[0], limits.scale[items[0]]
    if len(rows) == 1:
        return M[i, i] <= smallest * scale
    j = rows[1]
    a, d, scale = M[i, i], M[j, j], max(scale, limits.scale[items[1]])
    pivot = a * d - M[i, j] * M[j, i]
    return pivot <= limits.smallest_angle * a * d or pivot <= smallest * scale * max(a, d)
