"""Finding interactions: training, evaluation by document, prediction, explanation."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

import rankwise
from rankwise import RLS, metrics
from rankwise.applications import ppi
from rankwise.applications.alpha_and_threshold import best_threshold, choose, judge
from rankwise.applications.candidate_pairs import graphs_of
from rankwise.applications.ppi_evaluation import (
    cross_validate_kernel,
    cut_folds,
)
from rankwise.datasets import read_ppi_corpus
from rankwise.exceptions import UndefinedMetric
from tests.ppi_corpus import corpus_xml, made_documents

ALPHAS = [0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Two corpora of the same language."""
    folder = tmp_path_factory.mktemp("corpora")
    found = []
    for seed in (0, 1):
        path = folder / f"{seed}.xml"
        path.write_text(corpus_xml(made_documents(8, np.random.default_rng(seed))))
        found.append(read_ppi_corpus(path))
    return found


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12))
def test_best_threshold_beats_all_others(items):
    y, scores = (np.array(column) for column in zip(*items))
    assume(y.any())
    found = judge(y, scores > best_threshold(y, scores)).f
    assert found == max(judge(y, scores > t).f for t in np.arange(-5, 5, 0.5))


def test_judge_and_thresholds_at_the_edges():
    assert judge([True, False], [False, False]) == (0.0, 0.0, 0.0)
    assert judge([True, False], [True, True]) == (0.5, 1.0, 2 / 3)
    with pytest.raises(UndefinedMetric, match="at least one positive"):
        best_threshold([False, False], [1.0, 2.0])


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


def test_reduced_set_removes_the_basis_of_held_out_groups():
    """Leave-group-out with a basis equals refitting with the basis items of the group removed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))
    K, y = X @ X.T, rng.choice([-1.0, 1.0], 20)
    groups = np.array_split(np.arange(20), 6)
    chosen = choose(K, y, groups, [2.0], "rls", 12, 7)
    basis = np.flatnonzero(chosen.coefficients)
    assert len(basis) == 12
    for group in groups:
        rest = np.setdiff1d(np.arange(20), group)
        left = np.setdiff1d(basis, group)
        model = RLS(2.0, kernel="precomputed", basis=np.searchsorted(rest, left))
        model.fit(K[np.ix_(rest, rest)], y[rest])
        expected = model.predict(K[np.ix_(group, rest)])
        assert_allclose(chosen.held_out[group], expected, atol=1e-8)


def test_basis_vectors_that_are_the_same_graph_leave_one_by_one():
    """Duplicates and low rank, by brute force: min ‖y − K_MR b‖² + 2 bᵀK_RR b without the group."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 4)), 3, axis=0)
    K, y, m = X @ X.T, rng.choice([-1.0, 1.0], 30), 30
    groups = np.array_split(rng.permutation(m), 7)
    chosen = choose(K, y, groups, [2.0], "rls", 15, 7)
    basis = np.flatnonzero(chosen.coefficients)
    apart = K + 2e-11 * np.trace(K) * np.eye(m)
    for group in groups:
        rest, left = np.setdiff1d(np.arange(m), group), np.setdiff1d(basis, group)
        F = apart[np.ix_(rest, left)]
        system = F.T @ F + 2.0 * apart[np.ix_(left, left)]
        b = np.linalg.lstsq(system, F.T @ y[rest], rcond=1e-14)[0]
        assert_allclose(chosen.held_out[group], K[np.ix_(group, left)] @ b, atol=1e-6)


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_cross_validation_equals_training_fold_by_fold(learner):
    """One inverse for all folds chooses and predicts what separate training does."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    K, groups = X @ X.T, rng.integers(0, 12, 40)
    tests = cut_folds(groups, 4, 1)
    found = cross_validate_kernel(K, y, groups, tests, ALPHAS, learner)
    for fold, test in zip(found.folds, tests):
        training = np.setdiff1d(np.arange(40), test)
        within = [np.flatnonzero(groups[training] == g) for g in np.unique(groups[training])]
        part = K[np.ix_(training, training)]
        chosen = choose(part, y[training], within, ALPHAS, learner)
        scores = K[np.ix_(test, training)] @ chosen.coefficients + chosen.intercept
        assert fold.alpha == chosen.alpha
        assert_allclose(fold.threshold, chosen.threshold, atol=1e-8)
        assert_allclose(found.scores[test], scores, atol=1e-8)
        if fold.auc is not None:
            assert_allclose(fold.auc, metrics.auc(y[test], scores))


def test_cross_validation_by_document(corpora):
    found = ppi.cross_validate(corpora[0], folds=4, alphas=ALPHAS)
    assert found.auc > 0.9 and 0.5 < found.f <= 1 and len(found.folds) == 4
    assert found.cooccurrence.recall == 1.0
    assert sum(fold.n_test for fold in found.folds) == len(corpora[0].pairs)
    basis = ppi.cross_validate(corpora[0], folds=4, alphas=ALPHAS, basis=60)
    assert basis.auc > 0.8
    given_folds = [[f"d{i}", f"d{i + 4}"] for i in range(4)]
    assert len(ppi.cross_validate(corpora[0], folds=given_folds, alphas=[1.0]).folds) == 4
    random = ppi.cross_validate(corpora[0], folds=4, split="pairs", alphas=[1.0])
    assert random.f_spread >= 0 and random.auc_spread >= 0


def test_folds_keep_groups_whole():
    groups = np.array(list("aabbbccddeef"), dtype=object)
    parts = cut_folds(groups, 3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(12))
    for part in parts:
        assert not set(groups[part]) & set(np.delete(groups, part))
    with pytest.raises(ValueError, match="folds=9 need between 2 and the 6"):
        cut_folds(groups, 9)
    with pytest.raises(ValueError, match="exactly once"):
        cut_folds(groups, [["a", "b"], ["c", "d", "e"]])


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
