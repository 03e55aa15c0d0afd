"""Judgements against the measures themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import metrics
from rankwise.workflow.judging import judge


@given(st.integers(0, 10**6))
def test_judgements_are_means_of_the_measures(seed):
    rng = np.random.default_rng(seed)
    m = 40
    y, s = rng.integers(0, 3, m).astype(float), rng.normal(size=m).round(1)
    qid = rng.integers(0, 6, m)
    found = judge(y, s, qid)
    assert found["ranking_error"].value == pytest.approx(metrics.ranking_error(y, s, qid))
    assert found["ndcg@10"].value == pytest.approx(metrics.ndcg(y, s, qid, k=10))
    expected = metrics.average_precision((y > 0).astype(float), s, qid)
    assert found["map"].value == pytest.approx(expected)
    assert found["tau_b"].value == pytest.approx(metrics.kendall_tau_b(y, s, qid))
    for measure in found.measures:
        if measure.low is not None:
            assert measure.low <= measure.value + 1e-12 and measure.value <= measure.high + 1e-12


def test_one_list_has_intervals_of_the_measures_that_count_pairs():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    found = judge(y, y + rng.normal(size=80))
    assert found["ranking_error"].low < found["ranking_error"].value
    assert found["tau_b"].low < found["tau_b"].value < found["tau_b"].high
    assert found["map"].value is None and "--relevant" in found["map"].reason
    assert found["ndcg@10"].value is None
