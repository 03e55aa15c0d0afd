"""Which items should be basis items: at random, one of every query, or learnt from the kernel.

A question that section 3.5 of Pahikkala et al. 2009 and paper III of Airola 2011 leave open. The
learner is RankRLS. Ten folds of whole queries test; the basis is drawn from the training part, and
alpha is the best of 10^-3 .. 10^5 by leaving queries of the training part out. The made data are
those of nystrom_data; the real ones are OHSUMED with a Gaussian kernel, and AIMed with the
all-paths graph kernel, whose queries are sentences.

random: items at random, so that large queries have more of them. stratified: the items of all
queries in turn, first one of each query. learned: the pivots of a Cholesky factorisation with
pivots, each the item that the items before explain least. "unexplained" is the share of the
kernel's trace that the basis leaves out. ± is the standard deviation over folds.

    python -m benchmarks.papers.nystrom_basis [folds to run, default 5]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.linalg import lapack, solve_triangular
from sklearn.model_selection import GroupKFold

from benchmarks.papers import data, nystrom_data, table
from benchmarks.papers.nystrom_figure1 import text
from rankwise import RankRLS
from rankwise.metrics import ranking_error
from rankwise.spaces.basis_removal import REDUNDANT
from rankwise.spaces.kernels import Kernel

ALPHAS = 10.0 ** np.arange(-3, 6)


def main(folds: int = 5) -> None:
    for name, case in CASES.items():
        try:
            K, y, queries, sizes = case()
        except data.MissingData as missing:
            print(f"skipped {name}: {missing}")
            continue
        splits = list(GroupKFold(10, shuffle=True, random_state=0).split(y, groups=queries))[:folds]
        rows = []
        for size in sizes:
            for way, choose in WAYS.items():
                results = np.array([one_fold(K, y, queries, *s, choose, size) for s in splits])
                error, left = results.mean(axis=0)
                spread = results[:, 0].std(ddof=1) if folds > 1 else 0.0
                rows.append((size, way, f"{error:.4f} ± {spread:.4f}", f"{left:.3f}"))
        header = ("basis items", "", "ranking error", "unexplained")
        table.show(f"{name}: {len(y):,} items, {len(np.unique(queries))} queries", header, rows)


def made():
    found = nystrom_data.make(3000, 200)
    return Kernel("rbf", 0.03).matrix(found.X, found.X), found.y, found.qid, (50, 200, 600)


def ohsumed():
    found = data.ohsumed()
    X = data.scale_per_query(found.X, found.qid)
    kept = np.random.default_rng(0).permutation(len(X))[:4000]
    X, y, qid = X[kept], found.y[kept], np.unique(found.qid[kept], return_inverse=True)[1]
    return Kernel("rbf", 1.0).matrix(X, X), y, qid, (50, 100, 400)


def aimed():
    F, y, sentences = text()
    some = sentences < np.median(sentences)
    F, y, sentences = F[some], y[some], np.unique(sentences[some], return_inverse=True)[1]
    K = (F @ F.T).toarray()
    K.flat[:: len(K) + 1] += 2 * REDUNDANT * np.trace(K)  # candidates with the same graph differ
    return K, y, sentences, (100, 400)


CASES = {"made data": made, "OHSUMED, 4000 items": ohsumed, "AIMed, half of the sentences": aimed}


def at_random(K, queries, size: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(K))[:size]


def stratified(K, queries, size: int) -> np.ndarray:
    return nystrom_data.basis(queries, size)


def learned(K, queries, size: int) -> np.ndarray:
    """The first pivots of a Cholesky factorisation with pivots."""
    _, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    return pivots[: min(size, rank)] - 1


WAYS = {"random": at_random, "stratified": stratified, "learned": learned}


def one_fold(K, y, queries, train, test, choose, size: int) -> tuple[float, float]:
    """Ranking error on the test queries, and the share of the training kernel left out."""
    K_train, own = K[np.ix_(train, train)], queries[train]
    basis = np.sort(choose(K_train, own, size))
    model = RankRLS(kernel="precomputed", basis=basis).fit(K_train, y[train], qid=own)
    scores = model.training_problem.leave_groups_out(
        [np.flatnonzero(own == q) for q in np.unique(own)], ALPHAS
    )
    errors = [ranking_error(y[train], s[:, 0], own) for s in scores]
    weights = model.path([ALPHAS[int(np.argmin(errors))]])[0]
    predicted = K[np.ix_(test, train[model.basis_index_])] @ weights
    return ranking_error(y[test], predicted, queries[test]), left_out(K_train, basis)


def left_out(K, basis) -> float:
    """1 − trace of K_MR K_RR⁻¹ K_RM over the trace of K."""
    K_RR = K[np.ix_(basis, basis)] + 1e-10 * K.diagonal().mean() * np.eye(len(basis))
    C = np.linalg.cholesky(K_RR)
    explained = np.square(solve_triangular(C, K[basis], lower=True)).sum()
    return float(1 - explained / np.trace(K))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
