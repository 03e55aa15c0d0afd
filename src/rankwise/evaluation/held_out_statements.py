"""Explicit preferences, judged by models that were trained without them.

All estimates from preferences in this room rest on one number for each statement: 1 if a model that
never saw it puts the winner first, ½ for ties, 0 otherwise. Statements about the same two items are
not independent of each other, and neither are those of one judge: standard errors, intervals and
permutations therefore count pairs of items, or groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, has_fit_parameter

from rankwise.evaluation.estimators import check_estimator, has_closed_form
from rankwise.losses.quadratic_loss import by_kind
from rankwise.metrics.scorers import Scoring
from rankwise.model_selection.folds import RandomState, Splits
from rankwise.model_selection.preference_folds import (
    PreferenceFolds,
    StatementHoldOuts,
    refuse_scoring,
    score_preferences,
)
from rankwise.numerics.progress import track
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, Supervision

CHOSEN = ("alpha_", "C_", "best_params_")
"""The attributes in which a search keeps what it chose."""


@dataclass
class Statements:
    """Items X (None if they have no features), what is said about them, and by whom.

    `groups` labels the statements; those of one group are always held out together.
    """

    X: Any
    preferences: Preferences
    queries: Queries
    groups: Queries | None = None

    @classmethod
    def checked(
        cls,
        X: ArrayLike | None,
        y: object,
        qid: ArrayLike | None,
        preferences: object,
        groups: ArrayLike | None,
        scoring: Scoring = None,
    ) -> Statements:
        """The arguments of a function of rankwise.evaluation that was given `preferences`."""
        refuse_scoring(scoring)
        if X is not None:
            n_items = _num_samples(X)
        elif isinstance(preferences, Preferences) and preferences.n_items is not None:
            n_items = preferences.n_items
        else:
            raise ValueError("X may be None only for preferences that know their n_items.")
        checked = check_preferences(preferences, y, n_items)
        queries = Queries.from_labels(qid, n_items)
        together = None
        if groups is not None:
            together = Queries.from_labels(groups, len(checked), "groups", "preference")
        return cls(X, checked, queries, together)

    @property
    def supervision(self) -> ComparedItems:
        return ComparedItems(self.preferences, self.queries, np.ones(self.queries.n_items))

    @property
    def qid(self) -> np.ndarray | None:
        return self.queries.codes if len(self.queries) > 1 else None

    def folds(
        self, cv: Splits, *, closed_form: bool = False, random_state: RandomState = None
    ) -> PreferenceFolds:
        return PreferenceFolds(
            cv,
            self.supervision,
            groups=None if self.groups is None else self.groups.codes,
            closed_form=closed_form,
            random_state=random_state,
        )

    def with_preferences(self, preferences: Preferences) -> Statements:
        """Other statements about the same items, by the same groups."""
        return Statements(self.X, preferences, self.queries, self.groups)


class RefittedStatements:
    """Hold-outs of statements for any estimator whose `fit` takes preferences, one fit for each.

    All rows of X stay: only what is said about them is held out. `chosen` lists what the estimator
    chose in each training set. If nothing is left to learn from, all differences are 0.
    """

    def __init__(self, estimator: BaseEstimator, data: Statements):
        self.estimator, self.data = estimator, data
        self.supervision: Supervision = data.supervision
        self.chosen: list[Any] = []

    def scores_after(self, statements: np.ndarray) -> np.ndarray:
        """(m,) scores of all items by the model that was trained on these statements only."""
        data = self.data
        kept = data.preferences.subset(statements)
        if not kept.weight.any():
            self.chosen.append(None)
            return np.zeros(self.supervision.n_items)
        model = fitted_to(self.estimator, data, kept, statements)
        self.chosen.append(next((getattr(model, n) for n in CHOSEN if hasattr(model, n)), None))
        return scores_of_items(model, data)

    def without_statements(self, statements: np.ndarray, alphas: Any = None) -> np.ndarray:
        """(1, |statements|, 1) f_winner − f_loser by the model trained without these statements."""
        staying = np.delete(np.arange(len(self.data.preferences)), statements)
        return self._differences(self.scores_after(staying), statements)[None, :, None]

    def _differences(self, f: np.ndarray, statements: np.ndarray) -> np.ndarray:
        preferences = self.data.preferences
        return f[preferences.winner[statements]] - f[preferences.loser[statements]]

    def leave_preferences_out(self, alphas: Any = None) -> np.ndarray:
        """(1, l, 1) without all statements about the same two items."""
        pair_of, pairs = self.data.preferences.unordered_pairs(self.supervision.n_items)
        out = np.empty((1, len(pair_of), 1))
        for statements in track(by_kind(pair_of), len(pairs), "leave-preference-out"):
            out[:, statements] = self.without_statements(statements)
        return out

    def leave_items_out(self, alphas: Any = None) -> np.ndarray:
        """(1, l, 2, 1) without all statements about the winner, and about the loser."""
        preferences = self.data.preferences
        ends = np.column_stack((preferences.winner, preferences.loser))
        out = np.empty((1, len(preferences), 2, 1))
        items = np.unique(ends)
        for item in track(items, len(items), "leave-item-out"):
            touching = np.flatnonzero((ends == item).any(axis=1))
            differences = self.without_statements(touching)[0, :, 0]
            out[0, touching, np.where(ends[touching, 0] == item, 0, 1), 0] = differences
        return out


def fitted_to(
    estimator: BaseEstimator, data: Statements, kept: Preferences, statements: np.ndarray
) -> BaseEstimator:
    """A clone trained on the `kept` preferences, those at the positions `statements`."""
    model, prefix = clone(estimator), ""
    last = model
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    told: dict[str, Any] = {"preferences": kept}
    if data.qid is not None and has_fit_parameter(last, "qid"):
        told["qid"] = data.qid
    if data.groups is not None and has_fit_parameter(last, "groups"):
        groups = data.groups.codes[statements]
        told["groups"] = groups if len(np.unique(groups)) > 1 else None
    return model.fit(data.X, **{prefix + name: value for name, value in told.items()})


def scores_of_items(model: BaseEstimator, data: Statements) -> np.ndarray:
    """(m,) the predicted score of each item, checked."""
    scores = np.asarray(model.predict(data.X), dtype=float)
    if scores.shape != (data.queries.n_items,) or not np.isfinite(scores).all():
        raise ValueError(
            f"{type(model).__name__} must predict one finite score per item, got shape "
            f"{scores.shape}."
        )
    return scores


def hold_outs_of(estimator: BaseEstimator, data: Statements) -> StatementHoldOuts:
    """The cheapest exact way to hold statements out of the training of this estimator."""
    check_learns_preferences(estimator)
    if data.X is not None and has_closed_form(estimator):
        return estimator.hold_outs(data.X, preferences=data.preferences, qid=data.qid)
    return RefittedStatements(estimator, data)


def check_learns_preferences(estimator: BaseEstimator) -> None:
    """Refuse estimators whose `fit`, in a pipeline that of the last step, takes no preferences."""
    check_estimator(estimator)
    last = estimator
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if last is None or not has_fit_parameter(last, "preferences"):
        raise ValueError(
            f"{type(last).__name__} does not learn from preferences: its fit has no argument of "
            "that name. RankRLS, RankSVM, RankLogistic and their searches do."
        )


def judged_share(
    held_out: StatementHoldOuts, folds: PreferenceFolds, alpha: float = 0.0
) -> tuple[float, np.ndarray]:
    """The share of held-out statements in the right order, with one influence value per unit."""
    scores, influence = score_preferences(held_out, folds, [alpha])
    return float(scores[0, 0]), np.nan_to_num(influence[0, :, 0], nan=0.0)


def held_out_share(
    estimator: BaseEstimator, data: Statements, folds: PreferenceFolds
) -> tuple[float, np.ndarray]:
    """The same for an estimator; a search chooses again in each training set."""
    alpha = float(estimator.alpha) if has_closed_form(estimator) else 0.0
    return judged_share(hold_outs_of(estimator, data), folds, alpha)


@dataclass
class Exchanges:
    """What a permutation of statements exchanges, given what its folds hold out.

    For items that were never compared before (leave-item-out), the question is whether features
    tell anything about items: items change places, with everything that was said about them.
    Otherwise the question is whether the order of two items can be told: all statements about a
    pair of items (or all statements of a group) are turned round together, or none of them.
    """

    data: Statements
    folds: PreferenceFolds
    permuted: str = field(init=False)

    def __post_init__(self) -> None:
        self.permuted = f"winner and loser, within {self.folds.what}"
        if self.folds.kind == "leave-item-out":
            self.permuted = "items"

    @property
    def turns_statements(self) -> bool:
        return self.folds.kind != "leave-item-out"

    def turned(self, rng: np.random.RandomState) -> np.ndarray:
        """(l,) whether a statement is turned round."""
        return rng.randint(2, size=len(self.folds.units)).astype(bool)[self.folds.units.codes]

    def draw(self, rng: np.random.RandomState) -> Preferences:
        preferences = self.data.preferences
        if self.turns_statements:
            return preferences.exchanged(self.turned(rng))
        queries = self.data.queries
        place = np.empty(queries.n_items, dtype=np.intp)
        place[queries.order] = np.lexsort((rng.random_sample(queries.n_items), queries.codes))
        values = (preferences.magnitude, preferences.weight, queries.n_items, preferences.tie)
        return Preferences(place[preferences.winner], place[preferences.loser], *values)
