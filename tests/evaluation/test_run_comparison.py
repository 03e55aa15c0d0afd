"""Runs compared by query: the paired tests against SciPy's, and their level on equal runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from rankwise import UndefinedMetric
from rankwise.evaluation import compare_runs
from rankwise.evaluation.run_comparison import sign_flip_p


def judged_runs(q, gain, seed, documents=20):
    """Two runs whose scores are the relevance plus noise; the first has `gain` times the signal."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{i}" for i in range(q)], documents).astype(object)
    docid = np.tile([f"d{j}" for j in range(documents)], q).astype(object)
    relevance = rng.integers(0, 3, len(qid))
    qrels = SimpleNamespace(qid=qid, docid=docid, relevance=relevance)
    runs = {
        name: SimpleNamespace(
            qid=qid, docid=docid, score=signal * relevance + rng.normal(size=len(qid))
        )
        for name, signal in (("a", gain), ("b", 1.0))
    }
    return qrels, runs


def test_student_and_randomisation():
    qrels, runs = judged_runs(25, 1.5, 0)
    found = compare_runs(qrels, runs, ["map", "ndcg_cut_10", "num_rel"])
    assert found.names == ["a", "b"] and len(found.queries) == 25
    for one in found.differences:
        a, b = found.by_query[one.measure].T
        expected = stats.ttest_rel(a, b)
        assert one.p_value == pytest.approx(expected.pvalue)
        low, high = expected.confidence_interval()
        assert (one.low, one.high) == pytest.approx((low, high))
        flips = stats.permutation_test(
            (a - b,), np.mean, permutation_type="samples", n_resamples=20_000, rng=0
        )
        assert one.p_randomisation == pytest.approx(flips.pvalue, abs=0.01)
        assert one.p_adjusted == one.p_value and one.wins == (a > b).sum()
    assert found.mean["num_rel"][0] == (qrels.relevance > 0).sum()
    assert "num_rel" not in found.interval


def test_few_queries_visit_all_signs():
    gain = np.array([0.3, 0.1, 0.2, -0.05])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    expected = np.mean(np.abs(signs @ gain) >= abs(gain.sum()) - 1e-12)
    assert sign_flip_p(gain, np.random.RandomState(0)) == pytest.approx(expected)
    assert sign_flip_p(np.zeros(4), np.random.RandomState(0)) == 1.0


def test_equal_runs_are_seldom_called_different():
    p = []
    for seed in range(150):
        (one,) = compare_runs(*judged_runs(15, 1.0, seed, documents=8), ["map"]).differences
        p.append((one.p_value, one.p_randomisation))
    rejected = (np.array(p) < 0.05).mean(axis=0)
    assert (rejected < 0.1).all() and (rejected > 0.005).all()


def test_queries_that_a_run_lacks():
    qrels, runs = judged_runs(6, 1.0, 0)
    keep = runs["a"].qid != "q0"
    runs["a"] = SimpleNamespace(**{k: v[keep] for k, v in vars(runs["a"]).items()})
    assert "q0" not in compare_runs(qrels, runs, ["map"]).queries
    every = compare_runs(qrels, runs, ["map"], all_queries=True)
    assert every.queries[0] == "q0" and every.by_query["map"][0, 0] == 0.0
    with pytest.raises(ValueError, match="dict of names"):
        compare_runs(qrels, [runs["a"]])
    only = {name: SimpleNamespace(**vars(run)) for name, run in runs.items()}
    keep = only["b"].qid == "q0"
    only["b"] = SimpleNamespace(**{k: v[keep] for k, v in vars(only["b"]).items()})
    with pytest.raises(UndefinedMetric, match="in all runs"):
        compare_runs(qrels, only, ["map"])


def test_three_runs_are_corrected():
    qrels, runs = judged_runs(20, 1.3, 1)
    runs["c"] = runs["b"]
    found = compare_runs(qrels, runs, ["map"])
    assert [one.p_adjusted >= one.p_value for one in found.differences] == [True] * 3
    same = next(one for one in found.differences if {one.first, one.second} == {"b", "c"})
    assert same.difference == 0.0 and same.p_value == same.p_randomisation == 1.0
