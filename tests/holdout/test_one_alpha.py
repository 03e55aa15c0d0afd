"""Linear fits for one alpha: one factorisation, and the sums over the items are formed once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import RLS, RankRLS
from rankwise.losses.laplacian import ScoreLaplacian
from rankwise.solvers.spectrum import PrimalSpectrum

SHAPES = {"dense": np.array, "by columns": np.asfortranarray, "sparse": sparse.csr_array}


@pytest.fixture
def calls(monkeypatch):
    """The names of the expensive steps, in the order in which they are taken."""
    taken = []

    def count(owner, name):
        step = getattr(owner, name)

        def counted(self, *args):
            taken.append(name)
            return step(self, *args)

        monkeypatch.setattr(owner, name, counted)

    count(PrimalSpectrum, "_decompose")
    count(ScoreLaplacian, "gram")
    return taken


def items(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 9)) * (rng.random((40, 9)) < 0.6)
    return X, rng.integers(0, 5, 40).astype(float), np.repeat(np.arange(8), 5)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_alpha_decomposes_nothing_until_it_must(shape, calls):
    X, y, qid = items()
    model = RankRLS(0.3).fit(SHAPES[shape](X), y, qid=qid)
    assert calls == ["gram"]
    found = model.leave_query_out()
    assert calls == ["gram", "_decompose"]
    rest = RankRLS(0.3).fit(X[5:], y[5:], qid=qid[5:])
    assert_allclose(found[:5], rest.predict(X[:5]), rtol=1e-9, atol=1e-12)


def test_a_stream_goes_on_with_the_sums_of_the_fit(calls):
    X, y, qid = items()
    model = RankRLS(0.3).fit(X[:20], y[:20], qid=qid[:20])
    model.partial_fit(X[20:], y[20:], qid=qid[20:])
    assert calls == ["gram", "gram"]
    assert_allclose(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_, rtol=1e-9)


@pytest.mark.parametrize("learner", [RankRLS, RLS])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [1e-14, 1e-9, 1e-4, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_the_weights_are_those_of_the_spectrum(learner, shape, alpha, scale):
    X, y, qid = items(1)
    X[:, 8] = X[:, 7]  # so that XᵀLX is singular
    X, alpha = SHAPES[shape](scale * X), alpha * scale**2
    found = learner(alpha).fit(X, y, qid=qid).coef_
    expected = learner(alpha, solver="spectral").fit(X, y, qid=qid).coef_
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_an_entry_that_is_not_finite_is_named():
    X, y, qid = items()
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        RankRLS().fit(X, y, qid=qid)
