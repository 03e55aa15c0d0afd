"""Predicted probabilities against what happened."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.evaluation import reliability_curve


def test_against_plain_means():
    rng = np.random.default_rng(0)
    said = rng.random(200)
    found = reliability_curve(said, bins=4)
    likelier = np.maximum(said, 1 - said)
    order = np.argsort(likelier)
    for k, part in enumerate(np.array_split(order, 4)):
        assert_allclose(found.predicted[k], likelier[part].mean())
        assert_allclose(found.observed[k], (said[part] > 0.5).mean())
    weighted = reliability_curve(np.repeat(said, 2), np.tile([1.0, 0.0], 200), bins=4)
    assert_allclose(weighted.predicted, found.predicted)


def test_right_probabilities_lie_on_the_line():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.5, 1, 5000)
    said = np.where(rng.random(5000) < p, p, 1 - p)
    found = reliability_curve(said)
    assert np.all(np.abs(found.observed - found.predicted) < 4 * found.error)
    assert len(found.predicted) == 10
    assert len(reliability_curve(said[:30]).predicted) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.2],), "between 0 and 1"),
        (([],), "one-dimensional"),
        (([0.5], [0.0]), "not all be 0"),
        (([0.5], [1.0, 2.0]), "shape"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve(*arguments)
