import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import ConditionalRanker, ConditionalRankerCV, TwoStepRanker
from rankwise.exceptions import InvalidKernel, KernelRepairWarning
from rankwise.kernels import InteractionProfile, Kernel, KernelSum
from rankwise.metrics import ranking_error
from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit
from rankwise.spaces.definiteness import repaired
from rankwise.spaces.node_kernels import pair_of, side_kernels
from tests import reference_conditional as reference

RNG = np.random.default_rng(0)
A, B, Y = RNG.normal(size=(9, 3)), RNG.normal(size=(8, 4)), RNG.normal(size=(9, 8))
A_NEW, B_NEW = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 4))


def test_each_side_has_its_own_kernel():
    model = ConditionalRanker(kernel=("rbf", "poly"), gamma=(0.3, None), degree=(3, 2))
    model.fit((A, B), Y)
    K, G = Kernel("rbf", 0.3), Kernel("poly", None, 2)
    expected = ConditionalRanker(kernel="precomputed").fit((K.matrix(A, A), G.matrix(B, B)), Y)
    np.testing.assert_allclose(
        model.predict(A_NEW, B_NEW), expected.predict(K.matrix(A_NEW, A), G.matrix(B_NEW, B))
    )
    mixed = ConditionalRanker(kernel=("rbf", "precomputed"), gamma=0.3)
    mixed.fit((A, G.matrix(B, B)), Y)
    np.testing.assert_allclose(
        mixed.predict(A_NEW, G.matrix(B_NEW, B)), model.predict(A_NEW, B_NEW)
    )


def test_pairs_in_one_domain():
    X, S = A, RNG.normal(size=(9, 9))
    model = ConditionalRanker(kernel=("rbf", "linear")).fit(X, S)
    expected = ConditionalRanker(kernel=("rbf", "linear")).fit((X, X), S)
    np.testing.assert_allclose(model.predict(A_NEW), expected.predict(A_NEW, A_NEW))
    for parameters in ({"relation": "symmetric"}, {"pairwise": "mlpk"}):
        with pytest.raises(ValueError, match="same kernel of nodes"):
            ConditionalRanker(kernel=("rbf", "linear"), **parameters).fit(X, S + S.T)
        ConditionalRanker(kernel=("rbf", "rbf"), **parameters).fit(X, S + S.T)
    with pytest.raises(ValueError, match="no matrix of its own"):
        ConditionalRanker(kernel=("precomputed", "linear")).fit(np.eye(9), S)
    for value in ((1.0, 2.0, 3.0), [0.1]):
        with pytest.raises(ValueError, match=r"gamma must be one value, or a pair"):
            ConditionalRanker(kernel="rbf", gamma=value).fit((A, B), Y)


def test_sums_of_kernels():
    kernels = [Kernel("rbf", 0.1), "linear", Kernel("poly", 1.0, 2)]
    total = KernelSum(kernels, [0.5, 2.0, 0.0])
    model = ConditionalRanker(kernel=total, gamma=0.7).fit((A, B), Y)

    def summed(U, X):
        return 0.5 * Kernel("rbf", 0.1).matrix(U, X) + 2 * U @ X.T

    expected = ConditionalRanker(kernel="precomputed").fit((summed(A, A), summed(B, B)), Y)
    np.testing.assert_allclose(
        model.predict(A_NEW, B_NEW), expected.predict(summed(A_NEW, A), summed(B_NEW, B))
    )
    sparse_model = ConditionalRanker(kernel=total).fit((sparse.csr_array(A), B), Y)
    np.testing.assert_allclose(
        sparse_model.predict(sparse.csr_array(A_NEW), B_NEW), model.predict(A_NEW, B_NEW)
    )


def test_sums_of_matrices():
    K = [Kernel("rbf", gamma).matrix(A, A) for gamma in (0.1, 1.0)]
    new = [Kernel("rbf", gamma).matrix(A_NEW, A) for gamma in (0.1, 1.0)]
    sides = KernelSum(["precomputed", "precomputed"], [0.3, 0.7]), "rbf"
    model = ConditionalRanker(kernel=sides).fit((K, B), Y)
    expected = ConditionalRanker(kernel=("precomputed", "rbf"))
    expected.fit((0.3 * K[0] + 0.7 * K[1], B), Y)
    found = expected.predict(0.3 * new[0] + 0.7 * new[1], B_NEW)
    np.testing.assert_allclose(model.predict(new, B_NEW), found)
    np.testing.assert_allclose(model.predict(np.hstack(new), B_NEW), found)
    np.testing.assert_allclose(model.predict(np.array(new), B_NEW), found)
    stacked = ConditionalRanker(kernel=sides).fit((np.hstack(K), B), Y)
    np.testing.assert_allclose(stacked.predict(new, B_NEW), found)
    mixed = ConditionalRanker(kernel=(KernelSum(["precomputed", "linear"]), "rbf"))
    mixed.fit(([K[0], A], B), Y)
    linear = ConditionalRanker(kernel=("precomputed", "rbf")).fit((K[0] + A @ A.T, B), Y)
    np.testing.assert_allclose(
        mixed.predict([new[0], A_NEW], B_NEW), linear.predict(new[0] + A_NEW @ A.T, B_NEW)
    )
    with pytest.raises(ValueError, match="one matrix for each of its kernels"):
        mixed.fit((K[0], B), Y)
    with pytest.raises(ValueError, match="takes as many matrices"):
        ConditionalRanker(kernel=sides).fit(([*K, K[0]], B), Y)
    with pytest.raises(ValueError, match="as many rows"):
        ConditionalRanker(kernel=sides).fit(([K[0], K[1][:5]], B), Y)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (KernelSum([]), "needs a list of kernels"),
        (KernelSum("rbf"), "needs a list of kernels"),
        (KernelSum(["rbf"], [1, 2]), "as many numbers"),
        (KernelSum(["rbf", "linear"], [1, -1]), "negative weight is no kernel"),
        (KernelSum(["rbf"], [0.0]), "not all 0"),
        (KernelSum(["gauss"]), "kernel must be one of"),
        (KernelSum([InteractionProfile()]), "besides interaction profiles"),
        (InteractionProfile(), "use it in a sum"),
        (KernelSum(["rbf", InteractionProfile(-1.0)]), "gamma of InteractionProfile"),
        (KernelSum(["rbf", InteractionProfile(fill="median")]), "fill of InteractionProfile"),
        (KernelSum(["rbf", InteractionProfile(fill=np.nan)]), "fill must be a finite number"),
    ],
)
def test_bad_sums(kernel, message):
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(kernel=kernel).fit((A, B), Y)


def test_clone_set_params_and_memory_of_the_fit():
    model = ConditionalRanker(kernel=KernelSum(["rbf", "linear"], [1.0, 2.0]), item_effect=0.1)
    before = model.fit((A, B), Y).predict(A, B)
    copy = clone(model)
    assert copy.kernel is not model.kernel and copy.kernel.weights == [1.0, 2.0]
    model.set_params(kernel__weights=[5.0, 0.0], pairwise="linear", item_effect=(1.0, 0.0))
    np.testing.assert_array_equal(model.predict(A, B), before)
    assert model.fitted_parameters.kernel.weights == [1.0, 2.0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(A, B), before)
    assert not np.allclose(model.fit((A, B), Y).predict(A, B), before)
    pair = clone(ConditionalRanker(kernel=(KernelSum(["rbf"]), "linear"), gamma=(1.0, None)))
    assert pair.gamma == (1.0, None) and pair.kernel[1] == "linear"


def test_weights_are_chosen_on_folds():
    rng = np.random.default_rng(3)
    K_good, K_bad = Kernel("rbf", 0.2).matrix(A, A), np.eye(9)
    truth = np.linalg.cholesky(K_good + 1e-9 * np.eye(9)) @ rng.normal(size=(9, 8))
    sums = KernelSum(["precomputed", "precomputed"])
    candidates = [(one, "rbf") for one in sums.weightings(2)]
    assert [one.weights for one, _ in candidates] == [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    search = ConditionalRankerCV(
        ConditionalRanker(condition="column"),
        alphas=[0.01, 0.1, 1.0],
        grid={"kernel": candidates},
        setting="rows",
        cv=3,
        random_state=0,
    ).fit(([K_good, K_bad], B), truth)
    assert search.best_params_["kernel"][0].weights == [1.0, 0.0]
    assert len(search.grid_results_) == 3
    assert search.best_score_ == max(one["score"] for one in search.grid_results_)
    assert search.best_estimator_.kernel[0].weights == [1.0, 0.0]
    for name in ("alpha", "condition"):
        with pytest.raises(ValueError, match=f"must not hold '{name}'"):
            search.set_params(grid={name: [1.0]}).fit(([K_good, K_bad], B), truth)


PROFILES = (
    KernelSum(["rbf", InteractionProfile(fill="mean")]),
    KernelSum(["rbf", InteractionProfile(0.5)], [0.5, 2.0]),
)


def test_interaction_profiles_by_hand():
    edges = reference.all_edges(9, 8)[np.arange(72) % 3 > 0]
    seen = np.zeros(Y.shape, bool)
    seen[tuple(edges.T)] = True
    means = np.array([Y[seen[:, j], j].mean() for j in range(8)])
    deviations = np.where(seen, Y - means, 0.0)
    plain_columns = np.where(seen, Y, 0.0).T

    def gaussian(P, gamma):
        width = np.mean([p @ p for p in P])
        return np.array([[np.exp(-gamma * (p - r) @ (p - r) / width) for r in P] for p in P])

    K = Kernel("rbf").matrix(A, A) + gaussian(deviations, 1.0)
    G = 0.5 * Kernel("rbf").matrix(B, B) + 2.0 * gaussian(plain_columns, 0.5)
    options = {"tol": 1e-12, "max_iter": 2000}
    model = ConditionalRanker(kernel=PROFILES, **options).fit((A, B), Y[seen], edges=edges)
    expected = ConditionalRanker(kernel="precomputed", **options)
    expected.fit((K, G), Y[seen], edges=edges)
    np.testing.assert_allclose(model.predict(A, B), expected.predict(K, G), atol=1e-8)
    new_K = Kernel("rbf").matrix(A_NEW, A)
    new_G = 0.5 * Kernel("rbf").matrix(B_NEW, B)
    np.testing.assert_allclose(
        model.predict(A_NEW, B_NEW), expected.predict(new_K, new_G), atol=1e-8
    )


@pytest.mark.parametrize("relation", ["general", "symmetric", "reciprocal"])
def test_profiles_in_one_domain(relation):
    sign = {"general": 0, "symmetric": 1, "reciprocal": -1}[relation]
    S = RNG.normal(size=(9, 9))
    S = S + sign * S.T
    model = ConditionalRanker(kernel=PROFILES[0], relation=relation).fit(A, S)
    profiles = np.hstack([S, S.T]) if not sign else S
    K = Kernel("rbf").matrix(A, A)
    K = K + InteractionProfile(fill="mean").matrix(profiles, np.ones(profiles.shape, bool))
    expected = ConditionalRanker(kernel="precomputed", relation=relation).fit(K, S)
    np.testing.assert_allclose(model.predict(A), expected.predict(K), atol=1e-8)


SPLITS = {"edges": EdgeSplit, "rows": RowSplit, "columns": ColumnSplit, "both": RowColumnSplit}


@pytest.mark.parametrize("setting", SPLITS)
def test_held_out_labels_change_nothing(setting):
    """Neither a prediction nor a chosen alpha depends on labels of edges that were held out."""
    edges = reference.all_edges(9, 8)
    y = Y.ravel()
    train, test = next(SPLITS[setting](3, 0).split(edges))
    model = ConditionalRanker(kernel=PROFILES, item_effect=0.2)
    model.fit((A, B), y[train], edges=edges[train])
    with_nan = np.full(Y.shape, np.nan)
    with_nan[tuple(edges[train].T)] = y[train]
    again = clone(model).fit((A, B), with_nan)
    np.testing.assert_allclose(
        again.predict_edges(A, B, edges[test]), model.predict_edges(A, B, edges[test]), atol=1e-9
    )

    def fold_scores(y):
        other = ConditionalRankerCV(
            ConditionalRanker(kernel=PROFILES), alphas=[1.0], setting=setting, cv=3, random_state=1
        )
        problem_folds = []
        from rankwise.learners.relation_inputs import relation_problem
        from rankwise.supervision.relation import Labels

        problem, _ = relation_problem(other.ranker, (A, B), y, edges)
        labels = problem.labels[0]
        part = problem.with_labels(0, labels.take(train))
        at = Labels(labels.shape, rows=edges[test, 0], columns=edges[test, 1], y=y[test])
        problem_folds.append(next(iter(part.predictions_at(at, [1.0]))))
        return problem_folds

    changed = y.copy()
    changed[test] = 1e3
    np.testing.assert_array_equal(fold_scores(y), fold_scores(changed))


@pytest.mark.parametrize("setting", SPLITS)
def test_shuffled_labels_score_one_half(setting):
    rng = np.random.default_rng(5)
    U, V = rng.normal(size=(16, 2)), rng.normal(size=(15, 2))
    edges = reference.all_edges(16, 15)
    scores = []
    for _ in range(12):
        y = rng.normal(size=len(edges))
        for train, test in SPLITS[setting](3, rng.integers(1000)).split(edges):
            model = ConditionalRanker(5.0, kernel=PROFILES, item_effect=0.5, tol=1e-3)
            model.fit((U, V), y[train], edges=edges[train])
            s = model.predict_edges(U, V, edges[test])
            scores.append(1 - ranking_error(y[test], s, edges[test, 0]))
    error = np.std(scores) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - 0.5) < 3.5 * error


def test_profiles_and_other_options():
    model = ConditionalRanker(kernel=PROFILES).fit((A, B), Y)
    with pytest.raises(ValueError, match="which the held-out labels would change"):
        model.leave_row_out()
    with pytest.raises(ValueError, match="labels of one relation"):
        clone(model).fit((A, B), np.dstack([Y, Y]))
    with pytest.raises(ValueError, match="must not enter the kernel"):
        clone(model).set_params(early_stopping=0.3).fit((A, B), Y)
    constant = clone(model).fit((A, B), np.ones_like(Y))
    assert np.isfinite(constant.predict(A, B)).all()


def test_nodes_without_an_edge_have_no_profile():
    edges = np.array([(u, v) for u in range(6) for v in range(6)])
    y = Y[:6, :6].ravel()
    model = ConditionalRanker(kernel=PROFILES, item_effect=0.3)
    all_nodes = clone(model).fit((A, B), y, edges=edges)
    fewer = clone(model).fit((A[:6], B[:6]), y, edges=edges)
    # The same fill and widths: nodes without an edge add nothing to the profiles of the others.
    np.testing.assert_allclose(all_nodes.predict(A, B), fewer.predict(A, B), atol=1e-9)


def indefinite(rng, p):
    K = rng.normal(size=(p, p))
    return K + K.T


@pytest.mark.parametrize("repair", ["clip", "flip", "shift"])
def test_repairs(repair):
    rng = np.random.default_rng(6)
    K, G = indefinite(rng, 9), indefinite(rng, 8)
    new_K, new_G = rng.normal(size=(3, 9)), rng.normal(size=(2, 8))

    def by_hand(K):
        values, Q = np.linalg.eigh(K)
        kept = {"clip": values.clip(0), "flip": abs(values), "shift": values - values[0]}[repair]
        signs = {"clip": values > 0, "flip": np.sign(values), "shift": np.ones(len(K))}[repair]
        return (Q * kept) @ Q.T, (Q * signs) @ Q.T, values[0]

    (K_fixed, T_K, smallest), (G_fixed, T_G, _) = by_hand(K), by_hand(G)
    with pytest.warns(KernelRepairWarning, match="smallest eigenvalue"):
        model = ConditionalRanker(kernel="precomputed", repair=repair).fit((K, G), Y)
    expected = ConditionalRanker(kernel="precomputed").fit((K_fixed, G_fixed), Y)
    np.testing.assert_allclose(model.predict(K, G), expected.predict(K_fixed, G_fixed), atol=1e-8)
    np.testing.assert_allclose(
        model.predict(new_K, new_G), expected.predict(new_K @ T_K, new_G @ T_G), atol=1e-8
    )
    index, scores = model.rank(new_K, new_G)
    found = np.take_along_axis(model.predict(new_K, new_G), index, axis=1)
    np.testing.assert_allclose(found, scores, atol=1e-10)
    first, second = model.repairs_
    assert first["nodes"] == "the row nodes" and second["nodes"] == "the column nodes"
    assert first["smallest_eigenvalue"] == pytest.approx(smallest)
    change = np.linalg.norm(K_fixed - K) / np.linalg.norm(K)
    assert first["relative_change"] == pytest.approx(change)


def test_a_repair_where_none_is_needed():
    K = Kernel("rbf").matrix(A, A)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConditionalRanker(kernel="precomputed", repair=("clip", "flip"))
        model.fit((K, np.eye(8)), Y)
    assert model.repairs_ == []
    with pytest.raises(InvalidKernel, match=r"indefinite.*repair='clip'"):
        ConditionalRanker(kernel="precomputed").fit((indefinite(RNG, 9), np.eye(8)), Y)
    with pytest.raises(ValueError, match="repair must be one of"):
        ConditionalRanker(kernel="precomputed", repair="mend").fit((K, np.eye(8)), Y)
    with pytest.raises(InvalidKernel, match="no positive eigenvalue"):
        repaired(-np.eye(3), "clip", "the kernel")
    asymmetric = K.copy()
    asymmetric[0, 1] += 0.01
    with pytest.warns(KernelRepairWarning):
        model = ConditionalRanker(kernel="precomputed", repair="clip")
        model.fit((asymmetric, np.eye(8)), Y)
    assert model.repairs_[0]["asymmetry"] == pytest.approx(0.005)


def test_holdouts_with_item_effects_and_repairs_equal_refits():
    rng = np.random.default_rng(8)
    K, G = indefinite(rng, 9), indefinite(rng, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelRepairWarning)
        model = ConditionalRanker(kernel="precomputed", repair="clip", item_effect=(0.3, 0.7))
        model.fit((K, G), Y)
    fixed = [repaired(M, "clip", "").K for M in (K, G)]
    for u in (0, 4):
        kept = np.delete(np.arange(9), u)
        plain = ConditionalRanker(kernel="precomputed", item_effect=(0.3, 0.7))
        plain.fit((fixed[0][np.ix_(kept, kept)], fixed[1]), Y[kept])
        found = model.leave_row_out()[u]
        expected = plain.predict(fixed[0][[u]][:, kept], fixed[1])[0]
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_each_argument_is_one_value_or_a_pair():
    model = TwoStepRanker(kernel=("rbf", "poly"), gamma=(0.3, None), degree=2, coef0=[0.0, 1.5])
    assert side_kernels(model) == (Kernel("rbf", 0.3, 2, 0.0), Kernel("poly", None, 2, 1.5))
    assert pair_of(3.0, "alpha") == (3.0, 3.0)
    with pytest.raises(ValueError, match="gamma must be one value, or a pair"):
        pair_of((1, 2, 3), "gamma")
    with pytest.raises(ValueError, match="gamma"):
        side_kernels(TwoStepRanker(gamma=(0.3, -1.0)))
