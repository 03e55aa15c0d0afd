"""Predictions for held-out items by the model trained without them, with alpha kept, exactly.

Three cases, one identity. Let B, P, D, J be those of rankwise.solvers.spectral and U the rows of
the items held out. Where no preference joins them to the rest (whole queries, or any items of a
pointwise loss), removing them is leave-block-out of a ridge problem (equation 33 and its
relatives in Pahikkala et al. 2009):

    f_U⁻ = f_U − P_U D B_Uᵀ (J − H)_UU⁻¹ e_U ,     e = β − B D c               O(|U|³ + |U|² r)

Some items of a single query with all its pairs: the query is ridge regression with an intercept
at λ/(cV), V the weight of its items, so they leave a problem at λ cV/(c⁻V⁻) with J = I − û ûᵀ by
the same formula (the 2 × 2 form of equations 36 to 39 when they are a pair).

All else: the touched queries T leave first, which gives a posterior over their scores, mean and
covariance; the problem of what stays in T is then solved on that posterior, O(|T|³).
"""

from __future__ import annotations

import numpy as np

from rankwise.blocks import LARGEST_BLOCK, leave_blocks_out
from rankwise.laplacian import GraphLaplacian
from rankwise.pairs import agree, judge_pairs, solve_bound, solve_pairs
from rankwise.solvers.spectral import PrimalSpectrum, Spectrum
from rankwise.spaces.matrix import Features, Gram
from rankwise.supervision import PairwisePreferences, PairwiseScores, PointwiseScores
from rankwise.tie_free import TieFreeQuery

Supervision = PointwiseScores | PairwiseScores | PairwisePreferences


class QuadraticFit:
    """One training problem (a group of outputs with one Laplacian) and all its hold-outs.

    `offset` are scores known beforehand: the model learns what they leave unexplained, and the
    hold-outs include them.
    """

    def __init__(self, matrix: Features | Gram, supervision: Supervision, offset=None):
        self.matrix = matrix
        self.supervision = supervision
        self.offset = offset
        self.quadratic = supervision.quadratic()
        self.centred = bool(
            supervision.keeps_ties and len(supervision.queries) == 1 and supervision.weight.any()
        )
        self.spectrum: Spectrum = matrix.spectrum(self.quadratic, offset, self.centred)

    @property
    def n_items(self) -> int:
        return self.matrix.n_items

    @property
    def n_outputs(self) -> int:
        return self.spectrum.moments.shape[1]

    def without(self, items: np.ndarray, alphas) -> np.ndarray:
        """(a, |U|, k) predictions for the items by the models trained without them."""
        closure = self.quadratic.laplacian.closure(items)
        if not len(items) or self._nothing_left(items):
            return np.repeat(self._prior(items)[None], len(alphas), axis=0)
        if len(closure) == len(items):
            rows = self.quadratic.laplacian.rows_of(items)
            return self._leave_rows_out(items, rows, alphas)
        if self.centred:
            return self._leave_rows_out(items, items, self.shifted(items, alphas))
        if len(closure) == self.n_items:
            return self._refit(items, alphas)
        inside = np.searchsorted(closure, items)
        return np.stack([self.posterior(closure, a).without(inside, [1.0])[0] for a in alphas])

    def _nothing_left(self, items) -> bool:
        """No item, or in a single query with all pairs no pair, stays to learn from."""
        if len(items) == self.n_items:
            return True
        return self.centred and np.count_nonzero(np.delete(self.supervision.weight, items)) < 2

    def _prior(self, items) -> np.ndarray:
        """Predictions where nothing is left to learn from: the offset, less removed basis items."""
        normals, values = self.matrix.normals_of(items)
        if normals is None or not np.any(values):
            return self._offset(items)
        w = -normals @ np.linalg.solve(normals.T @ normals, values)
        return self._offset(items) + self.matrix.scores(items, None, w)

    def _offset(self, items) -> np.ndarray:
        if self.offset is None:
            return np.zeros((len(items), self.n_outputs))
        return self.offset[items]

    def shifted(self, items, alphas) -> np.ndarray:
        """λ cV/(c⁻V⁻): the λ at which leaving `items` of the single query is leave-rows-out."""
        weight, left = self.supervision.weight, np.delete(self.supervision.weight, items)
        ratio = weight.sum() / left.sum()
        if self.supervision.by_query:
            ratio *= (left.sum() ** 2 - left @ left) / (weight.sum() ** 2 - weight @ weight)
        return np.asarray(alphas) * ratio

    def _leave_rows_out(self, items, rows, alphas) -> np.ndarray:
        spectrum = self.spectrum
        normals, values = self.matrix.normals_of(items)
        if normals is None and len(rows) > 2 * len(spectrum.eigenvalues):
            return self._leave_many_rows_out(items, rows, alphas)
        P, B = spectrum.P[items], spectrum.B[rows]
        out = np.zeros((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            resolvent = spectrum.resolvent(alpha, normals, values)
            solution = resolvent.solve(spectrum.moments)
            residuals = spectrum.residuals(rows, solution, alpha)
            operator = spectrum.residual_operator(rows, resolvent, alpha)
            change = resolvent.apply(B.T @ np.linalg.solve(operator, residuals))
            out[i] = P @ (solution - change)
        return out + self._offset(items)

    def _leave_many_rows_out(self, items, rows, alphas) -> np.ndarray:
        """The same where |U| > r: an r × r eigenproblem, Λ − B_Uᵀ J_UU⁻¹ B_U, for all alphas."""
        spectrum = self.spectrum
        B, beta, P = spectrum.B[rows], spectrum.beta[rows], spectrum.P[items]
        removed, moments = B.T @ B, B.T @ beta
        if spectrum.centre is not None:
            centre = spectrum.centre[rows]
            mean = centre @ B / np.sqrt(1.0 - centre @ centre)
            removed += np.outer(mean, mean)
            moments += np.outer(mean, centre @ beta) / np.sqrt(1.0 - centre @ centre)
        eigenvalues, Q = np.linalg.eigh(np.diag(spectrum.eigenvalues) - removed)
        c = Q.T @ (spectrum.moments - moments)
        D = 1.0 / (np.maximum(eigenvalues, 0.0) + np.asarray(alphas)[:, None])
        PQ = P @ Q
        return np.stack([PQ @ (d[:, None] * c) for d in D]) + self._offset(items)

    def _refit(self, items, alphas) -> np.ndarray:
        """Train on what stays: one decomposition for all alphas."""
        staying = np.setdiff1d(np.arange(self.n_items), items)
        quadratic = self.supervision.take(staying).quadratic()
        offset = None if self.offset is None else self.offset[staying]
        rest = self.matrix.take(staying).spectrum(quadratic, offset)
        normals, values = self.matrix.normals_of(items)
        out = np.empty((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            solution = rest.resolvent(alpha, normals, values).solve(rest.moments)
            out[i] = self.matrix.scores(items, staying, rest.expand(solution))
        return out + self._offset(items)

    def leave_groups_out(self, groups: list[np.ndarray], alphas) -> np.ndarray:
        """(a, m, k): each item predicted without its whole group; groups cover the items once."""
        compiled, others = [], []
        for items in groups:
            (compiled if self._leaves_as_block(items) else others).append(items)
        if compiled:
            out = leave_blocks_out(self.spectrum, compiled, alphas)
            if self.offset is not None:
                out += self.offset
        else:
            out = np.empty((len(alphas), self.n_items, self.n_outputs))
        for items in others:
            out[:, items] = self.without(items, alphas)
        return out

    def _leaves_as_block(self, items) -> bool:
        """Small enough, by itself, and without basis items: the compiled loop takes it."""
        if not isinstance(self.spectrum, PrimalSpectrum) or self.centred:
            return False
        return (
            0 < len(items) <= LARGEST_BLOCK
            and len(items) < self.n_items
            and not isinstance(self.quadratic.laplacian, GraphLaplacian)
            and not self.matrix.in_basis[items].any()
            and len(self.quadratic.laplacian.closure(items)) == len(items)
        )

    def posterior(self, items: np.ndarray, alpha: float) -> QuadraticFit:
        """The problem of `items`, whole blocks, given all others: solved at λ = 1."""
        condition = self._posterior_gram if isinstance(self.matrix, Gram) else self._posterior_map
        matrix, mean = condition(items, self.quadratic.laplacian.rows_of(items), alpha)
        return QuadraticFit(matrix, self.supervision.take(items), mean)

    def _posterior_map(self, items, rows, alpha) -> tuple[Features, np.ndarray]:
        """P_T C⁻ᵀ with C Cᵀ = Λ + λ − B_TᵀB_T, the normal equations without the block T."""
        spectrum = self.spectrum
        P, B = spectrum.P[items], spectrum.B[rows]
        C = np.linalg.cholesky(np.diag(spectrum.eigenvalues + alpha) - B.T @ B)
        half = np.linalg.solve(C, spectrum.moments - B.T @ spectrum.beta[rows])

        F = np.linalg.solve(C, P.T).T
        removal = self.matrix.removal
        if removal is not None:
            removal = removal.within(items, lambda N: np.linalg.solve(C, spectrum.rotate(N)), half)
        return Features(F, removal), F @ half + self._offset(items)

    def _posterior_gram(self, items, rows, alpha) -> tuple[Gram, np.ndarray]:
        """(K_TT − P_T D P_Tᵀ + W G_TT⁻¹ Wᵀ)/λ with W = P_T D B_Tᵀ, G = B D Bᵀ."""
        spectrum, K = self.spectrum, self.matrix.K
        P, B = spectrum.P[items], spectrum.B[rows]
        D = 1.0 / (spectrum.eigenvalues + alpha)
        W, G = (P * D) @ B.T, (B * D) @ B.T
        covariance = K[np.ix_(items, items)] - (P * D) @ P.T + W @ np.linalg.solve(G, W.T)
        return Gram((covariance + covariance.T) / (2 * alpha)), self.without(items, [alpha])[0]

    def leave_each_out(self, alpha: float) -> np.ndarray:
        """(m, k) predictions for every item by the model trained without it."""
        return self.leave_few_out(np.arange(self.n_items)[:, None], alpha)[:, 0]

    def leave_few_out(self, held: np.ndarray, alpha: float) -> np.ndarray:
        """(p, u, k) predictions for many hold-outs of u ≤ 2 items each, one row of `held` each.

        Pointwise losses and a single query with all pairs: O(1) each after one m × m matrix (O(r)
        where weights differ). Several queries: the same for each query's block. Ties dropped and
        the unit cost: O(1) each after one matrix a type. Else, and where basis items or items of
        several queries leave together: one by one.
        """
        out = np.empty((*held.shape, self.n_outputs))
        if self.centred or isinstance(self.supervision, PointwiseScores):
            waiting = self._leave_freely(held, alpha, out)
        elif not isinstance(self.supervision, PairwiseScores):
            waiting = np.arange(len(held))
        elif len(self.supervision.queries) > 1:
            waiting = self._leave_within_queries(held, alpha, out)
        elif self.supervision.loss == "relative":
            waiting = np.arange(len(held))
        else:
            waiting = self._leave_tie_free(held, alpha, out)
        for i in waiting:
            out[i] = self.without(held[i], [alpha])[0]
        return out

    def _leave_within_queries(self, held, alpha, out) -> np.ndarray:
        """Each query's hold-outs on its posterior; returns those that span several queries."""
        codes = self.supervision.queries.codes[held]
        spanning = (codes != codes[:, :1]).any(axis=1)
        for query in np.unique(codes[~spanning, 0]):
            chosen = np.flatnonzero((codes[:, 0] == query) & ~spanning)
            items = np.sort(self.supervision.queries.members(query))
            inside = np.searchsorted(items, held[chosen])
            out[chosen] = self.posterior(items, alpha).leave_few_out(inside, 1.0)
        return np.flatnonzero(spanning)

    def _leave_tie_free(self, held, alpha, out) -> np.ndarray:
        free = np.flatnonzero(~self.matrix.in_basis[held].any(axis=1))
        offset = self._offset(np.arange(self.n_items))
        query = TieFreeQuery(self.matrix.kernel(), self.supervision, alpha, offset)
        out[free], settled = query.leave_out(held[free])
        return np.setdiff1d(np.arange(len(held)), free[settled])

    def _leave_freely(self, held, alpha, out) -> np.ndarray:
        """Rows that leave by u × u systems, sorted by the weight they take along."""
        kind = np.zeros(len(held), dtype=int)
        if self.centred and len(np.unique(self.supervision.weight)) > 1:
            lost = np.sort(self.supervision.weight[held], axis=1)
            kind = np.unique(lost, axis=0, return_inverse=True)[1].ravel()
        waiting = []
        for chosen in np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1]):
            first = held[chosen[0]] if len(chosen) else held[:0]
            if not len(chosen) or self._nothing_left(first):
                waiting.append(chosen)
                continue
            shifted = self.shifted(first, [alpha])[0] if self.centred else alpha
            out[chosen] = self._few_at(held[chosen], shifted)
        return np.concatenate(waiting) if waiting else np.zeros(0, dtype=int)

    def _few_at(self, held, alpha) -> np.ndarray:
        spectrum, removal = self.spectrum, self.matrix.removal
        solution = spectrum.solutions([alpha])[0]
        rows, place = np.unique(held, return_inverse=True)
        place = place.reshape(held.shape)
        P, B = spectrum.P[rows], spectrum.B[rows]
        f, e = P @ solution, spectrum.residuals(rows, solution, alpha)
        D = 1.0 / (spectrum.eigenvalues + alpha)
        bound = np.zeros(len(held), dtype=bool)
        if removal is not None:
            in_basis = removal.place_of(self.n_items)[rows]
            bound = (in_basis[place] >= 0).any(axis=1)
        found = np.empty((*held.shape, self.n_outputs))
        if held.shape[1] == 1:
            Q_ii, M_ii = (P * B) @ D, spectrum.residual_diagonal(alpha)[rows]
            found[:, 0] = (f - (Q_ii / M_ii)[:, None] * e)[place[:, 0]]
            if bound.any():
                chosen = place[bound, 0]
                M, Q, f, e = np.diag(M_ii[chosen]), np.diag(Q_ii[chosen]), f[chosen], e[chosen]
                P, B, in_basis = P[chosen], B[chosen], in_basis[chosen]
                place = np.full((len(held), 1), -1)
                place[bound, 0] = np.arange(len(chosen))
        else:
            M = spectrum.residual_operator(rows, spectrum.resolvent(alpha), alpha)
            Q = P @ (B * D).T
            found[~bound] = solve_pairs(M, Q, f, e, place[~bound])
        if bound.any():
            N = spectrum.rotate(removal.normals)
            known = 0.0 if removal.values is None else removal.values
            constraints = (
                in_basis,
                removal.redundancy,
                B @ (D[:, None] * N),
                P @ (D[:, None] * N),
                N.T @ (D[:, None] * N),
                N.T @ solution + known,
            )
            found[bound] = solve_bound(M, Q, f, e, place[bound], *constraints)
        return found + self._offset(held.ravel()).reshape(found.shape)

    def judge_pairs(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Leave-pair-out over all pairs of a query whose scores differ: (m, k) pairs an item is
        in, and how many of them the model trained without both orders right (½ for a tie).
        """
        supervision = self.supervision
        if len(supervision.queries) > 1:
            counted = np.empty((self.n_items, self.n_outputs))
            right = np.empty_like(counted)
            for members in supervision.queries:
                items = np.sort(members)
                part = self.posterior(items, alpha)
                counted[items], right[items] = part.judge_pairs(1.0)
            return counted, right
        equal_weights = self.centred and np.ptp(supervision.weight) == 0
        if not equal_weights or self.matrix.in_basis.any() or self.n_items < 4:
            return self._judge_predictions(alpha)
        shifted = self.shifted(np.arange(2), [alpha])[0]
        spectrum, rows = self.spectrum, slice(None)
        M = spectrum.residual_operator(rows, spectrum.resolvent(shifted), shifted)
        e = spectrum.residuals(rows, spectrum.solutions([shifted])[0], shifted)
        laplacian = spectrum.quadratic.laplacian
        root = np.sqrt(laplacian.stiffness[0] * supervision.weight[0])
        return judge_pairs(M, e, supervision.Y, root)

    def _judge_predictions(self, alpha, at_once=200_000) -> tuple[np.ndarray, np.ndarray]:
        Y = self.supervision.Y
        counted, right = np.zeros(Y.shape), np.zeros(Y.shape)
        pairs = np.column_stack(np.triu_indices(self.n_items, 1))
        for start in range(0, len(pairs), at_once):
            held = pairs[start : start + at_once]
            f = self.leave_few_out(held, alpha)
            gap = Y[held[:, 0]] - Y[held[:, 1]]
            agreement = agree(f[:, 0] - f[:, 1], gap)
            for side in (0, 1):
                np.add.at(counted, held[:, side], gap != 0)
                np.add.at(right, held[:, side], agreement)
        return counted, right
