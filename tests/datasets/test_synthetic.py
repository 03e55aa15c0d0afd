"""Generated data have the properties that were asked for, and the same seed gives the same data."""

import numpy as np
import pytest

import rankwise as rw
from rankwise.applications.ppi import InteractionRanker
from rankwise.datasets import (
    make_hybrid_search,
    make_ppi_corpus,
    make_ranking,
    make_rock_paper_scissors,
)
from rankwise.datasets.synthetic import INTERACTING
from rankwise.metrics import concordance


@pytest.mark.parametrize("w", [1, 10, 100])
def test_rock_paper_scissors(w):
    data = make_rock_paper_scissors(w, n_players=30, n_games=200, random_state=0)
    assert data.X.shape == data.X_test.shape == (30, 3)
    assert data.edges.shape == (400, 2) and data.y.shape == (400,)
    np.testing.assert_allclose(data.X.sum(axis=1), 1)
    np.testing.assert_array_equal(data.edges[::2], data.edges[1::2, ::-1])
    np.testing.assert_array_equal(data.y[::2], -data.y[1::2])
    assert set(data.y) <= {-1.0, 0.0, 1.0}
    assert (data.edges[:, 0] != data.edges[:, 1]).all()
    np.testing.assert_allclose(data.Y_test + data.Y_test.T, 1)
    assert data.Y_test.min() >= 0 and data.Y_test.max() <= 1


def test_games_follow_the_true_probabilities():
    """Two players, many games: the mean outcome is win − loss probability, by the rules."""
    data = make_rock_paper_scissors(20, n_players=2, n_games=50_000, random_state=1)
    (rock, paper, scissors), other = data.X
    win = rock * other[2] + paper * other[0] + scissors * other[1]
    loss = rock * other[1] + paper * other[2] + scissors * other[0]
    outcome = data.y[data.edges[:, 0] == 0].mean()
    assert outcome == pytest.approx(win - loss, abs=0.02)
    first, second = data.X_test
    win = first @ np.roll(second, 1)
    draw = first @ second
    assert data.Y_test[0, 1] == pytest.approx(win + draw / 2)


def test_sharpness_and_seed():
    favourites = [
        make_rock_paper_scissors(w, random_state=0).X.max(axis=1).mean() for w in (1, 10, 100)
    ]
    assert favourites[0] < 0.45 < favourites[1] < favourites[2] > 0.9
    first, again = (make_rock_paper_scissors(10, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.y, again.y)


@pytest.mark.parametrize(
    "arguments, name", [((0,), "w"), ((1, 1), "n_players"), ((1, 10, 0), "n_games")]
)
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        make_rock_paper_scissors(*arguments)


def test_made_rankings_are_what_was_asked_for():
    data = make_ranking(300, (2, 9), 6, n_informative=2, signal_to_noise=4.0, random_state=0)
    assert set(np.bincount(data.qid)) == set(range(2, 10))
    assert (data.coef != 0).tolist() == [True, True] + [False] * 4
    signal = data.X @ data.coef
    model = rw.RankRLS().fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(model.coef_, data.coef, atol=0.15)
    noise = make_ranking(300, 20, 6, query_shift=0.0, signal_to_noise=4.0, random_state=0)
    ratio = np.var(noise.X @ noise.coef) / np.var(noise.y - noise.X @ noise.coef)
    assert 3.5 < ratio < 4.5
    exact = make_ranking(5, 4, query_shift=0.0, signal_to_noise=np.inf, random_state=1)
    np.testing.assert_allclose(exact.y, exact.X @ exact.coef)
    assert signal.std() > 0


def test_made_grades_and_sparse_features():
    data = make_ranking(200, 10, 30, grades=4, density=0.2, random_state=0)
    shares = np.bincount(data.y.astype(int)) / len(data.y)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.125, 0.125], atol=0.02)
    assert abs(data.X.nnz / (2000 * 30) - 0.2) < 0.01
    again = make_ranking(200, 10, 30, grades=4, density=0.2, random_state=0)
    assert (again.X != data.X).nnz == 0
    for options in ({"n_items": (5, 2)}, {"grades": 1}, {"density": 2.0}, {"n_queries": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            make_ranking(**options)


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


def test_the_signals_help():
    data = make_hybrid_search(100, 20, 16, random_state=0)
    assert data.query.shape == data.document.shape == (2000, 16)
    assert data.query.dtype == np.float32 and set(data.y) == {0, 1, 2, 3}
    cosine = (data.query * data.document).sum(axis=1)
    for signal in (data.bm25, cosine):
        assert 0.6 < concordance(data.y, signal, data.qid) < 0.85
    again = make_hybrid_search(100, 20, 16, random_state=0)
    np.testing.assert_array_equal(data.bm25, again.bm25)
    for options in ({"n_queries": 0}, {"dimensions": -1}, {"noise": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            make_hybrid_search(**options)
