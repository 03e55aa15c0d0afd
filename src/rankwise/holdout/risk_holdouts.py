"""Hold-outs of losses that are not quadratic: a path of refits for every fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.losses.risk import NoPreference, Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.solvers.solver import Solution
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.spaces.space import Space
from rankwise.supervision.supervision import Supervision

SolvePath = Callable[[Matrix, Risk, np.ndarray], Sequence[Solution]]


class RiskHoldouts(HeldOut):
    """Refits on the remaining items, for a whole grid of alphas at once.

    Kernels are factorised once for all folds. Held-out basis items are removed from the map of a
    reduced set. Predictions are 0 if the remaining items have no preference to learn from.
    """

    def __init__(
        self,
        space: Space | StrengthSpace,
        supervision: Supervision,
        risks: Callable[[Supervision], list[Risk]],
        solve_path: SolvePath,
    ):
        """`risks` gives one risk per output; `solve_path` one solution per alpha, in order."""
        self.space, self.supervision = space, supervision
        self._risks, self._solve_path = risks, solve_path

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        return self.scores_without(items, items, alphas)

    def scores_without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        staying = np.setdiff1d(np.arange(self.n_items), items)
        phi = self.space.features_without(items)
        rest = self.supervision.take(staying)
        trained, tested = phi[staying], Products(phi[predicted])
        out = np.zeros((len(alphas), len(predicted), rest.n_outputs))
        for j in range(rest.n_outputs):
            try:
                (risk,) = self._risks(rest.select_outputs(np.array([j])))
            except NoPreference:
                continue
            for i, solution in enumerate(self._solve_path(trained, risk, np.asarray(alphas))):
                out[i, :, j] = tested.scores(solution.w)
        return out

    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray:
        preferences, rest = self.split_statements(statements)
        winner, loser = preferences.winner[statements], preferences.loser[statements]
        out = np.zeros((len(alphas), len(statements), 1))
        phi = self.space.features
        scores = Products(phi).scores
        if rest.pair_weights().any():
            (risk,) = self._risks(rest)
            for i, solution in enumerate(self._solve_path(phi, risk, np.asarray(alphas))):
                f = scores(solution.w)
                out[i, :, 0] = f[winner] - f[loser]
        return out

    def judge_pairs(self, alphas: Alphas) -> Judged:
        raise ValueError("leave-pair-out would refit for every pair: use folds.")

    def term_sizes(self, alpha: float) -> np.ndarray:
        phi = self.space.features
        solutions = [
            self._solve_path(phi, risk, np.array([alpha]))[0]
            for risk in self._risks(self.supervision)
        ]
        return np.column_stack([abs(phi) @ np.abs(solution.w) for solution in solutions])
