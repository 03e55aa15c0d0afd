"""Columns that are like names are pointed out; counts, grades, years and flags are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from rankwise import MPRankCV, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.evaluation import (
    compare,
    cross_val_auc,
    leave_pair_out_interval,
    lpo_roc,
    nested_score,
    permutation_test,
)
from rankwise.exceptions import DependenceWarning
from rankwise.model_selection.dependent_rows import name_like, nearly_repeated_rows, repeated_rows

RNG = np.random.default_rng(0)


def patients(noise=0.05, rng=RNG, n=20, sizes=3):
    """Samples of patients without signal, and who they are of."""
    who = np.repeat(np.arange(n), sizes)
    X = rng.normal(size=(n, 5))[who] + noise * rng.normal(size=(len(who), 5))
    return X, rng.permutation(np.arange(n) % 2)[who].astype(float), who


def with_names(X, who, name="patient"):
    frame = pd.DataFrame(X, columns=[f"marker {j}" for j in range(X.shape[1])])
    frame.insert(2, name, who)
    return frame


@pytest.mark.parametrize("noise", [0.02, 0.3, 10.0])
def test_a_column_of_patients_is_named(noise):
    """Nearly equal rows, or (with much noise) the same label, show that it is a name."""
    X, y, who = patients(noise)
    codes = RNG.permutation(1000)[:20][who]
    found = name_like(with_names(X, codes), y)
    assert found.column == "patient" and found.number == 2 and found.values == 20
    assert found.implies == ("have the same score" if noise > 1 else "are nearly equal")
    order = RNG.permutation(60)
    assert name_like(with_names(X, codes).iloc[order], y[order]) is not None
    assert name_like(with_names(X, [f"p{i}" for i in who]), y).column == "patient"
    assert name_like(np.column_stack((codes, X)), y).column == "0"


def test_unequal_groups_and_real_scores():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, _, who = patients(0.2, rng, 25, rng.integers(1, 7, 25))
        y = rng.normal(size=len(who))
        assert name_like(with_names(X, rng.permutation(500)[:25][who]), y) is not None


@pytest.mark.parametrize("load", ["iris", "wine", "breast_cancer", "diabetes", "digits"])
def test_no_alarm_on_real_features(load):
    data = getattr(datasets, f"load_{load}")(as_frame=True)
    assert name_like(data.data, data.target) is None
    assert repeated_rows(data.data) == 0
    assert not nearly_repeated_rows(data.data, data.target)


def test_hardly_any_alarm_on_made_features():
    """Rounded, counted, graded and binary features that depend on each other and decide about y."""
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(300):
        m = int(rng.integers(30, 300))
        X = rng.normal(size=(m, 5)) + 2 * rng.normal(size=(m, 1)) * rng.integers(0, 2, 5)
        X[:, 0] = np.round(X[:, 0] * rng.choice([1, 3, 10]))
        X[:, 1] = X[:, 1] > 0
        X[:, 2] = rng.poisson(np.exp(np.clip(X[:, 2], -2, 2)))
        X[:, 3] = np.digitize(X[:, 3], [-1.0, 0.0, 1.0])
        y = X @ rng.normal(size=5) + rng.normal(size=m)
        alarms += name_like(X, y if rng.random() < 0.5 else y > np.median(y)) is not None
    assert alarms <= 2


def test_years_and_ages_are_no_names():
    """They decide about other features, but through their order."""
    year = RNG.integers(2000, 2020, 200)
    X = np.column_stack((year, year * 2.0 + RNG.normal(size=200), np.sqrt(year - 1990.0)))
    assert name_like(X, year + 0.1 * RNG.normal(size=200)) is None


@pytest.mark.parametrize("extra", [np.nan, np.inf])
def test_missing_values_are_no_error(extra):
    X, y, who = patients()
    X[0, 0] = extra
    assert name_like(np.column_stack((who * 7 % 20, X)), y) is not None
    assert name_like(np.zeros((0, 3))) is None and name_like(np.zeros(5)) is None


USES = {
    "cross_val_auc": lambda X, y, g: cross_val_auc(RankRLS(), X, y, groups=g),
    "leave_pair_out_interval": lambda X, y, g: leave_pair_out_interval(RankRLS(), X, y, groups=g),
    "lpo_roc": lambda X, y, g: lpo_roc(RankRLS(), X, y, groups=g),
    "permutation_test": lambda X, y, g: permutation_test(
        RankRLS(), X, y, groups=g, n_permutations=9, random_state=0
    ),
    "permutation_test of another": lambda X, y, g: permutation_test(
        RankSVM(), X, y, groups=g, n_permutations=2, cv=2, random_state=0
    ),
    "compare": lambda X, y, g: compare([RankRLS(), RankRLS(2.0)], X, y, groups=g),
    "nested_score": lambda X, y, g: nested_score(RankRLS(), X, y, groups=g),
    "RankRLSCV": lambda X, y, g: RankRLSCV([1.0, 2.0]).fit(X, y, groups=g),
    "RankSVMCV": lambda X, y, g: RankSVMCV([1.0]).fit(X, y, groups=g),
    "MPRankCV": lambda X, y, g: MPRankCV([1.0]).fit(X, y, groups=g),
}


@pytest.mark.parametrize("use", USES)
def test_every_estimate_names_the_column_unless_groups_are_given(use):
    X, y, who = patients()
    frame = with_names(X, who * 7 % 20)
    with pytest.warns(DependenceWarning, match=r"column 'patient' looks like .*by groups="):
        USES[use](frame, y, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DependenceWarning)
        USES[use](frame, y, who)


def test_repeated_rows_without_a_column():
    X, y, _ = patients(noise=0.0)
    with pytest.warns(DependenceWarning, match="60 of 60 rows of X occur more than once"):
        cross_val_auc(RankRLS(), X, y)
    with pytest.warns(DependenceWarning, match="60 of 60 rows"):
        RankRLSCV([1.0]).fit(X, y)


@pytest.mark.parametrize("n", [3, 5, 30])
@pytest.mark.parametrize("sizes", [2, 3, 6, 12])
def test_samples_of_patients_that_nobody_names_lie_in_tight_groups(n, sizes):
    who = np.repeat(np.arange(40), sizes)
    X = RNG.normal(size=(40, n))[who] + 0.05 * RNG.normal(size=(len(who), n))
    y = RNG.normal(size=40)[who] + 0.2 * RNG.normal(size=len(who))
    order = RNG.permutation(len(who))
    assert nearly_repeated_rows(X[order] * 10.0 ** np.arange(n) + 1e3, y[order])
    sick = RNG.permutation(np.arange(40) % 2)[who]
    assert nearly_repeated_rows(pd.DataFrame(X).assign(text="a"), sick)
    assert not nearly_repeated_rows(X, RNG.permutation(y))


def test_tight_groups_are_named_in_warnings_unless_groups_are_given():
    X, y, who = patients(n=40)
    with pytest.warns(DependenceWarning, match="Rows of X lie in tight groups.*by groups="):
        cross_val_auc(RankRLS(), X, y)
    with pytest.warns(DependenceWarning, match="tight groups"):
        RankRLSCV([1.0]).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DependenceWarning)
        RankRLSCV([1.0]).fit(X, y, groups=who)


def test_smooth_functions_of_features_curves_and_planes_are_no_tight_groups():
    alarms = 0
    for _ in range(300):
        m, n = int(RNG.integers(30, 400)), int(RNG.integers(3, 9))
        time = RNG.uniform(size=m)
        X = (
            RNG.normal(size=(m, n)),
            RNG.normal(size=(m, 2)) @ RNG.normal(size=(2, n)),
            time[:, None] ** np.arange(1, n + 1),
            np.round(RNG.normal(size=(m, n)), 1),
        )[RNG.integers(4)]
        score = (X - X.mean(axis=0)) / X.std(axis=0) @ RNG.normal(size=n)
        score /= score.std()
        y = (score, np.sin(3 * score), score > 0, RNG.normal(size=m))[RNG.integers(4)]
        alarms += nearly_repeated_rows(X, np.asarray(y, dtype=float))
    assert alarms <= 3


def test_constant_and_missing_values_are_no_error():
    X, y, _ = patients(n=40)
    X[:, 0], X[0, 1] = 3.0, np.nan
    assert nearly_repeated_rows(X, y)
    assert not nearly_repeated_rows(X, np.ones(len(y)))
    assert not nearly_repeated_rows(np.zeros((50, 4)), np.arange(50.0))
    assert not nearly_repeated_rows(None, y) and not nearly_repeated_rows(X, None)
