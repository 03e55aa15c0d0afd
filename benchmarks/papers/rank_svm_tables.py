"""Pahikkala et al. 2009, RankSVM beside RankRLS: Table 1, Table 3 (OHSUMED) and Table 5.

Table 1: training time with the Gaussian kernel on class acq of Reuters, 200 … 6000 documents. The
paper's RankSVM is SVM-light's dual solver. Ours uses one Cholesky factor of the kernel matrix, as
section 4.2 of the paper suggests. The paper does not state its parameters; we use gamma 1.

Table 3, RankSVM column: OHSUMED as in the RankRLS script; the validation part chooses alpha from
10^2 … 10^-6. Equal predictions count as wrong, as in the paper, and as half in the second column.

Table 5: the 25 classes of Reuters as in the script of Table 4 (TF-IDF, draws of 500 documents with
the paper's class sizes). The AUC of pooled ten-fold predictions chooses alpha, for RankSVM and
RankRLS.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from benchmarks.papers import data, table
from benchmarks.papers.rankrls_table3_ohsumed import disagreement
from benchmarks.papers.rankrls_table4_reuters import (
    METHODS,
    PAPER,
    class_aucs,
    delong,
    draw_training_documents,
    in_span_of_training,
    ten_folds,
    test_scores,
)
from rankwise import RankRLS
from rankwise.learners.rank_svm import RankSVM
from rankwise.losses.hinge import ScoreHinge
from rankwise.metrics import ranking_error
from rankwise.solvers.bundle import BundleSolver
from rankwise.supervision.queries import Queries

ALPHAS = 10.0 ** np.arange(2, -7, -1)  # descending: the largest of equally good alphas is chosen
DRAWS = 1

TABLE_1 = {
    200: (1, 2),
    500: (3, 150),
    750: (5, 579),
    1000: (10, 1740),
    1500: (24, 4685),
    2000: (48, 13707),
    2500: (83, 20055),
    4000: (280, None),
    6000: (841, None),
}
# AUC of RankSVM for the classes in the order of Table 4, which also has the AUC of RankRLS.
TABLE_5 = dict(
    zip(
        PAPER,
        [0.979, 0.966, 0.923, 0.962, 0.966, 0.947, 0.976, 0.972, 0.994, 0.987, 0.960, 0.979, 0.968]
        + [0.741, 0.959, 0.963, 0.957, 0.895, 0.920, 0.951, 0.882, 0.977, 0.982, 0.853, 0.983],
    )
)


def svm_path(X, y, queries: Queries) -> np.ndarray:
    """(alphas, n) weights, by one warm-started solver."""
    solver, start, found = BundleSolver(X, ScoreHinge(y, queries)), None, []
    for alpha in ALPHAS:
        start = solver.solve(alpha, start=start, tol=1e-3).w
        found.append(start)
    return np.array(found)


def table_1(sizes) -> None:
    documents = data.reuters21578()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(documents.texts))[: max(sizes)]
    X = TfidfVectorizer(dtype=np.float64).fit_transform([documents.texts[i] for i in order])
    y = np.array(["acq" in documents.topics[i] for i in order], dtype=float)
    rows = []
    for m in sizes:
        cells = [f"{m:,}"]
        for learner, paper in (
            (RankRLS(1.0, kernel="rbf", gamma=1.0), TABLE_1[m][0]),
            (RankSVM(1e-3, kernel="rbf", gamma=1.0), TABLE_1[m][1]),
        ):
            start = time.perf_counter()
            learner.fit(X[:m], y[:m])
            cells += [f"{time.perf_counter() - start:.2f}", paper]
        rows.append((*cells, learner.n_iter_, f"{learner.gap_:.0e}"))
    header = ("items", "RankRLS, s", "paper", "RankSVM, s", "paper", "planes", "gap")
    table.show("Table 1: training with the Gaussian kernel, Reuters acq", header, rows)


def table_3() -> None:
    ohsumed = data.ohsumed()
    X = data.scale_per_query(ohsumed.X, ohsumed.qid)
    y, qid = (ohsumed.y == 2).astype(float), ohsumed.qid
    errors, halves, exponents = [], [], []
    for train, validation, test in data.letor_folds(ohsumed.part):
        path = svm_path(X[train], y[train], Queries.from_labels(qid[train], len(train)))
        best = int(np.argmin([disagreement(y, X @ w, qid, validation).mean() for w in path]))
        errors.append(float(disagreement(y, X @ path[best], qid, test).mean()))
        halves.append(ranking_error(y[test], X[test] @ path[best], qid[test]))
        exponents.append(int(np.log10(ALPHAS[best])))
    figures = [("RankSVM", float(np.mean(errors)), 0.336)]
    figures.append(("RankSVM, equal predictions ½", float(np.mean(halves)), None))
    title = f"Table 3: OHSUMED, disagreement error (log10 alpha by fold: {exponents})"
    table.beside(title, figures)


def table_5() -> None:
    documents = data.reuters21578()
    Y = np.array([[name in topics for name in TABLE_5] for topics in documents.topics])
    counts = CountVectorizer(dtype=np.float64).fit_transform(documents.texts)
    means = {"RankRLS": [], "RankSVM": []}
    for seed in range(DRAWS):
        train = draw_training_documents(Y, seed)
        test = np.setdiff1d(np.arange(len(Y)), train)
        Z, Z_test = in_span_of_training(TfidfTransformer(), counts[train], counts[test])
        target = Y[train].astype(float)
        scores = {
            "RankRLS": test_scores(METHODS["RankRLS"], Z, target, Z_test, seed),
            "RankSVM": svm_scores(Z, target, Z_test, seed),
        }
        for name, found in scores.items():
            means[name].append(class_aucs(Y[test], found).mean())
        if seed == 0:
            rows = [
                (
                    name,
                    TABLE_5[name],
                    *(table.interval(*delong(Y[test][:, k], s[:, k])) for s in scores.values()),
                )
                for k, name in enumerate(TABLE_5)
            ]
            header = ("class", "paper RankSVM", "RankRLS", "RankSVM")
            table.show("Table 5: Reuters, AUC of each class, first draw", header, rows)
    paper = {"RankSVM": TABLE_5.values(), "RankRLS": [figures[0] for figures in PAPER.values()]}
    figures = [(k, float(np.mean(means[k])), float(np.mean(list(paper[k])))) for k in paper]
    table.beside(f"Table 5: mean AUC over 25 classes and {DRAWS} draws", figures)


def svm_scores(Z, Y, Z_test, seed) -> np.ndarray:
    """As test_scores of Table 4, with a separate solution for each class."""
    folds = ten_folds(Y, seed)
    out = np.empty((len(Z_test), Y.shape[1]))
    for k, y in enumerate(Y.T):
        pooled = np.empty((len(ALPHAS), len(y)))
        for rest, fold in folds:
            path = svm_path(Z[rest], y[rest], Queries.from_labels(None, len(rest)))
            pooled[:, fold] = path @ Z[fold].T
        quality = [class_aucs(y[:, None], scores[:, None])[0] for scores in pooled]
        path = svm_path(Z, y, Queries.from_labels(None, len(y)))
        out[:, k] = Z_test @ path[int(np.argmax(quality))]
    return out


def main(sizes=tuple(TABLE_1)) -> None:
    table_1(sizes)
    table_3()
    table_5()


if __name__ == "__main__":
    main()
