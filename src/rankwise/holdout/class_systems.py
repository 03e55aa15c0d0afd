"""Compiled hold-outs of items of given tie classes: one small system for each pair of classes.

The rows are the items of a query, sorted by class and scaled by √v. The base problem has the
residual operator M. If class k loses the weight ℓ_k, its noise changes by −Z², where

    Z² = δ_k (I − u uᵀ/V) ,   δ_k = 1/(V − V_k) − 1/(V − V_k + ℓ_k) ,   u = √v of the class,

so that only the rows and columns of the classes that lose items are needed. With S = Z⁻² − M on
those rows the operator becomes Z⁻² S⁻¹ M. S is positive definite and well conditioned: no
eigenvalue of Z M Z exceeds ℓ_k/(V − V_k + ℓ_k). After that each hold-out is a system of one or two
rows, as in pair_systems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.numerics.compiled import compiled

LARGE = 48
"""From this many rows on a system is solved by LAPACK instead of by the loops here."""


class ClassBase(NamedTuple):
    """The base problem at one λ: m rows sorted by class, k outputs, r classes.

    `V` is the weight that stays, `class_weight` that of each class before items leave. If targets
    depend on the weights that stay, the targets of a hold-out are `targets` (m, k) less, for each
    class a that loses the weight ℓ, ℓ/V times sign(class − a). `e` (m, k) is M times the targets
    (less scores known beforehand), and `steps` (m, r) is M times these signs, with no column if the
    targets are fixed.
    """

    M: np.ndarray
    e: np.ndarray
    steps: np.ndarray
    targets: np.ndarray
    root: np.ndarray
    class_starts: np.ndarray
    class_weight: np.ndarray
    V: float


class Kind(NamedTuple):
    """Classes `a` and `b` lose the weights `lost_a` and `lost_b`; one class only if they agree."""

    a: int
    b: int
    lost_a: float
    lost_b: float


@compiled
def step_products(
    A: np.ndarray, root: np.ndarray, class_starts: np.ndarray, low: int, high: int, out: np.ndarray
) -> None:
    """Rows low to high of A (√v · sign(class − a)) for all classes a, by prefix sums."""
    r = len(class_starts) - 1
    for x in range(low, high):
        row, before = A[x], 0.0
        for k in range(r):
            own = 0.0
            for i in range(class_starts[k], class_starts[k + 1]):
                own += row[i] * root[i]
            out[x, k] = -2.0 * before - own
            before += own
        for k in range(r):
            out[x, k] += before


@compiled
def class_rows(class_starts: np.ndarray, kind: Kind) -> np.ndarray:
    """The rows of the classes of a kind."""
    a0, a1 = class_starts[kind.a], class_starts[kind.a + 1]
    if kind.a == kind.b:
        return np.arange(a0, a1)
    b0, b1 = class_starts[kind.b], class_starts[kind.b + 1]
    rows = np.empty(a1 - a0 + b1 - b0, dtype=np.int64)
    for i in range(a1 - a0):
        rows[i] = a0 + i
    for i in range(b1 - b0):
        rows[a1 - a0 + i] = b0 + i
    return rows


@compiled
def gather(A: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    out = np.empty((len(rows), len(columns)))
    for i in range(len(rows)):
        row = A[rows[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]
    return out


@compiled
def of_kind(
    fixed: np.ndarray, steps: np.ndarray, rows: np.ndarray, kind: Kind, V: float
) -> np.ndarray:
    """Some rows of a product with the targets of a kind, from those with its parts."""
    out = np.empty((len(rows), fixed.shape[1]))
    for i in range(len(rows)):
        x, change = rows[i], 0.0
        if steps.shape[1] > 0:
            change = kind.lost_a * steps[x, kind.a] + kind.lost_b * steps[x, kind.b]
        for c in range(fixed.shape[1]):
            out[i, c] = fixed[x, c] - change / V
    return out


@compiled
def changes_noise(base: ClassBase, kind: Kind) -> bool:
    """Whether an item stays in a class that loses another: else the change leaves with the rows."""
    starts = base.class_starts
    of_a, of_b = starts[kind.a + 1] - starts[kind.a], starts[kind.b + 1] - starts[kind.b]
    return of_a > 1 or of_b > 1


@compiled(inline="always")
def inverse_noise(base: ClassBase, k: int, lost: float) -> tuple[float, float]:
    """Z⁻² of class k as a multiple of I and one of u uᵀ."""
    gap = base.V - base.class_weight[k]
    return gap * (gap + lost) / lost, (gap + lost) / lost


@compiled(inline="always")
def add_inverse_noise(S: np.ndarray, u: np.ndarray, noise: tuple[float, float]) -> None:
    """S becomes S + Z⁻² on the rows of one class."""
    diagonal, rank_one = noise
    for i in range(len(u)):
        S[i, i] += diagonal
        for j in range(len(u)):
            S[i, j] += rank_one * u[i] * u[j]


@compiled(inline="always")
def times_inverse_noise(Y: np.ndarray, u: np.ndarray, noise: tuple[float, float]) -> None:
    """Y becomes Z⁻² Y on the rows of one class."""
    diagonal, rank_one = noise
    total = np.zeros(Y.shape[1])
    for i in range(len(u)):
        for c in range(Y.shape[1]):
            total[c] += u[i] * Y[i, c]
    for i in range(len(u)):
        factor = rank_one * u[i]
        for c in range(Y.shape[1]):
            Y[i, c] = diagonal * Y[i, c] + factor * total[c]


@compiled
def solve_in_place(S: np.ndarray, rhs: np.ndarray) -> None:
    """`rhs` becomes S⁻¹ rhs for a positive definite S, which is overwritten."""
    if len(S) >= LARGE:
        solved = np.linalg.solve(np.ascontiguousarray(S), np.ascontiguousarray(rhs))
        for i in range(rhs.shape[0]):
            for c in range(rhs.shape[1]):
                rhs[i, c] = solved[i, c]
    else:
        eliminate(S, rhs)


@compiled(inline="always")
def eliminate(S: np.ndarray, rhs: np.ndarray) -> None:
    """The same for a small S, by elimination without pivots."""
    n, width = rhs.shape
    for j in range(n):
        inverse = 1.0 / S[j, j]
        for i in range(j + 1, n):
            factor = S[i, j] * inverse
            for c in range(j + 1, n):
                S[i, c] -= factor * S[j, c]
            for c in range(width):
                rhs[i, c] -= factor * rhs[j, c]
    for j in range(n - 1, -1, -1):
        inverse = 1.0 / S[j, j]
        for c in range(width):
            rhs[j, c] *= inverse
        for i in range(j):
            factor = S[i, j]
            for c in range(width):
                rhs[i, c] -= factor * rhs[j, c]
