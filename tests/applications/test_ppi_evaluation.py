"""Cross-validation by document equals separate training."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import metrics
from rankwise.applications import ppi
from rankwise.applications.alpha_and_threshold import choose
from rankwise.applications.ppi_evaluation import cross_validate_features, cut_folds

ALPHAS = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_cross_validation_equals_training_fold_by_fold(learner):
    """One inverse for all folds chooses and predicts what separate training does."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    F, groups = sparse.csr_matrix(X), rng.integers(0, 12, 40)
    tests = cut_folds(groups, 4, 1)
    found = cross_validate_features(F, y, groups, tests, ALPHAS, learner)
    for fold, test in zip(found.folds, tests):
        training = np.setdiff1d(np.arange(40), test)
        within = [np.flatnonzero(groups[training] == g) for g in np.unique(groups[training])]
        chosen = choose(F[training], y[training], within, ALPHAS, learner)
        scores = X[test] @ X[training].T @ chosen.coefficients + chosen.intercept
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
    for learner in ("rls", "rank_rls"):
        found = ppi.cross_validate(corpora[0], folds=4, alphas=ALPHAS, basis=60, learner=learner)
        assert found.auc > 0.8
    given_folds = [[f"d{i}", f"d{i + 4}"] for i in range(4)]
    assert len(ppi.cross_validate(corpora[0], folds=given_folds, alphas=[1.0]).folds) == 4
    random = ppi.cross_validate(corpora[0], folds=4, split="pairs", alphas=[1.0])
    assert random.f_spread >= 0 and random.auc_spread >= 0
    with pytest.raises(TypeError, match="combination"):
        ppi.cross_validate(corpora[0], combination="max")


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
