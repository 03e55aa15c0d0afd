"""Measures of runs: equal to trec_eval where it is installed, and to sums written plainly."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from rankwise import UndefinedMetric, metrics
from rankwise.metrics import trec_measures

NAMES = [
    *("map", "map_cut_5", "ndcg", "ndcg_cut_5", "ndcg_cut_10", "P_5", "P_20", "recall_5"),
    *("recall_100", "success_1", "success_5", "recip_rank", "Rprec", "bpref"),
    *("num_ret", "num_rel", "num_rel_ret"),
]


def tables(judged: dict, found: dict):
    """Judgements and a run from {query: {document: value}}."""
    rows = [[(q, d, v) for q in one for d, v in one[q].items()] for one in (judged, found)]
    (jq, jd, jv), (rq, rd, rv) = (zip(*one) for one in rows)
    qrels = SimpleNamespace(
        qid=np.array(jq, object), docid=np.array(jd, object), relevance=np.array(jv)
    )
    run = SimpleNamespace(qid=np.array(rq, object), docid=np.array(rd, object), score=np.array(rv))
    return qrels, run


def drawn(rng, lowest=0):
    """Ties, also of numbers that only 64 bits tell apart; queries without relevant documents."""

    def documents(most):
        return [f"d{j}" for j in rng.choice(30, rng.integers(1, most), replace=False)]

    judged = {f"q{i}": {d: int(rng.integers(lowest, 3)) for d in documents(20)} for i in range(5)}
    found = {
        f"q{i}": {d: float(rng.integers(0, 5) + 1e-9 * rng.integers(3)) for d in documents(25)}
        for i in range(1, 6)
    }
    return judged, found


@pytest.mark.parametrize("relevant", [1, 2])
def test_equal_to_trec_eval(relevant):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="trec_eval is not installed")
    rng = np.random.default_rng(relevant)
    bases = {name.rstrip("0123456789").rstrip("_") for name in NAMES}
    for _ in range(60):
        judged, found = drawn(rng)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, bases, relevance_level=relevant)
        theirs = evaluator.evaluate(found)
        wanted = [*NAMES[:5], *(n for n in NAMES[5:] if n in next(iter(theirs.values())))]
        ours = trec_measures(*tables(judged, found), wanted, relevant=relevant)
        assert sorted(theirs) == list(ours.queries) and ours.num_q == len(theirs)
        for name in wanted:
            expected = [theirs[query][name] for query in ours.queries]
            np.testing.assert_allclose(ours.values[name], expected, atol=1e-9, err_msg=name)


def test_written_plainly():
    judged = {"q": {"a": 2, "b": 0, "c": 1, "z": 1, "n": -1}, "none": {"a": 0}, "lost": {"a": 1}}
    found = {"q": {"a": 1.0, "b": 1.0, "u": 3.0, "c": 0.5, "n": 0.1}, "none": {"a": 1}}
    ours = trec_measures(*tables(judged, found), NAMES)
    assert list(ours.queries) == ["none", "q"]
    value = {name: values[1] for name, values in ours.values.items()}
    # the order is u (not judged), b, a (tied: the last name first), c, n
    assert value["map"] == pytest.approx((1 / 3 + 2 / 4) / 3)
    assert value["recip_rank"] == pytest.approx(1 / 3) and value["P_5"] == pytest.approx(2 / 5)
    assert value["Rprec"] == pytest.approx(1 / 3) and value["recall_5"] == pytest.approx(2 / 3)
    ideal = 2 + 1 / np.log2(3) + 1 / 2
    assert value["ndcg"] == pytest.approx((2 / 2 + 1 / np.log2(5)) / ideal)
    assert value["bpref"] == pytest.approx(0.0)  # the one refused document is above both
    assert (value["num_ret"], value["num_rel"], value["num_rel_ret"]) == (5, 3, 2)
    assert ours.values["map"][0] == 0.0 and ours.mean["num_ret"] == 6
    every = trec_measures(*tables(judged, found), ["map"], all_queries=True)
    assert list(every.queries) == ["lost", "none", "q"] and every.values["map"][0] == 0.0


def test_ties_are_averaged_over_all_orders():
    """ndcg@K and average_precision equal the mean of trec_eval's over all orders of the ties."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        judged = {"q": {f"d{j}": int(rng.integers(0, 3)) for j in range(6)}}
        scores = rng.integers(0, 3, size=5).astype(float)
        run = {"q": dict(zip([f"d{j}" for j in range(5)], scores))}
        ours = trec_measures(*tables(judged, run), ["average_precision", "ndcg@3"])
        values, gains = [], []
        levels = np.array([judged["q"][f"d{j}"] for j in range(6)])
        for noise in itertools.permutations(range(5)):
            order = np.lexsort((noise, -scores))
            untied = {"q": {f"d{j}": 5.0 - rank for rank, j in enumerate(order)}}
            values.append(trec_measures(*tables(judged, untied), ["map"]).values["map"][0])
            gain, best = 2.0 ** levels[order[:3]] - 1, 2.0 ** np.sort(levels)[::-1][:3] - 1
            weights = 1 / np.log2([2, 3, 4])
            gains.append(gain @ weights / max(best @ weights, 1e-300))
        assert ours.values["average_precision"][0] == pytest.approx(np.mean(values))
        assert ours.values["ndcg@3"][0] == pytest.approx(np.mean(gains))
        if judged["q"]["d5"] == 0 and levels.any():
            y = levels[:5].astype(float)
            assert ours.values["ndcg@3"][0] == pytest.approx(metrics.ndcg(y, scores, k=3))


def test_names_are_checked():
    judged, run = tables({"q": {"a": 1}}, {"q": {"a": 1.0}})
    for name in ("P", "P_0", "map_5", "ndcg@0", "map@5", "concordance", "P@5", "recip_rank_3", ""):
        with pytest.raises(ValueError, match="no measure of runs"):
            trec_measures(judged, run, [name])
    other = tables({"q": {"a": 1}}, {"r": {"a": 1.0}})
    with pytest.raises(UndefinedMetric, match="no query of the run is judged"):
        trec_measures(*other)
    assert trec_measures(*other, ["average_precision", "ndcg@3"], all_queries=True).mean == {
        "average_precision": 0.0,
        "ndcg@3": 0.0,
    }
