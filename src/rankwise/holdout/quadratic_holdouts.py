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

from rankwise.holdout.blocks import LARGEST_BLOCK, leave_blocks_out, smallest_pivot
from rankwise.losses.graph_laplacian import GraphLaplacian
from rankwise.losses.least_squares import PairwisePreferences, PairwiseScores, PointwiseScores
from rankwise.solvers.spectral import PrimalSpectrum, Resolvent, Spectrum
from rankwise.spaces.matrix import Features, Gram

Supervision = PointwiseScores | PairwiseScores | PairwisePreferences


LEVERAGE = 1e-6
"""Where 1 − leverage is smaller, the primal residual operator has lost its digits."""


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
        removal = self.matrix.removal
        if self.offset is None and removal is not None and np.isin(removal.items, items).all():
            return np.zeros((len(alphas), len(items), self.n_outputs))
        closure = self.quadratic.laplacian.closure(items)
        if not len(items) or self.nothing_left(items):
            return np.repeat(self._prior(items)[None], len(alphas), axis=0)
        if removal is not None and removal.anew is not None:
            features = removal.anew(items)
            if features is not None:
                return self._refit(items, alphas, Features(features))
        if len(closure) == len(items):
            rows = self.quadratic.laplacian.rows_of(items)
            return self._leave_rows_out(items, rows, alphas)
        if self.centred:
            return self._leave_rows_out(items, items, alphas)
        if len(closure) == self.n_items:
            return self._refit(items, alphas)
        inside = np.searchsorted(closure, items)
        return np.stack([self.posterior(closure, a).without(inside, [1.0])[0] for a in alphas])

    def nothing_left(self, items) -> bool:
        """No item, or in a single query with all pairs no pair, stays to learn from."""
        if len(items) == self.n_items:
            return True
        left = np.delete(self.supervision.weight, items)
        return self.centred and int(np.count_nonzero(left)) < 2

    def _prior(self, items) -> np.ndarray:
        """Predictions where nothing is left to learn from: the offset, less removed basis items."""
        normals, values = self.matrix.normals_of(items)
        if normals is None or not np.any(values):
            return self.offset_of(items)
        w = -normals @ np.linalg.solve(normals.T @ normals, values)
        return self.offset_of(items) + self.matrix.scores(items, None, w)

    def offset_of(self, items) -> np.ndarray:
        """Scores known beforehand, zero where there are none."""
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

    def _leave_rows_out(self, items, rows, given) -> np.ndarray:
        spectrum = self.spectrum
        alphas = self.shifted(items, given) if self.centred else given
        normals, values = self.matrix.normals_of(items)
        if normals is None and len(rows) > 2 * len(spectrum.eigenvalues):
            if min(alphas) < spectrum.rounding():
                return self._refit(items, given)
            return self._leave_many_rows_out(items, rows, alphas)
        P, B, rotated = spectrum.P[items], spectrum.B[rows], spectrum.rotate(normals)
        out = np.zeros((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            resolvent = Resolvent(1.0 / (spectrum.eigenvalues + alpha), rotated, values)
            solution = resolvent.solve(spectrum.moments)
            residuals = spectrum.residuals(rows, solution, alpha)
            operator = spectrum.residual_operator(rows, resolvent, alpha)
            if spectrum.cancels and smallest_pivot(operator) < LEVERAGE:
                return self._refit(items, given)
            change = resolvent.apply(B.T @ np.linalg.solve(operator, residuals))
            out[i] = P @ (solution - change)
        return out + self.offset_of(items)

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
        return np.stack([PQ @ (d[:, None] * c) for d in D]) + self.offset_of(items)

    def _refit(self, items, alphas, matrix=None) -> np.ndarray:
        """Train on what stays: one decomposition for all alphas."""
        matrix = self.matrix if matrix is None else matrix
        staying = np.setdiff1d(np.arange(self.n_items), items)
        rest = (
            self._spectrum_without(items)
            if matrix is self.matrix
            else self._spectrum_of(matrix, items)
        )
        normals, values = matrix.normals_of(items)
        out = np.empty((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            solution = rest.resolvent(alpha, normals, values).solve(rest.moments)
            out[i] = matrix.scores(items, staying, rest.expand(solution))
        return out + self.offset_of(items)

    def _spectrum_without(self, items) -> Spectrum:
        return self._spectrum_of(self.matrix, items)

    def _spectrum_of(self, matrix, items) -> Spectrum:
        """Of the items that stay, as `matrix` has them."""
        staying = np.setdiff1d(np.arange(self.n_items), items)
        quadratic = self.supervision.take(staying).quadratic()
        offset = None if self.offset is None else self.offset[staying]
        return matrix.take(staying).spectrum(quadratic, offset)

    def leave_groups_out(self, groups: list[np.ndarray], alphas) -> np.ndarray:
        """(a, m, k): each item predicted without its whole group; groups cover the items once."""
        compiled, others = self._split_blocks(groups)
        if compiled and isinstance(self.spectrum, PrimalSpectrum):
            out, safe = leave_blocks_out(self.spectrum, compiled, alphas, LEVERAGE)
            if self.offset is not None:
                out += self.offset
            others += [items for items, fine in zip(compiled, safe) if not fine]
        else:
            out = np.empty((len(alphas), self.n_items, self.n_outputs))
        for items in others:
            out[:, items] = self.without(items, alphas)
        return out

    def _split_blocks(self, groups) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Groups for the compiled loop: small, by themselves, without basis items; and the rest."""
        primal = isinstance(self.spectrum, PrimalSpectrum) and not self.centred
        if not primal or isinstance(self.quadratic.laplacian, GraphLaplacian):
            return [], list(groups)
        most = min(LARGEST_BLOCK, self.n_items - 1)
        fits = np.array([0 < len(items) <= most for items in groups])
        small = [items for items, fit in zip(groups, fits) if fit]
        if small:
            fits[fits] = self.quadratic.laplacian.closed(small)
        if self.matrix.removal is not None:
            in_basis = self.matrix.in_basis
            fits &= [not in_basis[items].any() for items in groups]
        compiled = [items for items, fit in zip(groups, fits) if fit]
        return compiled, [items for items, fit in zip(groups, fits) if not fit]

    def posterior(self, items: np.ndarray, alpha: float) -> QuadraticFit:
        """The problem of `items`, whole blocks, given all others: solved at λ = 1."""
        rows = self.quadratic.laplacian.rows_of(items)
        matrix: Features | Gram
        if isinstance(self.matrix, Gram):
            matrix, mean = self._posterior_gram(self.matrix.K, items, rows, alpha)
        else:
            matrix, mean = self._posterior_map(self.matrix, items, rows, alpha)
        return QuadraticFit(matrix, self.supervision.take(items), mean)

    def _posterior_map(self, given: Features, items, rows, alpha) -> tuple[Features, np.ndarray]:
        """P_T C⁻ᵀ with C Cᵀ = Λ + λ − B_TᵀB_T, the normal equations without the block T."""
        spectrum = self.spectrum
        if alpha < spectrum.rounding():
            spectrum = self._spectrum_without(items)
            root = np.sqrt(spectrum.eigenvalues + alpha)[:, None]
            half, P = spectrum.moments / root, np.asarray(given.F[items] @ spectrum.V)

            def solve(Y):
                return Y / root
        else:
            P, B = spectrum.P[items], spectrum.B[rows]
            C = np.linalg.cholesky(np.diag(spectrum.eigenvalues + alpha) - B.T @ B)
            half = np.linalg.solve(C, spectrum.moments - B.T @ spectrum.beta[rows])

            def solve(Y):
                return np.linalg.solve(C, Y)

        F = solve(P.T).T
        removal = given.removal
        if removal is not None:
            removal = removal.within(items, lambda N: solve(spectrum.rotate(N)), half)
        return Features(F, removal), F @ half + self.offset_of(items)

    def _posterior_gram(self, K, items, rows, alpha) -> tuple[Gram, np.ndarray]:
        """(K_TT − P_T D P_Tᵀ + W G_TT⁻¹ Wᵀ)/λ with W = P_T D B_Tᵀ, G = B D Bᵀ."""
        spectrum = self.spectrum
        P, B = spectrum.P[items], spectrum.B[rows]
        D = 1.0 / (spectrum.eigenvalues + alpha)
        W, G = (P * D) @ B.T, (B * D) @ B.T
        covariance = K[np.ix_(items, items)] - (P * D) @ P.T + W @ np.linalg.solve(G, W.T)
        return Gram((covariance + covariance.T) / (2 * alpha)), self.without(items, [alpha])[0]
