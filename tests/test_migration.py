"""RLScore's classes by their formulas, written out by hand, on the small data files of its tests.

docs/migration/rlscore.md says how RLScore itself was compared.
"""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import RLS, ConditionalRanker, Preferences, RankRLS

DATA = Path(os.environ.get("RANKWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
FOLDER = DATA / "small_reference"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{FOLDER} is absent")


def features(name):
    """Lines of column:value pairs, columns from 0."""
    path = FOLDER / name
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode()
    rows = [dict(cell.split(":") for cell in line.split()) for line in text.splitlines()]
    width = 1 + max(int(column) for row in rows for column in row)
    X = sparse.lil_array((len(rows), width))
    for i, row in enumerate(rows):
        for column, value in row.items():
            X[i, int(column)] = float(value)
    return X.tocsr()


@pytest.fixture(scope="module")
def ranking():
    labels, queries = (np.loadtxt(FOLDER / f"rank_train.{kind}") for kind in ("labels", "qids"))
    X = features("rank_train.features.xz")
    return X, labels, queries.astype(int), (X @ X.T).toarray()


def dual(K, L, b, alpha):
    """Scores K a of the minimiser of fᵀLf − 2fᵀb + alpha aᵀKa."""
    return K @ np.linalg.solve(L @ K + alpha * np.eye(len(K)), b)


def test_global_rank_rls(ranking):
    X, y, _, K = ranking
    m = len(y)
    L = m * np.eye(m) - 1.0
    found = RankRLS(2.0).fit(X, y).predict(X)
    assert_allclose(found, dual(K, L, L @ y, 2.0), rtol=1e-8, atol=1e-10)


def test_query_rank_rls_and_its_holdout(ranking):
    X, y, qid, K = ranking
    same = qid[:, None] == qid
    L = np.eye(len(y)) - same / same.sum(axis=1)
    model = RankRLS(2.0, query_weight="size").fit(X, y, qid=qid)
    assert_allclose(model.predict(X), dual(K, L, L @ y, 2.0), rtol=1e-8, atol=1e-10)
    held_out = model.leave_query_out()
    for query in np.unique(qid):
        out, rest = qid == query, qid != query
        among = np.ix_(rest, rest)
        a = np.linalg.solve(L[among] @ K[among] + 2.0 * np.eye(rest.sum()), (L @ y)[rest])
        assert_allclose(held_out[out], K[np.ix_(out, rest)] @ a, rtol=1e-7, atol=1e-9)


def test_rls_with_its_holdouts():
    X, y = features("reg_train.features").toarray(), np.loadtxt(FOLDER / "reg_train.labels")
    w = np.linalg.solve(X.T @ X + 0.5 * np.eye(X.shape[1]), X.T @ y)
    model = RLS(0.5).fit(X, y)
    assert_allclose(model.predict(X), X @ w, rtol=1e-9)
    H = X @ np.linalg.solve(X.T @ X + 0.5 * np.eye(X.shape[1]), X.T)
    leverage = np.diag(H)
    assert_allclose(model.leave_one_out(), (X @ w - leverage * y) / (1 - leverage), rtol=1e-7)


def test_preferences(ranking):
    X, _, _, K = ranking
    pairs = np.loadtxt(FOLDER / "rank_train.preferences", dtype=int)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]  # RLScore lets an item be preferred over itself
    M = np.zeros((len(pairs), len(K)))
    M[np.arange(len(pairs)), pairs[:, 0]], M[np.arange(len(pairs)), pairs[:, 1]] = 1.0, -1.0
    found = RankRLS(2.0, loss="unit").fit(X, preferences=Preferences(*pairs.T)).predict(X)
    expected = dual(K, M.T @ M, M.sum(axis=0), 2.0)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_kronecker_rls():
    K1, K2, Y = (
        np.loadtxt(FOLDER / f"Kron_train{name}") for name in ("_1.kernelm", "_2.kernelm", ".labels")
    )
    model = ConditionalRanker(2.0, objective="regression", kernel="precomputed").fit((K1, K2), Y)
    K = np.kron(K1, K2)
    expected = K @ np.linalg.solve(K + 2.0 * np.eye(len(K)), Y.ravel())
    assert_allclose(model.predict(K1, K2).ravel(), expected, rtol=1e-8, atol=1e-10)
