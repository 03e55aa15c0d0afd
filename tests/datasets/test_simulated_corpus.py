"""Simulated sentences are parsed like real ones, and their verb decides."""

import pytest

from rankwise.applications.ppi import InteractionRanker
from rankwise.datasets import make_ppi_corpus
from rankwise.datasets.simulated_corpus import INTERACTING


def test_a_sentence_is_whole():
    corpus = make_ppi_corpus(3, 4, random_state=0)
    assert len(corpus) == len(corpus.pairs) == 12
    assert len(corpus.documents) == 3
    for sentence in corpus:
        for token in sentence.tokens:
            assert sentence.text[token.start : token.end] == token.text
        (pair,) = sentence.pairs
        assert sentence.tokens_of(pair.entity1) == [0]
        assert sentence.tokens_of(pair.entity2) == [2]
        assert pair.interaction == (sentence.tokens[1].text in INTERACTING)


def test_equal_seeds_give_equal_sentences():
    first, again, other = (make_ppi_corpus(random_state=seed) for seed in (1, 1, 2))
    assert [s.text for s in first] == [s.text for s in again] != [s.text for s in other]


def test_it_can_be_learnt():
    ranker = InteractionRanker().fit(make_ppi_corpus(random_state=0))
    assert ranker.auc_ == pytest.approx(1.0)
