"""Finding interactions: training, prediction, explanation, files."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import rankwise
from rankwise.applications import ppi
from rankwise.applications.alpha_and_threshold import judge
from rankwise.applications.candidate_pairs import graphs_of
from rankwise.datasets import read_ppi_corpus
from rankwise.exceptions import GraphWarning
from tests.ppi_corpus import corpus_xml, made_documents, sentence_xml

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


def test_a_share_of_interactions_replaces_the_threshold(corpora):
    ranker = ppi.InteractionRanker(alphas=ALPHAS).fit(corpora[0])
    pairs = corpora[1].pairs
    truth = np.array([pair.interaction for pair in pairs])
    predictions = ranker.predict(pairs, share=truth.mean())
    called = np.array([p.interacts for p in predictions])
    assert called.sum() == truth.sum()
    assert min(p.score for p in predictions if p.interacts) >= max(
        p.score for p in predictions if not p.interacts
    )
    assert judge(truth, called) == ppi.transfer(ranker, corpora[1]).by_share
    assert ranker.predict([], share=0.3) == []
    with pytest.raises(ValueError, match="share must be a number between 0 and 1; got 30"):
        ranker.predict(pairs, share=30)


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_a_basis_of_all_candidates_but_few_is_nearly_the_same(corpora, learner):
    whole = ppi.InteractionRanker(alphas=[1.0], learner=learner).fit(corpora[0])
    few = ppi.InteractionRanker(alphas=[1.0], learner=learner, basis=60).fit(corpora[0])
    scores = whole.decision_function(corpora[1]), few.decision_function(corpora[1])
    assert np.corrcoef(*scores)[0, 1] > 0.98
    assert few.held_out_.shape == whole.held_out_.shape and few.auc_ > 0.9
    alike = ppi.InteractionRanker(alphas=[1.0], learner=learner, basis=len(corpora[0].pairs))
    assert_allclose(alike.fit(corpora[0]).held_out_, whole.held_out_)


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sentences_with_heavy_cycles_stop_nothing(tmp_path, learner, normalize):
    """Collapsed dependencies that go round in a circle on the shortest path: a radius above 1."""
    documents = made_documents(8, np.random.default_rng(3))
    words = ["the", "A9", "binds", "protein", "B9", "with", "C9", "."]
    arcs = [(2, 1, "nsubj"), (2, 1, "agent"), (1, 2, "rcmod"), (1, 2, "dep"), (2, 4, "dobj")]
    arcs += [(2, 6, "prep_with")]
    labels = [(0, 1, True), (0, 2, False), (1, 2, False)]
    documents[2].append(sentence_xml("d2.round", words, [1, 4, 6], labels, arcs=arcs))
    path = tmp_path / "round.xml"
    path.write_text(corpus_xml(documents), encoding="utf-8")
    corpus = read_ppi_corpus(path)
    ranker = ppi.InteractionRanker(learner=learner, normalize=normalize)
    with pytest.warns(GraphWarning, match="of 99 graphs: the spectral radius is 1") as caught:
        ranker.fit(corpus)
    assert len(caught) == 1 and ranker.auc_ > 0.8
    with pytest.warns(GraphWarning):
        found = ppi.cross_validate(corpus, folds=4, alphas=ALPHAS, learner=learner)
    assert found.auc > 0.8
    with pytest.warns(GraphWarning):
        assert np.isfinite(ranker.decision_function(corpus)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ppi.InteractionRanker(longest=4, learner=learner, alphas=ALPHAS).fit(corpus)


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
