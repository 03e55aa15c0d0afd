import numpy as np
from scipy import sparse

from rankwise import ConditionalRanker


def test_blocks_and_sparse_nodes(monkeypatch):
    rng = np.random.default_rng(10)
    X = sparse.random(30, 12, density=0.4, random_state=0, format="csr")
    Y = rng.normal(size=(30, 30))
    for kernel in ("linear", "rbf"):
        model = ConditionalRanker(kernel=kernel).fit(X, Y)
        expected = ConditionalRanker(kernel=kernel).fit(X.toarray(), Y).predict(X.toarray())
        monkeypatch.setattr("rankwise.spaces.pair_function.BLOCK", 7)
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)
        np.testing.assert_array_equal(model.rank(X[3], X)[0], np.argsort(-expected[3]))
