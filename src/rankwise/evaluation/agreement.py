"""Do judges agree? Statements of different judges about the same two items."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from rankwise.exceptions import UndefinedMetric
from rankwise.model_selection.folds import RandomState
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.queries import Queries
from rankwise.validation import check_count

SAME = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
"""How much two statements agree: first item won, second won, tie."""


@dataclass(frozen=True)
class JudgeAgreement:
    """What `judge_agreement` found.

    Attributes
    ----------
    agreement
        The share of agreeing statements, over all pairs of statements of different judges about the
        same two items; a tie and a win agree by half. ½ is chance.
    u
        2 · agreement − 1, Kendall's coefficient of agreement: 1 if all judges always agree.
    low, high
        95% interval of the agreement, from a jackknife over judges.
    p_value
        The probability of an agreement as large as this if each judge prefers either item of a pair
        with the same chance, independently of the others.
    consistency
        The same share for statements of the same judge about the same two items; nan if no judge
        says anything twice.
    judges
        (J,) labels.
    by_judge
        (J,) the agreement of each judge with all others; nan if nobody else judged the same items.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.evaluation import judge_agreement
    >>> found = judge_agreement(Preferences([0, 1], [1, 0]), ["ann", "bob"], random_state=0)
    >>> found.judges.tolist(), found.agreement, found.u
    (['ann', 'bob'], 0.0, -1.0)
    """

    agreement: float
    u: float
    low: float
    high: float
    p_value: float
    consistency: float
    judges: np.ndarray = field(repr=False)
    by_judge: np.ndarray = field(repr=False)


def judge_agreement(
    preferences: Preferences,
    judge: ArrayLike,
    *,
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> JudgeAgreement:
    """How often judges say the same about the same two items; O(l log l) and the permutations.

    A pair of statements weighs the product of
    their weights. Kendall and Babington Smith (1940), *On the method of paired comparisons*,
    define u for judges who all compare all pairs; here every judge may have compared any pairs.

    Parameters
    ----------
    preferences : Preferences
        The statements.
    judge : (l,) array
        The judge of each statement.
    n_permutations : int
        For the p-value.
    random_state
        Draws the permutations.

    Returns
    -------
    JudgeAgreement

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.evaluation import judge_agreement
    >>> said = Preferences(winner=[0, 0, 1, 0, 0, 2], loser=[1, 2, 2, 1, 2, 1])
    >>> found = judge_agreement(said, ["ann"] * 3 + ["bob"] * 3, random_state=0)
    >>> round(found.agreement, 3), round(found.p_value, 2)
    (0.667, 0.51)
    """
    if not isinstance(preferences, Preferences):
        check_preferences(preferences, None, 0)
    if not len(preferences) or not preferences.weight.any():
        raise ValueError("preferences hold no single preference with a positive weight.")
    n_permutations = check_count("n_permutations", n_permutations)
    judges = Queries.from_labels(judge, len(preferences), "judge", "preference")
    said = _Said(preferences, judges)
    agreeing, counted = said.by_judge(said.sums)
    if not counted.sum() > 0:
        raise UndefinedMetric(
            "no two judges made a statement about the same two items: agreement is unknown."
        )
    agreement = agreeing.sum() / counted.sum()
    low, high = _jackknife(said, agreement, agreeing, counted)
    rng = check_random_state(random_state)
    null = said.permuted(n_permutations, rng)
    p_value = (1 + np.sum(null >= agreement - 1e-12)) / (1 + n_permutations)
    alone = np.divide(agreeing, counted, out=np.full(len(judges), np.nan), where=counted > 0)
    return JudgeAgreement(
        float(agreement),
        float(2 * agreement - 1),
        low,
        high,
        float(p_value),
        said.consistency(),
        judges.labels,
        alone,
    )


class _Said:
    """Cells of one judge and one pair of items: summed weights of the three outcomes, (c, 3)."""

    def __init__(self, preferences: Preferences, judges: Queries):
        n = 1 + int(max(preferences.winner.max(), preferences.loser.max()))
        pair_of, pairs = preferences.unordered_pairs(n)
        keys, cell = np.unique(judges.codes * len(pairs) + pair_of, return_inverse=True)
        self.judge, self.pair = keys // len(pairs), keys % len(pairs)
        self.n_judges, self.n_pairs = len(judges), len(pairs)
        first = preferences.winner < preferences.loser
        outcome = np.where(preferences.tie, 2, np.where(first, 0, 1))
        weight, c = preferences.weight, len(keys)
        self.sums = np.bincount(3 * cell.ravel() + outcome, weight, 3 * c).reshape(c, 3)
        self.squares = np.bincount(3 * cell.ravel() + outcome, weight**2, 3 * c).reshape(c, 3)

    def _of_pairs(self, sums: np.ndarray) -> np.ndarray:
        """(n_pairs, 3) summed over judges."""
        columns = [np.bincount(self.pair, column, self.n_pairs) for column in sums.T]
        return np.column_stack(columns)

    def by_judge(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(J,) agreeing and all weights of pairs of statements of a judge and another one."""
        others = self._of_pairs(sums)[self.pair] - sums
        agreeing = ((sums @ SAME) * others).sum(axis=1)
        counted = sums.sum(axis=1) * np.maximum(others.sum(axis=1), 0.0)
        return (
            np.bincount(self.judge, np.maximum(agreeing, 0.0), self.n_judges),
            np.bincount(self.judge, counted, self.n_judges),
        )

    def consistency(self) -> float:
        """The agreement of a judge's own statements about the same two items."""
        own = ((self.sums @ SAME) * self.sums).sum() - self.squares.sum()
        counted = (self.sums.sum(axis=1) ** 2).sum() - self.squares.sum()
        return float(own / counted) if counted > 1e-12 * (self.sums**2).sum() else float("nan")

    def permuted(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """(n,) agreements after judges have exchanged winner and loser of pairs at random."""
        found = np.empty(n)
        for k in range(n):
            turned = rng.uniform(size=len(self.sums)) < 0.5
            sums = np.where(turned[:, None], self.sums[:, [1, 0, 2]], self.sums)
            agreeing, counted = self.by_judge(sums)
            found[k] = agreeing.sum() / counted.sum()
        return found


def _jackknife(
    said: _Said, agreement: float, agreeing: np.ndarray, counted: np.ndarray
) -> tuple[float, float]:
    """95% interval, Student's with J − 1 degrees of freedom, from leaving out one judge each."""
    # The pairs of statements of a judge and another one are counted once on either side.
    left = counted.sum() - 2 * counted
    used = (counted > 0) & (left > 1e-12 * counted.sum())
    J = int(used.sum())
    if J < 3:
        return 0.0, 1.0
    without = (agreeing.sum() - 2 * agreeing[used]) / left[used]
    error = np.sqrt((J - 1) / J * ((without - without.mean()) ** 2).sum())
    width = float(stats.t.ppf(0.975, J - 1) * error)
    return max(0.0, float(agreement) - width), min(1.0, float(agreement) + width)
