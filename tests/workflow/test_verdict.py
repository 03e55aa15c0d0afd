"""The verdict: what it says follows from the interval, and training data give none."""

import numpy as np
import pytest

from rankwise.workflow.judging import judge
from rankwise.workflow.search_path import COST, SearchPath
from rankwise.workflow.verdict import Share, against_chance, verdict


@pytest.mark.parametrize(
    ("value", "low", "high", "finding", "words"),
    [
        (0.7, 0.6, 0.8, "better", "Better than chance: 70.0% of the pairs are in the right order"),
        (0.7, 0.5, 0.8, "open", "Not shown to be better than chance: 70.0%"),
        (0.5, 0.4, 0.6, "open", "includes chance, 50%"),
        (0.3, 0.2, 0.4, "worse", "The opposite order would be better"),
        (0.9, None, None, "open", "It is open whether the model is better than chance: 90.0%"),
    ],
)
def test_the_interval_decides(value, low, high, finding, words):
    found = against_chance(Share(value, low, high, "why", "the pairs"))
    assert found.finding == finding and words in found.sentence and "why" in found.sentence


def test_the_sentence_is_about_the_judged_data():
    rng = np.random.default_rng(0)
    y, qid = rng.normal(size=200), np.repeat(np.arange(20), 10)
    good = verdict(judge(y, y + rng.normal(size=200), qid))
    assert good.finding == "better" and "of the pairs of a query, on average," in good.sentence
    assert verdict(judge(y, rng.normal(size=200))).finding == "open"
    assert verdict(judge(y, -y + rng.normal(size=200))).finding == "worse"


def test_training_data_give_no_verdict():
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    judged = judge(y, y)
    assert "trained on" in verdict(judged, on_training_data=True).sentence
    scores = np.array([0.6, 0.7]), np.array([0.01, 0.01])
    path = SearchPath("alpha", np.array([1.0, 2.0]), *scores, 2.0, "leave-pair-out")
    found = verdict(judged, path, on_training_data=True)
    assert found.finding == "better"
    assert "70.0% of held-out pairs (leave-pair-out) are in the right order" in found.sentence
    for changes in ({"judged": COST}, {"scoring": "ndcg"}):
        for name, value in changes.items():
            other = SearchPath(
                "alpha", np.array([1.0, 2.0]), *scores, 2.0, "folds", **{name: value}
            )
        assert "trained on" in verdict(judged, other, on_training_data=True).sentence
