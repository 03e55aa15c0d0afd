"""Thousands of hold-outs of one or two items each: leave-one-out and leave-pair-out.

The identities of `quadratic_holdouts`, arranged so that each hold-out costs O(1) after one m × m
matrix (equations 36 to 39 of Pahikkala et al. 2009, in their 2 × 2 form).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from rankwise.holdout.pair_systems import (
    SINGULAR,
    BasisConstraints,
    Judged,
    RowSystem,
    judge_pairs,
    solve_constrained,
    solve_pairs,
)
from rankwise.holdout.tie_free import LARGE_ALPHA, TieFreeQuery
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.laplacian import ScoreLaplacian
from rankwise.losses.quadratic_loss import FreeRows, TieFreeRows, by_kind
from rankwise.metrics.ties import tied
from rankwise.numerics.progress import MANY, track
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.spectrum import SMALL, Spectrum
from rankwise.spaces.basis_removal import BasisRemoval
from rankwise.supervision.supervision import ComparedItems, ScoredItems, Supervision

if TYPE_CHECKING:
    from rankwise.holdout.protocol import Alphas
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts

LEVERAGE = 1e-6
"""If 1 − leverage is smaller, the primal residual operator has lost its digits."""
PAIRS_AT_ONCE = 200_000
SLOW = 1000
"""From this many items on, progress is shown for each alpha."""


class SmallHoldouts:
    """Hold-outs of u ≤ 2 items from one problem, by the rule of the loss, for several alphas.

    FreeRows: O(1) each after one m × m matrix for each distinct weight that leaves. TieFreeRows:
    the same, and one system for each pair of classes. Several queries: the same for each query's
    posterior. ComparableRows with features: one system of the size of the features each.
    Without a rule, and if items of several queries leave together: one refit each, whose
    decomposition serves all alphas.
    """

    def __init__(self, problem: QuadraticHoldouts, alphas: Alphas):
        self._problem = problem
        self._alphas = np.asarray(alphas, dtype=float)

    def leave_out(self, held: np.ndarray) -> np.ndarray:
        """(a, p, u, k) predictions; each row of `held` is one hold-out."""
        if self._tie_free is not None:
            out, to_refit = self._tie_free.leave_out(held, self._alphas)
        elif self._problem.censored is not None:
            out, to_refit = self._problem.censored.leave_out(held, self._alphas)
        else:
            out = np.empty((len(self._alphas), *held.shape, self._problem.n_outputs))
            to_refit = np.zeros((len(self._alphas), len(held)), dtype=bool)
            for i, alpha in enumerate(self._alphas):
                to_refit[i, self._leave_out_cheaply(held, alpha, out[i])] = True
        self._refit(held, to_refit, out)
        return out

    @property
    def _tie_free(self) -> TieFreeQuery | None:
        return None if self._splits_by_query else self._problem.tie_free

    def _leave_out_cheaply(self, held: np.ndarray, alpha: float, out: np.ndarray) -> np.ndarray:
        """Fill what a closed form gives into `out`, and return the hold-outs to refit."""
        rule = self._problem.rule
        if isinstance(rule, FreeRows):
            return self._leave_freely(rule, held, alpha, out)
        if self._splits_by_query:
            return self._leave_within_queries(held, alpha, out)
        return np.arange(len(held))

    def _refit(self, held: np.ndarray, to_refit: np.ndarray, out: np.ndarray) -> None:
        rows = np.flatnonzero(to_refit.any(axis=0))
        with one_blas_thread() if self._problem.n_items <= SMALL else nullcontext():
            for row in track(rows, len(rows), "refitting without each hold-out"):
                chosen = to_refit[:, row]
                out[chosen, row] = self._problem.without(held[row], self._alphas[chosen])

    @property
    def _splits_by_query(self) -> bool:
        supervision, rule = self._problem.supervision, self._problem.rule
        splits = isinstance(supervision, ScoredItems)
        if isinstance(rule, ComparedPairs):
            splits = rule.couples
        return splits and len(supervision.queries) > 1

    def _leave_within_queries(self, held: np.ndarray, alpha: float, out: np.ndarray) -> np.ndarray:
        """Each query's hold-outs on its posterior; returns those that must be refitted."""
        queries = self._problem.supervision.queries
        codes = queries.codes[held]
        spanning = (codes != codes[:, :1]).any(axis=1)
        removal = self._problem.matrix.removal
        if removal is not None and removal.recompute is not None:
            spanning |= self._problem.matrix.in_basis[held].any(axis=1)
        for query in np.unique(codes[~spanning, 0]):
            chosen = np.flatnonzero((codes[:, 0] == query) & ~spanning)
            items = np.sort(queries.members(query))
            posterior = self._problem.sharp_posterior(items, alpha)
            if posterior is None:
                spanning[chosen] = True
                continue
            part = SmallHoldouts(posterior, [1.0])
            out[chosen] = part.leave_out(np.searchsorted(items, held[chosen]))[0]
        return np.flatnonzero(spanning)

    def _leave_freely(
        self, rule: FreeRows, held: np.ndarray, alpha: float, out: np.ndarray
    ) -> np.ndarray:
        """Hold-outs that need only u × u systems, grouped by the weights of the removed items."""
        to_refit = [np.zeros(0, dtype=int)]
        for chosen in by_kind(rule.kinds(held)):
            first = held[chosen[0]]
            if rule.leaves_nothing(first):
                to_refit.append(chosen)
                continue
            rows = HeldOutRows(self._problem, held[chosen], alpha * rule.alpha_factor(first))
            out[chosen] = rows.predictions()
            to_refit.append(chosen[rows.lost_digits()])
        return np.concatenate(to_refit)

    def judge_pairs(self) -> Judged:
        """Leave-pair-out over all pairs of a query whose scores differ, (a, m, k) counts."""
        supervision = self._problem.supervision
        if isinstance(supervision, ComparedItems):
            raise ValueError("leave-pair-out scores need y, not explicit preferences.")
        if not isinstance(supervision, ScoredItems):
            return self._judge_predictions(supervision, self._alphas)
        if self._problem.rule is None and not self._splits_by_query:
            return self._judge_predictions(supervision, self._alphas)
        steps = track(self._alphas, len(self._alphas), "leave-pair-out", least=self._least_steps)
        judged = [self._judge_at(alpha, supervision) for alpha in steps]
        return Judged(*(np.stack(counts) for counts in zip(*judged)))

    @property
    def _least_steps(self) -> int:
        return 2 if self._problem.n_items >= SLOW else MANY

    def _judge_at(self, alpha: float, supervision: ScoredItems) -> Judged:
        """(m, k) counts of one alpha."""
        problem, rule = self._problem, self._problem.rule
        if not isinstance(rule, FreeRows) and self._splits_by_query:
            whole = Judged(np.empty(supervision.Y.shape), np.empty(supervision.Y.shape))
            for members in supervision.queries:
                items = np.sort(members)
                posterior = problem.sharp_posterior(items, alpha)
                if posterior is None:
                    several = self._judge_predictions(supervision, np.array([alpha]))
                    return Judged(several.counted[0], several.right[0])
                part = SmallHoldouts(posterior, [1.0]).judge_pairs()
                whole.counted[items], whole.right[items] = part.counted[0], part.right[0]
            return whole
        judged = None
        if isinstance(rule, FreeRows) and self._can_judge_rows(rule):
            judged = self._judge_free_rows(rule, alpha, supervision.Y)
        elif self._tie_free is not None:
            fast = self._tie_free.judge(alpha, supervision.Y)
            if fast is not None:
                judged, rest = fast
                several = self._judge_predictions(supervision, np.array([alpha]), rest)
                judged = Judged(
                    judged.counted + several.counted[0], judged.right + several.right[0]
                )
        if judged is None:
            several = self._judge_predictions(supervision, np.array([alpha]))
            judged = Judged(several.counted[0], several.right[0])
        return judged

    def _can_judge_rows(self, rule: FreeRows) -> bool:
        """Whether one matrix serves all pairs: one query, equal weights, no basis items."""
        one_kind = not rule.centred or np.ptp(rule.weight) == 0
        one_query = len(self._problem.supervision.queries) == 1
        enough = self._problem.n_items >= 4
        return one_kind and one_query and enough and not self._problem.matrix.in_basis.any()

    def _judge_free_rows(self, rule: FreeRows, alpha: float, Y: np.ndarray) -> Judged | None:
        problem, spectrum, rows = self._problem, self._problem.spectrum, slice(None)
        alpha = alpha * rule.alpha_factor(np.arange(2))
        resolvent, solution = spectrum.resolvent(alpha), spectrum.solutions([alpha])[0]
        M = spectrum.residual_operator(rows, resolvent, alpha)
        e = spectrum.residuals(rows, solution, alpha)
        smallest = LEVERAGE if spectrum.cancels_at(alpha) else 0.0
        keeps_digits = alpha <= LARGE_ALPHA * spectrum.eigenvalues.max(initial=0.0)
        if rule.centred and keeps_digits:
            laplacian = problem.quadratic.laplacian
            assert isinstance(laplacian, ScoreLaplacian)
            return judge_pairs(RowSystem(M, M, Y, e), 1.0 / laplacian.row_scale, Y, smallest)
        Q = spectrum.P @ resolvent.apply(spectrum.B.T)
        f = spectrum.P @ solution + problem.offset_of(np.arange(problem.n_items))
        return judge_pairs(RowSystem(M, Q, f, e), None, Y, smallest)

    def _judge_predictions(
        self, supervision: Supervision, alphas: np.ndarray, all_pairs: np.ndarray | None = None
    ) -> Judged:
        """Judge the predictions of all pairs, or of some, a number of pairs at a time."""
        shape = (len(alphas), supervision.n_items, supervision.n_outputs)
        judged = Judged(np.zeros(shape), np.zeros(shape))
        if all_pairs is None:
            all_pairs = self._in_order_of_classes(_pairs_with_a_difference(supervision))
        if not len(all_pairs):
            return judged
        sizes = [self._problem.spectrum.term_sizes(alpha) for alpha in alphas]
        at_once = max(1, PAIRS_AT_ONCE // (supervision.n_outputs * len(alphas)))
        for start in range(0, len(all_pairs), at_once):
            pairs = all_pairs[start : start + at_once]
            i, j = pairs.T
            gap = supervision.differences(pairs)
            predictions = SmallHoldouts(self._problem, alphas).leave_out(pairs)
            for counted, right, size, scores in zip(*judged, sizes, predictions):
                difference = scores[:, 0] - scores[:, 1]
                of_pair = np.maximum(np.abs(scores).sum(axis=1), size[i] + size[j])
                agrees = 0.5 + 0.5 * np.sign(difference) * np.sign(gap)
                agrees = np.where(tied(difference, of_pair), 0.5, agrees)
                for side in (i, j):
                    np.add.at(counted, side, gap != 0)
                    np.add.at(right, side, np.where(gap != 0, agrees, 0.0))
        return judged

    def _in_order_of_classes(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of the same classes share a system, so they are predicted together."""
        rule = self._problem.rule
        if not isinstance(rule, TieFreeRows):
            return pairs
        classes = np.sort(rule.classes[pairs], axis=1)
        return pairs[np.lexsort((classes[:, 1], classes[:, 0]))]


def _pairs_with_a_difference(supervision: Supervision) -> np.ndarray:
    """(p, 2) the pairs of a query that are judged, in the order of the rows."""
    pairs, gap = supervision.judged_pairs()
    return pairs[(gap != 0).any(axis=1)]


class HeldOutRows:
    """Hold-outs (p, u) of rows of the ridge problem that share one (shifted) alpha.

    `position` (p, u) says where each held-out row stands among the distinct `rows`.
    """

    def __init__(self, problem: QuadraticHoldouts, held: np.ndarray, alpha: float):
        self._problem, self._held, self._alpha = problem, held, alpha
        self._spectrum: Spectrum = problem.spectrum
        self._cancels = self._spectrum.cancels_at(alpha)
        self._removal: BasisRemoval | None = problem.matrix.removal
        self.rows, position = np.unique(held, return_inverse=True)
        self.position = position.reshape(held.shape)
        self.P, self.B = self._spectrum.P[self.rows], self._spectrum.B[self.rows]
        self.D = 1.0 / (self._spectrum.eigenvalues + alpha)
        self.solution = self._spectrum.solutions([alpha])[0]
        self.in_basis = np.zeros(len(held), dtype=bool)
        if self._removal is not None:
            self._number = self._removal.basis_number(problem.n_items)[self.rows]
            self.in_basis = (self._number[self.position] >= 0).any(axis=1)
        self.system = self._single_system() if held.shape[1] == 1 else self._pair_system()

    def _fitted(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores f and the residuals e of the rows."""
        residuals = self._spectrum.residuals(self.rows, self.solution, self._alpha)
        return self.P @ self.solution, residuals

    def _single_system(self) -> RowSystem:
        """Only the diagonals of M and Q are needed: both have one column."""
        self._diagonal = M = self._spectrum.residual_diagonal(self._alpha)[self.rows]
        if self._cancels:
            M = np.maximum(M, LEVERAGE)
        return RowSystem(M[:, None], ((self.P * self.B) @ self.D)[:, None], *self._fitted())

    def _pair_system(self) -> RowSystem:
        resolvent = self._spectrum.resolvent(self._alpha)
        M = self._spectrum.residual_operator(self.rows, resolvent, self._alpha)
        return RowSystem(M, self.P @ (self.B * self.D).T, *self._fitted())

    def predictions(self) -> np.ndarray:
        """(p, u, k), the offset included."""
        M, Q, f, e = self.system
        out = np.empty((*self._held.shape, f.shape[1]))
        free = ~self.in_basis
        if self._held.shape[1] == 1:
            factor = np.divide(Q, M, out=np.full(M.shape, np.nan), where=M > 0)
            out[free, 0] = (f - factor * e)[self.position[free, 0]]
        else:
            out[free] = solve_pairs(self.system, self.position[free])
        if self.in_basis.any():
            assert self._removal is not None
            out[self.in_basis] = self._without_basis_items(self._removal)
        offset = self._problem.offset_of(self._held.ravel())
        return out + offset.reshape(out.shape)

    def _without_basis_items(self, removal: BasisRemoval) -> np.ndarray:
        """Predictions of the hold-outs that also remove basis items."""
        N = self._spectrum.rotate(removal.normals)
        assert N is not None
        DN = self.D[:, None] * N
        redundancy = removal.redundancy
        if redundancy is None:
            redundancy = np.zeros((N.shape[1],) * 2)
        known = N.T @ self.solution + (0.0 if removal.values is None else removal.values)
        system, position, number = self.system, self.position[self.in_basis], self._number
        B, P = self.B, self.P
        if self._held.shape[1] == 1:  # one system of its own for each row, on a diagonal
            chosen = position[:, 0]
            M, Q, f, e = (part[chosen] for part in self.system)
            system = RowSystem(np.diag(M[:, 0]), np.diag(Q[:, 0]), f, e)
            B, P, number = B[chosen], P[chosen], number[chosen]
            position = np.arange(len(chosen))[:, None]
        constraints = BasisConstraints(number, redundancy, B @ DN, P @ DN, N.T @ DN, known)
        return solve_constrained(system, constraints, position)

    def lost_digits(self) -> np.ndarray:
        """(p,) the hold-outs that must be refitted, because M_UU is too close to singular.

        The same holds for removed basis items whose map has to be recomputed, or that leave no
        feature behind.
        """
        lost = np.zeros(len(self._held), dtype=bool)
        if self._cancels or self.in_basis.any():
            lost = self._is_near_singular()
        if not self._cancels:
            lost &= self.in_basis
            lost |= ~self._is_solved()
        removal = self._removal
        if removal is not None and (
            removal.recompute is not None or len(self._spectrum.eigenvalues) <= self._held.shape[1]
        ):
            lost |= self.in_basis
        return lost

    def _is_solved(self) -> np.ndarray:
        """(p,) whether M_UU is more than rounding errors; it is not if weights differ too much."""
        M = self.system.M
        if self._held.shape[1] == 1:
            return (M[:, 0] > 0)[self.position[:, 0]]
        i, j = self.position.T
        both = M[i, i] * M[j, j]
        return both - M[i, j] ** 2 > SINGULAR * both

    def _is_near_singular(self) -> np.ndarray:
        if self._held.shape[1] == 1:
            return self._diagonal[self.position[:, 0]] < LEVERAGE
        M, (i, j) = self.system.M, self.position.T
        M_i, M_j = M[i, i], M[j, j]
        return M_i * M_j - M[i, j] ** 2 < LEVERAGE * np.maximum(M_i, M_j)
