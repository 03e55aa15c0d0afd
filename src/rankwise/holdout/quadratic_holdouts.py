"""Hold-outs of a quadratic problem: predictions without some items, with alpha kept, exactly.

Three cases, one identity. B, P, D, J are those of rankwise.solvers.spectrum, and U are the rows of
the held-out items. If no preference connects the held-out items to the remaining items (whole
queries, or any items of a pointwise loss), removing them is leave-block-out of a ridge problem
(equation 33 and its relatives in Pahikkala et al. 2009):

    f_U⁻ = f_U − P_U D B_Uᵀ (J − H)_UU⁻¹ e_U ,     e = β − B D c               O(|U|³ + |U|² r)

Some items of a single query with all its pairs: the query is ridge regression with an intercept,
which they leave by the same formula at another λ (see rankwise.losses.quadratic_loss.FreeRows).

All other cases: the touched queries T leave first, which gives a posterior over their scores, mean
and covariance. The problem of the items of T that stay is then solved on that posterior, O(|T|³).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np

from rankwise.holdout.block_systems import (
    LARGEST_BLOCK,
    is_regular,
    leave_blocks_out,
    safe_factor,
)
from rankwise.holdout.censored_holdouts import CensoredHoldouts
from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.holdout.small_holdouts import LEVERAGE, SmallHoldouts
from rankwise.holdout.statement_holdouts import StatementHoldouts
from rankwise.holdout.tie_free import TieFreeQuery
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.laplacian import RowLaplacian
from rankwise.losses.quadratic_loss import ComparableRows, FreeRows, QuadraticLoss, TieFreeRows
from rankwise.solvers.cholesky import NormalEquations
from rankwise.solvers.dual_spectrum import DualSpectrum
from rankwise.solvers.resolvent import Resolvent
from rankwise.solvers.spectral import SpectralSolver
from rankwise.solvers.spectrum import PrimalSpectrum, Spectrum
from rankwise.spaces.space import Features, Gram, ItemMatrix
from rankwise.supervision.supervision import Supervision

SHARP = 100.0
"""Below this multiple of the rounding of its spectrum, a posterior of features is not trusted."""


class QuadraticHoldouts(HeldOut):
    """One training problem, for outputs that share a Laplacian, and all its hold-outs.

    `offset` holds scores that are known beforehand: the model learns what they leave unexplained,
    and the predictions include them.
    """

    def __init__(
        self,
        matrix: ItemMatrix,
        supervision: Supervision,
        loss: QuadraticLoss,
        offset: np.ndarray | None = None,
    ):
        self.matrix = matrix
        self.supervision = supervision
        self.loss = loss
        self.offset = offset
        self.quadratic = loss.quadratic(supervision)
        self.rule = loss.holdout_rule(supervision)
        self.sums: NormalEquations | None = None
        """The normal equations of the features without an offset, if they are known already."""

    @cached_property
    def spectrum(self) -> Spectrum:
        """The decomposition, when it is first needed."""
        centre = self.rule.centre if isinstance(self.rule, FreeRows) else None
        if self.sums is not None and isinstance(self.matrix, Features):
            spectrum = self.sums.spectrum.with_items(self.matrix.F, self.quadratic)
            spectrum.centre = centre
            return spectrum
        solver = SpectralSolver(self.matrix, self.quadratic, offset=self.offset, centre=centre)
        return solver.spectrum

    @cached_property
    def tie_free(self) -> TieFreeQuery | None:
        """Hold-outs of one or two items of a query without tied pairs; None for other rules."""
        return TieFreeQuery(self, self.rule) if isinstance(self.rule, TieFreeRows) else None

    @cached_property
    def censored(self) -> CensoredHoldouts | None:
        """Hold-outs of one or two items with censored outcomes and features; None for others."""
        if not isinstance(self.rule, ComparableRows) or not isinstance(self.matrix, Features):
            return None
        return None if self.offset is not None else CensoredHoldouts(self, self.rule)

    @property
    def n_outputs(self) -> int:
        return self.supervision.n_outputs

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        removal = self.matrix.removal
        if self.offset is None and removal is not None and np.isin(removal.items, items).all():
            return np.zeros((len(alphas), len(items), self.n_outputs))
        closure = self.quadratic.laplacian.closure(items)
        if not len(items) or self.leaves_nothing(items):
            return np.repeat(self._prior(items)[None], len(alphas), axis=0)
        if removal is not None and removal.recompute is not None:
            features = removal.recompute(items)
            if features is not None:
                return self._refit(items, alphas, Features(features))
        found = self._without_statements_of(items, alphas, closed=len(closure) == len(items))
        if found is not None:
            return found
        if len(closure) == len(items):
            rows = self.quadratic.laplacian.rows_of(items)
            return self._leave_rows_out(items, rows, alphas)
        if isinstance(self.rule, FreeRows):
            return self._leave_rows_out(items, items, alphas)
        if len(closure) == self.n_items:
            return self._refit(items, alphas)
        inside, out = np.searchsorted(closure, items), []
        for alpha in alphas:
            posterior = self.sharp_posterior(closure, alpha)
            if posterior is None:
                return self._refit(items, alphas)
            out.append(posterior.without(inside, [1.0])[0])
        return np.stack(out)

    def _without_statements_of(
        self, items: np.ndarray, alphas: Alphas, closed: bool
    ) -> np.ndarray | None:
        """Items with explicit preferences, if few pairs leave with them; else None."""
        if self._statements is None:
            return None
        assert isinstance(self.rule, ComparedPairs)
        if closed and len(self.rule.touching(items)) > len(items):
            return None
        return self._statements.without(items, items, alphas)

    def scores_without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        """By an update of low rank for explicit preferences, else by a refit."""
        removal, features, found = self.matrix.removal, None, None
        if self.offset is None and removal is not None and np.isin(removal.items, items).all():
            return np.zeros((len(alphas), len(predicted), self.n_outputs))
        if removal is not None and removal.recompute is not None:
            features = removal.recompute(items)
        if features is not None:
            return self._refit(items, alphas, Features(features), predicted)
        if self._statements is not None:
            found = self._statements.without(items, predicted, alphas)
        return self._refit(items, alphas, None, predicted) if found is None else found

    @cached_property
    def _statements(self) -> StatementHoldouts | None:
        if not isinstance(self.rule, ComparedPairs):
            return None
        return StatementHoldouts(self, self.rule)

    def leave_preferences_out(self, alphas: Alphas) -> np.ndarray:
        """In closed form: O(r) for each pair of items and each alpha."""
        if self._statements is None:
            return super().leave_preferences_out(alphas)
        return self._statements.leave_preferences_out(alphas)[..., None]

    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray:
        """One decomposition without the statements, for all alphas."""
        preferences, rest = self.split_statements(statements)
        pairs = (preferences.winner[statements], preferences.loser[statements])
        scores = self.offset_of(np.arange(self.n_items))
        known = scores[pairs[0]] - scores[pairs[1]]
        if not rest.pair_weights().any():
            return np.repeat(known[None], len(alphas), axis=0)
        quadratic, everything = self.loss.quadratic(rest), np.arange(self.n_items)
        solver = SpectralSolver(self.matrix, quadratic, offset=self.offset)
        out = []
        for model in solver.path(alphas):
            f = self.matrix.scores(everything, everything, model)
            out.append(known + f[pairs[0]] - f[pairs[1]])
        return np.stack(out)

    def leave_groups_out(self, groups: Sequence[np.ndarray], alphas: Alphas) -> np.ndarray:
        compiled, others = self._split_blocks(groups)
        if compiled:
            assert isinstance(self.spectrum, PrimalSpectrum)
            out, safe = leave_blocks_out(self.spectrum, compiled, alphas, LEVERAGE)
            if self.offset is not None:
                out += self.offset
            others += [items for items, is_safe in zip(compiled, safe) if not is_safe]
        else:
            out = np.empty((len(alphas), self.n_items, self.n_outputs))
        for items in others:
            out[:, items] = self.without(items, alphas)
        return out

    def leave_each_out(self, alphas: Alphas) -> np.ndarray:
        each = np.arange(self.n_items)[:, None]
        return SmallHoldouts(self, alphas).leave_out(each)[:, :, 0]

    def leave_pairs_out(self, pairs: np.ndarray, alphas: Alphas) -> np.ndarray:
        return SmallHoldouts(self, alphas).leave_out(pairs)

    def judge_pairs(self, alphas: Alphas) -> Judged:
        return SmallHoldouts(self, alphas).judge_pairs()

    def term_sizes(self, alpha: float) -> np.ndarray:
        return self.spectrum.term_sizes(alpha)

    def leaves_nothing(self, items: np.ndarray) -> bool:
        """Whether no item, or in a single query with all its pairs no pair, stays."""
        if isinstance(self.rule, FreeRows):
            return self.rule.leaves_nothing(items)
        return len(items) == self.n_items

    def _prior(self, items: np.ndarray) -> np.ndarray:
        """Predictions if nothing is left to learn from: the offset, less removed basis items."""
        normals, values = self.matrix.constraints_without(items)
        if normals is None or not np.any(values):
            return self.offset_of(items)
        w = -normals @ np.linalg.solve(normals.T @ normals, values)
        return self.offset_of(items) + self.matrix.scores(items, items, w)

    def offset_of(self, items: np.ndarray) -> np.ndarray:
        """Scores known beforehand, zero if there are none."""
        if self.offset is None:
            return np.zeros((len(items), self.n_outputs))
        return self.offset[items]

    def _leave_rows_out(self, items: np.ndarray, rows: np.ndarray, given: Alphas) -> np.ndarray:
        spectrum = self.spectrum
        alphas = np.asarray(given)
        if isinstance(self.rule, FreeRows):
            alphas = alphas * self.rule.alpha_factor(items)
        normals, values = self.matrix.constraints_without(items)
        if normals is None and len(rows) > 2 * len(spectrum.eigenvalues):
            if min(alphas) < spectrum.rounding():
                return self._refit(items, given)
            return self._leave_many_rows_out(items, rows, alphas)
        P, B, rotated = spectrum.P[items], spectrum.B[rows], spectrum.rotate(normals)
        out = np.zeros((len(alphas), len(items), self.n_outputs))
        for i, alpha in enumerate(alphas):
            resolvent = Resolvent(1.0 / (spectrum.eigenvalues + alpha), rotated, values)
            solution = spectrum.solution(alpha, resolvent)
            residuals = spectrum.residuals(rows, solution, alpha)
            operator = spectrum.residual_operator(rows, resolvent, alpha)
            if not is_regular(operator, LEVERAGE if spectrum.cancels_at(alpha) else 0.0):
                return self._refit(items, given)
            change = resolvent.apply(B.T @ np.linalg.solve(operator, residuals))
            out[i] = P @ (solution - change)
        return out + self.offset_of(items)

    def _leave_many_rows_out(
        self, items: np.ndarray, rows: np.ndarray, alphas: np.ndarray
    ) -> np.ndarray:
        """The same if |U| > r: an r × r eigenproblem, Λ − B_Uᵀ J_UU⁻¹ B_U, for all alphas."""
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
        D = 1.0 / (np.maximum(eigenvalues, 0.0) + alphas[:, None])
        PQ = P @ Q
        return np.stack([PQ @ (d[:, None] * c) for d in D]) + self.offset_of(items)

    def _refit(
        self,
        items: np.ndarray,
        alphas: Alphas,
        matrix: ItemMatrix | None = None,
        predicted: np.ndarray | None = None,
    ) -> np.ndarray:
        """Train on the remaining items: one decomposition for all alphas.

        The predictions are those of the items, unless others are to be `predicted`.
        """
        matrix = self.matrix if matrix is None else matrix
        predicted = items if predicted is None else predicted
        staying = np.setdiff1d(np.arange(self.n_items), items)
        rest = self.spectrum_without(items, matrix)
        normals, values = matrix.constraints_without(items)
        out = np.empty((len(alphas), len(predicted), self.n_outputs))
        for i, alpha in enumerate(alphas):
            solution = rest.solution(alpha, rest.resolvent(alpha, normals, values))
            out[i] = matrix.scores(predicted, staying, rest.model(solution, alpha))
        return out + self.offset_of(predicted)

    def spectrum_without(self, items: np.ndarray, matrix: ItemMatrix) -> Spectrum:
        """The decomposition of the remaining items, with the features or kernel of `matrix`."""
        staying = np.setdiff1d(np.arange(self.n_items), items)
        quadratic = self.loss.quadratic(self.supervision.take(staying))
        offset = None if self.offset is None else self.offset[staying]
        return SpectralSolver(matrix.take(staying), quadratic, offset=offset).spectrum

    def _split_blocks(
        self, groups: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Groups for the compiled loop (small, closed, without basis items), and the others."""
        laplacian = self.quadratic.laplacian
        centred = isinstance(self.rule, FreeRows) and self.rule.centred
        if centred or not isinstance(laplacian, RowLaplacian):
            return [], list(groups)
        if not isinstance(self.spectrum, PrimalSpectrum):
            return [], list(groups)
        most = min(LARGEST_BLOCK, self.n_items - 1)
        fits = np.array([0 < len(items) <= most for items in groups])
        small = [items for items, fit in zip(groups, fits) if fit]
        if small:
            fits[fits] = laplacian.closed(small)
        if self.matrix.removal is not None:
            in_basis = self.matrix.in_basis
            fits &= [not in_basis[items].any() for items in groups]
        compiled = [items for items, fit in zip(groups, fits) if fit]
        return compiled, [items for items, fit in zip(groups, fits) if not fit]

    def posterior(self, items: np.ndarray, alpha: float) -> QuadraticHoldouts:
        """The problem of `items`, whole blocks, given all others; it is to be solved at λ = 1."""
        return self._posterior(items, alpha)[0]

    def sharp_posterior(self, items: np.ndarray, alpha: float) -> QuadraticHoldouts | None:
        """The same; None if it has lost digits, so that hold-outs of these items need refits.

        A covariance over alpha does lose them with a kernel matrix. With features it does if the
        items vary in a direction in which no other item does: the others leave 1/alpha of it open.
        """
        if isinstance(self.matrix, Gram) and alpha < self.spectrum.rounding():
            return None
        posterior, is_sharp = self._posterior(items, alpha)
        return posterior if is_sharp else None

    def _posterior(self, items: np.ndarray, alpha: float) -> tuple[QuadraticHoldouts, bool]:
        rows = self.quadratic.laplacian.rows_of(items)
        matrix: ItemMatrix
        if isinstance(self.matrix, Gram):
            matrix, mean = self._posterior_gram(self.matrix, items, rows, alpha)
            is_sharp = True
        else:
            assert isinstance(self.matrix, Features)
            matrix, mean, is_sharp = self._posterior_map(self.matrix, items, rows, alpha)
        return QuadraticHoldouts(matrix, self.supervision.take(items), self.loss, mean), is_sharp

    def _posterior_map(
        self, given: Features, items: np.ndarray, rows: np.ndarray, alpha: float
    ) -> tuple[Features, np.ndarray, bool]:
        """P_T C⁻ᵀ with C Cᵀ = Λ + λ − B_TᵀB_T, the normal equations without the block T.

        If the difference has lost its digits, these equations are summed anew over the other items.
        """
        spectrum = self.spectrum
        assert isinstance(spectrum, PrimalSpectrum)
        solve: Callable[[np.ndarray], np.ndarray]
        (P, shift), B, is_sharp = spectrum.moved_P, spectrum.B[rows], True
        P = P[items]
        least = SHARP * spectrum.rounding()
        C = safe_factor(np.diag(spectrum.eigenvalues + alpha) - B.T @ B, ~spectrum.noise, least)
        if C is not None:
            half = np.linalg.solve(C, spectrum.moments - B.T @ spectrum.beta[rows])
            solve = partial(np.linalg.solve, C)
        else:
            noise = np.count_nonzero(spectrum.noise)
            others = self.spectrum_without(items, given)
            assert isinstance(others, PrimalSpectrum)
            P, shift = spectrum.moved_rows(items, others.V)
            spectrum = others
            is_sharp = bool(spectrum.eigenvalues[noise:].min(initial=np.inf) + alpha >= least)
            root = np.sqrt(spectrum.eigenvalues + alpha)[:, None]
            half = spectrum.moments / root
            solve = partial(np.multiply, 1.0 / root)
        F = solve(P.T).T
        shift = None if shift is None else solve(shift[:, None])[:, 0]
        removal = given.removal
        if removal is not None:
            removal = removal.within(items, lambda N: solve(spectrum.V.T @ N), half)
        matrix = Features(F, removal, shift)
        own = np.arange(len(items))
        return matrix, matrix.scores(own, own, half) + self.offset_of(items), is_sharp

    def _posterior_gram(
        self, given: Gram, items: np.ndarray, rows: np.ndarray, alpha: float
    ) -> tuple[Gram, np.ndarray]:
        """(K_TT − P_T D P_Tᵀ + W G_TT⁻¹ Wᵀ)/λ with W = P_T D B_Tᵀ, G = B D Bᵀ; so the shift."""
        spectrum = self.spectrum
        assert isinstance(spectrum, DualSpectrum)
        K, (P, shift), B = given.K[np.ix_(items, items)], spectrum.moved_P, spectrum.B[rows]
        P = P[items]
        if given.shift is not None and shift is not None:
            K, P = np.vstack((K, given.shift[items])), np.vstack((P, shift))
        D = 1.0 / (spectrum.eigenvalues + alpha)
        W, G, own = (P * D) @ B.T, (B * D) @ B.T, slice(len(items))
        covariance = K - (P * D) @ P[own].T + W @ np.linalg.solve(G, W[own].T)
        inner = (covariance[own] + covariance[own].T) / (2 * alpha)
        to_shift = None if given.shift is None else covariance[-1] / alpha
        return Gram(inner, to_shift), self.without(items, [alpha])[0]
