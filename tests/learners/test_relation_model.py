"""Models of relations say when rounding errors may show in their scores."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from rankwise import ConditionalRanker, TwoStepRanker

POLY = {"kernel": "poly", "gamma": 0.5, "degree": 2}
LEARNERS = {
    "ranking": ConditionalRanker(1e-4, **POLY),
    "columns": ConditionalRanker(1e-4, condition="column", **POLY),
    "regression": ConditionalRanker(1e-4, objective="regression", **POLY),
    "two steps": TwoStepRanker((1e-4, 1e-4), **POLY),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_kernels_far_from_zero_warn_where_the_digits_of_scores_are_lost(name):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(9, 2)) + 1e5, rng.normal(size=(7, 2)) + 1e5
    Y = rng.normal(size=(9, 7))
    with pytest.warns(ConvergenceWarning, match="more than 1% of their range.*standardise"):
        LEARNERS[name].fit((U, V), Y)
    near = StandardScaler().fit_transform(U), StandardScaler().fit_transform(V)
    with warnings.catch_warnings(action="error"):
        LEARNERS[name].fit(near, Y)


def test_counts_and_a_small_alpha_lose_the_scores_of_two_steps():
    """Coefficients of about Y/(alpha alpha) are multiplied by kernel values of 1e14."""
    rng = np.random.default_rng(0)
    U, V = (rng.integers(0, 256, (m, 1)).astype(float) for m in (20, 30))
    Y = rng.normal(size=(20, 30))
    with pytest.warns(ConvergenceWarning, match="TwoStepRanker by more than 1%"):
        TwoStepRanker((1.0, 1.0), kernel="poly", gamma=1.0).fit((U, V), Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_equal_objects_and_constant_labels_are_no_loss_of_digits(kernel):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(6, 3)), np.ones((8, 2))
    with warnings.catch_warnings(action="error"):
        TwoStepRanker(kernel=kernel).fit((U, V), rng.normal(size=(6, 8)))
        TwoStepRanker(kernel=kernel).fit((U, V[:1]), rng.normal(size=(6, 1)))
        model = TwoStepRanker(kernel=kernel).fit((U, U), np.zeros((6, 6)))
    assert_allclose(model.predict(U, U), 0.0)
