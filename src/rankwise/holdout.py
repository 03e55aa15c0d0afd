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

from rankwise.pairs import solve_pairs
from rankwise.solvers.spectral import Spectrum
from rankwise.spaces.matrix import Features, Gram
from rankwise.supervision import PairwisePreferences, PairwiseScores, PointwiseScores

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
            return np.repeat(self._offset(items)[None], len(alphas), axis=0)
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
        return len(items) == self.n_items or (
            self.centred and not np.delete(self.supervision.weight, items).any()
        )

    def _offset(self, items) -> np.ndarray:
        if self.offset is None:
            return np.zeros((len(items), self.n_outputs))
        return self.offset[items]

    def shifted(self, items, alphas) -> np.ndarray:
        """λ cV/(c⁻V⁻): the λ at which leaving `items` of the single query is leave-rows-out.

        Infinite where no pair is left, so that the prediction is that of the zero model.
        """
        weight = self.supervision.weight
        V, V_left = weight.sum(), weight.sum() - weight[items].sum()
        ratio = V / V_left
        if self.supervision.by_query:
            pairs_left = V_left**2 - (weight**2).sum() + (weight[items] ** 2).sum()
            if pairs_left <= 1e-12 * V_left**2:
                return np.full(len(alphas), np.inf)
            ratio *= pairs_left / (V**2 - (weight**2).sum())
        return np.asarray(alphas) * ratio

    def _leave_rows_out(self, items, rows, alphas) -> np.ndarray:
        spectrum = self.spectrum
        normals, values = self.matrix.normals_of(items)
        P, B = spectrum.P[items], spectrum.B[rows]
        out = np.zeros((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            if not np.isfinite(alpha):
                continue
            resolvent = spectrum.resolvent(alpha, normals, values)
            solution = resolvent.solve(spectrum.moments)
            residuals = spectrum.residuals(rows, solution, alpha)
            operator = spectrum.residual_operator(rows, resolvent, alpha)
            change = resolvent.apply(B.T @ np.linalg.solve(operator, residuals))
            out[i] = P @ (solution - change)
        return out + self._offset(items)

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
        out = np.empty((len(alphas), self.n_items, self.n_outputs))
        for items in groups:
            out[:, items] = self.without(items, alphas)
        return out

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

        def normals_of(inside):
            normals, values = self.matrix.normals_of(items[inside])
            if normals is None or not normals.shape[1]:
                return None, 0.0
            N = np.linalg.solve(C, spectrum.rotate(normals))
            return N, values + N.T @ half

        F = np.linalg.solve(C, P.T).T
        return Features(F, normals_of, self.matrix.in_basis[items]), F @ half + self._offset(items)

    def _posterior_gram(self, items, rows, alpha) -> tuple[Gram, np.ndarray]:
        """(K_TT − P_T D P_Tᵀ + W G_TT⁻¹ Wᵀ)/λ with W = P_T D B_Tᵀ, G = B D Bᵀ."""
        spectrum, K = self.spectrum, self.matrix.K
        P, B = spectrum.P[items], spectrum.B[rows]
        D = 1.0 / (spectrum.eigenvalues + alpha)
        W, G = (P * D) @ B.T, (B * D) @ B.T
        covariance = K[np.ix_(items, items)] - (P * D) @ P.T + W @ np.linalg.solve(G, W.T)
        return Gram((covariance + covariance.T) / (2 * alpha)), self.without(items, [alpha])[0]

    def leave_each_out(self, alpha: float) -> np.ndarray:
        """(m, k) predictions for every item by the model trained without it.

        Pointwise losses and a single query with all pairs: O(m r) in all. Several queries with
        all pairs: O(m_q³) a query. Other costs: O(|T|³) an item, T the query.
        """
        if self.centred or isinstance(self.supervision, PointwiseScores):
            return self._leave_each_free_out(alpha)
        out = np.empty((self.n_items, self.n_outputs))
        if self.supervision.keeps_ties and len(self.supervision.queries) > 1:
            for members in self.supervision.queries:
                items = np.sort(members)
                out[items] = self.posterior(items, alpha).leave_each_out(1.0)
            return out
        for i in range(self.n_items):
            out[i] = self.without(np.array([i]), [alpha])[0]
        return out

    def _leave_each_free_out(self, alpha) -> np.ndarray:
        spectrum, in_basis = self.spectrum, self.matrix.in_basis
        out = np.empty((self.n_items, self.n_outputs))
        for i in np.flatnonzero(in_basis):
            out[i] = self.without(np.array([i]), [alpha])[0]
        weight = self.supervision.weight if self.centred else np.ones(self.n_items)
        for lost in np.unique(weight[~in_basis]):
            items = np.flatnonzero((weight == lost) & ~in_basis)
            if self._nothing_left(items[:1]):
                out[items] = self._offset(items)
                continue
            shifted = self.shifted(items[:1], [alpha])[0] if self.centred else alpha
            if not np.isfinite(shifted):
                out[items] = self._offset(items)
                continue
            solution = spectrum.solutions([shifted])[0]
            D = 1.0 / (spectrum.eigenvalues + shifted)
            leverage = (spectrum.P[items] * spectrum.B[items]) @ D
            residuals = spectrum.residuals(items, solution, shifted)
            change = (leverage / spectrum.residual_diagonal(shifted)[items])[:, None] * residuals
            out[items] = spectrum.P[items] @ solution - change + self._offset(items)
        return out

    def leave_pairs_out(self, pairs: np.ndarray, alpha: float) -> np.ndarray:
        """(p, 2, k) predictions for pairs by the models trained without both items.

        A single query with all pairs: O(1) a pair after one m × m matrix, O(r) where weights
        differ. Several queries: the same for each query's block. Other costs: O(|T|³) a pair,
        T the query. Pairs of a pointwise loss: O(1) after one matrix.
        """
        out = np.empty((len(pairs), 2, self.n_outputs))
        if self.centred or isinstance(self.supervision, PointwiseScores):
            return self._leave_free_pairs_out(pairs, alpha)
        if len(self.supervision.queries) > 1 and self.supervision.keeps_ties:
            codes = self.supervision.queries.codes
            split = codes[pairs[:, 0]] != codes[pairs[:, 1]]
            for query in np.unique(codes[pairs[~split, 0]]):
                chosen = np.flatnonzero((codes[pairs[:, 0]] == query) & ~split)
                items = np.sort(self.supervision.queries.members(query))
                inside = np.searchsorted(items, pairs[chosen])
                out[chosen] = self.posterior(items, alpha).leave_pairs_out(inside, 1.0)
            slow = np.flatnonzero(split)
        else:
            slow = np.arange(len(pairs))
        for i in slow:
            out[i] = self.without(pairs[i], [alpha])[0]
        return out

    def _leave_free_pairs_out(self, pairs, alpha) -> np.ndarray:
        """Pairs that leave by 2 × 2 systems; those that take basis items along, one by one."""
        out = np.empty((len(pairs), 2, self.n_outputs))
        bound = self.matrix.in_basis[pairs].any(axis=1)
        for i in np.flatnonzero(bound):
            out[i] = self.without(pairs[i], [alpha])[0]
        free = np.flatnonzero(~bound)
        if self.centred:
            leaving = self.supervision.weight[pairs[free]]
            lost, group = np.unique(leaving.round(12), axis=0, return_inverse=True)
            group = group.ravel()
        else:
            lost, group = np.zeros((1, 2)), np.zeros(len(free), dtype=int)
        for g in range(len(lost)):
            chosen = free[group == g]
            same = pairs[chosen]
            if not len(same):
                continue
            if self._nothing_left(same[0]):
                out[chosen] = [self._offset(pair) for pair in same]
                continue
            shifted = self.shifted(same[0], [alpha])[0] if self.centred else alpha
            out[chosen] = self._pairs_at(same, shifted)
        return out

    def _pairs_at(self, pairs, alpha) -> np.ndarray:
        spectrum, (i, j) = self.spectrum, pairs.T
        if not np.isfinite(alpha):
            return np.stack([self._offset(i), self._offset(j)], axis=1)
        solution = spectrum.solutions([alpha])[0]
        rows = np.unique(pairs)
        f = spectrum.P @ solution if len(rows) * 2 > self.n_items else None
        if f is None:
            inverse = np.searchsorted(rows, pairs)
            M, Q = self._pair_matrices(rows, alpha)
            f, e = spectrum.P[rows] @ solution, spectrum.residuals(rows, solution, alpha)
            held = solve_pairs(M, Q, f, e, inverse)
        else:
            M, Q = self._pair_matrices(slice(None), alpha)
            held = solve_pairs(M, Q, f, spectrum.residuals(slice(None), solution, alpha), pairs)
        return held + np.stack([self._offset(i), self._offset(j)], axis=1)

    def _pair_matrices(self, rows, alpha) -> tuple[np.ndarray, np.ndarray]:
        """J − H and P D Bᵀ between the given rows."""
        spectrum = self.spectrum
        M = spectrum.residual_operator(rows, spectrum.resolvent(alpha), alpha)
        B = spectrum.B[rows] / (spectrum.eigenvalues + alpha)
        return M, spectrum.P[rows] @ B.T
