"""Cross-validation of explicit preferences: what is held out, and the share that is judged right.

No fold trains on a statement about two items and tests another one about the same two, so that a
vote that was cast twice does not predict itself. Models of probabilities may also be judged by the
probability that they gave to what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold

from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.protocol import Alphas
from rankwise.holdout.statement_holdouts import TurnedStatements
from rankwise.losses.logistic import LogisticRisk, outcome_probabilities
from rankwise.losses.quadratic_loss import by_kind
from rankwise.metrics.ties import tied
from rankwise.model_selection.folds import DEFAULT_FOLDS, Fold, RandomState, Splits
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.progress import track
from rankwise.solvers.solver import Solution
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, Supervision
from rankwise.validation import check_index

SCHEMES_OF_PREFERENCES = ("auto", "leave-preference-out", "leave-item-out")
LEAST = 1e-300
"""Probabilities below this count as this."""
SolvePath = Callable[[Matrix, LogisticRisk, np.ndarray], Sequence[Solution]]


class StatementHoldOuts(Protocol):
    """Predictions for statements by models that were trained without them; HeldOut is one."""

    supervision: Supervision

    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray: ...

    def leave_preferences_out(self, alphas: Alphas) -> np.ndarray: ...

    def leave_items_out(self, alphas: Alphas) -> np.ndarray: ...


class Counted(NamedTuple):
    """`number` units that standard errors count, with one or two of them for each statement (l,).

    A statement that belongs to two items counts at both, as a pair does in a U-statistic.
    """

    codes: tuple[np.ndarray, ...]
    number: int

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(number,) the sum of values (l,) over the statements of each unit."""
        of_codes = (np.bincount(codes, values, minlength=self.number) for codes in self.codes)
        return np.asarray(sum(of_codes))


class PreferenceFolds:
    """The statements that cross-validation holds out.

    cv : "leave-preference-out" leaves out all statements about two items together;
        "leave-item-out" leaves an item out with all its statements, and judges how the item would
        have compared; a number of folds of pairs of items, or of groups; a scikit-learn splitter
        of the statements, or an iterable of (train, test) or of test sets of them. "auto" is 10
        folds of groups if there are groups, else leave-preference-out if the hold-outs have it in
        `closed_form`, else 10 folds of pairs
    groups : (l,) labels of the statements, such as their judge or their day. Statements of one
        group are held out together, also if they are about different items

    A splitter's training sets lose the statements about pairs (or of groups) that it tests.

    `units` are what is held out together, numbered for each statement. `counted` are what standard
    errors count, called `what`: the same units, except for leave-item-out, where they are items,
    so that each statement belongs to two of them.
    """

    def __init__(
        self,
        cv: Splits,
        supervision: ComparedItems,
        *,
        groups: ArrayLike | None = None,
        closed_form: bool = True,
        random_state: RandomState = None,
    ):
        preferences = supervision.preferences
        pair_of, pairs = preferences.unordered_pairs(supervision.n_items)
        self.units, self.what = Queries(pair_of, np.arange(len(pairs))), "pairs of items"
        if groups is not None:
            self.units, self.what = (
                Queries.from_labels(groups, len(preferences), "groups", "preference"),
                "groups",
            )
        self.kind = self._kind(cv, closed_form, groups is not None)
        self.counted = Counted((self.units.codes,), len(self.units))
        if self.kind == "leave-item-out":
            ends = np.concatenate((preferences.winner, preferences.loser))
            compared, codes = np.unique(ends, return_inverse=True)
            winner, loser = np.split(codes, 2)
            self.counted, self.what = Counted((winner, loser), len(compared)), "items"
        self.splits: list[Fold] = []
        if self.kind == "folds":
            number = min(DEFAULT_FOLDS, len(self.units)) if isinstance(cv, str) else cv
            self.splits = list(self._read(number, random_state))

    def _kind(self, cv: Splits, closed_form: bool, grouped: bool) -> str:
        if len(self.units) < 2:
            raise ValueError(
                f"cross-validation needs statements about two or more {self.what}: give alpha."
            )
        if not isinstance(cv, str):
            return "folds"
        if cv not in SCHEMES_OF_PREFERENCES:
            raise ValueError(
                f"cv of preferences must be one of {SCHEMES_OF_PREFERENCES}, an int, a splitter "
                f"or folds of statements; got {cv!r}."
            )
        if cv == "auto":
            return "leave-preference-out" if closed_form and not grouped else "folds"
        if grouped:
            raise ValueError(f"cv={cv!r} cannot keep groups together: use a number of folds.")
        return cv

    def _read(self, cv: Splits, random_state: RandomState) -> Iterable[Fold]:
        """(held out, tested) statements of each fold."""
        l, codes = len(self.units.codes), self.units.codes
        given: Iterable
        if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
            if not 2 <= cv <= len(self.units):
                raise ValueError(
                    f"cv={cv} is no possible number of folds: it must lie between 2 and the "
                    f"{len(self.units)} {self.what}."
                )
            shuffled = KFold(int(cv), shuffle=True, random_state=random_state or 0)
            folds = shuffled.split(np.zeros((len(self.units), 1)))
            given = (np.flatnonzero(np.isin(codes, test)) for _, test in folds)
        elif hasattr(cv, "split") and not isinstance(cv, str):
            given = cv.split(np.zeros((l, 1)), None, codes)
        elif isinstance(cv, Iterable):
            given = cv
        else:
            raise ValueError(f"cv must be an int, a splitter or folds of statements; got {cv!r}.")
        for number, split in enumerate(given):
            name = f"cv fold {number}"
            train = np.arange(l)
            if len(split) == 2 and np.ndim(split[0]) == 1 and np.ndim(split[1]) == 1:
                train = check_index(split[0], l, f"the training set of {name}")
                split = split[1]
            test = check_index(split, l, name)
            train = train[~np.isin(codes[train], codes[test])]
            if not len(train):
                raise ValueError(f"{name} leaves no statement to train on.")
            yield np.setdiff1d(np.arange(l), train), test

    def independent(self, influence: np.ndarray) -> int:
        """The number of units that influence values (a, units, k) are about."""
        return influence.shape[1]

    def __str__(self) -> str:
        return f"{len(self.splits)} folds of {self.what}" if self.kind == "folds" else self.kind


def score_preferences(
    held_out: StatementHoldOuts, folds: PreferenceFolds, alphas: Alphas
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted share of held-out statements in the right order, (a, 1), and influence values.

    Items that are predicted equal, and statements that call two items equal, count ½. There is one
    influence value (a, units, 1) for each pair of items, or for each group: statements about the
    same two items, or of one judge, are not independent. Items that are left out with all their
    statements are what counts then.
    """
    assert isinstance(held_out.supervision, ComparedItems)
    judged = _held_out_differences(held_out, folds, alphas)
    told = held_out.supervision.preferences
    return share_of_statements(told, folds.counted, judged, len(alphas))


def share_of_statements(
    preferences: Preferences,
    units: Counted,
    judged: Iterable[tuple[np.ndarray, np.ndarray]],
    a: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The same from statements that were `judged`, with their (a, tested) f_winner − f_loser.

    A statement may be judged several times, and then counts as often.
    """
    values = (
        (statements, _right(differences, preferences.tie[statements]))
        for statements, differences in judged
    )
    return mean_over_statements(preferences, units, values, a)


def mean_over_statements(
    preferences: Preferences,
    units: Counted,
    judged: Iterable[tuple[np.ndarray, np.ndarray]],
    a: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted mean (a, 1) of (a, tested) values of statements, and its influence values."""
    right, counted = np.zeros((a, len(preferences))), np.zeros(len(preferences))
    for statements, values in judged:
        right[:, statements] += values
        counted[statements] += 1
    weight = preferences.weight * counted
    total = weight.sum()
    if not total > 0:
        raise UndefinedMetric("cross-validation tested no preference with a positive weight.")
    of_unit = units.sums(weight)
    hits = np.stack([units.sums(preferences.weight * row) for row in right])
    scores = hits.sum(axis=1) / of_unit.sum()
    judged_units = np.count_nonzero(of_unit)
    scale = np.sqrt(judged_units / (judged_units - 1)) if judged_units > 1 else np.nan
    influence = (hits - scores[:, None] * of_unit) / total * scale
    return scores[:, None], influence[..., None]


def score_turned(
    turned: TurnedStatements,
    preferences: Preferences,
    folds: PreferenceFolds,
    alphas: Alphas,
    signs: np.ndarray,
) -> np.ndarray | None:
    """(a, k) the share of held-out statements in the right order, where those with signs (l, k) of
    −1 were turned round before training; None if the hold-outs have no closed form."""
    a, k = len(alphas), signs.shape[1]

    def values(differences: np.ndarray, test: np.ndarray) -> np.ndarray:
        columns = np.moveaxis(differences * signs[test], 2, 1).reshape(a * k, len(test))
        return _right(columns, preferences.tie[test])

    everything, judged = np.arange(len(preferences)), []
    if folds.kind == "leave-preference-out":
        differences = turned.leave_preferences_out(signs, alphas)
        if differences is None:
            return None
        judged.append((everything, values(differences, everything)))
    for held, test in folds.splits:
        if len(test):
            differences = turned.without_statements(held, signs, alphas)
            judged.append((test, values(differences[:, np.searchsorted(held, test)], test)))
    return mean_over_statements(preferences, folds.counted, judged, a * k)[0].reshape(a, k)


def _held_out_differences(
    held_out: StatementHoldOuts, folds: PreferenceFolds, alphas: Alphas
) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Tested statements with (a, tested) held-out f_winner − f_loser, each statement once."""
    if folds.kind == "leave-preference-out":
        differences = held_out.leave_preferences_out(alphas)[..., 0]
        yield np.arange(differences.shape[1]), differences
    elif folds.kind == "leave-item-out":
        each = held_out.leave_items_out(alphas)[..., 0]
        for side in (0, 1):
            yield np.arange(each.shape[1]), each[:, :, side]
    splits = list(folds.splits)
    for held, test in track(splits, len(splits), "folds"):
        if len(test):
            differences = held_out.without_statements(held, alphas)[..., 0]
            yield test, differences[:, np.searchsorted(held, test)]


def _right(differences: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """1 if a difference is positive, ½ if it is a rounding error or the statement a tie, else 0."""
    sizes = np.abs(differences)
    typical = np.quantile(sizes, 0.9, axis=1, keepdims=True)
    equal = tied(differences, np.maximum(sizes, typical)) | tie
    return np.where(equal, 0.5, differences > 0)


def refuse_scoring(scoring: object) -> None:
    """Preferences are judged one by one, so that measures of whole rankings do not apply."""
    if scoring is not None and scoring != "concordance":
        raise ValueError(
            "explicit preferences are judged by the share in the right order: scoring must be None "
            'or "concordance".'
        )


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
