import numpy as np
import pytest

from rankwise import ConditionalRanker
from rankwise.spaces.kernels import Kernel

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
DRUGS, TARGETS = list("abcde"), list("wxyz")
A, B = RNG.normal(size=(5, 2)), RNG.normal(size=(4, 2))
K, G = Kernel("rbf").matrix(A, A), Kernel("rbf").matrix(B, B)
Y = RNG.normal(size=(5, 4))
K_FRAME = pandas.DataFrame(K, index=DRUGS, columns=DRUGS)
G_FRAME = pandas.DataFrame(G, index=TARGETS, columns=TARGETS)
Y_FRAME = pandas.DataFrame(Y, index=DRUGS, columns=TARGETS)
MODEL = ConditionalRanker(kernel="precomputed")


def test_labels_in_another_order_are_matched_by_name():
    expected = MODEL.fit((K, G), Y).predict(K, G)
    turned = Y_FRAME.loc[list("ecabd"), list("zwyx")]
    found = ConditionalRanker(kernel="precomputed").fit((K_FRAME, G_FRAME), turned)
    np.testing.assert_allclose(found.predict(K_FRAME, G_FRAME), expected)
    np.testing.assert_allclose(found.predict(K_FRAME[list("edcba")], G_FRAME), expected)
    shuffled = K_FRAME[list("edcba")]  # columns in another order than rows
    again = ConditionalRanker(kernel="precomputed").fit((shuffled, G_FRAME), turned)
    np.testing.assert_allclose(again.predict(shuffled, G_FRAME), expected)
    plain = ConditionalRanker(kernel="precomputed").fit((K, G), Y_FRAME)
    np.testing.assert_allclose(plain.predict(K, G), expected)


def test_edges_by_name():
    edges = [("a", "w"), ("a", "z"), ("c", "x"), ("c", "y"), ("e", "w"), ("e", "x")]
    numbers = [(DRUGS.index(u), TARGETS.index(v)) for u, v in edges]
    y = RNG.normal(size=6)
    features = [pandas.DataFrame(X, index=n) for X, n in ((A, DRUGS), (B, TARGETS))]
    found = ConditionalRanker().fit(tuple(features), y, edges=np.array(edges))
    expected = ConditionalRanker().fit((A, B), y, edges=numbers)
    np.testing.assert_allclose(found.predict(A, B), expected.predict(A, B))
    with pytest.raises(ValueError, match=r"edges\[1\] names the column node 'q'"):
        ConditionalRanker().fit(tuple(features), y[:2], edges=[("a", "w"), ("b", "q")])
    with pytest.raises(ValueError, match="the nodes have none"):
        ConditionalRanker().fit((A, B), y, edges=edges)


def test_names_that_do_not_match_are_refused():
    cases = [
        ((K_FRAME, G_FRAME), Y_FRAME.rename(index={"a": "q"}), "lack 'a'.*hold 'q'"),
        ((K_FRAME, G_FRAME), Y_FRAME.drop(columns="x"), "lack 'x' of the column nodes"),
        ((K_FRAME.rename(columns={"b": "r"}), G_FRAME), Y_FRAME, "the kernel of row nodes"),
        ((K_FRAME.rename(columns={"b": "a"}), G_FRAME), Y_FRAME, "'a' twice"),
    ]
    for X, labels, message in cases:
        with pytest.raises(ValueError, match=message):
            ConditionalRanker(kernel="precomputed").fit(X, labels)
