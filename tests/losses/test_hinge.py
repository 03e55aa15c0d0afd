import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.losses.losses_by_name import HINGE_LOSSES as LOSSES
from rankwise.supervision.preferences import Preferences
from tests import reference_svm as reference
from tests.problems import risk_of_preferences, risk_of_scores

POWER = {"hinge": 1, "squared_hinge": 2}


def score_case(seed, with_queries):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    y = rng.integers(0, rng.integers(2, 8), m) * 0.7
    y[:2] = 0.0, 0.7
    qid = rng.integers(0, 4, m) if with_queries else None
    if with_queries:
        qid[:2] = 0
    return y, qid, 2 * rng.standard_normal(m), rng


def both_risks(y, qid, loss):
    """The same risk twice: over scores, and over the explicit list of all pairs."""
    winner, loser, weight = reference.pair_list(y, qid)
    explicit = risk_of_preferences(Preferences(winner, loser, weight=weight), len(y), loss)
    return risk_of_scores(y, qid, loss), explicit


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), with_queries=st.booleans())
def test_value_and_gradient_equal_those_over_all_pairs(loss, seed, with_queries):
    y, qid, p, rng = score_case(seed, with_queries)
    value = reference.risk(p, *reference.pair_list(y, qid), power=POWER[loss])
    step = 1e-6 * rng.standard_normal(len(p))
    plus, minus = (
        reference.risk(p + s * step, *reference.pair_list(y, qid), POWER[loss]) for s in (1, -1)
    )
    for risk in both_risks(y, qid, loss):
        found = risk.at(p)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert found.gradient @ step == pytest.approx((plus - minus) / 2, abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), with_queries=st.booleans())
def test_curvature_is_the_derivative_of_the_gradient(seed, with_queries):
    y, qid, p, rng = score_case(seed, with_queries)
    v = rng.standard_normal(len(p))
    scores, explicit = both_risks(y, qid, "squared_hinge")
    difference = (scores.at(p + 1e-7 * v).gradient - scores.at(p - 1e-7 * v).gradient) / 2e-7
    product = scores.at(p).curvature(v)
    np.testing.assert_allclose(product, explicit.at(p).curvature(v), atol=1e-12)
    np.testing.assert_allclose(product, difference, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_pair_on_the_margin_costs_nothing_however_it_rounds(loss):
    """p_j − 1 < p_i and p_i + 1 ≤ p_j in floating point: equations 5 and 6 must still agree."""
    for risk in both_risks(np.array([0.0, 1.0]), None, loss):
        assert abs(risk.at(np.array([1e-17, 1.0])).value) < 1e-12
        assert abs(risk.at(np.array([0.1, 1.1])).value) < 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_far_from_zero_lose_no_digits_that_matter(loss):
    y, qid, p, _ = score_case(3, True)
    for risk in both_risks(y, qid, loss):
        near, far = risk.at(p), risk.at(p + 1e6)
        assert far.value == pytest.approx(near.value, abs=1e-7)
        np.testing.assert_allclose(far.gradient, near.gradient, atol=1e-7)


def test_queries_without_a_pair_do_not_count():
    y, p = np.array([0.0, 1.0, 5.0, 5.0, 2.0]), np.array([0.3, 0.1, 9.0, 3.0, 1.0])
    with_idle = risk_of_scores(y, [0, 0, 1, 1, 2], "hinge").at(p)
    alone = risk_of_scores(y[:2], None, "hinge").at(p[:2])
    assert with_idle.value == alone.value
    np.testing.assert_array_equal(with_idle.gradient, [*alone.gradient, 0, 0, 0])


def test_a_single_score_level_in_every_query_is_refused():
    with pytest.raises(ValueError, match="no single preference"):
        risk_of_scores(np.array([1.0, 1.0, 2.0]), [0, 0, 1], "hinge")


def test_weights_multiply_and_magnitudes_do_not():
    p = np.array([0.5, 0.2, 0.9])
    plain = risk_of_preferences(Preferences([0, 0, 1], [1, 1, 2]), 3, "hinge").at(p)
    weighted = Preferences([0, 1], [1, 2], magnitude=[3.0, 7.0], weight=[4.0, 2.0])
    found = risk_of_preferences(weighted, 3, "hinge").at(p)
    assert found.value == pytest.approx(plain.value)
    np.testing.assert_allclose(found.gradient, plain.gradient)


@pytest.mark.parametrize("loss", LOSSES)
def test_rounding_makes_no_risk_negative(loss):
    y = np.arange(30.0)
    risk = risk_of_scores(y, None, loss)
    for seed in range(50):
        p = (1 - 1e-9) * y + 1e-9 * np.random.default_rng(seed).random(30)
        assert risk.at(p).value >= 0


@pytest.mark.parametrize("n_queries", [1, 3, 400])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sample_is_the_risk_of_some_items_of_random_queries(loss, n_queries):
    rng = np.random.default_rng(n_queries)
    y, qid, p = rng.integers(0, 9, 4000), rng.integers(0, n_queries, 4000), rng.normal(size=4000)
    risk = risk_of_scores(y, qid, loss)
    sample, again = risk.sample(500), risk.sample(500)
    np.testing.assert_array_equal(sample.items, again.items)
    assert 250 < len(np.unique(sample.items)) == len(sample.items) < 1000
    assert len(np.unique(qid[sample.items])) >= min(n_queries, 8)
    alone = risk_of_scores(y[sample.items], qid[sample.items], loss).at(p[sample.items])
    found = sample.risk.at(p[sample.items])
    assert found.value == pytest.approx(alone.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient, alone.gradient, rtol=1e-9, atol=1e-15)
    assert risk.sample(4000) is None


def test_a_sample_without_a_pair_is_none():
    y = np.zeros(1000)
    y[17] = 1.0
    assert risk_of_scores(y, None, "hinge").sample(10) is None
