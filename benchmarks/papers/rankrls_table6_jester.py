"""Pahikkala et al. 2009, Table 6: disagreement error of three costs, RankSVM and RLS on Jester.

Section 5.5 follows the set-up of Cortes, Mohri, Rastogi 2007, section 4: active users have 50 to
300 ratings. Half of the jokes that each of 300 active users rated train, and half test. The
features of a joke are its ratings by 300 reference users; a missing rating is replaced by the
median of its user. Reference users are drawn from those with 20-40, 40-60 or 60-80 ratings, or from
all. The kernel is Gaussian. For each method and column, gamma and alpha from 2^-15 .. 2^15 have the
smallest mean error over 150 hold-out users, who are drawn and halved like the active users and
differ from them. RankSVM has no shortcut for a grid of two parameters: for it gamma is every second
power, and alpha (of its mean loss) is 4^-9 .. 4^3.

Every user in part 1 of Jester has at least 36 ratings, so the first column is 36-40 here. All
gammas whose kernel is the identity to rounding give the same model, so only one of them is
computed. The error is that of equation 1, in which a tied pair is wrong. Two predictors learn
nothing from the active user: the mean rating of a joke by the reference users, and by all users
except the active one.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import wilcoxon
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers import data, table
from benchmarks.papers.magnitude_tables import TEST_RATINGS
from rankwise import RLS, RankRLS
from rankwise.losses.hinge import ScoreHinge
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.bundle import BundleSolver
from rankwise.supervision.queries import Queries

ALPHAS = 2.0 ** np.arange(15, -16, -1)  # descending: the largest of equally good alphas is chosen
GAMMAS = 2.0 ** np.arange(-15, 16)
SVM_ALPHAS = 4.0 ** np.arange(3, -10, -1)
ACTIVE, HOLD_OUT, REFERENCE, SEED = 300, 150, 300, 0
SIZES = {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80), "all sizes": (0, 100)}


class CentredRLS(RLS):
    """RLS on ratings minus their mean over the training half: a simple intercept."""

    def fit(self, X, y):
        return super().fit(X, y - y.mean())


class HingePath:
    """RankSVM on a kernel matrix, for descending alphas, each from the solution before."""

    def path_scores(self, K, K_test, y, alphas) -> np.ndarray:
        """(test items, alphas) scores."""
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-10 * values[-1]
        roots = np.sqrt(values[kept])
        solver = BundleSolver(vectors[:, kept] * roots, ScoreHinge(y, one_query(len(y))))
        features, start, found = K_test @ (vectors[:, kept] / roots), None, []
        for alpha in alphas:
            start = solver.solve(alpha, start=start, tol=1e-3).w
            found.append(features @ start)
        return np.column_stack(found)


def one_query(m: int) -> Queries:
    return Queries.from_labels(None, m)


METHODS = {
    "RankRLS (20) unit": RankRLS(loss="unit", kernel="precomputed"),
    "RankRLS (21) magnitude": RankRLS(loss="magnitude", ties="drop", kernel="precomputed"),
    "RankRLS (21) all pairs": RankRLS(loss="magnitude", ties="keep", kernel="precomputed"),
    "RankRLS (22) relative": RankRLS(loss="relative", kernel="precomputed"),
    "RankSVM": HingePath(),
    "RLS": RLS(kernel="precomputed"),
    "RLS, ratings centred": CentredRLS(kernel="precomputed"),
}
BASE = "RankRLS (21) magnitude"
PAPER = {
    "RankRLS (20) unit": (0.413, 0.400, 0.378, 0.371),
    "RankRLS (21) magnitude": (0.413, 0.400, 0.379, 0.371),
    "RankRLS (22) relative": (0.445, 0.426, 0.388, 0.379),
    "RankSVM": (0.413, 0.400, 0.378, 0.371),
    "RLS": (0.414, 0.401, 0.378, 0.371),
}
MEANS = ("mean of reference users", "mean of all other users")


def main(methods=tuple(METHODS)) -> None:
    ratings = data.jester()
    columns = Parallel(n_jobs=2)(
        delayed(Column)(ratings, *bounds, methods) for bounds in SIZES.values()
    )
    rows = []
    for method in (*methods, *MEANS):
        ours = [f"{column.errors[method].mean():.3f}" for column in columns]
        paper = PAPER.get(method, [None] * len(columns))
        both = [o if p is None else f"{o} / {p:.3f}" for o, p in zip(ours, paper)]
        rows.append((method, *both))
    title = f"Jester, disagreement error, {ACTIVE} active users: ours / paper"
    table.show(title, ("method", *SIZES), rows)
    spread = np.mean([column.errors[BASE].std() for column in columns]) / np.sqrt(ACTIVE)
    table.note(f"The standard error over users is {spread:.3f}.")
    others = [method for method in (*methods, *MEANS) if method != BASE]
    rows = [(method, *(c.compare(method, BASE) for c in columns)) for method in others]
    title = "Difference from RankRLS (21), paired by user, and p of Wilcoxon's signed-rank test"
    table.show(title, ("method", *SIZES), rows)
    rows = [(method, *(c.chosen[method] for c in columns)) for method in methods]
    table.show("Chosen on the hold-out users: log2 of gamma, alpha", ("method", *SIZES), rows)


class Column:
    """Errors of every method, one per active user; reference users have low to high ratings."""

    def __init__(self, ratings: np.ndarray, low: int, high: int, methods):
        rng = np.random.default_rng(SEED)
        rated = np.isfinite(ratings).sum(axis=1)
        eligible = np.flatnonzero((rated >= low) & (rated <= high))
        reference = rng.choice(eligible, REFERENCE, replace=False)
        least, most = TEST_RATINGS
        active = np.flatnonzero((rated >= least) & (rated <= most))
        drawn = rng.permutation(np.setdiff1d(active, reference))
        halves = (halve(ratings[user], rng) for user in drawn)
        users = list(islice(filter(has_pairs, halves), ACTIVE + HOLD_OUT))
        kernels = gaussian_kernels(joke_features(ratings[reference]))
        self.errors, self.chosen = {}, {}
        with one_blas_thread():
            for method in methods:
                self._judge(method, kernels, users)
        totals, counts = np.nansum(ratings, axis=0), np.isfinite(ratings).sum(axis=0)
        few = np.nanmean(ratings[reference], axis=0)
        few = np.where(np.isnan(few), np.nanmean(few), few)
        means = {MEANS[0]: [], MEANS[1]: []}
        for user, _, test in users[:ACTIVE]:
            own = np.where(np.isfinite(user), user, 0.0)
            all_others = (totals - own) / np.maximum(counts - np.isfinite(user), 1)
            means[MEANS[0]].append(errors_of(few[test, None], user[test])[0])
            means[MEANS[1]].append(errors_of(all_others[test, None], user[test])[0])
        self.errors |= {name: np.array(errors) for name, errors in means.items()}

    def _judge(self, method: str, kernels: dict, users: list) -> None:
        learner, alphas = METHODS[method], ALPHAS
        if method == "RankSVM":
            kernels = dict(list(kernels.items())[::2])
            alphas = SVM_ALPHAS
        held_out = {
            gamma: np.mean([path_errors(learner, K, alphas, *u) for u in users[ACTIVE:]], axis=0)
            for gamma, K in kernels.items()
        }
        gamma = min(held_out, key=lambda gamma: held_out[gamma].min())
        alpha = alphas[np.argmin(held_out[gamma])]
        self.chosen[method] = f"{np.log2(gamma):.0f}, {np.log2(alpha):.0f}"
        self.errors[method] = np.array(
            [path_errors(learner, kernels[gamma], [alpha], *u)[0] for u in users[:ACTIVE]]
        )

    def compare(self, method: str, base: str) -> str:
        difference = self.errors[method] - self.errors[base]
        p = wilcoxon(difference).pvalue if difference.any() else 1.0
        return f"{table.signed(difference.mean())} ({p:.2g})"


def halve(ratings: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ratings of a user, and the jokes of two random halves, to train and to test."""
    jokes = rng.permutation(np.flatnonzero(np.isfinite(ratings)))
    return ratings, jokes[: len(jokes) // 2], jokes[len(jokes) // 2 :]


def has_pairs(user: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
    ratings, train, test = user
    return np.ptp(ratings[train]) > 0 and np.ptp(ratings[test]) > 0


def joke_features(ratings: np.ndarray) -> np.ndarray:
    """(100 jokes, reference users) ratings; missing ones are the median of the user."""
    return np.where(np.isnan(ratings), np.nanmedian(ratings, axis=1, keepdims=True), ratings).T


def gaussian_kernels(X: np.ndarray) -> dict[float, np.ndarray]:
    """The kernel of every gamma up to the first one that is the identity to rounding."""
    kernels = {}
    for gamma in GAMMAS:
        kernels[gamma] = rbf_kernel(X, gamma=gamma)
        if np.allclose(kernels[gamma], np.eye(len(X)), rtol=0, atol=1e-15):
            break
    return kernels


def path_errors(learner, K, alphas, ratings, train, test) -> np.ndarray:
    """Equation 1 on the test half for every alpha, from one decomposition of the training half."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    if isinstance(learner, HingePath):
        scores = learner.path_scores(K_train, K_test, ratings[train], alphas)
    else:
        learner.fit(K_train, ratings[train])
        scores = K_test @ learner.path(alphas).T
    return errors_of(scores, ratings[test])


def errors_of(scores: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """Equation 1 for every column of scores."""
    winner, loser = np.nonzero(ratings[:, None] > ratings)
    return np.mean(scores[winner] <= scores[loser], axis=0)
