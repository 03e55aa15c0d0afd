"""Hold-outs of explicit preferences: rows of a ridge problem, one for each pair of compared items.

With the rows √W (x_i − x_j) and targets √W z̄ of rankwise.losses.compared_pairs, along the
eigenvectors of rankwise.solvers.spectrum,

    B_e = √W (P_i − P_j)       H = B D Bᵀ          in the primal,
    B_e = √W (Y_i − Y_j)       H = B Λ D Bᵀ        in the dual, Y = R (RᵀR)⁻¹ U,

and e = β − H β are the residuals. Statements leave as rows do:

    all statements about one pair      z̄ − e / (√W (1 − H_ee))             O(r) for each alpha
    items U, with the pairs E at them  f_U − P_U D B_Eᵀ (I − H)_EE⁻¹ e_E    O(|E|² r + |E|³)

Turning a statement exchanges its winner and its loser: its target changes its sign, and nothing
else changes. So the decomposition and the leverages serve every choice of signs, and k choices are
k columns of targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from rankwise.holdout.block_systems import smallest_pivot
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.graph_laplacian import GraphLaplacian
from rankwise.losses.laplacian import Target
from rankwise.losses.quadratic_loss import Quadratic, by_kind
from rankwise.numerics.progress import track
from rankwise.numerics.threads import one_blas_thread, over_ranges
from rankwise.solvers.dual_spectrum import DualSpectrum
from rankwise.solvers.resolvent import Resolvent
from rankwise.solvers.spectral import SpectralSolver

if TYPE_CHECKING:
    from rankwise.holdout.protocol import Alphas
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts

LEVERAGE = 1e-7
"""If 1 − leverage is smaller, it has lost its digits."""
NUMBERS_AT_ONCE = 60_000
"""As many numbers stay in the cache of a processor."""


class StatementHoldouts:
    """The rows of one problem, and what they predict when some of them leave."""

    def __init__(self, problem: QuadraticHoldouts, pairs: ComparedPairs):
        self._problem, self._pairs = problem, pairs
        self._spectrum = problem.spectrum
        if isinstance(self._spectrum, DualSpectrum):
            laplacian = problem.quadratic.laplacian
            assert isinstance(laplacian, GraphLaplacian)
            self._items = laplacian.inverse_factor(self._spectrum.U)
            self._scale = self._spectrum.eigenvalues
        else:
            self._items = self._spectrum.P
            self._scale = np.ones(len(self._spectrum.eigenvalues))
        everything = np.arange(problem.n_items)
        offset = problem.offset_of(everything)[:, 0]
        self._known = offset[pairs.first] - offset[pairs.second]
        """(p,) differences that are known beforehand."""

    def _differences(self, pairs: np.ndarray) -> np.ndarray:
        """(|pairs|, r) rows of the ridge problem, before their weights √W."""
        return self._items[self._pairs.first[pairs]] - self._items[self._pairs.second[pairs]]

    def leave_preferences_out(self, alphas: Alphas) -> np.ndarray:
        """(a, l) held-out f_winner − f_loser; statements about one pair leave together."""
        rule = self._pairs
        if rule.couples:
            differences = np.stack([self._by_query(alpha) for alpha in alphas])
        else:
            differences = self._leave_each_pair_out(np.asarray(alphas, dtype=float))
        return differences[:, rule.pair_of] * rule.sign

    def _by_query(self, alpha: float) -> np.ndarray:
        """(p,) the differences of each query on its posterior given the other queries."""
        rule, queries = self._pairs, self._pairs.supervision.queries
        out, query = np.empty(len(rule.first)), queries.codes[rule.first]
        for pairs in by_kind(query):
            items = np.sort(queries.members(query[pairs[0]]))
            posterior = self._problem.sharp_posterior(items, alpha)
            if posterior is None:
                out[pairs] = [self._refit_without(pair, [alpha])[0] for pair in pairs]
                continue
            assert isinstance(posterior.rule, ComparedPairs)
            part = StatementHoldouts(posterior, posterior.rule)
            out[pairs] = part._leave_each_pair_out(np.ones(1))[0]  # in the same order of pairs
        return out

    def _leave_each_pair_out(self, alphas: np.ndarray) -> np.ndarray:
        """(a, p) differences f_first − f_second without the statements about the pair."""
        rule = self._pairs
        everything = np.arange(len(rule.first))
        out = np.empty((len(alphas), len(everything)))
        lost = np.zeros(out.shape, dtype=bool)
        if rule.weighting.couples_items:
            factors = rule.alpha_factors(everything)
            lost[:, np.isnan(factors)] = True
            values, kind = np.unique(factors, return_inverse=True)
            for factor, same in zip(values, by_kind(kind)):
                if not np.isnan(factor):
                    out[:, same], lost[:, same] = self._leave_rows_out(same, alphas * factor)
        elif len(everything):
            out, lost = self._leave_rows_out(everything, alphas)
        refitted = np.flatnonzero(lost.any(axis=0))
        for pair in track(refitted, len(refitted), "refitting without each pair"):
            chosen = lost[:, pair]
            out[chosen, pair] = self._refit_without(int(pair), alphas[chosen])
        return out

    def leave_targets_out(self, targets: np.ndarray, alphas: np.ndarray) -> np.ndarray | None:
        """(a, p, k) the same for other targets (p, k) of the pairs; None if only refits are exact.

        The moments Xᵀ W z̄ are those of the targets, and everything else stays.
        """
        rule, p = self._pairs, len(self._pairs.first)
        factors = np.ones(p)
        if rule.weighting.couples_items:
            factors = rule.alpha_factors(np.arange(p))
        if rule.couples or np.isnan(factors).any() or not (rule.squared > 0).all():
            return None
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self._items.shape[1]))
        parts = np.array_split(np.arange(p), -(-p // at_once))
        weighted = rule.squared[:, None] * targets
        moments = sum(self._differences(pairs).T @ weighted[pairs] for pairs in parts)
        out = np.empty((len(alphas), *targets.shape))
        for factor in np.unique(factors):
            D = 1.0 / (self._spectrum.eigenvalues + factor * alphas[:, None])
            if self._is_blurred(factor * alphas).any():
                return None
            for pairs in parts:
                same = pairs[factors[pairs] == factor]
                X, z = self._differences(same), targets[same]
                left = 1.0 - rule.squared[same] * ((D * self._scale) @ (X**2).T)
                if (left < LEVERAGE).any():
                    return None
                for i, d in enumerate(D):
                    fitted = X @ ((self._scale * d)[:, None] * moments)
                    out[i, same] = z - (z - fitted) / left[i][:, None]
        return out

    def _refit_without(self, pair: int, alphas: Alphas) -> np.ndarray:
        """(a,) the difference of one pair without all statements about it."""
        statements = np.flatnonzero(self._pairs.pair_of == pair)
        found = self._problem.without_statements(statements, alphas)[:, 0, 0]
        return found * self._pairs.sign[statements[0]]

    def _leave_rows_out(
        self, pairs: np.ndarray, alphas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(a, |pairs|) differences, and which of them have lost their digits."""
        rule, known, squared = self._pairs, self._known[pairs], self._pairs.squared[pairs]
        D = self._scale / (self._spectrum.eigenvalues + alphas[:, None])
        solutions = self._spectrum.solutions(alphas)[:, :, 0]
        left, fitted = self._leverages_and_fits(pairs, D, self._scale * solutions)
        left *= -squared
        left += 1.0
        target, counts = rule.target[pairs] - known, squared > 0
        too_close = counts & ((left < LEVERAGE) | self._is_blurred(alphas)[:, None])
        left[~counts | too_close] = 1.0
        out = target - (target - fitted) / left
        if not counts.all():  # nothing leaves, and the two items may not even be connected
            first, second = rule.first[pairs[~counts]], rule.second[pairs[~counts]]
            f = solutions @ self._spectrum.P.T
            out[:, ~counts] = f[:, first] - f[:, second]
        return out + known, too_close

    def _leverages_and_fits(
        self, pairs: np.ndarray, D: np.ndarray, solutions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(a, |pairs|) x D xᵀ and x · solution for the rows x of the pairs, in parallel."""
        leverages, fits = np.empty((len(D), len(pairs))), np.empty((len(D), len(pairs)))
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self._items.shape[1]))

        def task(low: int, high: int) -> None:
            for start in range(low, high, at_once):
                some = slice(start, min(start + at_once, high))
                X = self._differences(pairs[some])
                np.matmul(solutions, X.T, out=fits[:, some])
                np.matmul(D, np.square(X, out=X).T, out=leverages[:, some])

        with one_blas_thread():
            over_ranges(task, len(pairs), work=float(len(pairs) * self._items.shape[1]))
        return leverages, fits

    def _is_blurred(self, alphas: np.ndarray) -> np.ndarray:
        """(a,) whether the absolute errors of primal eigenvalues exceed 1e-7 of some Λ + λ."""
        spectrum = self._spectrum
        if not spectrum.cancels:
            return np.zeros(len(alphas), dtype=bool)
        used = spectrum.eigenvalues[spectrum.eigenvalues > 0]
        return used.min(initial=np.inf) + alphas < spectrum.rounding()

    def without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray | None:
        """(a, |predicted|, 1) predictions without the items; None if a refit is safer."""
        rule, spectrum = self._pairs, self._spectrum
        pairs = rule.touching(items)
        if rule.couples or len(pairs) > len(spectrum.eigenvalues):
            return None
        factor = rule.alpha_factor_without(items) if rule.weighting.couples_items else 1.0
        scaled = np.asarray(alphas) * factor
        if np.isnan(factor) or self._is_blurred(scaled).any():
            return None
        normals, values = self._problem.matrix.constraints_without(items)
        rotated = spectrum.rotate(normals)
        root = np.sqrt(rule.squared[pairs])
        B = root[:, None] * self._differences(pairs)
        beta = (root * (rule.target[pairs] - self._known[pairs]))[:, None]
        P = spectrum.P[predicted]
        out = np.empty((len(scaled), len(predicted), 1))
        for i, alpha in enumerate(scaled):
            resolvent = Resolvent(1.0 / (spectrum.eigenvalues + alpha), rotated, values)
            solution = resolvent.solve(spectrum.moments)
            residuals = beta - (B * self._scale) @ solution
            operator = -resolvent.sandwich(B * np.sqrt(self._scale))
            operator.flat[:: len(operator) + 1] += 1.0
            if smallest_pivot(operator) < LEVERAGE:
                return None
            out[i] = P @ (solution - resolvent.apply(B.T @ np.linalg.solve(operator, residuals)))
        return out + self._problem.offset_of(predicted)


class TurnedStatements:
    """The hold-outs of one problem with l statements, `signs` (l, k) being −1 where one is turned.

    Predictions are f_winner − f_loser of the statements as they were before.
    """

    def __init__(self, problem: QuadraticHoldouts, pairs: ComparedPairs):
        self._problem, self._pairs = problem, pairs
        self._statements = StatementHoldouts(problem, pairs)

    def leave_preferences_out(self, signs: np.ndarray, alphas: Alphas) -> np.ndarray | None:
        """(a, l, k) without all statements about the pair; None if only refits are exact.

        O(r) for each pair, alpha and column of signs.
        """
        pairs = self._pairs
        targets = pairs.targets_of(signs)
        found = self._statements.leave_targets_out(targets, np.asarray(alphas, dtype=float))
        return None if found is None else found[:, pairs.pair_of] * pairs.sign[:, None]

    def without_statements(
        self, statements: np.ndarray, signs: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        """(a, |statements|, k) by one decomposition without the statements, for all columns."""
        problem = self._problem
        preferences, rest = problem.split_statements(statements)
        winner, loser = preferences.winner[statements], preferences.loser[statements]
        if not rest.pair_weights().any():
            return np.zeros((len(alphas), len(statements), signs.shape[1]))
        rule = problem.loss.holdout_rule(rest)
        assert isinstance(rule, ComparedPairs)
        b = _pulls(rule, rule.targets_of(np.delete(signs, statements, axis=0)), problem.n_items)
        laplacian = problem.loss.quadratic(rest).laplacian
        quadratic = Quadratic(laplacian, Target(laplacian, given=b))
        everything, out = np.arange(problem.n_items), []
        for model in SpectralSolver(problem.matrix, quadratic).path(alphas):
            f = problem.matrix.scores(everything, everything, model)
            out.append(f[winner] - f[loser])
        return np.stack(out)


def _pulls(pairs: ComparedPairs, targets: np.ndarray, m: int) -> np.ndarray:
    """(m, k) b = Σ_e W_e z_e (e_first − e_second) for targets (p, k)."""
    p = len(pairs.first)
    ends = np.concatenate((pairs.first, pairs.second))
    signs = np.repeat([1.0, -1.0], p)
    incidence = sparse.coo_array((signs, (ends, np.tile(np.arange(p), 2))), shape=(m, p)).tocsr()
    return np.asarray(incidence @ (pairs.squared[:, None] * targets))
