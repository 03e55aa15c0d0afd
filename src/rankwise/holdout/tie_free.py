"""Hold-outs of one or two items of a query whose tied pairs do not count.

One m × m matrix for each λ and each distinct weight that leaves (see tie_free_base), one system
for each pair of classes (see class_systems), and O(1) for each hold-out: O(m³) for all pairs,
whatever the number of score levels. With query_weight="queries" the scale of the query depends on
the classes that lose items, so that each distinct scale needs a matrix of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankwise.holdout.class_batches import judge_classes
from rankwise.holdout.class_judging import Judging, judge_rows, two_whole_classes
from rankwise.holdout.class_predictions import (
    BasisPart,
    KernelPart,
    KindList,
    Limits,
    Problem,
    predict_kinds,
)
from rankwise.holdout.class_systems import LARGE, ClassBase, step_products
from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.single_kinds import SingleKinds
from rankwise.holdout.tie_free_base import BaseSpectrum, ClassLayout
from rankwise.losses.quadratic_loss import TieFreeRows, by_kind
from rankwise.numerics.threads import n_threads, one_blas_thread, over_ranges, run

if TYPE_CHECKING:
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts

LEVERAGE = 1e-6
"""If 1 − leverage is smaller, the primal residual operator has lost its digits."""
ANGLE = 1e-9
"""Below this share of its diagonal, a 2 × 2 determinant has lost its digits."""
HEAVY = 0.1
"""A base needs V − V_k of at least this share of the weight that leaves, for every class k."""
LARGE_ALPHA = 1e4
"""Above this multiple of the largest eigenvalue, differences of residuals cancel too much."""
MOST_BASES = 2
"""How many bases are kept: those of hold-outs of one and of two items with equal weights."""
WORTHWHILE = 4
"""A base pays if it serves at least this many hold-outs; otherwise they are refitted."""


class Kinds(NamedTuple):
    """The distinct kinds of hold-outs: the classes and the weights that they lose (q, 2).

    A single class is entered twice, with all its lost weight in the first place. `of_holdout` (p,)
    numbers the kind of each hold-out.
    """

    classes: np.ndarray
    lost: np.ndarray
    of_holdout: np.ndarray


class TieFreeQuery:
    """The hold-outs of one problem with the rule TieFreeRows, for any alpha."""

    def __init__(self, problem: QuadraticHoldouts, rule: TieFreeRows):
        self._problem, self._rule = problem, rule
        self._layout = ClassLayout(rule.classes, rule.weight)
        self._total = float(self._layout.class_weight.sum())
        self._bases: dict[tuple[float, bool], BaseSpectrum] = {}

    def leave_out(self, held: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, p, u, k) predictions for hold-outs (p, u), and (a, p) which must be refitted."""
        problem, rule = self._problem, self._rule
        prior = problem.offset_of(held.ravel()).reshape(*held.shape, problem.n_outputs)
        out = np.repeat(prior[None], len(alphas), axis=0)
        kinds = _kinds_of(rule, held)
        nothing = self._leaves_nothing(kinds)
        in_basis = problem.matrix.in_basis[held].any(axis=1)
        refit = nothing & in_basis | ~nothing & self._needs_refit(held, in_basis)
        to_refit = np.repeat(refit[None], len(alphas), axis=0)
        scale, lost = self._scales(kinds.classes, kinds.lost), kinds.lost.sum(axis=1)
        _, with_base, sharing = np.unique(
            lost[kinds.of_holdout], return_inverse=True, return_counts=True
        )
        sharing = sharing[with_base.ravel()]
        groups = np.unique(np.column_stack((lost, scale)), axis=0, return_inverse=True)[1].ravel()
        groups = groups[kinds.of_holdout]
        for same in by_kind(groups):
            chosen = same[~nothing[same] & ~refit[same]]
            if not len(chosen):
                continue
            first = kinds.of_holdout[chosen[0]]
            weaker = alphas / scale[first]
            if not self._has_base(lost[first]):
                part, unsafe = self._leave_single_kinds(held[chosen], alphas)
            elif sharing[chosen[0]] < WORTHWHILE < len(held):
                part, unsafe = out[:, chosen], np.ones((len(alphas), len(chosen)), dtype=bool)
            else:
                part, unsafe = self._leave_kinds(held[chosen], weaker, lost[first])
            out[:, chosen], to_refit[:, chosen] = part, unsafe
        return out, to_refit

    def _needs_refit(self, held: np.ndarray, in_basis: np.ndarray) -> np.ndarray:
        """(p,) hold-outs of items without weight, and of basis items that change the whole map."""
        refit = (self._rule.weight[held] == 0).any(axis=1)
        removal = self._problem.matrix.removal
        if removal is not None:
            few = removal.normals.shape[0] <= held.shape[1]
            if removal.recompute is not None or few or not self._has_bases(held):
                refit |= in_basis
        return refit

    def _has_bases(self, held: np.ndarray) -> bool:
        return self._has_base(float(self._rule.weight[held].sum(axis=1).max(initial=0.0)))

    def _has_base(self, lost: float) -> bool:
        """Whether every class leaves enough weight outside itself when `lost` leaves."""
        outside = self._total - lost - float(self._layout.class_weight.max())
        return outside >= max(HEAVY * lost, 1e-9 * self._total)

    def _base(self, lost: float, kept: np.ndarray | None = None) -> BaseSpectrum:
        key = (lost, kept is None)
        if key not in self._bases:
            while len(self._bases) >= MOST_BASES:
                self._bases.pop(next(iter(self._bases)))
            layout, V = self._layout, self._total - lost
            self._bases[key] = BaseSpectrum(self._problem, self._rule, layout, V, kept)
        return self._bases[key]

    def _leaves_nothing(self, kinds: Kinds) -> np.ndarray:
        """(p,) whether fewer than two classes keep any weight."""
        weight, least = self._layout.class_weight, 1e-12 * self._total
        left = weight[kinds.classes] - kinds.lost
        emptied = (left <= least) & (weight[kinds.classes] > least)
        emptied[:, 1] &= kinds.classes[:, 0] != kinds.classes[:, 1]
        staying = np.count_nonzero(weight > least) - emptied.sum(axis=1)
        return (staying < 2)[kinds.of_holdout]

    def _scales(self, classes: np.ndarray, lost: np.ndarray, differ: bool = False) -> np.ndarray:
        """(q,) the scale c of the query after classes (q, 2) lost the weights `lost` (q, 2).

        A class that is named twice counts as two classes of the same weight if they `differ`.
        """
        weight, (a, b) = self._layout.class_weight, classes.T
        V = self._total - lost.sum(axis=1)
        pairs = 0.5 * float(weight @ (self._total - weight))
        pairs -= lost[:, 0] * (self._total - weight[a]) + lost[:, 1] * (self._total - weight[b])
        pairs += np.where((a != b) | differ, lost[:, 0] * lost[:, 1], 0.0)
        scale = self._rule.weighting.scale(V, np.maximum(pairs, 0.0))
        return np.where(scale > 0, scale, 1.0)

    def _leave_single_kinds(
        self, held: np.ndarray, alphas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """One matrix for each kind and alpha, if a class holds almost all the weight."""
        problem = self._problem
        unsafe = np.ones((len(alphas), len(held)), dtype=bool)
        out = np.zeros((len(alphas), *held.shape, problem.n_outputs))
        kinds = _kinds_of(self._rule, held)
        if len(kinds.classes) * WORTHWHILE > len(held) > WORTHWHILE:
            return out, unsafe
        offset = problem.offset_of(np.arange(problem.n_items))
        for i, alpha in enumerate(alphas):
            single = SingleKinds(problem.matrix.gram(), self._rule, alpha, offset)
            out[i], settled = single.leave_out(held)
            unsafe[i] = ~settled
        return out, unsafe

    def _leave_kinds(
        self, held: np.ndarray, alphas: np.ndarray, lost: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and whether they are unsafe, all hold-outs removing the weight `lost`."""
        base, layout = self._base(lost), self._layout
        kinds = _kinds_of(self._rule, held)
        order = np.argsort(kinds.of_holdout, kind="stable")
        sizes = np.bincount(kinds.of_holdout, minlength=len(kinds.classes))
        listed = KindList(kinds.classes, kinds.lost, np.concatenate(([0], np.cumsum(sizes))))
        rows = layout.position[held][order]
        out = np.empty((len(alphas), *held.shape, self._problem.n_outputs))
        unsafe = np.zeros((len(alphas), len(held)), dtype=bool)
        large = layout.sizes[kinds.classes].sum(axis=1).max() >= LARGE
        for i, alpha in enumerate(alphas):
            parts = self._parts(base, alpha)
            found, marks = np.zeros(out.shape[1:]), np.zeros(len(held), dtype=bool)

            def task(low: int, high: int) -> None:
                predict_kinds(parts, listed, rows, low, high, found, marks)  # noqa: B023

            with _blas_threads(large):
                over_ranges(task, len(kinds.classes), work=1e3 * len(held))
            out[i, order], unsafe[i, order] = found, marks
        return out + self._problem.offset_of(held.ravel()).reshape(out.shape[1:]), unsafe

    def _class_base(self, base: BaseSpectrum, alpha: float) -> ClassBase:
        layout, rule = self._layout, self._rule
        M = base.residual_operator(alpha)
        targets = rule.scores_left(base.kept)[layout.order]
        if rule.ranked:
            targets = targets * (base.kept.sum() / base.V)
        x = layout.root[:, None] * (targets - self._offset())
        e, steps = base.residuals(x, alpha), self._steps(M)
        arrays = (M, e, steps, targets, layout.root, layout.starts, layout.class_weight)
        return ClassBase(*arrays, base.V)

    def _offset(self) -> np.ndarray:
        return self._problem.offset_of(self._layout.order)

    def _steps(self, A: np.ndarray) -> np.ndarray:
        """A times the signs sign(class − a), one column for each class a; none if not needed."""
        layout = self._layout
        if not self._rule.ranked:
            return np.zeros((len(A), 0))
        A, out = np.ascontiguousarray(A), np.empty((len(A), len(layout.sizes)))

        def task(low: int, high: int) -> None:
            step_products(A, layout.root, layout.starts, low, high, out)

        over_ranges(task, len(A), work=float(A.size))
        return out

    def _parts(self, base: BaseSpectrum, alpha: float) -> Problem:
        """Everything that the predictions of one alpha need."""
        rows = self._class_base(base, alpha)
        D = 1.0 / (base.eigenvalues + alpha)[:, None]
        Q = base.P @ (D * base.B.T)
        x = self._layout.root[:, None] * (rows.targets - self._offset())
        moments = D * (base.B.T @ x)
        kernel = KernelPart(Q, base.P @ moments, self._steps(Q))
        return Problem(rows, kernel, self._basis_part(base, D, moments), self._limits(base, alpha))

    def _basis_part(self, base: BaseSpectrum, D: np.ndarray, moments: np.ndarray) -> BasisPart:
        removal, m = self._problem.matrix.removal, self._problem.n_items
        if removal is None:
            empty = np.zeros((m, 0))
            n_steps = len(self._layout.sizes) if self._rule.ranked else 0
            none, steps = np.zeros((0, 0)), np.zeros((0, n_steps))
            known = np.zeros((0, moments.shape[1]))
            return BasisPart(np.full(m, -1), none, empty, empty, none, known, steps)
        N = base.rotate(removal.normals)
        DN = D * N
        BN, NN = base.B @ DN, N.T @ DN
        redundancy = np.zeros(NN.shape) if removal.redundancy is None else removal.redundancy
        known = N.T @ moments + (0.0 if removal.values is None else removal.values)
        number = removal.basis_number(m)[self._layout.order]
        steps = self._steps(np.ascontiguousarray(BN.T))
        return BasisPart(number, redundancy, BN, base.P @ DN, NN, known, steps)

    def _limits(self, base: BaseSpectrum, alpha: float) -> Limits:
        scale = (base.V - base.kept)[self._layout.classes]
        return Limits(scale, LEVERAGE if base.cancels_at(alpha) else 0.0, ANGLE)

    def judge(self, alpha: float, s: np.ndarray) -> tuple[Judged, np.ndarray] | None:
        """Judged pairs of different classes, and (p, 2) pairs that are left to be predicted.

        None if some condition of the fast way does not hold: equal weights, no basis items, a
        base, and an alpha for which differences of residuals keep their digits.
        """
        layout, weight = self._layout, self._rule.weight
        lost, sizes = 2.0 * float(weight[0]), layout.sizes
        equal = lost > 0 and np.ptp(weight) == 0
        if not equal or self._problem.matrix.in_basis.any() or not self._has_base(lost):
            return None
        if len(sizes) == 2 and sizes.min() == 1:
            return None
        kept = layout.class_weight - lost / 2 if len(sizes) == 2 else None
        base = self._base(lost, kept)
        scale, chosen, skipped = self._class_pairs
        if alpha / scale.min() > LARGE_ALPHA * base.eigenvalues.max(initial=0.0):
            return None
        pairs = np.zeros((len(s), len(s)), dtype=bool)
        pairs[np.ix_(np.isin(layout.classes, skipped), np.isin(layout.classes, skipped))] = True
        pairs &= layout.classes[:, None] < layout.classes
        judged = Judged(np.zeros(s.shape), np.zeros(s.shape))
        for c, mask in zip(scale, chosen):
            limits, rows = self._limits(base, alpha / c), self._class_base(base, alpha / c)
            judge = self._judge_two if kept is not None else partial(self._judge_several, mask)
            for part in judge(rows, Judging(s[layout.order], *limits, pairs, *judged)):
                judged.counted[layout.order] += part.counted
                judged.right[layout.order] += part.right
        return judged, layout.order[np.argwhere(pairs)]

    @cached_property
    def _class_pairs(self) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Distinct scales, for each which pairs of classes have it (no matrix: all of them).

        The third is the classes of which no two are judged, because nothing would stay. All items
        have the same weight.
        """
        sizes, weight = self._layout.sizes, float(self._rule.weight[0])
        single = np.flatnonzero(sizes == 1)
        skipped = single if len(sizes) == 3 and len(single) > 1 else single[:0]
        _, representative, number, count = np.unique(
            sizes, return_index=True, return_inverse=True, return_counts=True
        )
        first, second = np.nonzero((count > 1) | ~np.eye(len(count), dtype=bool))
        classes = np.column_stack((representative[first], representative[second]))
        # Two classes of the same size are represented by one of them, which is named twice.
        scales = self._scales(classes, np.full(classes.shape, weight), differ=True)
        scale, label = np.unique(scales, return_inverse=True)
        if len(scale) == 1 and not len(skipped):
            return scale, [np.zeros((0, 0), dtype=bool)], skipped
        of_sizes = np.full((len(count), len(count)), -1)
        of_sizes[first, second] = label.ravel()
        labels = of_sizes[np.ix_(number, number)]
        labels[np.ix_(skipped, skipped)] = -1
        return scale, [labels == value for value in range(len(scale))], skipped

    def _judge_several(
        self, mask: np.ndarray, rows: ClassBase, judging: Judging
    ) -> Iterator[Judged]:
        """The counts of each task; tasks are ranges of classes with about the same work."""
        sizes = self._layout.sizes.astype(float)
        order, k = np.argsort(-sizes, kind="stable"), rows.e.shape[1]
        t = sizes[order]
        later = [np.cumsum(values[::-1])[::-1] - values for values in (t, t**2, t**3, t**0)]
        own = np.where(t > 1, 2 * t**2 * len(rows.M), 0.0)
        work = own + 20 * k * t * later[0] + 4 * t * later[1] + later[2] + 100 * later[3]
        total = float(work.sum())
        tasks = int(np.clip(total / 1e8, 4 * n_threads(), 256)) if total > 2e5 else 1
        cuts = np.searchsorted(np.cumsum(work), np.linspace(0, total, tasks + 1)[1:-1], "right")
        bounds = np.unique(np.concatenate(([0], cuts, [len(t)])))
        parts = [_fresh(judging) for _ in bounds[1:]]
        lost = float(self._rule.weight[0])
        with _blas_threads(t[0] >= LARGE):
            run(
                [
                    partial(judge_classes, rows, lost, (order, mask), low, high, part)
                    for low, high, part in zip(bounds[:-1], bounds[1:], parts)
                ]
            )
        return (Judged(part.counted, part.right) for part in parts)

    def _judge_two(self, rows: ClassBase, judging: Judging) -> Iterator[Judged]:
        """Two classes: the base is that of all hold-outs, so that no system is needed."""
        n_a, lost = int(self._layout.starts[1]), float(self._rule.weight[0])
        tasks = np.linspace(0, n_a, min(n_a, 4 * n_threads()) + 1).astype(int)
        parts = [_fresh(judging) for _ in tasks[1:]]
        two = two_whole_classes(rows, lost)
        run(
            [
                partial(judge_rows, rows, (0, n_a), two, low, high, part)
                for low, high, part in zip(tasks[:-1], tasks[1:], parts)
            ]
        )
        return (Judged(part.counted, part.right) for part in parts)


def _fresh(judging: Judging) -> Judging:
    """The same with counts of its own, for one task."""
    counted, right = np.zeros(judging.s.shape), np.zeros(judging.s.shape)
    return judging._replace(counted=counted, right=right)


def _blas_threads(is_large: bool) -> AbstractContextManager[object]:
    """Large systems call LAPACK in our threads, with which those of BLAS would compete."""
    return one_blas_thread() if is_large else nullcontext()


def _kinds_of(rule: TieFreeRows, held: np.ndarray) -> Kinds:
    classes, lost = rule.classes[held], rule.weight[held]
    if held.shape[1] == 1:
        classes = np.repeat(classes, 2, axis=1)
        lost = np.column_stack((lost, np.zeros(len(held))))
    swapped = classes[:, 0] > classes[:, 1]
    classes = np.where(swapped[:, None], classes[:, ::-1], classes)
    lost = np.where(swapped[:, None], lost[:, ::-1], lost)
    same = classes[:, 0] == classes[:, 1]
    lost[same] = np.column_stack((lost[same].sum(axis=1), np.zeros(np.count_nonzero(same))))
    distinct, of_holdout = np.unique(np.hstack((classes, lost)), axis=0, return_inverse=True)
    return Kinds(distinct[:, :2].astype(np.int64), distinct[:, 2:].copy(), of_holdout.ravel())
