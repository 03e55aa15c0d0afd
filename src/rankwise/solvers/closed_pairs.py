"""Closed forms of complete graphs for pairwise kernels whose terms share eigenvectors.

The dual variables V (p_a, p_b) solve P(k(V)) + alpha V = P(Y), V = P(V), where k(V) is the function
of V at all pairs and P projects unpenalised effects away (for the ranking objective, the mean of
each row). With K = Q diag(s) Qᵀ and G = R diag(t) Rᵀ, both centred on the sides that P centres,

    Kronecker   V = Q ((QᵀYR) / (s tᵀ + alpha)) Rᵀ
    Cartesian   V = Q ((QᵀYR) / (s 1ᵀ + 1 tᵀ + alpha)) Rᵀ

because K ⊗ I + I ⊗ G has the eigenvectors of K ⊗ G. The linear kernel K ⊗ 11ᵀ + 11ᵀ ⊗ G needs
only the sums r = V1 and c = Vᵀ1 of V: alpha r + p_b K r + 1 (1ᵀGc) = Y1, and the same for c, which
leaves two unknown numbers. In symmetric and reciprocal relations the regression loss is that of
mirrored labels, because their kernels commute with mirroring (proposition 3 of Pahikkala et al.
2013).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.linalg

from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.complete_graph import COPIES, mirror, refuse_overflow
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.unpenalised_effects import EffectKind, stacked_effects
from rankwise.spaces.nodes import Nodes, centre_kernel
from rankwise.spaces.pair_function import PairEffects
from rankwise.spaces.pairwise_kernels import PAIRWISE, PairwiseKernel
from rankwise.supervision.relation import Grid, RelationTask

Sides = tuple[Nodes, Nodes]


def has_closed_form(kernel: PairwiseKernel, task: RelationTask, effects: EffectKind) -> bool:
    """Whether a complete graph is solved without iterations."""
    if kernel.is_kronecker and not effects.any:
        return True
    if kernel in SPECTRA:
        return task.sign == 0 or not task.ranking
    return kernel in SUMS and not effects.any


class ClosedPairsSolver(Solver):
    """k relations on a complete graph over all or some of the nodes, conditions as rows.

    O(p³) for the decompositions, then four products per relation and two per alpha.
    """

    name = "closed"

    def __init__(
        self,
        nodes: Sides,
        grids: list[Grid],
        task: RelationTask,
        kernel: PairwiseKernel,
        effects: EffectKind,
    ):
        self._nodes, self._kept, self._task, self._effects = nodes, grids[0][1:], task, effects
        rows, columns = (side.take(kept) for side, kept in zip(nodes, self._kept))
        way_out = 'sample edges and use solver="cg"'
        name = "the closed form of a complete graph"
        refuse_too_large(len(rows), len(columns), name, way_out, copies=COPIES)
        self._sides = rows, columns
        sign = kernel.own_sign or task.sign
        # The ranking loss compares edges of one row only, and so sees no mirrored label.
        self._mirrors = 0 if task.ranking else sign
        self._relations = [mirror(grid[0], self._mirrors) for grid in grids]
        self._form: ClosedForm
        if kernel in SUMS:
            self._form = SumsForm(self._sides, task, kernel)
        else:
            centred = effects.columns, effects.rows or task.ranking
            self._form = SpectralForm(self._sides, SPECTRA[kernel], centred, effects)

    has_all_nodes = False
    """Hold-outs are closed forms of the Kronecker kernel without effects only."""

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """w is (p_a, p_b, k), dual variables of the nodes in the graph."""
        duals = [self._form.dual(Y, alpha) for Y in self._relations]
        return Solution(np.stack(duals, axis=-1), n_iter=0)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficients of the representations of all nodes: zero for nodes outside the graph."""
        shape = *(len(side) for side in self._nodes), w.shape[2]
        index = [
            np.arange(len(side)) if kept is None else kept
            for side, kept in zip(self._nodes, self._kept)
        ]
        spread = np.zeros(shape)
        spread[np.ix_(*index)] = mirror(w, self._mirrors)
        rows, columns = self._nodes
        if rows.through_features:
            spread = np.tensordot(rows.rows.T, spread, axes=1)
        if columns.through_features:
            spread = np.einsum("ajk,jb->abk", spread, columns.rows)
        return spread

    def effects(self, w: np.ndarray) -> PairEffects | None:
        """The unpenalised effects that belong to w, None if there are none."""
        kind = self._effects
        if not kind.any:
            return None
        fits = []
        for Y, V in zip(self._relations, np.moveaxis(w, 2, 0)):
            left = Y - self._form.scores(V)
            mean = float(left.mean())
            spread = [self._spread(left.mean(axis=1 - side) - mean, side) for side in (0, 1)]
            fits.append(
                (mean, spread[0] if kind.rows else None, spread[1] if kind.columns else None)
            )
        return stacked_effects(fits)

    def _spread(self, values: np.ndarray, side: int) -> np.ndarray:
        kept = self._kept[side]
        if kept is None:
            return values
        spread = np.zeros(len(self._nodes[side]))
        spread[kept] = values
        return spread


class ClosedForm(ABC):
    """Dual variables of one relation Y for every alpha."""

    @abstractmethod
    def dual(self, Y: np.ndarray, alpha: float) -> np.ndarray: ...

    @abstractmethod
    def scores(self, V: np.ndarray) -> np.ndarray:
        """The function of V at all pairs of training nodes."""


class SpectralForm(ClosedForm):
    """Kernels with the eigenvectors of K ⊗ G; `combine` makes their eigenvalues."""

    def __init__(
        self,
        sides: Sides,
        combine: Callable[[np.ndarray, np.ndarray], np.ndarray],
        centred: tuple[bool, bool],
        effects: EffectKind,
    ):
        rows, columns = sides
        self._grams, self._combine = [side.gram() for side in sides], combine
        self._only_constant = effects.any and not (effects.rows or effects.columns)
        s, self._Q = eigenvectors(self._grams[0], centred[0])
        same = rows is columns and centred[0] == centred[1]
        t, self._R = (s, self._Q) if same else eigenvectors(self._grams[1], centred[1])
        with np.errstate(over="ignore"):
            self._values = combine(s, t)
        refuse_overflow(self._values)
        self._matters = self._values > np.finfo(float).eps * max(
            len(self._values) * self._values.max(initial=0.0), 0.0
        )

    def dual(self, Y: np.ndarray, alpha: float) -> np.ndarray:
        Q, R = self._Q, self._R
        T = Q.T @ Y @ R
        gain = 1.0 / (self._values + alpha)
        if self._only_constant:
            ones = np.outer(Q.sum(axis=0), R.sum(axis=0))
            T = T - ones * (np.vdot(ones, gain * T) / np.vdot(ones, gain * ones))
        # Directions in which the kernel vanishes change no score.
        return Q @ np.where(self._matters, gain * T, 0.0) @ R.T

    def scores(self, V: np.ndarray) -> np.ndarray:
        K, G = self._grams
        return K @ V @ G if self._combine is _products else K @ V + V @ G


class SumsForm(ClosedForm):
    """The linear kernel, and "ranking", whose functions are those of the linear kernel."""

    def __init__(self, sides: Sides, task: RelationTask, kernel: PairwiseKernel):
        self._task, self._own_sign = task, kernel.own_sign
        self._grams = [side.gram() for side in sides]
        centred = (False, task.ranking)
        self._spectra = [eigenvectors(K, c) for K, c in zip(self._grams, centred)]

    def dual(self, Y: np.ndarray, alpha: float) -> np.ndarray:
        p_a, p_b = Y.shape
        sign = self._own_sign or self._task.sign
        if self._task.ranking:
            t, R = self._spectra[1]
            half = 0.5 if sign and not self._own_sign else 1.0  # mirrored kernels carry the ½
            c = R @ ((R.T @ Y.sum(axis=0)) / (alpha + half * p_a * t))
            V = np.tile(c / p_a, (p_a, 1))
            return V + self._own_sign * V.T if self._own_sign else mirror(V, sign)
        if self._own_sign:  # twice the reciprocal linear kernel
            alpha = alpha / 2
        r, c = self._sums(Y.sum(axis=1), Y.sum(axis=0), alpha)
        total = (r.sum() + c.sum()) / 2
        return r[:, None] / p_b + c / p_a - total / (p_a * p_b)

    def _sums(self, of_rows: np.ndarray, of_columns: np.ndarray, alpha: float) -> tuple:
        """r and c, the sums of V; f = K r and g = G c are the parts of h(u, v) = f(u) + g(v)."""
        p_a, p_b = len(of_rows), len(of_columns)
        solved, totals, shares = [], [], []
        for (s, Q), right, other in zip(self._spectra, (of_rows, of_columns), (p_b, p_a)):
            gain = 1.0 / (alpha + other * s)
            ones = Q.sum(axis=0)
            solved.append((Q @ (gain * (Q.T @ right)), Q @ (gain * ones)))
            totals.append(float(ones @ (s * gain * (Q.T @ right))))
            shares.append(float(ones @ (s * gain * ones)))
        sum_f = (totals[0] - shares[0] * totals[1]) / (1 - shares[0] * shares[1])
        sum_g = totals[1] - shares[1] * sum_f
        return solved[0][0] - sum_g * solved[0][1], solved[1][0] - sum_f * solved[1][1]

    def scores(self, V: np.ndarray) -> np.ndarray:
        K, G = self._grams
        return (K @ V.sum(axis=1))[:, None] + G @ V.sum(axis=0)


def eigenvectors(K: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues and eigenvectors of K, or of C K C within vectors of mean zero. O(p³)."""
    if not centred:
        values, Q = scipy.linalg.eigh(K, check_finite=False)
        return values.clip(min=0.0), Q
    K = centre_kernel(K)
    # The constant vector gets the one negative eigenvalue, so that it does not mix with others.
    K -= max(np.trace(K), np.finfo(float).tiny) / len(K)
    values, Q = scipy.linalg.eigh(K, check_finite=False, overwrite_a=True)
    return values[1:].clip(min=0.0), Q[:, 1:]


def _products(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.outer(s, t)


def _sums(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return s[:, None] + t


SPECTRA: dict[PairwiseKernel, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    PAIRWISE["kronecker"]: _products,
    PAIRWISE["cartesian"]: _sums,
}
SUMS = (PAIRWISE["linear"], PAIRWISE["ranking"])
