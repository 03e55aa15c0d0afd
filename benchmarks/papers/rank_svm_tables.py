"""Pahikkala et al. 2009, RankSVM beside RankRLS: Table 3 (OHSUMED) and Table 5 (Reuters).

Table 3, RankSVM column: OHSUMED as in the RankRLS script; the validation part chooses alpha from
10^2 .. 10^-6. Equal predictions count as wrong, as in the paper, and as half in the second row.

Table 5: the 25 classes of Reuters as in the script of Table 4 (TF-IDF, five draws of 500 documents
with the paper's class sizes). The AUC of pooled ten-fold predictions chooses alpha for RankRLS and
C for RankSVM, both from the paper's grid 2^-15 .. 2^15; C is that of ½‖w‖² + C Σ hinge, so alpha of
our mean loss is 1/(2 C N) for N pairs. Wilcoxon's signed-rank test compares the two over the 25
classes.

    python -m benchmarks.papers.rank_svm_tables [draws, default 5]
"""

from __future__ import annotations

import sys

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import wilcoxon
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from threadpoolctl import threadpool_limits

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
from rankwise.losses.hinge import ScoreHinge
from rankwise.metrics import ranking_error
from rankwise.solvers.bundle import BundleSolver
from rankwise.supervision.queries import Queries

# descending: the largest of equally good alphas is chosen
ALPHAS = 10.0 ** np.arange(2, -7, -1)
CS = 2.0 ** np.arange(-15, 16)

# AUC of RankSVM for the classes in the order of Table 4, which also has the AUC of RankRLS.
TABLE_5 = dict(
    zip(
        PAPER,
        [0.979, 0.966, 0.923, 0.962, 0.966, 0.947, 0.976, 0.972, 0.994, 0.987, 0.960, 0.979, 0.968]
        + [0.741, 0.959, 0.963, 0.957, 0.895, 0.920, 0.951, 0.882, 0.977, 0.982, 0.853, 0.983],
    )
)


def svm_path(X, y, queries: Queries, alphas=ALPHAS) -> np.ndarray:
    """(alphas, n) weights, by one warm-started solver."""
    solver, start, found = BundleSolver(X, ScoreHinge(y, queries)), None, []
    for alpha in alphas:
        start = solver.solve(alpha, start=start, tol=1e-3).w
        found.append(start)
    return np.array(found)


def paper_path(X, y) -> np.ndarray:
    """Weights for every C of the paper's grid, for labels 0 and 1 without queries."""
    n_pairs = y.sum() * (len(y) - y.sum())
    return svm_path(X, y, Queries.from_labels(None, len(y)), 1 / (2 * CS * n_pairs))


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


def table_5(draws: int) -> None:
    documents = data.reuters21578()
    Y = np.array([[name in topics for name in TABLE_5] for topics in documents.topics])
    counts = CountVectorizer(dtype=np.float64).fit_transform(documents.texts)
    found = Parallel(n_jobs=2)(delayed(one_draw)(Y, counts, seed) for seed in range(draws))
    aucs = np.array([[class_aucs(Y[test], scores) for scores in both] for test, both in found])
    means, spreads = aucs.mean(axis=0), aucs.std(axis=0, ddof=1 if draws > 1 else 0)
    test, first = found[0]
    rows = []
    for k, name in enumerate(TABLE_5):
        ours = [f"{m:.3f} ± {s:.3f}" for m, s in zip(means[:, k], spreads[:, k])]
        intervals = [table.interval(*delong(Y[test][:, k], s[:, k])) for s in first]
        paper = PAPER[name]
        figures = (f"{paper[0]:.3f}", ours[1], f"{TABLE_5[name]:.3f}")
        rows.append((name, ours[0], *figures, *intervals, paper[2], int(Y[test][:, k].sum())))
    header = ("class", "RankRLS", "paper", "RankSVM", "paper")
    header += ("RankRLS, first draw (95%)", "RankSVM, first draw (95%)", "+ train", "+ test")
    title = f"Table 5: Reuters, AUC of each class, mean of {draws} draws ± standard deviation"
    table.show(title, header, rows)
    compare(aucs)


def compare(aucs: np.ndarray) -> None:
    """Means over classes, and Wilcoxon's test of the difference, for each draw and the paper."""
    paper = np.array([[PAPER[name][0], TABLE_5[name]] for name in TABLE_5]).T
    cases = {f"draw {k + 1}": draw for k, draw in enumerate(aucs)}
    cases |= {"mean of the draws": aucs.mean(axis=0), "*paper*": paper}
    rows = []
    for name, (rls, svm) in cases.items():
        p = wilcoxon(rls - svm).pvalue
        better = f"{(rls > svm).sum()}, {(rls < svm).sum()}"
        cells = float(rls.mean()), float(svm.mean()), table.signed((rls - svm).mean())
        rows.append((name, *cells, better, f"{p:.2g}"))
    header = ("", "RankRLS", "RankSVM", "difference", "classes better, worse", "Wilcoxon's p")
    table.show("Table 5: mean AUC over 25 classes, and the test over classes", header, rows)


def one_draw(Y, counts, seed: int):
    """Test documents, and the scores of both learners."""
    train = draw_training_documents(Y, seed)
    test = np.setdiff1d(np.arange(len(Y)), train)
    with threadpool_limits(1):
        Z, Z_test = in_span_of_training(TfidfTransformer(), counts[train], counts[test])
        target = Y[train].astype(float)
        rls = test_scores(METHODS["RankRLS"], Z, target, Z_test, seed)
        return test, (rls, svm_scores(Z, target, Z_test, seed))


def svm_scores(Z, Y, Z_test, seed) -> np.ndarray:
    """As test_scores of Table 4, with a separate solution for each class."""
    folds = ten_folds(Y, seed)
    out = np.empty((len(Z_test), Y.shape[1]))
    for k, y in enumerate(Y.T):
        pooled = np.empty((len(CS), len(y)))
        for rest, fold in folds:
            pooled[:, fold] = paper_path(Z[rest], y[rest]) @ Z[fold].T
        quality = [class_aucs(y[:, None], scores[:, None])[0] for scores in pooled]
        out[:, k] = Z_test @ paper_path(Z, y)[int(np.argmax(quality))]
    return out


def main(draws: int = 5) -> None:
    table_3()
    table_5(draws)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
