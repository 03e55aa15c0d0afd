"""What all estimates accept and refuse: containers, split queries, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from rankwise import RLS, RankRLS
from rankwise.evaluation import (
    compare,
    cross_val_auc,
    learning_curve,
    nested_score,
    permutation_test,
    regularisation_curve,
)
from tests.evaluation.small_data import QID, B, X, Y


def test_frames_lists_and_kernels():
    frame, K = pd.DataFrame(X, index=np.arange(24)[::-1]), X @ X.T
    for runs in (
        [cross_val_auc(RankRLS(), x, B) for x in (X, frame, X.tolist())],
        [nested_score(Ridge(), x, Y, cv=3).score for x in (X, frame, X.tolist())],
        [
            nested_score(RankRLS(kernel="precomputed"), x, Y, QID).score
            for x in (K, pd.DataFrame(K), K.tolist())
        ],
    ):
        assert_allclose(runs, runs[0])
    sizes = learning_curve(RankRLS(kernel="rbf", basis=10), X, Y, folds=2)
    assert np.isfinite(sizes.score).all()


def test_queries_must_stay_whole():
    for run in (permutation_test, compare, nested_score, regularisation_curve):
        models = [RankRLS(), RLS()] if run is compare else RankRLS()
        with pytest.raises(ValueError, match=r"of the 4 items of query [a-f]: queries must stay"):
            run(models, X, Y, qid=QID, cv=list(KFold(3).split(X)))
    with pytest.raises(ValueError, match="splits queries"):
        permutation_test(RankRLS(), X, Y, qid=QID, cv="leave-pair-out")


def test_bad_input():
    with pytest.raises(ValueError, match="y holds only one value"):
        permutation_test(RankRLS(), X, np.ones(24))
    with pytest.raises(ValueError, match="no query holds two values"):
        compare([RankRLS(), RLS()], X, np.unique(QID, return_inverse=True)[1], QID)
    with pytest.raises(ValueError, match="positive integer"):
        permutation_test(RankRLS(), X, Y, n_permutations=0)
    with pytest.raises(ValueError, match="as many rows"):
        permutation_test(RankRLS(), X[:5], Y)
    with pytest.raises(ValueError, match="no scikit-learn estimator"):
        nested_score("svm", X, Y)
    with pytest.raises(ValueError, match="row 3"):
        learning_curve(RankRLS(), X, np.where(np.arange(24) == 3, np.nan, Y))
