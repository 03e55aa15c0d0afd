"""Held-out statements judged by the probability that a model without them gave to what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rankwise.losses.logistic import LogisticRisk, outcome_probabilities
from rankwise.losses.quadratic_loss import by_kind
from rankwise.model_selection.preference_folds import PreferenceFolds, mean_over_statements
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.progress import track
from rankwise.solvers.solver import Solution
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.supervision import ComparedItems

LEAST = 1e-300
"""Probabilities below this count as this."""

SolvePath = Callable[[Matrix, LogisticRisk, np.ndarray], Sequence[Solution]]


def log_probabilities(
    preferences: Preferences, f: np.ndarray, eta: float, nu: float, models_ties: bool
) -> np.ndarray:
    """(l,) ln of the probability of each statement, from scores f and the effects of a model.

    If the model has no ties, a tie counts as half of a win each way.
    """
    sign = np.ones(len(preferences))
    if preferences.winner_first is not None:
        sign = np.where(preferences.winner_first, 1.0, -1.0)
    d = f[preferences.winner] - f[preferences.loser] + sign * eta
    won, lost, tied = (np.log(np.maximum(P, LEAST)) for P in outcome_probabilities(d, nu))
    return np.where(preferences.tie, tied if models_ties else (won + lost) / 2, won)


class HeldOutProbabilities:
    """Refits without statements, for a whole grid of alphas."""

    def __init__(
        self,
        space: StrengthSpace,
        supervision: ComparedItems,
        risk: Callable[[ComparedItems], LogisticRisk],
        solve_path: SolvePath,
        models_ties: bool,
    ):
        self._space, self._supervision = space, supervision
        self._risk, self._solve_path, self._models_ties = risk, solve_path, models_ties

    def score(self, folds: PreferenceFolds, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of ln(probability), (a, 1), higher is better, and influence values."""
        preferences = self._supervision.preferences
        judged = self._judged(folds, alphas)
        return mean_over_statements(preferences, folds.counted, judged, len(alphas))

    def _judged(
        self, folds: PreferenceFolds, alphas: np.ndarray
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        nobody = np.zeros(0, dtype=int)
        for item, held, test in track(*self._hold_outs(folds), "folds"):
            items = nobody if item is None else np.array([item])
            yield test, self._without(held, items, test, alphas)

    def _hold_outs(
        self, folds: PreferenceFolds
    ) -> tuple[list[tuple[int | None, np.ndarray, np.ndarray]], int]:
        """Item that leaves, held-out and tested statements; and their number."""
        preferences = self._supervision.preferences
        found: list[tuple[int | None, np.ndarray, np.ndarray]]
        if folds.kind == "leave-item-out":
            touched = [
                np.flatnonzero((preferences.winner == i) | (preferences.loser == i))
                for i in range(self._supervision.n_items)
            ]
            found = [(i, held, held) for i, held in enumerate(touched) if len(held)]
        elif folds.kind == "leave-preference-out":
            pair_of, _ = preferences.unordered_pairs(self._supervision.n_items)
            found = [(None, held, held) for held in by_kind(pair_of)]
        else:
            found = [(None, held, test) for held, test in folds.splits if len(test)]
        return found, len(found)

    def _without(
        self, held: np.ndarray, items: np.ndarray, test: np.ndarray, alphas: np.ndarray
    ) -> np.ndarray:
        """(a, tested) ln(probability) by the models without the statements and the items."""
        rest = self._supervision.without_statements(held)
        tested = self._supervision.preferences.subset(test)
        phi = self._space.features_without(items) if len(items) else self._space.features
        decided = rest.preferences.weight[~rest.preferences.tie]
        if not decided.any():  # nothing to learn from: all outcomes are equally likely
            return np.full((len(alphas), len(test)), -np.log(3.0 if self._models_ties else 2.0))
        risk = self._risk(rest)
        rows = []
        for solution in self._solve_path(phi, risk, alphas):
            f = np.asarray(phi @ solution.w)
            eta, nu = risk.effects(f)
            rows.append(log_probabilities(tested, f, eta, nu, self._models_ties))
        return np.stack(rows)
