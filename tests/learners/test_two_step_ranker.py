import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_no_attributes_set_in_init

import rankwise as rw
from rankwise import ConditionalRanker, TwoStepRanker
from rankwise.exceptions import KernelRepairWarning
from rankwise.metrics import conditional_error
from rankwise.spaces.definiteness import repaired
from tests import reference_two_step as reference

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(12, 3)), RNG.normal(size=(9, 2))
Y = A[:, :2] @ B.T + 0.3 * RNG.normal(size=(12, 9))
SQUARE = RNG.normal(size=(12, 12))


def kernel_of(name, U, V):
    return U @ V.T if name == "linear" else rbf_kernel(U, V, gamma=0.4)


@pytest.mark.parametrize("kernels", [("linear", "rbf"), ("rbf", "linear"), ("rbf", "rbf")])
def test_two_domains_equal_two_solves(kernels):
    new_a, new_b = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 2))
    model = TwoStepRanker((0.3, 2.0), kernel=kernels, gamma=0.4).fit((A, B), Y)
    C = reference.coefficients(
        kernel_of(kernels[0], A, A), kernel_of(kernels[1], B, B), Y, (0.3, 2.0)
    )
    expected = kernel_of(kernels[0], new_a, A) @ C @ kernel_of(kernels[1], new_b, B).T
    np.testing.assert_allclose(model.predict(new_a, new_b), expected, atol=1e-10)
    edges = np.array([[3, 4], [0, 0], [3, 1]])
    found = model.predict_edges(new_a, new_b, edges)
    np.testing.assert_allclose(found, expected[tuple(edges.T)], atol=1e-10)
    best, scores = model.rank(new_a[1], new_b, k=2)
    np.testing.assert_array_equal(best, np.argsort(-expected[1])[:2])
    np.testing.assert_allclose(scores, np.sort(expected[1])[::-1][:2], atol=1e-10)
    truth = RNG.normal(size=(4, 5))
    assert model.score(new_a, new_b, truth) == pytest.approx(1 - conditional_error(truth, expected))


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_mirrored_relations(relation):
    sign = reference.SIGNS[relation]
    with pytest.warns(UserWarning, match=f"Y is not {relation}"):
        model = TwoStepRanker((0.3, 2.0), kernel="rbf", relation=relation).fit(A, SQUARE)
    S = model.predict(A)
    np.testing.assert_allclose(S, sign * S.T, atol=1e-12)
    mirrored = (SQUARE + sign * SQUARE.T) / 2
    K = rbf_kernel(A, A, gamma=1 / 3)
    F = K @ reference.coefficients(K, K, mirrored, (0.3, 2.0)) @ K
    np.testing.assert_allclose(S, (F + sign * F.T) / 2, atol=1e-10)


def test_precomputed_kernels_of_either_side():
    K = rbf_kernel(A, A, gamma=0.4)
    given = TwoStepRanker(kernel=("precomputed", "linear")).fit((K, B), Y)
    plain = TwoStepRanker(kernel=("rbf", "linear"), gamma=(0.4, None)).fit((A, B), Y)
    new = RNG.normal(size=(4, 3))
    expected = plain.predict(new, B)
    np.testing.assert_allclose(given.predict(rbf_kernel(new, A, gamma=0.4), B), expected)
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not plain.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("fill", ["mean", "row", "column", 0.25])
def test_cells_are_filled_by_the_rule(fill):
    incomplete = Y.copy()
    incomplete[[0, 3, 5], [1, 2, 2]] = np.nan
    filled = incomplete.copy()
    for i, j in zip(*np.nonzero(np.isnan(incomplete))):
        rule = {
            "mean": np.nanmean(incomplete),
            "row": np.nanmean(incomplete[i]),
            "column": np.nanmean(incomplete[:, j]),
        }
        filled[i, j] = rule.get(fill, 0.25)
    model = TwoStepRanker(fill=fill).fit((A, B), incomplete)
    np.testing.assert_allclose(
        model.predict(A, B), TwoStepRanker().fit((A, B), filled).predict(A, B), atol=1e-12
    )
    assert model.n_filled_ == 3
    edges = np.argwhere(~np.isnan(incomplete))
    from_edges = TwoStepRanker(fill=fill).fit((A, B), incomplete[tuple(edges.T)], edges=edges)
    np.testing.assert_array_equal(from_edges.coef_, model.coef_)


@pytest.mark.parametrize("relation", ["general", "symmetric", "reciprocal"])
def test_cells_filled_by_the_model_equal_its_predictions(relation):
    sign = reference.SIGNS[relation]
    labels = SQUARE + sign * SQUARE.T
    labels[[0, 3, 5], [1, 2, 4]] = np.nan
    model = TwoStepRanker((0.2, 0.5), kernel="rbf", relation=relation, fill="model")
    S = model.fit(A, labels).predict(A)
    filled = np.where(np.isnan(labels), S if relation == "general" else sign * labels.T, labels)
    if relation == "general":
        again = TwoStepRanker((0.2, 0.5), kernel="rbf").fit(A, filled)
        np.testing.assert_allclose(again.predict(A), S, atol=1e-9)
    else:
        labels.T[[0, 3, 5], [1, 2, 4]] = np.nan
        S = model.fit(A, labels).predict(A)
        filled = np.where(np.isnan(labels), S, labels)
        again = TwoStepRanker((0.2, 0.5), kernel="rbf", relation=relation).fit(A, filled)
        np.testing.assert_allclose(again.predict(A), S, atol=1e-9)


def test_a_direction_that_is_known_fills_its_reverse():
    labels = SQUARE + SQUARE.T
    half = labels.copy()
    half[4, 7] = np.nan
    np.testing.assert_array_equal(
        TwoStepRanker(relation="symmetric").fit(A, half).coef_,
        TwoStepRanker(relation="symmetric").fit(A, labels).coef_,
    )


def test_several_relations():
    both = np.stack([Y, -(Y**2)], axis=-1)
    model = TwoStepRanker().fit((A, B), both)
    assert model.predict(A, B).shape == (12, 9, 2)
    for number in (0, 1):
        alone = TwoStepRanker().fit((A, B), both[..., number])
        np.testing.assert_allclose(model.predict(A, B)[..., number], alone.predict(A, B))
    errors = [conditional_error(both[..., k], model.predict(A, B)[..., k]) for k in (0, 1)]
    assert model.score(A, B, both) == pytest.approx(1 - np.mean(errors))


def test_scikit_learn_conventions():
    model = TwoStepRanker((2.0, 0.5), kernel=("rbf", "linear"), gamma=(0.3, None), fill="mean")
    before = dict(model.get_params())
    fitted = clone(model).fit((A, B), Y)
    assert fitted.get_params() == before
    with pytest.raises(NotFittedError):
        clone(fitted).predict(A, B)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(A, B), fitted.predict(A, B)
    )
    check_no_attributes_set_in_init("TwoStepRanker", model)
    assert fitted.n_features_in_ == (3, 2)


def test_frames_are_matched_by_name_and_sparse_nodes_are_read():
    frame = pd.DataFrame(A, columns=["a", "b", "c"])
    model = TwoStepRanker().fit((frame, B), Y)
    np.testing.assert_array_equal(model.predict(frame[["c", "b", "a"]], B), model.predict(A, B))
    thin = TwoStepRanker(kernel="rbf").fit((sparse.csr_array(A), B), Y)
    np.testing.assert_allclose(
        thin.predict(sparse.csr_array(A), B),
        TwoStepRanker(kernel="rbf").fit((A, B), Y).predict(A, B),
    )


def test_set_params_after_fit_changes_only_the_alpha_of_hold_outs(tmp_path):
    model = TwoStepRanker((1.0, 1.0), kernel="rbf").fit((A, B), Y)
    before = model.predict(A, B), model.rank(A[0], B)[0]
    model.set_params(alpha=3.0, kernel="linear", condition="column", fill="mean")
    np.testing.assert_array_equal(model.predict(A, B), before[0])
    np.testing.assert_array_equal(model.rank(A[0], B)[0], before[1])
    expected = TwoStepRanker(3.0, kernel="rbf").fit((A, B), Y).leave_row_out()
    np.testing.assert_allclose(model.leave_row_out(), expected)
    rw.save(model, tmp_path / "model.rw")
    loaded = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(loaded.predict(A, B), before[0])
    with pytest.raises(ValueError, match="comes from a file"):
        loaded.leave_row_out()


def test_it_is_not_the_kronecker_ridge_but_near_it():
    """Stock et al. 2018: the two-step model is a Kronecker model with another filter."""
    two_step = TwoStepRanker((1e-9, 1e-9), kernel="rbf").fit((A, B), Y).predict(A, B)
    kronecker = ConditionalRanker(1e-9, objective="regression", kernel="rbf").fit((A, B), Y)
    np.testing.assert_allclose(two_step, kronecker.predict(A, B), atol=1e-5)


NAN = Y.copy()
NAN[[2, 4], [1, 0]] = np.nan
TWICE = np.array([[0, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize(
    "parameters, data, options, message",
    [
        ({}, ((A, B), NAN), {}, r"2 of 108 cells are not observed, the first at row 2, column 1"),
        ({"alpha": 0.0}, ((A, B), Y), {}, "alpha"),
        ({"alpha": (1.0, -1.0)}, ((A, B), Y), {}, "alpha"),
        ({"alpha": (1.0, 2.0, 3.0)}, ((A, B), Y), {}, "pair"),
        ({"fill": "median"}, ((A, B), Y), {}, "fill must be"),
        ({"fill": np.nan}, ((A, B), Y), {}, "fill must be"),
        ({"fill": True}, ((A, B), Y), {}, "fill must be"),
        ({"kernel": ("rbf", "linear", "rbf")}, ((A, B), Y), {}, "pair"),
        ({"kernel": ("rbf", "unknown")}, ((A, B), Y), {}, "kernel must be"),
        ({"relation": "symmetric"}, ((A, B), Y), {}, "one domain"),
        ({"relation": "symmetric", "kernel": ("rbf", "linear")}, (A, SQUARE), {}, "one kernel"),
        ({"relation": "reciprocal", "fill": 1.0}, (A, SQUARE), {"nan": True}, "fill=0.0"),
        ({"condition": "rows"}, ((A, B), Y), {}, "condition"),
        ({"fill": "mean"}, ((A, B), np.ones(3)), {"edges": TWICE}, "occurs 2 times"),
        ({"fill": "mean"}, ((A, B), np.full((12, 9), np.nan)), {}, "no edge is observed"),
        ({}, ((A, B), Y.T), {}, "Y must have shape"),
        ({}, ((A, B), np.full((12, 9), np.inf)), {}, "infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:Y is not")
def test_bad_input(parameters, data, options, message):
    X, labels = data
    if options.pop("nan", False):
        labels = labels - labels.T
        labels[0, 1] = labels[1, 0] = np.nan
    with pytest.raises(ValueError, match=message):
        TwoStepRanker(**parameters).fit(X, labels, **options)


def test_a_row_without_any_value_cannot_be_filled_by_its_mean():
    labels = Y.copy()
    labels[3] = np.nan
    with pytest.raises(ValueError, match="row 3 has none"):
        TwoStepRanker(fill="row").fit((A, B), labels)
    assert np.isfinite(TwoStepRanker(fill="mean").fit((A, B), labels).predict(A, B)).all()


def indefinite(p):
    K = np.random.default_rng(p).normal(size=(p, p))
    return K + K.T


@pytest.mark.filterwarnings("ignore:the kernel of")
@pytest.mark.parametrize("repair", ["clip", "flip", "shift"])
@pytest.mark.parametrize("kind", ["edge", "row", "column", "both"])
def test_holdouts_of_repaired_similarities(repair, kind):
    """Hold-outs are those of the repaired matrices, which are kernels as any others."""
    K, G = indefinite(12), indefinite(9)
    model = TwoStepRanker((0.5, 2.0), kernel="precomputed", repair=repair).fit((K, G), Y)
    fixed = tuple(repaired(M, repair, "").K for M in (K, G))
    plain = TwoStepRanker((0.5, 2.0), kernel="precomputed").fit(fixed, Y)
    found, expected = (getattr(one, f"leave_{kind}_out")() for one in (model, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict(K, G), plain.predict(*fixed), rtol=1e-8, atol=1e-8)
    new_K, new_G = RNG.normal(size=(3, 12)), RNG.normal(size=(2, 9))
    maps = [repaired(M, repair, "").transform for M in (K, G)]
    turned = [new if T is None else new @ T for new, T in zip((new_K, new_G), maps)]
    np.testing.assert_allclose(model.predict(new_K, new_G), plain.predict(*turned), atol=1e-8)


def test_what_a_repair_changed_is_told():
    K, G = indefinite(12), indefinite(9)
    with pytest.warns(KernelRepairWarning) as told:
        model = TwoStepRanker(kernel="precomputed", repair="clip").fit((K, G), Y)
    assert [report["nodes"] for report in model.repairs_] == ["the row nodes", "the column nodes"]
    assert len(told) == 2 and told[0].filename == __file__
    with pytest.warns(KernelRepairWarning, match="the kernel of the nodes was repaired"):
        one_domain = TwoStepRanker(kernel="precomputed", repair="flip", relation="symmetric")
        one_domain.fit(K, SQUARE + SQUARE.T)
    assert len(one_domain.repairs_) == 1
    model.set_params(kernel="linear").fit((A, B), Y)
    assert model.repairs_ == []
    with pytest.raises(ValueError, match="repair must be one of"):
        TwoStepRanker(repair="mend").fit((A, B), Y)
    with pytest.raises(ValueError, match="one kernel and one repair"):
        TwoStepRanker(repair=("clip", None), relation="symmetric").fit(A, SQUARE + SQUARE.T)


def test_nodes_with_names_are_named_where_labels_contradict_the_relation():
    frame = pd.DataFrame(A, index=[f"player {i}" for i in range(12)])
    labels = np.zeros((12, 12))
    labels[3, 5], labels[5, 3] = 1.0, 2.0
    for model in (TwoStepRanker(relation="symmetric"), ConditionalRanker(relation="symmetric")):
        with pytest.warns(UserWarning, match="at the nodes 'player 3' and 'player 5'"):
            model.fit(frame, labels)
