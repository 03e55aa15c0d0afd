"""Hold-outs of statements after some of them were turned round, for many such changes at once.

Turning a statement exchanges its winner and its loser: its target changes its sign, and nothing
else changes. So the decomposition and the leverages of rankwise.holdout.statement_holdouts serve
every choice of signs, and k choices are k columns of targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from rankwise.holdout.statement_holdouts import StatementHoldouts
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.laplacian import Target
from rankwise.losses.quadratic_loss import Quadratic
from rankwise.solvers.spectral import SpectralSolver

if TYPE_CHECKING:
    from rankwise.holdout.protocol import Alphas
    from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts


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
