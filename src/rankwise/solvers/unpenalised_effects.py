"""Unpenalised effects beside h: y_e ≈ h(e) + b, + an effect of the row, + an effect of the column.

They are fitted by least squares, so the loss of h is that of labels and functions whose effects are
projected away: min over effects of ‖y − h − E b‖² = ‖P(y − h)‖². With "rows" P subtracts the mean
of each row, as the ranking objective does. With "both" a system of the smaller side is solved once,
O(q + p³); then a projection costs O(q + p²).

In a symmetric relation a node has one effect in both roles, e_u + e_v; in a reciprocal relation it
is e_u − e_v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.spaces.edges import Edges
from rankwise.spaces.pair_function import PairEffects
from rankwise.supervision.relation import RelationTask

EFFECTS = ("intercept", "rows", "columns", "both")


@dataclass(frozen=True)
class EffectKind:
    """Which effects are there, with conditions as rows; `sign` is that of the relation."""

    intercept: bool = False
    rows: bool = False
    columns: bool = False
    sign: int = 0

    @property
    def any(self) -> bool:
        return self.intercept

    @property
    def both(self) -> bool:
        return self.rows and self.columns

    @classmethod
    def of(cls, effects: str | None, task: RelationTask) -> EffectKind:
        """The effects a user asked for; a ValueError with the reason if they have no meaning."""
        if effects is None:
            return cls()
        if task.ranking:
            raise ValueError(
                f"effects={effects!r} needs objective='regression': the ranking objective compares "
                "edges of one condition, where the intercept and the effect of the condition "
                "cancel. Effects of the ranked nodes too: objective='regression' with "
                "effects='both' has the same loss."
            )
        sides = {"intercept": (False, False), "both": (True, True)}
        sides |= {"rows": (True, False), "columns": (False, True)}
        rows, columns = task.conditions_first(*sides[effects])
        if task.sign and rows != columns:
            raise ValueError(
                f"effects={effects!r} contradicts relation={task.relation!r}, in which a node has "
                "the same effect as row and as column: use effects='both'."
            )
        if task.sign == -1 and not rows:
            raise ValueError(
                "effects='intercept' contradicts relation='reciprocal': h(u, v) = −h(v, u) leaves "
                "no constant. Use effects='both', or None."
            )
        return cls(True, rows, columns, task.sign)


NO_EFFECTS = EffectKind()


class EffectFit:
    """Least-squares effects at some edges (sorted by row, as `Edges` has them)."""

    def __init__(self, kind: EffectKind, edges: Edges):
        self._kind, self._edges = kind, edges
        p_a, p_b = edges.shape
        self._counts = edges.counts, np.bincount(edges.columns, minlength=p_b)
        if not kind.both:
            return
        W = np.bincount(edges.flat, minlength=p_a * p_b).reshape(p_a, p_b).astype(float)
        if kind.sign:
            normal = kind.sign * (W + W.T)
            normal.flat[:: p_a + 1] += self._counts[0] + self._counts[1]
            self._inverse = np.linalg.pinv(normal, rcond=1e-12, hermitian=True)
            return
        self._by_rows = p_b <= p_a  # rows are eliminated, a system of the columns remains
        self._W = W if self._by_rows else W.T
        outer, inner = self._counts if self._by_rows else self._counts[::-1]
        self._scale = 1.0 / np.maximum(outer, 1)
        schur = np.diag(inner.astype(float)) - (self._W.T * self._scale) @ self._W
        self._inverse = np.linalg.pinv(schur, rcond=1e-12, hermitian=True)

    def project(self, v: np.ndarray) -> np.ndarray:
        """v without its effects."""
        intercept, rows, columns = self._raw(v)
        left = v - intercept
        if rows is not None:
            left -= rows[self._edges.rows]
        if columns is not None:
            left -= columns[self._edges.columns]
        return left

    def fit(self, v: np.ndarray) -> tuple[float, np.ndarray | None, np.ndarray | None]:
        """The constant, and effects of rows and of columns with mean 0 over nodes with an edge."""
        intercept, rows, columns = self._raw(v)
        effects: list[np.ndarray | None] = []
        for values, counts in zip((rows, columns), self._counts):
            if values is None:
                effects.append(None)
                continue
            has_edge = counts > 0
            if self._kind.sign:
                has_edge = (self._counts[0] + self._counts[1]) > 0
            mean = float(values[has_edge].mean())
            intercept += mean
            effects.append(np.where(has_edge, values - mean, 0.0))
        return intercept, effects[0], effects[1]

    def _raw(self, v: np.ndarray) -> tuple[float, np.ndarray | None, np.ndarray | None]:
        kind = self._kind
        if not (kind.rows or kind.columns):
            return float(v.mean()), None, None
        sides = (self._edges.rows, self._edges.columns)
        sums = [np.bincount(s, v, minlength=n) for s, n in zip(sides, self._edges.shape)]
        if not kind.both:
            means = [total / np.maximum(n, 1) for total, n in zip(sums, self._counts)]
            return 0.0, means[0] if kind.rows else None, means[1] if kind.columns else None
        if kind.sign:
            own = self._inverse @ (sums[0] + kind.sign * sums[1])
            return 0.0, own, kind.sign * own
        outer, inner = sums if self._by_rows else sums[::-1]
        of_inner = self._inverse @ (inner - self._W.T @ (self._scale * outer))
        of_outer = self._scale * (outer - self._W @ of_inner)
        rows, columns = (of_outer, of_inner) if self._by_rows else (of_inner, of_outer)
        return 0.0, rows, columns


def stacked_effects(fits: list[tuple[float, np.ndarray | None, np.ndarray | None]]) -> PairEffects:
    """The effects of k relations in one object."""
    constants, rows, columns = zip(*fits)
    return PairEffects(np.array(constants), _side(rows), _side(columns))


def _side(effects: tuple[np.ndarray | None, ...]) -> np.ndarray | None:
    found = [values for values in effects if values is not None]
    return np.stack(found, axis=-1) if found else None
