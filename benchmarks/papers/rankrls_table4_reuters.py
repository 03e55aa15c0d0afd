"""Pahikkala et al. 2009, Table 4: AUC of RankRLS and RLS on 25 classes of Reuters-21578.

Section 5.4: 500 documents train and the rest test, with a linear kernel. The AUC of the pooled
predictions of ten folds of the training documents chooses alpha from 2^-15 .. 2^15. Intervals are
DeLong 95% intervals. RLS has no intercept, so the coding of its labels matters: the paper seems to
use ±1; 0/1 is ours. Ridge is that of scikit-learn, with an unpenalised intercept, so the coding
does not matter. RankRLS(alpha) with ties kept is Ridge(alpha / 500): the column shows how much of
RankRLS's gain over RLS is due to the intercept.

The documents are those of the ModApte split, training and test together: 12902. In them 24 of the
25 classes have the paper's size and the last has two documents more (the paper used 12897). The
paper's 500 are not known, so ours are drawn at random under one condition: every class has the
paper's number of positive training documents. The paper does not state its features. Ours are the
words of title, dateline and body, with each document scaled to length one, as TF-IDF (document
frequencies of the 500) and, in the summary, also as plain TF.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from benchmarks.papers import data, table
from rankwise import RLS, RankRLS
from rankwise.metrics import auc

ALPHAS = 2.0 ** np.arange(15, -16, -1)  # descending: the largest of equally good alphas is chosen
N_TRAIN, DRAWS, RARE = 500, 5, 10

# class: AUC of RankRLS and of RLS, number of positive training and test documents.
PAPER = {
    "acq": (0.980, 0.979, 94, 2275),
    "bop": (0.966, 0.880, 4, 101),
    "cocoa": (0.931, 0.837, 2, 71),
    "coffee": (0.969, 0.962, 5, 134),
    "corn": (0.970, 0.950, 11, 226),
    "cpi": (0.947, 0.601, 3, 94),
    "crude": (0.976, 0.975, 23, 555),
    "dlr": (0.971, 0.946, 10, 165),
    "earn": (0.994, 0.993, 158, 3806),
    "gnp": (0.987, 0.923, 5, 131),
    "gold": (0.970, 0.922, 4, 120),
    "grain": (0.979, 0.974, 23, 559),
    "interest": (0.965, 0.952, 19, 459),
    "livestock": (0.701, 0.637, 3, 96),
    "money-fx": (0.954, 0.947, 28, 689),
    "money-supply": (0.949, 0.907, 7, 165),
    "nat-gas": (0.957, 0.941, 5, 100),
    "oilseed": (0.898, 0.816, 6, 165),
    "reserves": (0.943, 0.511, 2, 71),
    "ship": (0.949, 0.925, 13, 273),
    "soybean": (0.876, 0.805, 4, 107),
    "sugar": (0.985, 0.964, 6, 156),
    "trade": (0.978, 0.969, 20, 466),
    "veg-oil": (0.890, 0.697, 4, 120),
    "wheat": (0.984, 0.976, 12, 271),
}


def least_squares_path(learner, Z, Y):
    """Coefficients (alphas, classes, features), and zero intercepts (alphas, classes)."""
    coefs = learner.fit(Z, Y).path(ALPHAS)
    return coefs, np.zeros(coefs.shape[:2])


def ridge_path(Z, Y):
    models = [Ridge(alpha).fit(Z, Y) for alpha in ALPHAS]
    return np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])


METHODS = {
    "RankRLS": lambda Z, Y: least_squares_path(RankRLS(ties="drop"), Z, Y),
    "RankRLS, ties kept": lambda Z, Y: least_squares_path(RankRLS(ties="keep"), Z, Y),
    "RLS ±1": lambda Z, Y: least_squares_path(RLS(), Z, 2 * Y - 1),
    "RLS 0/1": lambda Z, Y: least_squares_path(RLS(), Z, Y),
    "Ridge": ridge_path,
}


@threadpool_limits.wrap(limits=1)  # more threads would wait for each other: matrices have 500 rows
def main() -> None:
    documents = data.reuters21578()
    Y = np.array([[name in topics for name in PAPER] for topics in documents.topics])
    counts = CountVectorizer(dtype=np.float64).fit_transform(documents.texts)
    for features, weighting in (
        ("TF-IDF", TfidfTransformer()),
        ("TF", TfidfTransformer(use_idf=False)),
    ):
        aucs = {name: [] for name in METHODS}
        for seed in range(DRAWS):
            train = draw_training_documents(Y, seed)
            test = np.setdiff1d(np.arange(len(Y)), train)
            Z_train, Z_test = in_span_of_training(weighting, counts[train], counts[test])
            scores = {
                name: test_scores(path, Z_train, Y[train].astype(float), Z_test, seed)
                for name, path in METHODS.items()
            }
            for name in METHODS:
                aucs[name].append(class_aucs(Y[test], scores[name]))
            if features == "TF-IDF" and seed == 0:
                show_classes(Y[train], Y[test], scores)
        summarise(features, {name: np.array(values) for name, values in aucs.items()})


def show_classes(Y_train, Y_test, scores) -> None:
    rows = []
    for k, (name, (rank_rls, rls, *_)) in enumerate(PAPER.items()):
        ours = [table.interval(*delong(Y_test[:, k], s[:, k])) for s in scores.values()]
        sizes = int(Y_train[:, k].sum()), int(Y_test[:, k].sum())
        rows.append((name, rank_rls, ours[0], ours[1], rls, *ours[2:], *sizes))
    first, second, *others = scores
    header = ("class", "paper RankRLS", first, second, "paper RLS", *others, "+train", "+test")
    table.show(f"Reuters, AUC of each class, TF-IDF, first of {DRAWS} draws", header, rows)


def summarise(features: str, aucs: dict[str, np.ndarray]) -> None:
    """Means over classes and draws, and the gain over RLS; ± is the spread over draws."""
    figures = np.array(list(PAPER.values()))
    rare = figures[:, 2] <= RARE
    paper = {"RankRLS": figures[:, 0], "RLS ±1": figures[:, 1]}
    base = aucs["RLS ±1"][:, rare].mean(axis=1)
    rows = []
    for name, values in aucs.items():
        gain = values[:, rare].mean(axis=1) - base
        theirs = [paper[name].mean(), paper[name][rare].mean()] if name in paper else [None, None]
        rows.append(
            (
                name,
                spread(values.mean(axis=1)),
                theirs[0],
                spread(values[:, rare].mean(axis=1)),
                theirs[1],
                spread(gain),
            )
        )
    title = f"Reuters, mean AUC, {features}, {DRAWS} draws; rare: {rare.sum()} with +train ≤ {RARE}"
    header = ("", "25 classes", "paper", "rare classes", "paper", "rare, over RLS ±1")
    table.show(title, header, rows)


def spread(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def draw_training_documents(Y: np.ndarray, seed: int) -> np.ndarray:
    """500 random rows, changed by random swaps until every class has the paper's count."""
    rng = np.random.default_rng(seed)
    wanted = np.array([figures[2] for figures in PAPER.values()])
    order = rng.permutation(len(Y))
    inside, outside = order[:N_TRAIN].copy(), order[N_TRAIN:].copy()
    counts = Y[inside].sum(axis=0)
    while np.any(counts != wanted):
        i, j = rng.integers(len(inside)), rng.integers(len(outside))
        swapped = counts - Y[inside[i]] + Y[outside[j]].astype(int)
        if np.abs(swapped - wanted).sum() <= np.abs(counts - wanted).sum():
            inside[i], outside[j], counts = outside[j], inside[i], swapped
    return np.sort(inside)


def in_span_of_training(weighting, train, test) -> tuple[np.ndarray, np.ndarray]:
    """Documents in an orthonormal basis of the span of the training documents.

    The weights of linear models lie in this span, so scores do not change, and every method can use
    500 dense columns.
    """
    train, test = weighting.fit_transform(train), weighting.transform(test)
    gram = (train @ train.T).toarray()
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * 1e-12
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return gram @ basis, (test @ train.T) @ basis


def test_scores(path, Z, Y, Z_test, seed) -> np.ndarray:
    """Scores (test documents, classes), at the alpha of the best pooled ten-fold AUC."""
    pooled = np.empty((len(ALPHAS), *Y.shape))
    for rest, fold in ten_folds(Y, seed):
        coefs, intercepts = path(Z[rest], Y[rest])
        pooled[:, fold] = (coefs @ Z[fold].T).transpose(0, 2, 1) + intercepts[:, None]
    quality = np.array([class_aucs(Y, scores) for scores in pooled])
    best = np.argmax(quality, axis=0)
    coefs, _ = path(Z, Y)  # the intercept shifts all scores of a class, so it does not change AUC
    return Z_test @ coefs[best, np.arange(Y.shape[1])].T


def ten_folds(Y, seed) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random folds, drawn again if one of them holds all positive documents of a class."""
    rng = np.random.RandomState(seed)
    while True:
        folds = list(KFold(10, shuffle=True, random_state=rng).split(Y))
        if all(Y[rest].any(axis=0).all() for rest, _ in folds):
            return folds


def class_aucs(Y, scores) -> np.ndarray:
    return np.array([auc(y, s) for y, s in zip(Y.T, scores.T)])


def delong(y, scores) -> tuple[float, float, float]:
    """AUC and its 95% interval from the variance of DeLong et al. 1988, O(m log m)."""
    positive, negative = scores[y], scores[~y]
    ranks = rankdata(np.concatenate([positive, negative]))
    n, m = len(positive), len(negative)
    wins = (ranks[:n] - rankdata(positive)) / m
    losses = (ranks[n:] - rankdata(negative)) / n
    error = norm.ppf(0.975) * np.sqrt(wins.var(ddof=1) / n + losses.var(ddof=1) / m)
    return wins.mean(), max(wins.mean() - error, 0.0), min(wins.mean() + error, 1.0)
