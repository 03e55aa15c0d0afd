"""Held-out log-loss and accuracy on votes, against Bradley-Terry, Elo and logistic regression.

Every method is trained on the same statements and judged on the same held-out ones. What a method
chooses, it chooses by cross-validation inside the training statements. Elo's step, the prior of
Bradley-Terry and scikit-learn's C are the usual defaults, set before the data were seen.

football     100 teams of five English seasons; a team is an item of each season it plays. Folds of
             pairs of teams: both games of two teams in a season leave together. Features: points
             per game of the team in the season before, and whether it played in it.
icehockey    US colleges 2009-10, in order of time: trained on the games before a date, judged on
             the games of the next fifth. Features: mean goals for and against per training game.
flatlizards  contests of lizards with measurements of each animal. Folds of pairs.
(Turner and Firth 2012, BradleyTerry2.)

    python -m benchmarks.papers.votes_compared
"""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.papers import data, table
from rankwise import Preferences, PreferenceWarning, RankLogistic, RankLogisticCV

ELO_STEP, ELO_SCALE = 32.0, 400.0 / np.log(10)
PRIOR = 0.01
"""The alpha of Bradley-Terry: nearly maximum likelihood, but finite for items that never lose."""
FOLDS = 10


@dataclass
class Votes:
    """Votes a against b with result 1, ½ or 0 for a; features of the items seen from `train`."""

    a: np.ndarray
    b: np.ndarray
    result: np.ndarray
    m: int
    features: object  # a function of the training statements
    splits: list[tuple[np.ndarray, np.ndarray]]
    ordered: bool  # whether a has a place of its own: the home team

    def said(self, rows: np.ndarray) -> Preferences:
        names = np.array([f"i{i:04d}" for i in range(self.m)])
        return Preferences.from_votes(
            names[self.a[rows]], names[self.b[rows]], self.result[rows], items=names
        )


def main() -> None:
    warnings.simplefilter("ignore", PreferenceWarning)
    for name, votes in (
        ("football", football()),
        ("icehockey", icehockey()),
        ("flatlizards", flatlizards()),
    ):
        losses = {method: np.full(len(votes.a), np.nan) for method in METHODS}
        right = {method: np.full(len(votes.a), np.nan) for method in METHODS}
        for train, test in votes.splits:
            for method, fit in METHODS.items():
                p = np.clip(fit(votes, train)[test], 1e-12, 1 - 1e-12)
                y = votes.result[test]
                losses[method][test] = -(y * np.log(p) + (1 - y) * np.log1p(-p))
                likelier = np.where(p == 0.5, 0.5, p > 0.5)
                right[method][test] = np.where(y == 0.5, 0.5, likelier == y)
        show(name, votes, losses, right)


def show(name: str, votes: Votes, losses: dict, right: dict) -> None:
    judged = np.flatnonzero(np.isfinite(losses["Bradley-Terry"]))
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    _, pair = np.unique((low * votes.m + high)[judged], return_inverse=True)
    rows = []
    for method in METHODS:
        loss, base = losses[method][judged], losses["Bradley-Terry"][judged]
        mean, error = clustered(loss - base, pair)
        against = "" if method == "Bradley-Terry" else f"{mean:+.4f} ± {error:.4f}"
        accuracy, spread = clustered(right[method][judged], pair)
        rows.append((method, f"{loss.mean():.4f}", against, f"{accuracy:.3f} ± {spread:.3f}"))
    decided = int((votes.result[judged] != 0.5).sum())
    title = f"{name}: {len(judged)} held-out statements, {len(judged) - decided} of them ties"
    table.show(title, ("", "log-loss", "minus Bradley-Terry", "accuracy"), rows)


def clustered(values: np.ndarray, pair: np.ndarray) -> tuple[float, float]:
    """The mean, and its standard error over pairs of items."""
    mean, n = float(values.mean()), pair.max() + 1
    sums = np.bincount(pair, values - mean)
    return mean, float(np.sqrt((sums @ sums) * n / (n - 1)) / len(values))


def _probabilities(votes: Votes, model, X: np.ndarray | None) -> np.ndarray:
    return np.asarray(model.preference_proba(X, np.column_stack((votes.a, votes.b))))


def bradley_terry(votes: Votes, train: np.ndarray) -> np.ndarray:
    """Items without features, no advantage of place, a prior that hardly shrinks."""
    model = RankLogistic(PRIOR, max_iter=500).fit(None, preferences=votes.said(train))
    return _probabilities(votes, model, None)


def with_place(votes: Votes, train: np.ndarray) -> np.ndarray:
    """The same with an advantage of the home team, where there is one."""
    model = RankLogistic(PRIOR, order_effect=votes.ordered, max_iter=500)
    return _probabilities(votes, model.fit(None, preferences=votes.said(train)), None)


def elo(votes: Votes, train: np.ndarray) -> np.ndarray:
    """Ratings updated game by game in the order of the file."""
    rating = np.zeros(votes.m)
    for i in train:
        a, b = votes.a[i], votes.b[i]
        expected = 1 / (1 + np.exp(-(rating[a] - rating[b]) / ELO_SCALE))
        rating[a] += ELO_STEP * (votes.result[i] - expected)
        rating[b] -= ELO_STEP * (votes.result[i] - expected)
    return 1 / (1 + np.exp(-(rating[votes.a] - rating[votes.b]) / ELO_SCALE))


def regression_on_differences(votes: Votes, train: np.ndarray) -> np.ndarray:
    """scikit-learn's LogisticRegression; a tie is half a win each way, the intercept the place."""
    X = standardised(votes.features(train))
    D = X[votes.a] - X[votes.b]
    y = votes.result[train]
    rows = np.concatenate((D[train], D[train]))
    labels = np.repeat([1, 0], len(train))
    weight = np.concatenate((y, 1 - y))
    if not votes.ordered:  # without a place, the sign of a difference says nothing: both count
        rows, labels = np.concatenate((rows, -rows)), np.concatenate((labels, 1 - labels))
        weight = np.concatenate((weight, weight)) / 2
    model = LogisticRegression(C=1.0, fit_intercept=votes.ordered, max_iter=2000)
    model.fit(rows, labels, sample_weight=weight)
    return model.predict_proba(D)[:, 1]


def own_strengths(votes: Votes, train: np.ndarray) -> np.ndarray:
    """rankwise without features: alpha by log-loss of held-out pairs, an effect of the place."""
    model = RankLogisticCV(scoring="log-loss", order_effect=votes.ordered, max_iter=500)
    return _probabilities(votes, model.fit(None, preferences=votes.said(train)), None)


def with_features(votes: Votes, train: np.ndarray) -> np.ndarray:
    """rankwise with features and own strengths of equal prior variance, alpha chosen likewise."""
    X = standardised(votes.features(train))
    model = RankLogisticCV(
        scoring="log-loss", item_effect=1.0, order_effect=votes.ordered, max_iter=500
    )
    return _probabilities(votes, model.fit(X, preferences=votes.said(train)), X)


METHODS = {
    "Bradley-Terry": bradley_terry,
    "Bradley-Terry with home advantage": with_place,
    "Elo": elo,
    "regression on differences": regression_on_differences,
    "rankwise, own strengths": own_strengths,
    "rankwise, features and own strengths": with_features,
}


def standardised(X: np.ndarray) -> np.ndarray:
    """Deviations from the mean; missing values are the mean, constant columns stay 0."""
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def folds_of_pairs(a: np.ndarray, b: np.ndarray, m: int) -> list[tuple[np.ndarray, np.ndarray]]:
    _, pair = np.unique(np.minimum(a, b) * m + np.maximum(a, b), return_inverse=True)
    fold = np.random.default_rng(0).permutation(pair.max() + 1)[pair] % FOLDS
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(FOLDS)]


def football() -> Votes:
    rows = _read("football.csv")
    seasons = list(dict.fromkeys(row["season"] for row in rows))
    names = sorted({(row["season"], row[side]) for row in rows for side in ("home", "away")})
    number = {name: i for i, name in enumerate(names)}
    a, b = (
        np.array([number[row["season"], row[side]] for row in rows]) for side in ("home", "away")
    )
    result = np.array([(float(row["result"]) + 1) / 2 for row in rows])
    points = np.zeros(len(names))
    games = np.bincount(a, minlength=len(names)) + np.bincount(b, minlength=len(names))
    for side, y in ((a, result), (b, 1 - result)):
        np.add.at(points, side, np.where(y == 1, 3.0, np.where(y == 0.5, 1.0, 0.0)))
    X = np.zeros((len(names), 2))
    for (season, team), i in number.items():
        at = seasons.index(season)
        before = number.get((seasons[at - 1], team)) if at else None
        X[i] = (np.nan, 0.0) if before is None else (points[before] / games[before], 1.0)
    later = np.array([row["season"] != seasons[0] for row in rows])
    splits = [
        (train[later[train]], test[later[test]]) for train, test in folds_of_pairs(a, b, len(names))
    ]
    return Votes(a, b, result, len(names), lambda train: X, splits, True)


def icehockey() -> Votes:
    rows = sorted(_read("icehockey.csv"), key=lambda row: row["date"])
    names = sorted({row[side] for row in rows for side in ("visitor", "opponent")})
    number = {name: i for i, name in enumerate(names)}
    a = np.array([number[row["opponent"]] for row in rows])  # the home team
    b = np.array([number[row["visitor"]] for row in rows])
    result = 1 - np.array([float(row["result"]) for row in rows])
    goals = np.array([[float(row["o_goals"]), float(row["v_goals"])] for row in rows])
    m = len(names)

    def features(train: np.ndarray) -> np.ndarray:
        made, let, games = np.zeros(m), np.zeros(m), np.zeros(m)
        for side, own, other in ((a, 0, 1), (b, 1, 0)):
            np.add.at(made, side[train], goals[train, own])
            np.add.at(let, side[train], goals[train, other])
            np.add.at(games, side[train], 1)
        with np.errstate(invalid="ignore"):
            return np.column_stack((made / games, let / games))

    # The games of one date lie in one part: whoever trains on a date has not seen the next one.
    dates = np.array([row["date"] for row in rows])
    cuts = [np.searchsorted(dates, dates[int(len(rows) * share)]) for share in (0.4, 0.6, 0.8)]
    ends = [*cuts[1:], len(rows)]
    splits = [(np.arange(start), np.arange(start, end)) for start, end in zip(cuts, ends)]
    return Votes(a, b, result, m, features, splits, True)


def flatlizards() -> Votes:
    predictors = _read("flatlizards_predictors.csv")
    number = {row["lizard"]: i for i, row in enumerate(predictors)}
    contests = _read("flatlizards_contests.csv")
    a = np.array([number[row["winner"]] for row in contests])
    b = np.array([number[row["loser"]] for row in contests])
    measured = [name for name in predictors[0] if name not in ("lizard", "repro.tactic")]
    X = np.array([[_number(row[name]) for name in measured] for row in predictors])
    tactic = np.array([float(row["repro.tactic"] == "resident") for row in predictors])
    X = np.column_stack((X, tactic))
    turned = np.random.default_rng(0).random(len(a)) < 0.5  # the file lists the winner first
    a, b = np.where(turned, (b, a), (a, b))
    m = len(predictors)
    return Votes(a, b, (~turned).astype(float), m, lambda train: X, folds_of_pairs(a, b, m), False)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _read(name: str) -> list[dict[str, str]]:
    path = data.folder("votes") / name
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
