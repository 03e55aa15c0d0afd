"""Every risk is convex and not negative, and its derivatives are those of its value."""

import numpy as np
import pytest

from rankwise import Preferences
from rankwise.losses.epsilon_insensitive import residual_risk
from rankwise.losses.logistic import TIES, logistic_risk
from rankwise.losses.losses_by_name import HINGE_LOSSES, hinge_risks
from rankwise.losses.query_weights import QUERY_WEIGHTS
from tests.problems import censored, compared, scored

RNG = np.random.default_rng(1)
M = 20
Y = RNG.integers(0, 5, M).astype(float)
QID = RNG.integers(0, 3, M)
WEIGHT = RNG.uniform(0.5, 2.0, M)
EVENT = RNG.random(M) < 0.7
SHOWN = RNG.integers(0, M, (2, 60))
VOTES = Preferences.from_votes(
    [f"i{i:02d}" for i in SHOWN[0]],
    [f"i{(i + 1 + j % (M - 1)) % M:02d}" for i, j in SHOWN.T],
    RNG.choice(["a", "b", "tie"], 60),
    [f"i{i:02d}" for i in range(M)],
)


def members():
    for loss in HINGE_LOSSES:
        yield f"{loss} of scores", hinge_risks(loss, scored(Y, QID))[0]
        statements = Preferences.from_scores(Y, QID)
        yield f"{loss} of preferences", hinge_risks(loss, compared(statements, M, QID))[0]
        yield f"{loss} of censored outcomes", hinge_risks(loss, censored(EVENT, Y, QID))[0]
        for name in QUERY_WEIGHTS:
            items = censored(EVENT, Y, QID, WEIGHT)
            yield f"{loss} of weighted outcomes, {name}", hinge_risks(loss, items, name)[0]
            told = scored(Y, QID, WEIGHT), compared(statements, M, QID, WEIGHT)
            for kind, items in zip(("scores", "preferences"), told):
                yield f"{loss} of weighted {kind}, {name}", hinge_risks(loss, items, name)[0]
    told = scored(Y, QID, WEIGHT)
    for width in (0.5, 0.05):
        outcomes = hinge_risks("hinge", censored(EVENT, Y, QID))[0]
        yield f"smoothed hinge of outcomes, {width}", outcomes.smoothed(width)
        yield f"smoothed hinge, {width}", hinge_risks("hinge", scored(Y, QID))[0].smoothed(width)
        yield f"weighted smoothed hinge, {width}", hinge_risks("hinge", told)[0].smoothed(width)
    for power in (1, 2):
        for epsilon in (0.0, 0.3):
            risk = residual_risk(Y, told.queries, WEIGHT, epsilon, power)
            yield f"residuals, power {power}, epsilon {epsilon}", risk
    for ties in TIES:
        for order in (False, True):
            risk = logistic_risk(compared(VOTES, M, None, WEIGHT), ties, order)
            yield f"logistic, ties {ties}, order effect {order}", risk


MEMBERS = dict(members())


@pytest.mark.parametrize("name", MEMBERS)
class TestEveryRisk:
    def test_offers_what_it_has(self, name):
        risk = MEMBERS[name]
        evaluation = risk.at(RNG.normal(size=M))
        assert risk.n_items == M and "gradient" in risk.offers
        assert evaluation.value >= 0 and evaluation.gradient.shape == (M,)
        assert (evaluation.curvature is not None) == ("curvature" in risk.offers)

    def test_tangents_lie_below(self, name):
        risk = MEMBERS[name]
        for _ in range(20):
            p, q = RNG.normal(size=(2, M)) * RNG.choice([0.1, 1.0, 10.0])
            at_p, at_q = risk.at(p), risk.at(q)
            assert at_q.value >= at_p.value + at_p.gradient @ (q - p) - 1e-9

    def test_gradient_is_the_slope_of_the_value(self, name):
        risk = MEMBERS[name]
        for _ in range(5):
            p, direction = RNG.normal(size=(2, M))
            step = 1e-6
            rise = risk.at(p + step * direction).value - risk.at(p - step * direction).value
            assert rise / (2 * step) == pytest.approx(risk.at(p).gradient @ direction, abs=1e-6)

    def test_curvature_is_the_slope_of_the_gradient(self, name):
        risk = MEMBERS[name]
        if "curvature" not in risk.offers:
            pytest.skip("this risk is not smooth")
        for _ in range(5):
            p, direction = RNG.normal(size=(2, M))
            step = 1e-7
            change = risk.at(p + step * direction).gradient - risk.at(p).gradient
            bent = risk.at(p).curvature(direction)
            np.testing.assert_allclose(change / step, bent, atol=1e-5 * np.abs(bent).max())

    def test_diagonal_is_that_of_the_curvature(self, name):
        evaluation = MEMBERS[name].at(RNG.normal(size=M))
        if evaluation.diagonal is None:
            pytest.skip("this risk does not tell its diagonal")
        expected = [evaluation.curvature(unit)[i] for i, unit in enumerate(np.eye(M))]
        np.testing.assert_allclose(evaluation.diagonal(), expected, atol=1e-12)

    def test_matrix_is_the_curvature(self, name):
        evaluation = MEMBERS[name].at(RNG.normal(size=M))
        assert (evaluation.matrix is not None) == ("curvature matrix" in MEMBERS[name].offers)
        if evaluation.matrix is None:
            pytest.skip("this risk has no matrix")
        laplacian, low_rank = evaluation.matrix()
        whole = laplacian.toarray()
        if low_rank is not None:
            whole = whole - low_rank @ low_rank.T
        expected = np.array([evaluation.curvature(unit) for unit in np.eye(M)])
        np.testing.assert_allclose(whole, expected, atol=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("width", [0.9, 0.5, 0.05, 1e-5])
def test_a_smoothed_risk_bounds_the_risk(width, weight):
    risk = hinge_risks("hinge", scored(Y, QID, weight))[0]
    for _ in range(20):
        p, q = RNG.normal(size=(2, M)) * RNG.choice([0.1, 1.0, 10.0])
        smoothed, exact = risk.smoothed(width).at(p), risk.at(p).value
        assert smoothed.exact == pytest.approx(exact, abs=1e-9)
        assert exact - width / 2 - 1e-9 <= smoothed.value <= exact + 1e-9
        assert risk.at(q).value >= smoothed.offset + smoothed.gradient @ q - 1e-9
