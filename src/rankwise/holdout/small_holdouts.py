"""Thousands of hold-outs of one or two items each: leave-one-out and leave-pair-out.

The same identities as quadratic_holdouts, arranged so that each hold-out costs O(1) after one m × m
matrix (equations 36 to 39 of Pahikkala et al. 2009, in their 2 × 2 form).
"""

from __future__ import annotations

import numpy as np

from rankwise.holdout.pair_systems import agree, judge_pairs, solve_bound, solve_pairs
from rankwise.holdout.quadratic_holdouts import LEVERAGE, QuadraticFit
from rankwise.holdout.tie_free import TieFreeQuery
from rankwise.losses.least_squares import PairwisePreferences, PairwiseScores, PointwiseScores

PAIRS_AT_ONCE = 200_000


class SmallHoldouts:
    """Hold-outs of u ≤ 2 items from one problem at one alpha.

    Pointwise losses and a single query with all pairs: O(1) each after one m × m matrix, one
    matrix for each distinct weight that leaves. Several queries: the same for each query's block.
    Ties dropped and the unit cost: one matrix a type, see tie_free. Else, and where
    items of several queries leave together: one by one.
    """

    def __init__(self, fit: QuadraticFit, alpha: float):
        self.fit = fit
        self.alpha = alpha

    def leave_each_out(self) -> np.ndarray:
        """(m, k) predictions for every item by the model trained without it."""
        return self.leave_out(np.arange(self.fit.n_items)[:, None])[:, 0]

    def leave_out(self, held: np.ndarray) -> np.ndarray:
        """(p, u, k) predictions, one row of `held` a hold-out."""
        fit, supervision = self.fit, self.fit.supervision
        out = np.empty((*held.shape, fit.n_outputs))
        if fit.centred or isinstance(supervision, PointwiseScores):
            waiting = self._leave_freely(held, out)
        elif isinstance(supervision, PairwisePreferences):
            waiting = np.arange(len(held))
        elif len(supervision.queries) > 1:
            waiting = self._leave_within_queries(held, out)
        elif supervision.loss == "relative":
            waiting = np.arange(len(held))
        else:
            waiting = self._leave_tie_free(supervision, held, out)
        for i in waiting:
            out[i] = fit.without(held[i], [self.alpha])[0]
        return out

    def _leave_within_queries(self, held, out) -> np.ndarray:
        """Each query's hold-outs on its posterior; returns those that span several queries."""
        queries = self.fit.supervision.queries
        codes = queries.codes[held]
        spanning = (codes != codes[:, :1]).any(axis=1)
        removal = self.fit.matrix.removal
        if removal is not None and removal.anew is not None:
            spanning |= self.fit.matrix.in_basis[held].any(axis=1)
        for query in np.unique(codes[~spanning, 0]):
            chosen = np.flatnonzero((codes[:, 0] == query) & ~spanning)
            items = np.sort(queries.members(query))
            part = SmallHoldouts(self.fit.posterior(items, self.alpha), 1.0)
            out[chosen] = part.leave_out(np.searchsorted(items, held[chosen]))
        return np.flatnonzero(spanning)

    def _leave_tie_free(self, supervision: PairwiseScores, held, out) -> np.ndarray:
        fit = self.fit
        free = np.flatnonzero(~fit.matrix.in_basis[held].any(axis=1))
        offset = fit.offset_of(np.arange(fit.n_items))
        query = TieFreeQuery(fit.matrix.kernel(), supervision, self.alpha, offset)
        out[free], settled = query.leave_out(held[free])
        return np.setdiff1d(np.arange(len(held)), free[settled])

    def _leave_freely(self, held, out) -> np.ndarray:
        """Rows that leave by u × u systems, sorted by the weight they take along."""
        fit, weight = self.fit, self.fit.supervision.weight
        kind = np.zeros(len(held), dtype=int)
        if fit.centred and np.ptp(weight) > 0:
            lost = np.sort(weight[held], axis=1)
            kind = np.unique(lost, axis=0, return_inverse=True)[1].ravel()
        order, ends = np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))
        waiting = [order[:0]]
        for chosen in np.split(order, ends[:-1]):
            if not len(chosen):
                continue
            if fit.nothing_left(held[chosen[0]]):
                waiting.append(chosen)
                continue
            alpha = self.alpha
            if fit.centred:
                alpha = fit.shifted(held[chosen[0]], [alpha])[0]
            out[chosen], doubtful = self._at(held[chosen], alpha)
            waiting.append(chosen[doubtful])
        return np.concatenate(waiting)

    def _at(self, held, alpha) -> tuple[np.ndarray, np.ndarray]:
        """Hold-outs that share the (shifted) alpha, and which of them lost their digits."""
        fit, spectrum, removal = self.fit, self.fit.spectrum, self.fit.matrix.removal
        solution = spectrum.solutions([alpha])[0]
        rows, place = np.unique(held, return_inverse=True)
        place = place.reshape(held.shape)
        P, B = spectrum.P[rows], spectrum.B[rows]
        D = 1.0 / (spectrum.eigenvalues + alpha)
        f, e = P @ solution, spectrum.residuals(rows, solution, alpha)
        found = np.empty((*held.shape, fit.n_outputs))
        bound = np.zeros(len(held), dtype=bool)
        if removal is not None:
            in_basis = removal.place_of(fit.n_items)[rows]
            bound = (in_basis[place] >= 0).any(axis=1)
        if held.shape[1] == 1:
            Q_ii, M_ii = (P * B) @ D, spectrum.residual_diagonal(alpha)[rows]
            doubtful = M_ii[place[:, 0]] < LEVERAGE
            M_ii = np.maximum(M_ii, LEVERAGE) if spectrum.cancels else M_ii
            found[:, 0] = (f - (Q_ii / M_ii)[:, None] * e)[place[:, 0]]
            chosen = place[bound, 0]
            M, Q, f, e = np.diag(M_ii[chosen]), np.diag(Q_ii[chosen]), f[chosen], e[chosen]
            P, B, place = P[chosen], B[chosen], np.cumsum(bound)[:, None] - 1
            in_basis = in_basis[chosen] if removal is not None else None
        else:
            M = spectrum.residual_operator(rows, spectrum.resolvent(alpha), alpha)
            Q = P @ (B * D).T
            i, j = place.T
            M_i, M_j = M[i, i], M[j, j]
            doubtful = M_i * M_j - M[i, j] ** 2 < LEVERAGE * np.maximum(M_i, M_j)
            found[~bound] = solve_pairs(M, Q, f, e, place[~bound])
        if removal is not None and bound.any():
            N = spectrum.rotate(removal.normals)
            DN = D[:, None] * N
            known = N.T @ solution + (0.0 if removal.values is None else removal.values)
            redundancy = removal.redundancy
            redundancy = np.zeros((N.shape[1],) * 2) if redundancy is None else redundancy
            constraints = (in_basis, redundancy, B @ DN, P @ DN, N.T @ DN, known)
            found[bound] = solve_bound(M, Q, f, e, place[bound], *constraints)
        if removal is not None and (
            removal.anew is not None or len(spectrum.eigenvalues) <= held.shape[1]
        ):
            doubtful |= bound
        if not spectrum.cancels:
            doubtful[~bound] = False
        return found + fit.offset_of(held.ravel()).reshape(found.shape), doubtful

    def judge_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Leave-pair-out over all pairs of a query whose scores differ: (m, k) pairs an item is
        in, and how many of them the model trained without both orders right (½ for a tie).
        """
        fit, supervision = self.fit, self.fit.supervision
        if isinstance(supervision, PairwisePreferences):
            raise ValueError("leave-pair-out scores need y, not explicit preferences.")
        if len(supervision.queries) > 1 and isinstance(supervision, PairwiseScores):
            counted, right = np.empty(supervision.Y.shape), np.empty(supervision.Y.shape)
            for members in supervision.queries:
                items = np.sort(members)
                part = SmallHoldouts(fit.posterior(items, self.alpha), 1.0)
                counted[items], right[items] = part.judge_pairs()
            return counted, right
        equal_weights = fit.centred and np.ptp(supervision.weight) == 0
        if fit.matrix.in_basis.any() or fit.n_items < 4:
            return self._judge_predictions(supervision.Y)
        if isinstance(supervision, PointwiseScores):
            return self._judge_pointwise(supervision.Y)
        if not equal_weights:
            return self._judge_predictions(supervision.Y)
        alpha = fit.shifted(np.arange(2), [self.alpha])[0]
        spectrum, rows = fit.spectrum, slice(None)
        M = spectrum.residual_operator(rows, spectrum.resolvent(alpha), alpha)
        e = spectrum.residuals(rows, spectrum.solutions([alpha])[0], alpha)
        smallest = LEVERAGE if spectrum.cancels else 0.0
        Y = supervision.Y
        judged = judge_pairs(M, 1.0 / spectrum.row_scale(), Y, e, Y, smallest)
        return judged or self._judge_predictions(Y)

    def _judge_pointwise(self, Y) -> tuple[np.ndarray, np.ndarray]:
        spectrum, rows = self.fit.spectrum, slice(None)
        resolvent = spectrum.resolvent(self.alpha)
        solution = spectrum.solutions([self.alpha])[0]
        M = spectrum.residual_operator(rows, resolvent, self.alpha)
        Q = spectrum.P @ resolvent.apply(spectrum.B.T)
        f = spectrum.P @ solution + self.fit.offset_of(np.arange(self.fit.n_items))
        e = spectrum.residuals(rows, solution, self.alpha)
        smallest = LEVERAGE if spectrum.cancels else 0.0
        return judge_pairs(M, Q, f, e, Y, smallest) or self._judge_predictions(Y)

    def _judge_predictions(self, Y) -> tuple[np.ndarray, np.ndarray]:
        counted, right = np.zeros(Y.shape), np.zeros(Y.shape)
        pairs = np.column_stack(np.triu_indices(self.fit.n_items, 1))
        at_once = max(1, PAIRS_AT_ONCE // Y.shape[1])
        for start in range(0, len(pairs), at_once):
            held = pairs[start : start + at_once]
            f = self.leave_out(held)
            gap = Y[held[:, 0]] - Y[held[:, 1]]
            agreement = agree(f[:, 0] - f[:, 1], gap)
            for side in (0, 1):
                np.add.at(counted, held[:, side], gap != 0)
                np.add.at(right, held[:, side], agreement)
        return counted, right
