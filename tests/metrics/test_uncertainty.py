"""Influence values against the variances that they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.losses.item_concordance import item_concordance
from rankwise.metrics import UndefinedMetric, concordance
from rankwise.metrics.uncertainty import jackknife, mean_over_units, share_of_pairs
from rankwise.supervision.queries import Queries

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 60).astype(float)
S = Y + 2 * RNG.normal(size=60)


def test_influence_of_an_item_is_the_change_when_it_leaves():
    counted, right = item_concordance(Y, S, Queries.from_labels(None, 60))
    share, influence = share_of_pairs(counted, right)
    assert_allclose(share, concordance(Y, S))
    assert_allclose(influence.sum(), 0, atol=1e-12)
    left_out = [concordance(np.delete(Y, i), np.delete(S, i)) for i in range(60)]
    assert_allclose(share - left_out, influence, atol=2e-3)


def test_several_outputs_are_columns():
    counted, right = RNG.integers(1, 9, (2, 60, 3)).astype(float)
    shares, influence = share_of_pairs(counted, right)
    for j in range(3):
        share, values = share_of_pairs(counted[:, j], right[:, j])
        assert_allclose(shares[j], share)
        assert_allclose(influence[:, j], values)


def test_mean_over_units():
    values = RNG.random((7, 2))
    values[3, 1] = np.nan
    mean, influence = mean_over_units(values)
    assert_allclose(mean, np.nanmean(values, axis=0))
    for j, n in ((0, 7), (1, 6)):
        error = np.nanstd(values[:, j], ddof=1) / np.sqrt(n)
        assert_allclose(np.linalg.norm(influence[:, j]), error)
    mean, influence = mean_over_units(np.array([0.5, np.nan]))
    assert mean == 0.5 and np.isnan(influence[0])
    with pytest.raises(UndefinedMetric, match="nothing to judge"):
        mean_over_units(np.full((3, 1), np.nan))


def test_the_jackknife_of_a_mean_is_its_standard_error():
    few = RNG.normal(size=25)
    error = few.std(ddof=1) / 5
    assert_allclose(np.linalg.norm(jackknife(lambda rest: few[rest].mean(), 25)), error)
    many = RNG.normal(size=4000)
    groups = jackknife(lambda rest: np.array([many[rest].mean()] * 2), 4000)
    assert groups.shape == (40, 2)
    assert_allclose(np.linalg.norm(groups, axis=0), many.std() / np.sqrt(4000), rtol=0.3)


def test_the_jackknife_without_values():
    influence = jackknife(lambda rest: np.array(np.nan if 0 in rest else 1.0), 10)
    assert np.isnan(influence).all()
    influence = jackknife(lambda rest: np.array(np.nan if 0 not in rest else len(rest)), 10)
    assert_allclose(influence, 0)
