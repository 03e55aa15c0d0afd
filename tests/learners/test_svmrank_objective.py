"""RankSVM at the alpha of docs/migration/svmrank.md minimises the objective of SVMrank.

SVMrank has one slack for each query and one constraint for each subset of the query's pairs
(Joachims 2006, optimisation problem 2). Here all subsets are listed, and a general solver of
constrained problems minimises the result: nothing in it counts pairs or takes a hinge.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize

from rankwise import RankSVM
from tests.cli_files import run

rng = np.random.default_rng(0)


def queries_of_few_pairs():
    """Three queries of 6, 5 and 3 pairs: sizes, levels and ties differ."""
    y = np.array([3.0, 2.0, 1.0, 0.0, 2.5, 1.0, 1.0, -4.0, 7.0, 7.0, 7.0, 0.5])
    qid = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    return rng.normal(size=(12, 2)), y, qid


def svmrank(X, y, qid, C, loss):
    """The weights of `svm_rank_learn -c C -l loss`, found by listing all subsets of pairs."""
    n, names = X.shape[1], np.unique(qid)
    rows, least = [], []
    for number, query in enumerate(names):
        pairs = [
            X[h] - X[j]
            for h in np.flatnonzero(qid == query)
            for j in np.flatnonzero(qid == query)
            if y[h] > y[j]
        ]
        share = 1.0 if loss == 1 else 1.0 / len(pairs)
        for chosen in product((0.0, 1.0), repeat=len(pairs)):
            slack = np.zeros(len(names))
            slack[number] = 1.0
            rows.append(np.concatenate([share * np.array(chosen) @ np.array(pairs), slack]))
            least.append(share * sum(chosen))
    rows, least = np.array(rows), np.array(least)

    def objective(x):
        """½‖w‖² + C/N Σ ξ, divided by C."""
        return 0.5 * x[:n] @ x[:n] / C + x[n:].mean()

    def slope(x):
        return np.concatenate([x[:n] / C, np.full(len(names), 1 / len(names))])

    start = np.concatenate([np.zeros(n), np.full(len(names), least.max())])
    found = minimize(
        objective,
        start,
        jac=slope,
        constraints=LinearConstraint(rows, least),
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert (rows @ found.x >= least - 1e-8).all(), found.message
    return found.x[:n]


def alpha_of(C, loss, qid, y):
    """The conversions of the page."""
    N = len(np.unique(qid))
    P = sum(np.sum(y[qid == q] > value) for q in np.unique(qid) for value in y[qid == q])
    return N / (2 * C * P) if loss == 1 else 1 / (2 * C)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("loss, weighting", [(1, "pairs"), (2, "queries")])
def test_the_same_weights(C, loss, weighting):
    X, y, qid = queries_of_few_pairs()
    alpha = alpha_of(C, loss, qid, y)
    model = RankSVM(alpha, query_weight=weighting, tol=1e-10, max_iter=10_000).fit(X, y, qid=qid)
    expected = svmrank(X, y, qid, C, loss)
    assert_allclose(model.coef_, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_the_default_weighting_is_the_averaged_fraction():
    assert RankSVM().query_weight == "queries"


def test_the_command_on_a_file_of_svmrank(tmp_path, monkeypatch):
    """-c 2 -l 2 becomes --alpha 0.25; predictions stand one on a line, as svm_rank_classify's."""
    monkeypatch.chdir(tmp_path)
    X, y, qid = queries_of_few_pairs()
    lines = [
        f"{y[i]:g} qid:{qid[i] + 1} 1:{float(X[i, 0])!r} 2:{float(X[i, 1])!r} # item {i}"
        for i in range(len(y))
    ]
    (tmp_path / "train.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["--learner", "rank-svm", "--alpha", "0.25", "--scale", "none", "--tol", "1e-9"]
    run("train", "train.dat", "-o", "model", *options)
    run("predict", "model", "train.dat", "-o", "scores")
    scores = np.loadtxt(tmp_path / "scores")
    expected = X @ svmrank(X, y, qid, C=2.0, loss=2)
    assert_allclose(scores - scores.mean(), expected - expected.mean(), rtol=0, atol=1e-4)
