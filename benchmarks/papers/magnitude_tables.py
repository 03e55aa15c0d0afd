"""Cortes, Mohri, Rastogi 2007, Tables 1 and 2: squared, absolute and swapped differences.

    python -m benchmarks.papers.magnitude_tables [users=300] [repetitions=10]
    python -m benchmarks.papers.magnitude_tables [movielens=PATH] [books=PATH]

Section 4: half of the items that a test rater rated train, and half test. The features of an item
are its ratings by 300 reference raters of one density group; a missing rating is replaced by the
median of its rater. Figures are means over the test raters, then means and standard deviations over
repetitions with new reference and test raters. MPRank and SVRank have Gaussian kernels. Their
width, C and ε, and the rounds of RankBoost, are chosen once per column, for each method by its own
cost (squared difference, absolute difference, misranking), on hold-out raters who are in no test.
Three predictors learn nothing from the test rater; the paper has no such columns: the same score
for all items, the item's mean rating by the reference raters, and its mean by all other raters.

Of Jester only part 1 is used, in which every rater has at least 36 ratings: its first group is
36-40 here. MovieLens (ratings.dat of the 1M data, or any file of rater, item, rating) and
Book-Crossing (BX-Book-Ratings.csv) are read from the given paths. Netflix is no longer available.
"""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.papers import data, table
from rankwise import metrics
from rankwise.learners.mprank import MPRank
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.svrank import SVRank
from rankwise.numerics.threads import one_blas_thread

REFERENCE, HOLD_OUT, SEED = 300, 40, 0
TEST_RATINGS = 50, 300
"""Test raters rated between so many items (section 4.1, and by reference section 4.2)."""
GROUPS = {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)}
WIDTHS = 4.0 ** np.arange(-3, 4)
"""Gammas, in units of the inverse median squared distance of two items."""
CS = 10.0 ** np.arange(0, 6)
EPSILONS = (0.0, 0.05, 0.2, 0.8, 1.6)
"""The widths of SVRank's insensitive zone, in standard deviations of the ratings."""
GRIDS = {
    "MPRank": [{"C": C, "width": width} for C, width in product(CS, WIDTHS)],
    "SVRank": [
        {"C": C, "epsilon": epsilon, "width": width}
        for C, epsilon, width in product(CS, EPSILONS, WIDTHS[::2])
    ],
    "RankBoost": [{"n_rounds": int(rounds)} for rounds in 2 ** np.arange(0, 13)],
}
MEASURES = {
    "MSD": metrics.mean_squared_difference,
    "M1D": metrics.mean_absolute_difference,
    "misranking": metrics.misranking,
}
OWN_COST = {"MPRank": "MSD", "SVRank": "M1D", "RankBoost": "misranking"}
PAPER = {
    ("MovieLens", "20-40"): ((2.01, 2.43, 12.88), (1.04, 1.17, 2.59), (None, None, None)),
    ("MovieLens", "40-60"): ((2.02, 2.36, 20.06), (1.04, 1.15, 2.99), (0.471, None, 0.476)),
    ("MovieLens", "60-80"): ((2.07, 2.66, 21.35), (1.06, 1.24, 3.82), (0.442, None, 0.463)),
    ("Jester", "20-40"): ((51.34, 55.00, 77.08), (5.08, 5.40, 5.97), (0.414, None, 0.479)),
    ("Jester", "40-60"): ((46.77, 57.75, 80.00), (4.98, 5.27, 6.18), (0.418, None, 0.432)),
    ("Jester", "60-80"): ((49.33, 56.06, 88.61), (4.88, 5.25, 6.46), (None, None, None)),
    ("Books", "all"): ((4.00, 3.64, 7.58), (1.38, 1.32, 1.72), (None, None, None)),
}


def main(users: int = 300, repetitions: int = 10, movielens=None, books=None) -> None:
    if movielens:
        columns("MovieLens", matrix(*read_ratings(Path(movielens))), users, repetitions)
    if books:
        kept = book_crossing(*read_ratings(Path(books)))
        report("Books", "all", *leave_rater_out(matrix(*kept)))
    if not (movielens or books):
        columns("Jester", data.jester(), users, repetitions)


def columns(name: str, ratings, users: int, repetitions: int) -> None:
    """One table per density group, printed when it is ready."""
    with Parallel(n_jobs=2) as pool:
        tuned = pool(delayed(tune)(ratings, group) for group in GROUPS)
        for group, chosen in zip(GROUPS, tuned):
            seeds = [(SEED, 1, repetition) for repetition in range(repetitions)]
            runs = pool(delayed(repeat)(ratings, group, users, seed, chosen) for seed in seeds)
            size = f"{users} raters, {repetitions} repetitions"
            report(name, group, chosen, np.array(runs), size)


def tune(ratings, group: str) -> dict[str, dict]:
    """Parameters chosen on hold-out raters."""
    rng = np.random.default_rng((SEED, 0))
    with one_blas_thread():
        return choose(list(draw(ratings, group, hold_out(ratings)[0], HOLD_OUT, rng)))


def repeat(ratings, group: str, users: int, seed, chosen) -> np.ndarray:
    """(methods, measures) means over the test raters of one repetition."""
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        raters = draw(ratings, group, hold_out(ratings)[1], users, rng)
        return np.mean([judge(rater, chosen) for rater in raters], axis=0)


def hold_out(ratings) -> list[np.ndarray]:
    """Of the raters of 50 to 300 items, a tenth to choose parameters, and the others to test."""
    rated = np.isfinite(ratings).sum(axis=1)
    raters = np.flatnonzero((rated >= TEST_RATINGS[0]) & (rated <= TEST_RATINGS[1]))
    raters = np.random.default_rng(SEED).permutation(raters)
    return np.split(raters, [max(1, len(raters) // 10)])


def draw(ratings, group: str, raters, count: int, rng):
    """Up to `count` of the raters, in two halves, with features from new reference raters."""
    low, high = GROUPS[group]
    rated = np.isfinite(ratings).sum(axis=1)
    members = np.flatnonzero((rated >= low) & (rated <= high))
    reference = rng.choice(members, min(REFERENCE, len(members)), replace=False)
    features = filled(ratings[reference]).T
    few, totals = item_means(ratings[reference]), item_totals(ratings)
    for rater in rng.permutation(np.setdiff1d(raters, reference)):
        if count == 0:
            return
        own = ratings[rater]
        halves = halve(features, own, rng, (few, mean_of_others(totals, own)))
        if halves is not None:
            count -= 1
            yield halves


def item_means(ratings) -> np.ndarray:
    """The mean rating of every item; of an item without ratings the mean of all items."""
    counts = np.isfinite(ratings).sum(axis=0)
    means = np.nansum(ratings, axis=0) / np.maximum(counts, 1)
    return np.where(counts > 0, means, means[counts > 0].mean())


def item_totals(ratings) -> tuple[np.ndarray, np.ndarray]:
    return np.nansum(ratings, axis=0), np.isfinite(ratings).sum(axis=0)


def mean_of_others(totals, own) -> np.ndarray:
    """The mean rating of every item by all raters but one; 0 for an item that nobody else rated."""
    rated = np.isfinite(own)
    return (totals[0] - np.where(rated, own, 0.0)) / np.maximum(totals[1] - rated, 1)


def halve(features, ratings, rng, means=()):
    """(X, y) to train, (X, y) to test and the item means of the test half; None if one of the
    halves has no pair."""
    items = rng.permutation(np.flatnonzero(np.isfinite(ratings)))
    parts = np.array_split(items, 2)
    if len(items) < 4 or any(np.ptp(ratings[part]) == 0 for part in parts):
        return None
    halves = ((features[part], ratings[part]) for part in parts)
    return *halves, [mean[parts[1]] for mean in means]


def filled(ratings):
    """The ratings, with missing ones replaced by the median of the rater."""
    return np.where(np.isnan(ratings), np.nanmedian(ratings, axis=1, keepdims=True), ratings)


def predictions(method: str, rater, grid: list[dict]) -> list[np.ndarray]:
    """Scores of the test half for every entry of the grid.

    The entries share the distances of items, or one run of boosting.
    """
    (X, y), (X_test, _) = rater[:2]
    if method == "RankBoost":
        rounds = [options["n_rounds"] for options in grid]
        staged = list(RankBoost(max(rounds)).fit(X, y).staged_predict(X_test))
        return [
            staged[min(t, len(staged)) - 1] if staged else np.zeros(len(X_test)) for t in rounds
        ]
    distances = [euclidean_distances(items, X, squared=True) for items in (X, X_test)]
    unit = np.median(distances[0][np.triu_indices(len(X), 1)]) or 1.0
    scores = []
    for options in grid:
        K, K_test = (np.exp(-options["width"] / unit * squared) for squared in distances)
        learner = {"MPRank": MPRank, "SVRank": SVRank}[method](options["C"], kernel="precomputed")
        if method == "SVRank":
            learner.set_params(epsilon=options["epsilon"] * np.std(y))
        scores.append(learner.fit(K, y).predict(K_test))
    return scores


def choose(raters) -> dict[str, dict]:
    """The parameters with the least mean cost on hold-out raters, by the cost of each method."""
    chosen = {}
    for method, grid in GRIDS.items():
        cost = MEASURES[OWN_COST[method]]
        costs = [
            [cost(rater[1][1], scores) for scores in predictions(method, rater, grid)]
            for rater in raters
        ]
        chosen[method] = grid[int(np.argmin(np.mean(costs, axis=0)))]
    return chosen


def judge(rater, chosen) -> np.ndarray:
    """(methods and the predictors that learn nothing, measures) on the test half."""
    y = rater[1][1]
    scores = [predictions(method, rater, [options])[0] for method, options in chosen.items()]
    scores += [np.zeros(len(y)), *rater[2]]
    return np.array([[cost(y, s) for cost in MEASURES.values()] for s in scores])


def leave_rater_out(ratings):
    """Section 4.4: each rater in turn, with the ratings of all others as features.

    Parameters are chosen on halves of the training ratings.
    """
    rng = np.random.default_rng(SEED)
    complete = filled(ratings)
    totals, raters = item_totals(ratings), []
    for rater, own in enumerate(ratings):
        mean = mean_of_others(totals, own)
        raters.append(halve(np.delete(complete, rater, axis=0).T, own, rng, (mean, mean)))
    raters = [rater for rater in raters if rater is not None]
    inner = [halve(*rater[0], rng) for rater in raters]
    chosen = choose([rater for rater in inner if rater is not None][:HOLD_OUT])
    return chosen, np.array([judge(rater, chosen) for rater in raters])


def report(name: str, group: str, chosen: dict, results: np.ndarray, size="all raters") -> None:
    """Print results (repetitions, methods, measures) beside the paper's figures."""
    rows = []
    for k, measure in enumerate(MEASURES):
        means, spreads = results[..., k].mean(axis=0), results[..., k].std(axis=0, ddof=1)
        digits = 2 if measure != "misranking" else 3
        ours = [f"{mean:.{digits}f} ± {spread:.{digits}f}" for mean, spread in zip(means, spreads)]
        if measure == "misranking":
            ours[len(chosen)] = None
        rows.append((measure, "ours", *ours))
        theirs = [None if value is None else f"{value:g}" for value in PAPER[name, group][k]]
        rows.append(("", "paper", *theirs, None, None, None))
    trivial = ("constant", "item mean, reference raters", "item mean, all other raters")
    table.show(f"{name} {group}, {size}", ("", "", *chosen, *trivial), rows)
    parameters = [
        f"{method} " + ", ".join(f"{key} = {value:g}" for key, value in options.items())
        for method, options in chosen.items()
    ]
    table.note(f"Chosen on the hold-out raters: {'; '.join(parameters)}.")


def read_ratings(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of raters and items, and the ratings, from lines of rater, item, rating.

    Fields are separated by "::", ";", a tab or a comma, and may be quoted. Headers and broken lines
    are skipped.
    """
    rows = []
    with path.open(encoding="latin-1") as lines:
        for line in lines:
            fields = re.split(r"::|;|\t|,", line.replace('"', ""))
            if len(fields) >= 3 and re.fullmatch(r"\s*\d+(\.\d+)?\s*", fields[2]):
                rows.append(fields[:3])
    if not rows:
        raise SystemExit(f"{path}: no line has the form rater, item, rating.")
    raters, items = (np.unique([row[k] for row in rows], return_inverse=True)[1] for k in (0, 1))
    return raters, items, np.array([float(row[2]) for row in rows])


def book_crossing(raters, items, ratings):
    """Section 4.4: raters of at least 200 books, then books with at least 10 ratings.

    A zero means that a book was looked at, not that it was rated.
    """
    kept = ratings > 0
    for code, least in ((raters, 200), (items, 10)):
        kept &= (np.bincount(code, kept) >= least)[code]
    return raters[kept], items[kept], ratings[kept]


def matrix(raters, items, ratings) -> np.ndarray:
    """(raters, items) ratings, nan for missing ratings."""
    rows, columns = (np.unique(code, return_inverse=True)[1] for code in (raters, items))
    found = np.full((rows.max() + 1, columns.max() + 1), np.nan)
    found[rows, columns] = ratings
    return found


if __name__ == "__main__":
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    numbers = {key: int(words.pop(key)) for key in ("users", "repetitions") if key in words}
    main(**numbers, **words)
