"""Objectives of SVMrank and PRSVM, minimised over an explicit list of pairs, beside RankSVM.

The programs themselves are not run. Their objectives are ½‖w‖² + Σ c loss(1 − w·(x_h − x_j)) over
all pairs y_h > y_j of the same query, and differ in the weight c of a pair and in the loss:

    TreeRSVM      c = 1/(2 lambda N)     hinge           N pairs in all
    SVMrank -l 1  c = C/n                hinge           n queries
    SVMrank -l 2  c = C/(n N_q)          hinge           N_q pairs of the query
    PRSVM         c = C                  squared hinge

A plain solver gets the differences of all pairs as rows, without any of our code: liblinear (dual
coordinate descent) for the hinge loss, L-BFGS of scipy for its square. RankSVM gets the data and
the alpha and query_weight that make the same objective, and stops at a gap of 1e-7; the last column
has the default gap of 1e-3. C is 1/lambda divided by what the program sums up (N/n, 1 or N), so
that all are compared at the same strength. Queries without a pair do not count.

Cadata and the text-like data have 500 training rows and no queries; OHSUMED has the queries of its
first part, and the third part tests. Equal predictions count as half wrong.

    python -m benchmarks.papers.rank_svm_objectives
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from benchmarks.papers import data, table
from benchmarks.papers.rank_svm_figure4 import cadata_sets
from benchmarks.speed.text_like import text_like
from rankwise import RankSVM
from rankwise.metrics import ranking_error

TOL = 1e-7
LAMBDAS = {"cadata": (1e-1, 1e-3), "text-like": (1e-3, 1e-5), "OHSUMED": (1e-1, 1e-3)}


def main() -> None:
    cases = {"cadata": cadata, "text-like": text, "OHSUMED": ohsumed}
    for name, case in cases.items():
        (X, y, qid), (X_test, y_test, qid_test) = case()
        differences, sizes = pairs(X, y, qid)
        rows = []
        for strength in LAMBDAS[name]:
            for program, (loss, weighting, weights, alpha) in programs(strength, sizes).items():
                plain = minimised(differences, weights, loss)
                ours = RankSVM(alpha, loss=loss, query_weight=weighting, tol=TOL)
                w = ours.fit(X, y, qid=qid).coef_
                values = [objective(differences, weights, loss, v) for v in (plain, w)]
                quick = ours.set_params(tol=1e-3).fit(X, y, qid=qid).coef_
                apart = np.linalg.norm(w - plain) / np.linalg.norm(plain)
                errors = [ranking_error(y_test, X_test @ v, qid_test) for v in (plain, w, quick)]
                rows.append(
                    (
                        program,
                        f"{strength:g}",
                        *(f"{value:.6g}" for value in values),
                        f"{values[1] / values[0] - 1:+.0e}".replace("-", "−"),
                        f"{apart:.0e}".replace("-", "−"),
                        *(f"{e:.4f}" for e in errors),
                    )
                )
        title = f"{name}, {len(y):,} items, {len(sizes)} queries, {int(sizes.sum()):,} pairs"
        header = ("objective of", "lambda", "minimum, explicit pairs", "RankSVM", "difference")
        header += (
            "weights apart",
            "held-out error, explicit pairs",
            "RankSVM",
            "RankSVM, tol 1e-3",
        )
        table.show(title, header, rows)


def programs(strength: float, sizes: np.ndarray) -> dict[str, tuple]:
    """Loss, query_weight, the weight c of every pair, and our alpha; `sizes`: pairs by query."""
    n, N = len(sizes), sizes.sum()
    every = np.ones(int(N))
    C_1, C_2, C_P = n / (strength * N), 1 / strength, 1 / (strength * N)
    return {
        "TreeRSVM": ("hinge", "pairs", every / (2 * strength * N), strength),
        "SVMrank -l 1": ("hinge", "pairs", every * C_1 / n, n / (2 * C_1 * N)),
        "SVMrank -l 2": ("hinge", "queries", np.repeat(C_2 / (n * sizes), sizes), 1 / (2 * C_2)),
        "PRSVM": ("squared_hinge", "pairs", every * C_P, 1 / (2 * C_P * N)),
    }


def pairs(X, y, qid) -> tuple[sparse.csr_matrix, np.ndarray]:
    """The rows x_h − x_j of all pairs, query after query, and how many each query has."""
    better, worse, sizes = [], [], []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        h, j = np.nonzero(y[rows, None] > y[rows])
        better.append(rows[h])
        worse.append(rows[j])
        sizes.append(len(h))
    h, j = np.concatenate(better), np.concatenate(worse)
    X = sparse.csr_matrix(X)
    counts = np.array(sizes)
    return X[h] - X[j], counts[counts > 0]


def objective(differences, weights, loss: str, w) -> float:
    slack = np.maximum(0.0, 1.0 - differences @ w)
    return float(0.5 * w @ w + weights @ (slack if loss == "hinge" else slack**2))


def minimised(differences, weights, loss: str) -> np.ndarray:
    if loss == "hinge":
        # liblinear needs two classes; a pair and its reverse are the same
        signs = np.where(np.arange(len(weights)) % 2 == 0, 1.0, -1.0)
        svc = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-9, max_iter=20_000)
        svc.set_params(random_state=0)
        svc.fit(sparse.diags(signs) @ differences, signs, sample_weight=weights)
        return svc.coef_.ravel()

    def value_and_gradient(w):
        slack = np.maximum(0.0, 1.0 - differences @ w)
        gradient = w - 2 * (differences.T @ (weights * slack))
        return 0.5 * w @ w + weights @ slack**2, gradient

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    start = np.zeros(differences.shape[1])
    return minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x


def cadata():
    (X, y), (X_test, y_test) = cadata_sets()
    X, y = X[:500], y[:500]
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    return one_query((X - mean) / deviation, y), one_query((X_test - mean) / deviation, y_test)


def text():
    X, y = text_like(2500)
    return one_query(X[:500], y[:500]), one_query(X[500:], y[500:])


def one_query(X, y):
    return X, y, np.zeros(len(y), dtype=int)


def ohsumed():
    found = data.ohsumed()
    X = data.scale_per_query(found.X, found.qid)
    return tuple(
        (X[rows], found.y[rows], found.qid[rows]) for rows in (found.part == 0, found.part == 2)
    )


if __name__ == "__main__":
    main()
