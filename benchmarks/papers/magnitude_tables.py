"""Cortes, Mohri, Rastogi 2007, Tables 1 and 2: squared, absolute and swapped differences.

    python -m benchmarks.papers.magnitude_tables [users=300] [repetitions=10] [movielens=PATH]
        [books=PATH]

Section 4: for each test rater half of the items that they rated train and half test. The features
of an item are its ratings by 300 reference raters of one density group, a rater's median where the
rating is missing. Mean over the test raters, then mean and standard deviation over repetitions with
new reference and test raters. MPRank and SVRank have Gaussian kernels; their width, C and ε, and
the rounds of RankBoost, are chosen on hold-out raters, each method for its own cost (squared
difference, absolute difference, misranking), once a column.

Jester is part 1 alone, where no rater has fewer than 36 ratings: its first group is 36-40 here.
MovieLens (ratings.dat of the 1M set) and Book-Crossing (BX-Book-Ratings.csv) are read from the
paths given; Netflix is no longer to be had.
"""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist

from benchmarks.papers import data, table
from rankwise import metrics
from rankwise.learners.mprank import MPRank
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.svrank import SVRank
from rankwise.threads import one_blas_thread

REFERENCE, HOLD_OUT, SEED = 300, 40, 0
GROUPS = {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)}
WIDTHS = 4.0 ** np.arange(-3, 4)
"""Gammas, in units of 1 over the median squared distance of two items."""
CS = 10.0 ** np.arange(0, 5)
GRIDS = {
    "MPRank": [{"C": C, "width": width} for C, width in product(CS, WIDTHS)],
    "SVRank": [
        {"C": C, "epsilon": epsilon, "width": width}
        for C, epsilon, width in product(CS[:4], (0.02, 0.2), WIDTHS[::2])
    ],
    "RankBoost": [{"n_rounds": rounds} for rounds in (4, 16, 64, 256)],
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
    sets = {"Jester": data.jester()}
    if movielens:
        sets["MovieLens"] = rating_matrix(Path(movielens), "::")
    for name, ratings in sets.items():
        jobs = [(group, bounds) for group, bounds in GROUPS.items()]
        done = Parallel(n_jobs=2)(
            delayed(column)(ratings, bounds, users, repetitions) for _, bounds in jobs
        )
        for (group, _), (chosen, results) in zip(jobs, done):
            report(name, group, chosen, results)
    if books:
        report("Books", "all", *leave_rater_out(rating_matrix(Path(books), ";")))


def column(ratings, bounds, users: int, repetitions: int):
    """Chosen parameters, and (repetitions, methods, measures) means over the test raters."""
    rng = np.random.default_rng(SEED)
    with one_blas_thread():
        chosen = choose(list(draw(ratings, bounds, HOLD_OUT, rng)))
        runs = [
            np.mean([judge(rater, chosen) for rater in draw(ratings, bounds, users, rng)], axis=0)
            for _ in range(repetitions)
        ]
    return chosen, np.array(runs)


def draw(ratings, bounds, count: int, rng):
    """Test raters of 50 to 300 ratings with the features of new reference raters."""
    rated = np.isfinite(ratings).sum(axis=1)
    group = np.flatnonzero((rated >= bounds[0]) & (rated <= bounds[1]))
    reference = rng.choice(group, min(REFERENCE, len(group)), replace=False)
    features = filled(ratings[reference]).T
    others = np.setdiff1d(np.flatnonzero((rated >= 50) & (rated <= 300)), reference)
    for rater in rng.permutation(others):
        if count == 0:
            return
        halves = halve(features, ratings[rater], rng)
        if halves is not None:
            count -= 1
            yield halves


def halve(features, ratings, rng):
    """(X, y) to train and (X, y) to test; None where one of them has no pair."""
    items = rng.permutation(np.flatnonzero(np.isfinite(ratings)))
    parts = np.array_split(items, 2)
    if any(np.ptp(ratings[part]) == 0 for part in parts):
        return None
    return tuple((features[part], ratings[part]) for part in parts)


def filled(ratings):
    """A rater's own median where there is no rating."""
    return np.where(np.isnan(ratings), np.nanmedian(ratings, axis=1, keepdims=True), ratings)


def predictions(method: str, rater, parameters: dict) -> np.ndarray:
    (X, y), (X_test, _) = rater
    if method == "RankBoost":
        return RankBoost(**parameters).fit(X, y).predict(X_test)
    options = dict(parameters)
    gamma = options.pop("width") / np.median(pdist(X, "sqeuclidean"))
    learner = MPRank if method == "MPRank" else SVRank
    if method == "SVRank":
        options["epsilon"] *= np.std(y)
    return learner(**options, kernel="rbf", gamma=gamma).fit(X, y).predict(X_test)


def choose(raters) -> dict[str, dict]:
    """The parameters of least mean cost on hold-out raters, each method by its own."""
    chosen = {}
    for method, grid in GRIDS.items():
        cost = MEASURES[OWN_COST[method]]
        means = [
            np.mean([cost(rater[1][1], predictions(method, rater, options)) for rater in raters])
            for options in grid
        ]
        chosen[method] = grid[int(np.argmin(means))]
    return chosen


def judge(rater, chosen) -> np.ndarray:
    """(methods, measures) on the test half."""
    scores = [predictions(method, rater, options) for method, options in chosen.items()]
    return np.array([[cost(rater[1][1], s) for cost in MEASURES.values()] for s in scores])


def leave_rater_out(ratings):
    """Section 4.4: every rater in turn, all others as features; spread over raters."""
    rng = np.random.default_rng(SEED)
    complete = filled(ratings)
    raters = [
        halve(np.delete(complete, rater, axis=0).T, ratings[rater], rng)
        for rater in range(len(ratings))
    ]
    raters = [rater for rater in raters if rater is not None]
    chosen = choose(raters[:HOLD_OUT])
    return chosen, np.array([judge(rater, chosen) for rater in raters])


def report(name: str, group: str, chosen: dict, results: np.ndarray) -> None:
    """results (repetitions, methods, measures) beside the paper's."""
    rows = []
    for k, measure in enumerate(MEASURES):
        means, spreads = results[..., k].mean(axis=0), results[..., k].std(axis=0, ddof=1)
        ours = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(means, spreads)]
        rows.append((measure, "ours", *ours))
        rows.append(("", "paper", *PAPER[name, group][k]))
    table.show(f"{name} {group}", ("", "", *chosen), rows)
    for method, options in chosen.items():
        print(f"  {method}: " + ", ".join(f"{key} = {value:g}" for key, value in options.items()))


def rating_matrix(path: Path, separator: str) -> np.ndarray:
    """(raters, items), nan where not rated, from lines of rater, item, rating.

    Book-Crossing's zeros are visits, not ratings; of it, as in section 4.4, raters of 200 books and
    books of 10 ratings stay.
    """
    rows = [re.sub('"', "", line).split(separator)[:3] for line in path.open(encoding="latin-1")]
    is_books = separator == ";"
    rows = [row for row in rows if len(row) == 3 and row[2].strip().isdigit()]
    rows = [row for row in rows if not is_books or int(row[2]) > 0]
    raters, places = np.unique([row[0] for row in rows], return_inverse=True)
    values = np.array([float(row[2]) for row in rows])
    if is_books:
        kept = np.bincount(places)[places] >= 200
        rows = [row for row, keep in zip(rows, kept) if keep]
        raters, places = np.unique([row[0] for row in rows], return_inverse=True)
        values = values[kept]
    items, columns = np.unique([row[1] for row in rows], return_inverse=True)
    matrix = np.full((len(raters), len(items)), np.nan)
    matrix[places, columns] = values
    if is_books:
        matrix = matrix[:, np.isfinite(matrix).sum(axis=0) >= 10]
        matrix = matrix[np.isfinite(matrix).sum(axis=1) >= 4]
    return matrix


if __name__ == "__main__":
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    numbers = {key: int(words.pop(key)) for key in ("users", "repetitions") if key in words}
    main(**numbers, **words)
