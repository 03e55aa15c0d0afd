"""RankLogistic against scikit-learn on differences, and against its objective by brute force."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import rankwise
from rankwise import Preferences, PreferenceWarning, RankLogistic
from tests.reference_logistic import Problem

RNG = np.random.default_rng(5)
M, L = 12, 60
X = RNG.normal(size=(M, 3))
A = RNG.integers(0, M, L)
B = (A + RNG.integers(1, M, L)) % M
OUTCOME = RNG.choice([1.0, 0.0, 0.5], L, p=[0.5, 0.3, 0.2])
WEIGHT = RNG.uniform(0.2, 2.0, L)
TIED = OUTCOME == 0.5
NAMES = np.array([f"item {i:02d}" for i in range(M)])


def votes(chosen=slice(None), weight=WEIGHT):
    said = np.where(OUTCOME == 1, "a", np.where(OUTCOME == 0, "b", "tie"))[chosen]
    weight = None if weight is None else weight[chosen]
    return Preferences.from_votes(NAMES[A[chosen]], NAMES[B[chosen]], said, NAMES, weight)


def rows(chosen=slice(None)):
    columns = (A[chosen], B[chosen], OUTCOME[chosen], WEIGHT[chosen])
    return list(zip(*(column.tolist() for column in columns)))


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("order", [False, True])
    @pytest.mark.parametrize("alpha", [1e-8, 0.01, 1.0, 300.0])
    def test_linear(self, alpha, order):
        kept = ~TIED
        peer = LogisticRegression(
            C=1 / (2 * alpha), fit_intercept=order, tol=1e-12, solver="newton-cholesky"
        )
        peer.fit(X[A[kept]] - X[B[kept]], OUTCOME[kept], sample_weight=WEIGHT[kept])
        model = RankLogistic(alpha, order_effect=order).fit(X, preferences=votes(kept))
        assert_allclose(model.coef_, peer.coef_[0], rtol=1e-6, atol=1e-9)
        assert_allclose(model.order_effect_, peer.intercept_[0] if order else 0.0, atol=1e-8)
        pairs = np.column_stack((A, B))
        expected = peer.predict_proba(X[A] - X[B])[:, 1]
        assert_allclose(model.preference_proba(X, pairs), expected, rtol=1e-6)

    def test_bradley_terry(self):
        kept = ~TIED
        D = np.eye(M)[A[kept]] - np.eye(M)[B[kept]]
        peer = LogisticRegression(C=0.5 / 0.3, fit_intercept=False, tol=1e-12, max_iter=1000)
        peer.set_params(solver="newton-cholesky")
        peer.fit(D, OUTCOME[kept], sample_weight=WEIGHT[kept])
        model = RankLogistic(0.3).fit(None, preferences=votes(kept))
        assert_allclose(model.predict(None), peer.coef_[0], rtol=1e-6, atol=1e-9)

    def test_sparse_and_wide(self):
        """More features than items, dense and sparse, give the same weights."""
        kept, wide = ~TIED, np.hstack((X, RNG.normal(size=(M, 30))))
        peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, solver="newton-cholesky")
        peer.fit(wide[A[kept]] - wide[B[kept]], OUTCOME[kept], sample_weight=WEIGHT[kept])
        for items in (wide, sparse.csr_array(wide)):
            model = RankLogistic(0.5).fit(items, preferences=votes(kept))
            assert_allclose(model.coef_, peer.coef_[0], rtol=1e-6, atol=1e-9)


KERNELS = {
    "linear": ({}, lambda U, V: U @ V.T),
    "rbf": ({"kernel": "rbf", "gamma": 0.4}, lambda U, V: rbf_kernel(U, V, 0.4)),
    "poly": (
        {"kernel": "poly", "degree": 2, "gamma": 0.5},
        lambda U, V: polynomial_kernel(U, V, 2, 0.5, 1.0),
    ),
}


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("item_effect", [0.0, 0.7])
@pytest.mark.parametrize("kernel", KERNELS)
def test_against_brute_force(kernel, item_effect, order, ties):
    options, function = KERNELS[kernel]
    alpha = 0.4
    K = function(X, X)
    whole = K + item_effect * np.eye(M)
    slow = Problem(whole, rows(), alpha, order=order, davidson=ties == "davidson").solve()
    model = RankLogistic(
        alpha, item_effect=item_effect, order_effect=order, ties=ties, **options
    ).fit(X, preferences=votes())
    assert_allclose(model.predict(None), slow.f, rtol=1e-6, atol=1e-8)
    assert_allclose(model.predict(X), slow.f, rtol=1e-6, atol=1e-8)
    assert_allclose(model.order_effect_, slow.eta, atol=1e-7)
    nu = 0.0 if slow.log_nu is None else np.exp(slow.log_nu)
    assert_allclose(model.tie_effect_, nu, rtol=1e-6)
    assert_allclose(model.objective_, slow.value(slow.x), rtol=1e-9)
    assert 0 <= model.gap_ < 1e-6
    new = RNG.normal(size=(5, 3))
    expected = function(new, X) @ slow.expansion()
    assert_allclose(model.predict(new), expected, rtol=1e-5, atol=1e-6)


def test_without_features_is_the_identity_kernel():
    for item_effect in (0.0, 2.0):
        K = (1 + item_effect) * np.eye(M)
        slow = Problem(K, rows(), 0.8, order=True, davidson=True).solve()
        model = RankLogistic(0.8, item_effect=item_effect, order_effect=True, ties="davidson")
        model.fit(None, preferences=votes())
        assert_allclose(model.predict(), slow.f, rtol=1e-6, atol=1e-8)
        assert_allclose(model.tie_effect_, np.exp(slow.log_nu), rtol=1e-6)


def test_probabilities_with_ties():
    model = RankLogistic(ties="davidson", order_effect=True).fit(X, preferences=votes())
    pairs = np.array([[0, 1], [1, 0]])
    P = model.preference_proba(X, pairs)
    f = model.predict(X)
    d, nu = f[0] - f[1], model.tie_effect_
    up, down = np.exp((d + model.order_effect_) / 2), np.exp(-(d + model.order_effect_) / 2)
    assert P.shape == (2, 2)
    assert_allclose(P[0], np.array([up, nu]) / (up + down + nu))
    fair = model.preference_proba(X, pairs, neutral=True)
    assert_allclose(fair[:, 0].sum() + fair[0, 1], 1.0)
    assert_allclose(fair[0, 1], fair[1, 1])
    alone = RankLogistic().fit(X, preferences=votes()).preference_proba(X, pairs)
    assert alone.shape == (2,) and alone.sum() == pytest.approx(1.0)


def test_reduced_set_equals_the_kernel_of_its_span():
    basis = np.array([7, 2, 4])
    K = rbf_kernel(X, X, 0.4)
    reduced = K[:, basis] @ np.linalg.inv(K[np.ix_(basis, basis)]) @ K[basis]
    slow = Problem(reduced + 0.3 * np.eye(M), rows(), 0.2).solve()
    model = RankLogistic(0.2, kernel="rbf", gamma=0.4, basis=basis, item_effect=0.3)
    model.fit(X, preferences=votes())
    assert_allclose(model.predict(None), slow.f, rtol=1e-6, atol=1e-8)
    assert_allclose(model.score_covariance(), slow.covariance(), rtol=1e-4, atol=1e-8)


def test_precomputed():
    K, new = rbf_kernel(X, X, 0.4), RNG.normal(size=(4, 3))
    model = RankLogistic(0.2, kernel="rbf", gamma=0.4).fit(X, preferences=votes())
    gram = RankLogistic(0.2, kernel="precomputed").fit(K, preferences=votes())
    assert_allclose(gram.predict(rbf_kernel(new, X, 0.4)), model.predict(new), rtol=1e-6)


class TestCovariance:
    @pytest.mark.parametrize("item_effect", [0.0, 0.7])
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_is_the_inverse_hessian(self, kernel, item_effect):
        options, function = KERNELS[kernel]
        K = function(X, X) + item_effect * np.eye(M)
        effects = {"order_effect": True, "ties": "davidson"}
        model = RankLogistic(0.4, item_effect=item_effect, **effects, **options)
        model.fit(X, preferences=votes())
        slow = Problem(K, rows(), 0.4, order=True, davidson=True).solve()
        assert_allclose(model.score_covariance(None), slow.covariance(), rtol=1e-4, atol=1e-7)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_of_new_items_is_that_of_a_gaussian_process(self, kernel):
        """As if the new items had been in training without a single statement."""
        options, function = KERNELS[kernel]
        new = RNG.normal(size=(4, 3)) * 2
        both = np.vstack((X, new))
        slow = Problem(function(both, both) + 0.7 * np.eye(M + 4), rows(), 0.4).solve()
        model = RankLogistic(0.4, item_effect=0.7, **options).fit(X, preferences=votes())
        expected = slow.covariance()[M:, M:]
        assert_allclose(model.score_covariance(new), expected, rtol=1e-4, atol=1e-6)

    def test_wide_features(self):
        wide = np.hstack((X, RNG.normal(size=(M, 30))))
        new = RNG.normal(size=(4, 33))
        model = RankLogistic(0.4).fit(wide, preferences=votes())
        both = np.vstack((wide, new))
        slow = Problem(both @ both.T, rows(), 0.4).solve()
        assert_allclose(model.score_covariance(new), slow.covariance()[M:, M:], rtol=1e-4)


class TestScales:
    @pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e-8, 1e8, 1e60, 1e150])
    @pytest.mark.parametrize("options", [{}, {"kernel": "linear", "item_effect": 0.5}])
    def test_unit_of_the_features(self, scale, options):
        effect = options.get("item_effect", 0.0)
        plain = RankLogistic(0.3, **options).fit(X, preferences=votes())
        scaled = RankLogistic(0.3 * scale**2, **{**options, "item_effect": effect * scale**2})
        scaled.fit(X * scale, preferences=votes())
        assert_allclose(scaled.predict(None), plain.predict(None), rtol=1e-6, atol=1e-9)
        expected = plain.score_covariance(X[:4])
        assert_allclose(scaled.score_covariance(X[:4] * scale), expected, rtol=1e-6, atol=1e-10)

    @pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
    def test_unit_of_the_weights(self, scale):
        plain = RankLogistic(0.3).fit(X, preferences=votes())
        scaled = RankLogistic(0.3 * scale).fit(X, preferences=votes(weight=WEIGHT * scale))
        assert_allclose(scaled.coef_, plain.coef_, rtol=1e-8)
        assert_allclose(scaled.objective_, plain.objective_ * scale, rtol=1e-8)

    def test_offsets(self):
        plain = RankLogistic(0.3).fit(X, preferences=votes())
        far = RankLogistic(0.3).fit(X + 1e7, preferences=votes())
        assert_allclose(far.coef_, plain.coef_, rtol=1e-6)

    def test_overflow_is_refused(self):
        with pytest.raises(ValueError, match="finite sum"):
            RankLogistic().fit(X, preferences=votes(weight=np.full(L, 1e308)))

    def test_huge_alpha_shortens_and_never_empties(self):
        small = RankLogistic(1e12).fit(X, preferences=votes())
        smaller = RankLogistic(1e13).fit(X, preferences=votes())
        assert_allclose(small.coef_, 10 * smaller.coef_, rtol=1e-6)
        assert np.abs(smaller.coef_).min() > 0


class TestStatements:
    def test_repetition_is_weight(self):
        twice = Preferences(
            np.tile([0, 1, 2], 2), np.tile([1, 2, 0], 2), weight=[1, 2, 3, 1, 2, 3], n_items=3
        )
        once = Preferences([0, 1, 2], [1, 2, 0], weight=[2, 4, 6], n_items=3)
        found = [RankLogistic(0.1).fit(None, preferences=p).predict() for p in (twice, once)]
        assert_allclose(found[0], found[1], rtol=1e-10)

    def test_contradictions_in_balance(self):
        model = RankLogistic(0.1).fit(None, preferences=Preferences([0, 1], [1, 0]))
        assert_allclose(model.predict(), 0.0, atol=1e-12)
        assert model.gap_ == 0.0

    def test_an_item_that_only_wins(self):
        winning = Preferences([0, 0, 1], [1, 2, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ordinary = RankLogistic(1.0).fit(None, preferences=winning)
        assert np.isfinite(ordinary.predict()).all()
        for alpha in (1e-14, 0.0):
            with pytest.warns(PreferenceWarning, match="never lose"):
                model = RankLogistic(alpha).fit(None, preferences=winning)
            f = model.predict()
            assert np.isfinite(f).all() and f[0] > f[1] > f[2]

    def test_alpha_zero_is_maximum_likelihood(self):
        cycle = Preferences([0, 1, 2, 0], [1, 2, 0, 2])
        model = RankLogistic(0.0).fit(None, preferences=cycle)
        limit = RankLogistic(1e-9).fit(None, preferences=cycle)
        assert_allclose(model.predict(), limit.predict(), atol=1e-7)

    def test_disconnected_components(self):
        apart = Preferences([0, 2, 3], [1, 3, 2], n_items=6)
        with pytest.warns(PreferenceWarning, match="2 components .* 2 items were never"):
            model = RankLogistic().fit(None, preferences=apart)
        assert model.components_.tolist() == [0, 0, 1, 1, -1, -1]
        assert_allclose(model.predict()[4:], 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RankLogistic().fit(X[:6], preferences=apart)

    def test_ties_alone(self):
        equal = Preferences([0, 1], [1, 2], tie=[True, True])
        assert_allclose(RankLogistic().fit(None, preferences=equal).predict(), 0.0, atol=1e-12)
        with pytest.raises(ValueError, match="every statement is a tie"):
            RankLogistic(ties="davidson").fit(None, preferences=equal)

    def test_davidson_without_a_tie_is_plain(self):
        kept = ~TIED
        plain = RankLogistic().fit(X, preferences=votes(kept))
        davidson = RankLogistic(ties="davidson").fit(X, preferences=votes(kept))
        assert_allclose(davidson.coef_, plain.coef_)
        assert davidson.tie_effect_ == 0.0
        assert davidson.preference_proba(X, [[0, 1]]).shape == (1, 2)

    def test_the_first_item_always_wins(self):
        P = Preferences.from_votes(["x", "y", "z"], ["y", "z", "x"], ["a", "a", "a"])
        with pytest.warns(PreferenceWarning):
            model = RankLogistic(order_effect=True).fit(None, preferences=P)
        assert np.isfinite(model.order_effect_) and model.order_effect_ > 10

    def test_queries(self):
        qid = np.repeat(["u", "v"], 6)
        inside = (A < 6) == (B < 6)
        model = RankLogistic().fit(X, preferences=votes(inside), qid=qid)
        assert_allclose(model.coef_, RankLogistic().fit(X, preferences=votes(inside)).coef_)
        with pytest.raises(ValueError, match="different queries"):
            RankLogistic().fit(X, preferences=votes(), qid=qid)
        with pytest.raises(ValueError, match="qid"):
            model.score(X, X[:, 0])


class TestBadInput:
    def test_scores_are_refused_with_the_way_out(self):
        with pytest.raises(ValueError, match="from_scores"):
            RankLogistic().fit(X, np.arange(M))
        with pytest.raises(ValueError, match="preferences"):
            RankLogistic().fit(X)
        with pytest.raises(ValueError, match=r"must be a rankwise\.Preferences"):
            RankLogistic().fit(None, preferences=[[0, 1]])

    def test_self_comparison_is_refused_by_row(self):
        with pytest.raises(ValueError, match="preference 1"):
            Preferences([0, 2], [1, 2])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": -1}, "alpha"),
            ({"alpha": np.nan}, "alpha"),
            ({"item_effect": -0.1}, "item_effect"),
            ({"ties": "drop"}, "ties must be one of 'half', 'davidson'"),
            ({"order_effect": "yes"}, "order_effect"),
            ({"tol": 0}, "tol"),
            ({"max_iter": 0}, "max_iter"),
            ({"kernel": "nonsense"}, "kernel"),
        ],
    )
    def test_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            RankLogistic(**options).fit(X, preferences=votes())

    def test_order_needs_votes(self):
        with pytest.raises(ValueError, match="from_votes"):
            RankLogistic(order_effect=True).fit(X, preferences=Preferences([0], [1]))

    def test_basis_needs_features(self):
        with pytest.raises(ValueError, match="basis= needs features"):
            RankLogistic(basis=2).fit(None, preferences=votes())

    def test_a_model_without_features_has_no_other_items(self):
        model = RankLogistic().fit(None, preferences=votes())
        for use in (model.predict, model.score_covariance):
            with pytest.raises(ValueError, match="without features"):
                use(X)

    def test_numbers_of_rows(self):
        with pytest.raises(ValueError, match="12 items but X has 11 rows"):
            RankLogistic().fit(X[:11], preferences=votes())
        model = RankLogistic().fit(X, preferences=votes())
        with pytest.raises(ValueError, match="pairs"):
            model.preference_proba(X, [[0, M]])
        with pytest.raises(ValueError, match="features"):
            model.predict(X[:, :2])

    def test_too_few_iterations_warn(self):
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            RankLogistic(1e-6, max_iter=1).fit(X, preferences=votes())


class TestConventions:
    def test_parameters_and_clones(self):
        model = RankLogistic(2.0, kernel="rbf", item_effect=0.5, ties="davidson")
        before = repr(model.get_params())
        fitted = clone(model).fit(X, preferences=votes())
        assert repr(fitted.get_params()) == before
        with pytest.raises(NotFittedError):
            clone(fitted).predict(X)
        kernel = ["kernel", "gamma", "degree", "coef0", "basis", "random_state"]
        own = ["alpha", "item_effect", "order_effect", "ties", "tol", "max_iter"]
        assert list(RankLogistic().get_params()) == sorted(kernel + own)

    def test_changed_parameters_do_not_change_the_model(self):
        model = RankLogistic(0.2, kernel="rbf", ties="davidson").fit(X, preferences=votes())
        before = model.predict(X[:3]), model.score_covariance(X[:3])
        model.set_params(kernel="linear", alpha=5.0, ties="half", item_effect=3.0)
        assert_allclose(model.predict(X[:3]), before[0])
        assert_allclose(model.score_covariance(X[:3]), before[1])
        assert model.preference_proba(X, [[0, 1]]).shape == (1, 2)

    def test_refitting_without_features_forgets_them(self):
        model = RankLogistic().fit(X, preferences=votes()).fit(None, preferences=votes())
        assert not hasattr(model, "coef_") and not hasattr(model, "n_features_in_")

    def test_path_equals_fits(self):
        alphas = [0.01, 3.0, 0.3]
        for items, options, name in (
            (X, {}, "coef_"),
            (X, {"kernel": "rbf"}, "dual_coef_"),
            (None, {}, "strengths_"),
        ):
            model = RankLogistic(1.0, **options).fit(items, preferences=votes())
            for alpha, found in zip(alphas, model.path(alphas)):
                alone = RankLogistic(alpha, **options).fit(items, preferences=votes())
                assert_allclose(found, getattr(alone, name), rtol=1e-5, atol=1e-8)

    def test_training_items_as_new_ones_have_no_own_strength(self):
        model = RankLogistic(item_effect=1.0).fit(X, preferences=votes())
        assert_allclose(model.predict(X[:-1]), X[:-1] @ model.coef_)
        assert_allclose(model.predict(X), model.predict(None))
        assert np.abs(model.predict(X) - X @ model.coef_).max() > 0.01


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_statements_give_the_minimum(data):
    """Few items, any statements: the gradient of the explicit objective vanishes."""
    m = data.draw(st.integers(2, 6))
    length = data.draw(st.integers(1, 15))
    first = data.draw(st.lists(st.integers(0, m - 1), min_size=length, max_size=length))
    shift = data.draw(st.lists(st.integers(1, m - 1), min_size=length, max_size=length))
    second = [(i + s) % m for i, s in zip(first, shift)]
    outcome = data.draw(st.lists(st.sampled_from([1, 0, 0.5]), min_size=length, max_size=length))
    weight = data.draw(st.lists(st.floats(0.01, 100), min_size=length, max_size=length))
    alpha = data.draw(st.sampled_from([1e-4, 0.1, 10.0]))
    names = [f"n{i}" for i in range(m)]
    said = [{1: "a", 0: "b", 0.5: "tie"}[value] for value in outcome]
    P = Preferences.from_votes(
        [names[i] for i in first], [names[j] for j in second], said, names, weight
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreferenceWarning)
        model = RankLogistic(alpha).fit(None, preferences=P)
    slow = Problem(np.eye(m), list(zip(first, second, outcome, weight)), alpha)
    gradient = slow.gradient(slow.Z.T @ model.predict())
    size = np.abs(slow.gradient(np.zeros(m))).max() + alpha
    assert np.abs(gradient).max() <= 1e-6 * size


@pytest.mark.parametrize("training_data", [False, True])
@pytest.mark.parametrize("items", [None, X], ids=["without features", "features"])
def test_saved_models_know_their_uncertainty(items, training_data, tmp_path):
    options = {"item_effect": 0.4, "order_effect": True, "ties": "davidson"}
    judges = RNG.integers(0, 9, L)
    model = RankLogistic(**options).fit(items, preferences=votes(), groups=judges)
    rankwise.save(model, tmp_path / "model.rw", training_data=training_data)
    loaded = rankwise.load(tmp_path / "model.rw")
    assert_allclose(loaded.predict(items), model.predict(items), rtol=0)
    assert_allclose(loaded.preference_proba(None, [[0, 1]]), model.preference_proba(None, [[0, 1]]))
    if items is None or training_data:
        for robust in (False, True):
            expected = model.score_covariance(robust=robust)
            assert_allclose(loaded.score_covariance(robust=robust), expected, rtol=1e-12)
    else:
        with pytest.raises(ValueError, match="training_data=True"):
            loaded.score_covariance()


def test_edited_items_are_noticed():
    items = X.copy()
    model = RankLogistic().fit(items, preferences=votes())
    items[0] += 1.0
    with pytest.raises(ValueError, match="edited after fit"):
        model.score_covariance()


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_strengths_are_those_of_choix(alpha):
    """choix minimises the same sum; without a prior, its iterative spectral ranking agrees too."""
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(0)
    a = rng.integers(0, 8, 400)
    b = (a + rng.integers(1, 8, 400)) % 8
    winner = np.where(rng.random(400) < 0.6, a, b)
    votes = list(zip(winner.tolist(), (a + b - winner).tolist()))
    if alpha:
        expected = choix.opt_pairwise(8, votes, alpha=alpha, tol=1e-12)
    else:
        expected = choix.ilsr_pairwise(8, votes, alpha=0.0)
    model = RankLogistic(alpha).fit(None, preferences=Preferences(*np.array(votes).T, n_items=8))
    np.testing.assert_allclose(model.predict(None), expected - expected.mean(), atol=1e-6)
