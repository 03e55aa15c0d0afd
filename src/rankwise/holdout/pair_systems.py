"""Compiled hold-outs of one or two rows of a ridge problem, O(1) for each hold-out.

For the rows U that leave, the prediction is f_U − Q_UU M_UU⁻¹ e_U with M = J − H, Q = P D Bᵀ and
the residuals e (see rankwise.solvers.spectrum).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rankwise.metrics.ties import tied
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import n_threads, over_ranges, run
from rankwise.spaces.basis_removal import REDUNDANT

SINGULAR = 1e-13
"""Below this share of its diagonal, nothing is left of a 2 × 2 determinant but rounding errors."""
FEW, MANY = 100, 1_000_000
"""Up to so many scores one task judges all pairs, and from so many on one task for each thread."""


class RowSystem(NamedTuple):
    """M and Q (r, r), f and e (r, k) for r rows of a ridge problem."""

    M: np.ndarray
    Q: np.ndarray
    f: np.ndarray
    e: np.ndarray


class BasisConstraints(NamedTuple):
    """What the removal of basis items needs, as products that serve every hold-out.

    Constraints Nᵀw = −values turn D into D − D N (NᵀDN)⁻¹ NᵀD. `number` (r,) is the number of each
    row in the basis or −1, `redundancy` that of BasisRemoval, BN = B D N, PN = P D N, NN = NᵀDN and
    known = NᵀDc + values.
    """

    number: np.ndarray
    redundancy: np.ndarray
    BN: np.ndarray
    PN: np.ndarray
    NN: np.ndarray
    known: np.ndarray


def solve_pairs(system: RowSystem, pairs: np.ndarray) -> np.ndarray:
    """(p, 2, k) predictions for both rows of every pair; nan if its system is singular."""
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    out = np.empty((len(pairs), 2, system.f.shape[1]))

    def task(low: int, high: int) -> None:
        solve_pair_rows(system, pairs, low, high, out)

    over_ranges(task, len(pairs), work=20.0 * out.size)
    return out


@compiled
def solve_pair_rows(
    system: RowSystem, pairs: np.ndarray, low: int, high: int, out: np.ndarray
) -> None:
    M, Q, f, e = system
    for p in range(low, high):
        i, j = pairs[p, 0], pairs[p, 1]
        a, b, d = M[i, i], M[i, j], M[j, j]
        determinant = a * d - b * b
        scale = 1.0 / determinant if determinant > SINGULAR * a * d else np.nan
        for c in range(f.shape[1]):
            x = scale * (d * e[i, c] - b * e[j, c])
            y = scale * (a * e[j, c] - b * e[i, c])
            out[p, 0, c] = f[i, c] - Q[i, i] * x - Q[i, j] * y
            out[p, 1, c] = f[j, c] - Q[j, i] * x - Q[j, j] * y


def solve_constrained(
    system: RowSystem, constraints: BasisConstraints, held: np.ndarray
) -> np.ndarray:
    """(p, u, k) predictions for hold-outs (p, u) of rows that remove basis items too."""
    held = np.ascontiguousarray(held, dtype=np.int64)
    out = np.empty((*held.shape, system.f.shape[1]))

    def task(low: int, high: int) -> None:
        solve_constrained_rows(system, constraints, held, low, high, out)

    over_ranges(task, len(held), work=200.0 * out.size)
    return out


@compiled
def solve_constrained_rows(
    system: RowSystem,
    constraints: BasisConstraints,
    held: np.ndarray,
    low: int,
    high: int,
    out: np.ndarray,
) -> None:
    M, Q, f, e = system
    u, k = held.shape[1], f.shape[1]
    for p in range(low, high):
        items = held[p]
        M_U, Q_U = np.empty((u, u)), np.empty((u, u))
        f_U, e_U = np.empty((u, k)), np.empty((u, k))
        for i in range(u):
            f_U[i], e_U[i] = f[items[i]], e[items[i]]
            for j in range(u):
                M_U[i, j], Q_U[i, j] = M[items[i], items[j]], Q[items[i], items[j]]
        members = constraints.number[items]
        members = members[members >= 0]
        z = _irreplaceable(constraints.redundancy, members)
        if z.shape[1] > 0:
            B_z, P_z, inner, s_z = _along(constraints, items, members, z)
            to_B = np.linalg.solve(inner, np.ascontiguousarray(B_z.T))
            to_s = np.linalg.solve(inner, s_z)
            M_U += np.dot(B_z, to_B)
            Q_U -= np.dot(P_z, to_B)
            f_U -= np.dot(P_z, to_s)
            e_U += np.dot(B_z, to_s)
        out[p] = f_U - np.dot(Q_U, np.linalg.solve(M_U, e_U))


@compiled
def _irreplaceable(redundancy: np.ndarray, members: np.ndarray) -> np.ndarray:
    """(h, d) combinations of the removed basis items that no other basis item makes up."""
    h = len(members)
    shared = np.empty((h, h))
    for i in range(h):
        for j in range(h):
            shared[i, j] = redundancy[members[i], members[j]]
    weight, z = np.linalg.eigh(shared)
    return np.ascontiguousarray(z[:, weight < REDUNDANT])


@compiled
def _along(
    constraints: BasisConstraints, items: np.ndarray, members: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """B D N z, P D N z, zᵀNᵀDN z and zᵀ known for the removed basis items."""
    u, h, k = len(items), len(members), constraints.known.shape[1]
    B_N, P_N = np.empty((u, h)), np.empty((u, h))
    N_N, s = np.empty((h, h)), np.empty((h, k))
    for j in range(h):
        s[j] = constraints.known[members[j]]
        for i in range(u):
            B_N[i, j] = constraints.BN[items[i], members[j]]
            P_N[i, j] = constraints.PN[items[i], members[j]]
        for i in range(h):
            N_N[i, j] = constraints.NN[members[i], members[j]]
    z_t = np.ascontiguousarray(z.T)
    return np.dot(B_N, z), np.dot(P_N, z), np.dot(np.dot(z_t, N_N), z), np.dot(z_t, s)


def pair_costs(M: np.ndarray, e: np.ndarray, smallest: float = 0.0) -> np.ndarray | None:
    """(k,) Σ over pairs i < j of (r_i − r_j)² with r = M_UU⁻¹ e_U, U = {i, j}; O(m² k).

    None if a pivot of some M_UU falls below `smallest`, or is not positive.
    """
    e = np.ascontiguousarray(e)
    totals, safe = np.zeros(e.shape), np.ones(len(e), dtype=bool)

    def task(low: int, high: int) -> None:
        add_pair_costs(M, e, smallest, low, high, totals, safe)

    over_ranges(task, len(e), work=5.0 * len(e) * e.size)
    return totals.sum(axis=0) if safe.all() else None


@compiled
def add_pair_costs(
    M: np.ndarray,
    e: np.ndarray,
    smallest: float,
    low: int,
    high: int,
    totals: np.ndarray,
    safe: np.ndarray,
) -> None:
    m, k = e.shape
    for i in range(low, high):
        a = M[i, i]
        for j in range(m):
            if i == j:
                continue
            b, d = M[i, j], M[j, j]
            determinant = a * d - b * b
            if not determinant > smallest * max(a, d):
                safe[i] = False
                continue
            for_i, for_j = (d + b) / determinant, (a + b) / determinant
            for c in range(k):
                totals[i, c] += 0.5 * (for_i * e[i, c] - for_j * e[j, c]) ** 2


class Judged(NamedTuple):
    """(m, k) how many pairs with different scores an item is in, and how many are right."""

    counted: np.ndarray
    right: np.ndarray


def judge_pairs(
    system: RowSystem, Q_scale: float | None, s: np.ndarray, smallest: float
) -> Judged | None:
    """Leave-pair-out judged over all pairs, for each item and output.

    Every pair U is held out, with the predictions f_U − Q_UU M_UU⁻¹ e_U. If `Q_scale` is given,
    Q is that number times the identity: in a single query with all pairs and equal weights the
    residuals suffice, f being the scores s. O(m²) time for each output and O(mk) memory. None if
    a pivot of some M_UU falls below `smallest`.
    """
    scale = 0.0 if Q_scale is None else Q_scale
    parts = 1 if s.size < FEW else n_threads() * (4 if s.size < MANY else 1)
    # The rows of a triangle: tasks of about the same number of pairs.
    cuts = np.round(len(s) * (1.0 - np.sqrt(np.linspace(1.0, 0.0, parts + 1)))).astype(int)
    counts = [Judged(np.zeros(s.shape), np.zeros(s.shape)) for _ in cuts[1:]]
    safe = run(
        [
            partial(_judge_rows, system, scale, s, smallest, int(low), int(high), part)
            for low, high, part in zip(cuts[:-1], cuts[1:], counts)
        ]
    )
    if not all(safe):
        return None
    return Judged(*(np.sum(values, axis=0) for values in zip(*counts)))


@compiled
def _judge_rows(
    system: RowSystem,
    scale: float,
    s: np.ndarray,
    smallest: float,
    low: int,
    high: int,
    judged: Judged,
) -> bool:
    """Adds up the pairs i < j of the rows i from low to high; False if a pivot is too small."""
    M, Q, f, e = system
    counted, right = judged
    m, k = s.shape
    diagonal = np.empty(m)
    for i in range(low, m):
        diagonal[i] = M[i, i]
    for i in range(low, high):
        a, s_i, f_i, e_i = diagonal[i], s[i], f[i], e[i]
        counted_i, right_i = counted[i], right[i]
        for j in range(i + 1, m):
            b, d = M[i, j], diagonal[j]
            determinant = a * d - b * b
            if determinant <= smallest * max(a, d):
                return False
            if scale > 0.0:
                to_i, to_j = scale, -scale
            else:
                to_i, to_j = Q[i, i] - Q[j, i], Q[i, j] - Q[j, j]
            inverse = 1.0 / determinant
            for_i, for_j = (to_i * d - to_j * b) * inverse, (to_j * a - to_i * b) * inverse
            # Rows and sums without branches, so that the loop over outputs is vectorised.
            s_j, f_j, e_j = s[j], f[j], e[j]
            counted_j, right_j = counted[j], right[j]
            for c in range(k):
                gap, fitted = s_i[c] - s_j[c], f_i[c] - f_j[c]
                own, other = for_i * e_i[c], for_j * e_j[c]
                predicted = fitted - own - other
                agrees = 1.0 if (predicted > 0.0) == (gap > 0.0) else 0.0
                is_tie = tied(predicted, abs(fitted) + abs(own) + abs(other))
                counts = 1.0 if gap != 0.0 else 0.0
                is_right = counts * (0.5 if is_tie else agrees)
                counted_i[c] += counts
                counted_j[c] += counts
                right_i[c] += is_right
                right_j[c] += is_right
    return True
