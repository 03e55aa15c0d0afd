"""Finding interactions: training, prediction, explanation, files."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import rankwise
from rankwise.applications import ppi
from rankwise.applications.candidate_pairs import graphs_of
from rankwise.datasets import read_ppi_corpus

ALPHAS = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_learns_and_transfers(corpora, learner):
    ranker = ppi.InteractionRanker(learner=learner).fit(corpora[0])
    assert ranker.auc_ > 0.9
    moved = ppi.transfer(ranker, corpora[1])
    assert moved.auc > 0.95 and moved.best.f >= moved.chosen.f > 0.8
    assert moved.best.f >= moved.by_share.f
    predictions = ranker.predict(corpora[1].sentences[:2])
    assert [p.pair for p in predictions] == corpora[1].pairs[:6]
    assert all(p.interacts == (p.score > ranker.threshold_) for p in predictions)


def test_held_out_scores_are_of_models_without_the_document(corpora):
    ranker = ppi.InteractionRanker(alphas=[0.5]).fit(corpora[0])
    pairs = corpora[0].pairs
    own = ranker.documents_ == "d3"
    rest = [pair for pair, inside in zip(pairs, own) if not inside]
    alone = ppi.InteractionRanker(alphas=[0.5]).fit(rest)
    mine = [pair for pair, inside in zip(pairs, own) if inside]
    assert_allclose(ranker.held_out_[own], alone.decision_function(mine), atol=1e-8)


def test_explanations_add_up(corpora):
    ranker = ppi.InteractionRanker(alphas=ALPHAS, learner="rank_rls").fit(corpora[0])
    pair = corpora[1].pairs[0]
    parts = ranker.explain(pair, k=10_000)
    total = sum(part.contribution for part in parts) + ranker.intercept_
    assert_allclose(total, ranker.predict(pair)[0].score)
    sizes = [abs(part.contribution) for part in parts]
    assert sizes == sorted(sizes, reverse=True) and len(ranker.explain(pair, 3)) == 3


def test_bad_input(corpora):
    ranker = ppi.InteractionRanker()
    assert clone(ranker).get_params() == ranker.get_params()
    with pytest.raises(ValueError, match="all of one kind or none"):
        ranker.fit([pair for pair in corpora[0].pairs if pair.interaction])
    with pytest.raises(ValueError, match="two or more documents"):
        ranker.fit([pair for pair in corpora[0].pairs if pair.document == "d0"])
    with pytest.raises(ValueError, match="learner must be one of"):
        ppi.InteractionRanker(learner="svm").fit(corpora[0])
    with pytest.raises(ValueError, match="item 0 is a str"):
        ranker.fit(["text"])
    with pytest.raises(ValueError, match='basis works with learner="rls"'):
        ppi.InteractionRanker(learner="rank_rls", basis=5).fit(corpora[0])
    with pytest.raises(ValueError, match="basis must be None or a positive integer; got -1"):
        ppi.InteractionRanker(basis=-1).fit(corpora[0])
    assert ppi.InteractionRanker(alphas=[1.0]).fit(corpora[0]).predict([]) == []


COUNTS = {"AIMed": (1000, 4834, 225), "HPRD50": (163, 270, 43), "IEPA": (335, 482, 200)}


@pytest.mark.parametrize("name", COUNTS)
def test_published_corpora(name):
    root = os.environ.get("RANKWISE_DATA") or Path(__file__).parents[3] / "shared" / "data"
    path = Path(root) / "ppi" / f"{name}.xml.xz"
    if not path.is_file():
        pytest.skip(f"{name} is not here; set RANKWISE_DATA to the folder that has ppi/")
    corpus = read_ppi_corpus(path)
    labels = [pair.interaction for pair in corpus.pairs]
    assert (labels.count(True), labels.count(False), len(corpus.documents)) == COUNTS[name]
    assert len(graphs_of(corpus.pairs[:20])) == 20


def test_a_saved_ranker_scores_and_explains_alike(corpora, tmp_path):
    first, other = corpora
    ranker = ppi.InteractionRanker(alphas=ALPHAS).fit(first)
    rankwise.save(ranker, tmp_path / "ppi.rankwise")
    loaded = rankwise.load(tmp_path / "ppi.rankwise")
    np.testing.assert_array_equal(loaded.decision_function(other), ranker.decision_function(other))
    pair = ranker.predict(other)[0].pair
    assert loaded.explain(pair) == ranker.explain(pair)
