"""From votes to a leaderboard: strengths with intervals, ranks, and what the votes cannot tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from rankwise.evaluation.transitivity import FEWEST_GROUPS, transitivity_test
from rankwise.exceptions import PreferenceWarning, UndefinedMetric
from rankwise.learners.rank_logistic import RankLogistic
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.board_notes import notes_on, on_filled
from rankwise.workflow.covariate_worth import FeatureModel, fit_with_features
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.standings import (
    BoardOptions,
    Leaderboard,
    Newcomer,
    OrderTest,
    Question,
    Standing,
)

MOST_ITEMS = 10_000
"""Ranks and intervals need the covariance of all items: 800 MB and minutes for so many."""
STRONGEST = 500
"""Probabilities, and pairs to ask next, are about so many items, the strongest ones."""
MOST_TESTED, DRAWS = 500, 999
"""Up to so many items, so many sets of votes are drawn to see whether there is an order."""
SMALLEST_CATEGORY = 10
"""Categories with fewer votes have no board of their own."""


class _Fitted(NamedTuple):
    """A model of the compared items, with the features that it uses, if there are any."""

    model: RankLogistic
    features: FeatureModel | None = None


def build_board(
    votes: Preferences,
    options: BoardOptions | None = None,
    *,
    items: Items | None = None,
    category: np.ndarray | None = None,
    progress: Callable[[str], Any] = lambda text: None,
) -> Leaderboard:
    """The board of votes that know the names of their items.

    `items` are features of all items, in the order of `votes.items`. `category` (l,) labels the
    votes. `progress` is told what is being done. Judges of the votes, if known, are what intervals
    count. O(l + m³) for m items.
    """
    options = options or BoardOptions()
    assert votes.items is not None
    compared = np.zeros(len(votes.items), dtype=bool)
    compared[votes.winner] = compared[votes.loser] = True
    if compared.sum() > MOST_ITEMS:
        raise ValueError(
            f"a leaderboard has at most {MOST_ITEMS:,} items, because its intervals need the "
            f"covariance of all of them, and these votes are about {compared.sum():,}: "
            "rankwise.RankLogistic(alpha).fit(None, preferences=votes) gives their strengths."
        )
    known, new = np.flatnonzero(compared), np.flatnonzero(~compared)
    told = votes.take(known)
    progress("fitting strengths")
    fitted = _fit(told, options, items, known)
    progress("simulating ranks")
    standings = _standings(told, fitted.model)
    board = Leaderboard(standings, _win_matrix(fitted.model))
    progress("choosing pairs to ask next")
    board.questions = _questions(told, fitted.model, options.n_next)
    if fitted.features is not None and items is not None:
        board.covariates = fitted.features.worth()
        board.newcomers = _newcomers(standings, fitted.features, items, new)
    if category is not None:
        board.categories = _by_category(told, options, category, progress)
    progress("looking for cycles")
    board.transitivity = _transitivity(told)
    board.counts = _counts(told, new)
    board.model = _about(fitted, options)
    board.notes = notes_on(told, fitted.model, options, votes.never_compared, items is not None)
    if board.transitivity is not None:
        board.notes.insert(0, f"{board.transitivity}")
    if fitted.features is not None:
        board.notes += on_filled(fitted.features.filled)
    if len(known) > STRONGEST:
        board.notes.append(
            f"Probabilities, and pairs to ask next, are about the {STRONGEST} strongest items."
        )
    return board


def _fit(
    votes: Preferences, options: BoardOptions, items: Items | None, known: np.ndarray
) -> _Fitted:
    model = RankLogistic(
        options.alpha, order_effect=options.order_effect, ties=options.ties, max_iter=200
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreferenceWarning)  # the notes say it with names
        if items is None:
            return _Fitted(model.fit(None, preferences=votes, groups=votes.judge))
        features = fit_with_features(model, items, known, votes)
    return _Fitted(features.model, features)


def _order(model: RankLogistic) -> np.ndarray:
    return np.argsort(-model.strengths_, kind="stable")


def _standings(votes: Preferences, model: RankLogistic) -> list[Standing]:
    """The items from the strongest to the weakest."""
    strengths, intervals = model.strengths_, model.score_intervals()
    if votes.judge is not None and model.item_effect:  # a sandwich does not know the prior
        others = model.score_intervals(robust=False)
        wider = np.ptp(others, axis=1) > np.ptp(intervals, axis=1)
        intervals = np.where(wider[:, None], others, intervals)
    ranks, centre = model.rank_intervals(), float(model.strengths_.mean())
    m = len(strengths)
    weight, half = votes.weight, np.where(votes.tie, 0.5, 0.0)
    wins = np.bincount(votes.winner, weight * (1 - half), minlength=m)
    wins += np.bincount(votes.loser, weight * half, minlength=m)
    number = np.bincount(votes.winner, weight, minlength=m)
    number += np.bincount(votes.loser, weight, minlength=m)
    assert votes.items is not None
    return [
        Standing(
            str(votes.items[i]),
            place,
            float(strengths[i] - centre),
            float(intervals[i, 0] - centre),
            float(intervals[i, 1] - centre),
            int(ranks[i, 0]),
            int(ranks[i, 1]),
            _whole(number[i]),
            _whole(wins[i]),
        )
        for place, i in enumerate(_order(model), 1)
    ]


def _whole(number: float) -> float:
    return int(number) if float(number).is_integer() else float(number)


def _win_matrix(model: RankLogistic) -> np.ndarray:
    """The probability that the item of the row beats that of the column, without order effect.

    With a model of ties, half of the probability of a tie is added. Of the strongest items only,
    if there are many.
    """
    order = _order(model)[:STRONGEST]
    m = len(order)
    pairs = np.stack(np.meshgrid(order, order, indexing="ij"), axis=-1).reshape(-1, 2)
    different = pairs[:, 0] != pairs[:, 1]
    chance = np.full(m * m, 0.5)
    said = model.preference_proba(None, pairs[different], neutral=True)
    chance[different] = said if said.ndim == 1 else said[:, 0] + said[:, 1] / 2
    return chance.reshape(m, m)


def _questions(votes: Preferences, model: RankLogistic, n: int) -> list[Question]:
    m = len(model.strengths_)
    if m < 2 or n < 1:
        return []
    strongest = np.sort(_order(model)[:STRONGEST])
    first, second = np.triu_indices(len(strongest), 1)
    among = np.column_stack((strongest[first], strongest[second]))
    pairs = model.next_pairs(n=min(n, len(among)), candidates=among)
    said = model.preference_proba(None, pairs, neutral=True)
    chance = said if said.ndim == 1 else said[:, 0] + said[:, 1] / 2
    assert votes.items is not None
    asked = _asked(votes, pairs, m)
    names = votes.items.astype(object)
    return [
        Question(str(names[a]), str(names[b]), _whole(times), float(p))
        for (a, b), times, p in zip(pairs, asked, chance)
    ]


def _asked(votes: Preferences, pairs: np.ndarray, m: int) -> np.ndarray:
    """(p,) the weight of the votes about each pair."""
    keys = np.minimum(votes.winner, votes.loser) * m + np.maximum(votes.winner, votes.loser)
    wanted = pairs.min(axis=1) * m + pairs.max(axis=1)
    return np.array([votes.weight[keys == key].sum() for key in wanted])


def _transitivity(votes: Preferences) -> OrderTest | None:
    """Whether the votes have an order; None if they hold no cycle, or too little for the test."""
    if len(votes.items if votes.items is not None else []) > MOST_TESTED:
        return None
    counted = np.flatnonzero(votes.weight > 0)
    judges = None if votes.judge is None else np.asarray(votes.judge)[counted]
    if judges is not None and len(np.unique(judges)) < FEWEST_GROUPS:
        return None
    try:
        found = transitivity_test(
            votes.subset(counted), groups=judges, n_permutations=DRAWS, random_state=0
        )
    except UndefinedMetric:
        return None
    shares = (found.cyclic_share, found.expected_share)
    return OrderTest(*shares, found.p_value, found.order_p_value, found.units)


def _newcomers(
    standings: list[Standing], features: FeatureModel, items: Items, new: np.ndarray
) -> list[Newcomer]:
    """Items without votes, best first; their ranks are those that intervals leave open."""
    if not len(new):
        return []
    strength, error = features.predict(new)
    low, high = (np.array([getattr(one, end) for one in standings]) for end in ("low", "high"))
    rows = []
    for i in np.argsort(-strength, kind="stable"):
        reach = features.quantile * error[i]
        weakest, strongest = float(strength[i] - reach), float(strength[i] + reach)
        first, last = 1 + int((low > strongest).sum()), 1 + int((high >= weakest).sum())
        name = str(items.names[new[i]])
        rows.append(Newcomer(name, float(strength[i]), weakest, strongest, first, last))
    return rows


def _by_category(
    votes: Preferences,
    options: BoardOptions,
    category: np.ndarray,
    progress: Callable[[str], Any],
) -> dict[str, list[Standing]]:
    """The board of each category, from its votes alone; the categories with most votes first."""
    by_name = Queries.from_labels(category, len(votes), "category", "vote")
    boards = {}
    for number in np.argsort(-by_name.sizes, kind="stable"):
        name = str(by_name.labels[number])
        part = votes.subset(by_name.members(number))
        if len(part) < SMALLEST_CATEGORY:
            continue
        progress(f"category {name}")
        inside = part.take(np.unique(np.concatenate((part.winner, part.loser))))
        if inside.judge is not None and len(np.unique(inside.judge)) < 2:
            inside.judge = None
        boards[name] = _standings(inside, _fit(inside, options, None, np.zeros(0)).model)
    return boards


def _counts(votes: Preferences, new: np.ndarray) -> dict[str, Any]:
    judges = 0 if votes.judge is None else len(Queries.from_labels(votes.judge, len(votes)))
    found = {"votes": len(votes), "items": int(votes.n_items or 0), "ties": votes.n_ties}
    return {**found, "judges": judges, "without_votes": len(new)}


def _about(fitted: _Fitted, options: BoardOptions) -> dict[str, Any]:
    model = fitted.model
    about = {**asdict(options), "level": 0.95}
    about["order_effect_"], about["tie_effect_"] = model.order_effect_, model.tie_effect_
    if fitted.features is not None:
        about["own_strength_sd"] = float(np.sqrt(fitted.features.own_variance))
    return {name: float(v) if isinstance(v, np.floating) else v for name, v in about.items()}
