"""What RankSVMCV holds out by default, from the smallest data on."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import Preferences, RankLogisticCV, RankSVMCV

RNG = np.random.default_rng(0)
pytestmark = pytest.mark.filterwarnings("ignore::rankwise.exceptions.GridWarning")


@pytest.mark.parametrize(
    ("m", "queries", "groups", "expected"),
    [
        (20, 1, None, "5 folds"),
        (7, 1, None, "3 folds"),
        (4, 1, None, "2 folds"),
        (24, 8, None, "5 folds of queries"),
        (24, 5, None, "5 folds of queries"),
        (24, 4, None, "leave-query-out"),
        (6, 2, None, "leave-query-out"),
        (20, 1, 10, "5 folds of groups"),
        (20, 1, 3, "3 folds of groups"),
    ],
)
def test_automatic_folds_in_words(m, queries, groups, expected):
    X, y = RNG.normal(size=(m, 2)), RNG.permutation(m)
    qid = None if queries == 1 else np.arange(m) % queries
    labels = None if groups is None else np.arange(m) % groups
    model = RankSVMCV([0.01, 0.1, 1.0]).fit(X, y, qid=qid, groups=labels)
    assert model.cv_ == expected


def test_preferences_have_ten_folds_or_as_many_as_there_are_pairs():
    for l, expected in ((15, "10 folds of pairs of items"), (4, "4 folds of pairs of items")):
        preferences = Preferences(np.arange(l), np.arange(l) + 1)
        model = RankSVMCV([0.01, 0.1, 1.0]).fit(
            RNG.normal(size=(l + 1, 2)), preferences=preferences
        )
        assert model.cv_ == expected


@pytest.mark.parametrize("m", [2, 3])
def test_too_few_items_for_two_folds(m):
    with pytest.raises(ValueError, match=r"4 items or more.*Give RankSVM an alpha"):
        RankSVMCV().fit(np.arange(m)[:, None], np.arange(m))


def test_one_warning_speaks_for_all_fits_of_a_search():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    with pytest.warns(ConvergenceWarning) as caught:
        RankSVMCV([1e-4, 1e-2], max_iter=1).fit(X, y)
    (warning,) = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert "fits of RankSVMCV did not converge" in str(warning.message)
    assert "increase max_iter" in str(warning.message)
    assert warning.filename == __file__
    told = Preferences(rng.integers(0, 20, 60), rng.integers(20, 40, 60))
    with pytest.warns(ConvergenceWarning) as caught:
        RankLogisticCV([1e-4, 1e-2], max_iter=1).fit(X, preferences=told)
    assert sum(issubclass(w.category, ConvergenceWarning) for w in caught) == 1
