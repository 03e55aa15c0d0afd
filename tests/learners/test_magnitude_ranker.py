"""MPRank, MPRankCV, SVRank and RankBoost: right answers for odd data, and scikit-learn's rules."""

import doctest
import importlib
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from rankwise import MPRank, MPRankCV, RankBoost, SVRank
from tests import reference_magnitude as slow

RNG = np.random.default_rng(3)
M = 30
X = RNG.normal(size=(M, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=M)
RBF = {"kernel": "rbf"}
LEARNERS = {
    "closed": MPRank(),
    "online": MPRank(solver="online"),
    "norm 1": MPRank(norm=1),
    "rbf": MPRank(**RBF),
    "online rbf": MPRank(**RBF, solver="online"),
    "svrank": SVRank(),
    "svrank norm 2": SVRank(norm=2, **RBF),
    "cv": MPRankCV(),
    "boost": RankBoost(20),
}
EVERY = pytest.mark.parametrize("name", LEARNERS)


@EVERY
@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_items(name, n):
    assert np.isfinite(clone(LEARNERS[name]).fit(X[:n], Y[:n]).predict(X)).all()


@EVERY
@pytest.mark.parametrize(
    "kind", [np.int64, np.bool_, object, str, np.float32], ids=lambda kind: kind.__name__
)
def test_scores_of_any_type(name, kind):
    y = np.round(Y) if kind is np.int64 else Y > 0 if kind is np.bool_ else Y
    given = y.astype(np.float32).astype(float) if kind is np.float32 else y.astype(float)
    found = clone(LEARNERS[name]).fit(X, y.astype(kind)).predict(X)
    assert_allclose(found, clone(LEARNERS[name]).fit(X, given).predict(X), rtol=1e-6, atol=1e-9)


@EVERY
def test_frames_and_text_queries(name):
    polars = pytest.importorskip("polars")
    qid = np.array(list("cab"))[RNG.integers(0, 3, M)]
    frame = polars.DataFrame(X, schema=list("wxyz"))
    model = clone(LEARNERS[name]).fit(frame, polars.Series(Y), qid=polars.Series(qid))
    plain = clone(LEARNERS[name]).fit(X, Y, qid=qid)
    assert_allclose(model.predict(frame), plain.predict(X))
    assert_allclose(model.predict(frame.select(list("zyxw"))), plain.predict(X))
    with pytest.raises(ValueError, match="z"):
        model.predict(frame.select(list("wxy")))


@EVERY
@pytest.mark.parametrize("bad", ["constant", "one item", "one item a query"])
def test_nothing_to_learn(name, bad):
    rows = 1 if bad == "one item" else M
    y = np.ones(M) if bad == "constant" else Y
    qid = np.arange(M) if bad == "one item a query" else None
    with pytest.raises(ValueError, match="no single preference"):
        clone(LEARNERS[name]).fit(X[:rows], y[:rows], qid=qid)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_scaled_features_are_a_scaled_C(factor):
    """h = ⟨w, x⟩ on factor·X at C is h on X at C factor²."""
    for learner in (MPRank(), SVRank(norm=2, tol=1e-8)):
        scaled = learner.set_params(C=1.0).fit(factor * X, Y).predict(factor * X)
        expected = learner.set_params(C=factor**2).fit(X, Y).predict(X)
        assert_allclose(scaled, expected, rtol=1e-5, atol=1e-15)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_norm_1_of_scaled_features_says_how_far_it_came(factor):
    for learner in (MPRank(norm=1, max_iter=40), SVRank(max_iter=40)):
        model = learner.set_params(C=factor**2).fit(X, Y)
        lower = (model.objective_ - model.gap_) / factor**2
        model = learner.set_params(C=1.0).fit(factor * X, Y)
        assert lower <= model.objective_ * (1 + 1e-9)
        assert model.gap_ <= 0.5 * model.objective_


@pytest.mark.parametrize("C", [1e-12, 1e12])
def test_C_at_its_ends(C):
    expected = slow.mprank(X, Y, C)
    assert_allclose(MPRank(C).fit(X, Y).coef_, expected, rtol=1e-6)
    assert_allclose(MPRank(C, solver="online").partial_fit(X, Y).coef_, expected, rtol=1e-6)
    found = SVRank(C, 0.0, norm=2, tol=1e-8).fit(X, Y).coef_
    assert_allclose(found, expected, rtol=1e-5)
    ends = SVRank(C, 0.1).fit(X, Y)
    start = slow.objective(np.zeros(M), 0.0, Y, C, 1, 0.1)
    assert ends.gap_ <= 1e-3 * start


@pytest.mark.parametrize("norm", [1, 2])
def test_a_tube_wider_than_every_difference(norm):
    for options in ({}, RBF):
        model = SVRank(10.0, 2 * np.ptp(Y), norm=norm, **options).fit(X, Y)
        assert_allclose(model.predict(X), 0.0)
        assert model.objective_ == 0.0


@pytest.mark.parametrize("name", ["online", "norm 1", "svrank", "svrank norm 2", "online rbf"])
def test_one_iteration_warns_and_keeps_a_model(name):
    model = clone(LEARNERS[name]).set_params(C=1e4, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="1 iterations"):
        model.fit(X, Y)
    assert model.n_iter_ == 1
    assert model.score(X, Y) > 0.5


@pytest.mark.parametrize("name", ["closed", "online", "norm 1", "svrank", "svrank norm 2"])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_weights_count_relative_to_each_other(name, scale):
    weight = RNG.integers(1, 4, M).astype(float)
    found = clone(LEARNERS[name]).fit(X, Y, sample_weight=scale * weight).predict(X)
    plain = clone(LEARNERS[name]).fit(X, Y, sample_weight=weight).predict(X)
    assert_allclose(found, plain, atol=1e-9)


@pytest.mark.parametrize("solver", ["closed", "online"])
def test_a_new_fit_leaves_nothing_of_an_earlier_kernel(solver):
    model = MPRank(solver=solver).fit(X, Y)
    model.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(model, "coef_")
    model.set_params(kernel="linear").fit(X, Y)
    assert not hasattr(model, "dual_coef_")
    assert_allclose(model.predict(X), MPRank(solver=solver).fit(X, Y).predict(X))


def test_many_copies_of_few_items():
    copies = np.arange(200) % 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for C in (1.0, 100.0):
            few = MPRank(C).fit(X[:5], Y[:5]).predict(X)
            assert_allclose(MPRank(C).fit(X[copies], Y[copies]).predict(X), few)
            model = SVRank(C, 0.05).fit(X[copies], Y[copies])
            assert_allclose(
                model.objective_, SVRank(C, 0.05).fit(X[:5], Y[:5]).objective_, rtol=1e-2
            )


@pytest.mark.parametrize("grid", [["much"], [None], "abc"], ids=str)
def test_a_grid_that_is_no_grid(grid):
    with pytest.raises(ValueError, match="Cs"):
        MPRankCV(grid).fit(X, Y)


RNG_9 = np.random.default_rng(9)
ITEMS = RNG_9.normal(size=(40, 3))
QUERIES = RNG_9.permutation(np.repeat(list("abcdefgh"), 5))
SCORES = (
    ITEMS[:, 0] + 0.5 * RNG_9.normal(size=40) + 10 * (np.unique(QUERIES, return_inverse=True)[1])
)
ESTIMATORS = [MPRank(), MPRankCV([0.1, 10.0]), SVRank(), RankBoost()]
NAMES = [type(learner).__name__ for learner in ESTIMATORS]


@parametrize_with_checks(
    [
        *ESTIMATORS,
        MPRank(solver="online", tol=1e-18, max_iter=10_000),
        MPRank(kernel="rbf", solver="online", tol=1e-18, max_iter=10_000),
        MPRank(norm=1),
        SVRank(norm=2, kernel="rbf"),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn drops qid before the score of a pipeline",
)
@pytest.mark.parametrize("learner", ESTIMATORS, ids=NAMES)
def test_queries_are_routed_through_pipelines_and_searches(learner):
    names = {"MPRank": "C", "SVRank": "C", "RankBoost": "n_rounds", "MPRankCV": "exact"}
    name = names[type(learner).__name__]
    grid = {f"{type(learner).__name__.lower()}__{name}": [1, 2] if name != "exact" else [True]}
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(learner))
        search = GridSearchCV(pipeline, grid, cv=GroupKFold(4)).fit(
            ITEMS, SCORES, qid=QUERIES, groups=QUERIES
        )
    assert search.best_score_ > 0.6
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        search.best_estimator_.score(ITEMS, SCORES)


@pytest.mark.parametrize("learner", ESTIMATORS, ids=NAMES)
def test_pickles_and_scores(learner):
    model = clone(learner).fit(ITEMS, SCORES, qid=QUERIES)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(ITEMS), model.predict(ITEMS))
    assert model.score(ITEMS, SCORES, qid=QUERIES) > 0.6


@pytest.mark.parametrize("module", ["mprank", "mprank_cv", "svrank", "rank_boost"])
def test_docstring_examples(module):
    assert doctest.testmod(importlib.import_module(f"rankwise.learners.{module}")).failed == 0


@pytest.mark.parametrize("learner", ESTIMATORS, ids=NAMES)
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"y": np.where(SCORES > 5, np.nan, SCORES)}, "Input y contains NaN"),
        ({"y": SCORES[:-1]}, "as many rows"),
        ({"qid": QUERIES[:-1]}, "qid must"),
        ({"X": np.where(ITEMS > 1, np.inf, ITEMS)}, "infinity"),
    ],
    ids=["nan in y", "short y", "short qid", "inf in X"],
)
def test_bad_data(learner, bad, named):
    given = {"X": ITEMS, "y": SCORES, "qid": QUERIES, **bad}
    with pytest.raises(ValueError, match=named):
        clone(learner).fit(given.pop("X"), given.pop("y"), **given)
