"""Every learner of relations, baselines too: all ways to ask for its scores and labels agree."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import rankwise as rw
from rankwise.evaluation.relational_folds import check_relational
from rankwise.exceptions import KernelRepairWarning

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(11, 3)), RNG.normal(size=(8, 2))
NEW_A, NEW_B = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 2))
Y = A[:, :2] @ B.T + 0.4 * RNG.normal(size=(11, 8))
RBF = {"kernel": "rbf", "gamma": 0.4}
MEMBERS = {
    "ConditionalRanker": rw.ConditionalRanker(0.5, tol=1e-12, **RBF),
    "ConditionalRanker regression": rw.ConditionalRanker(
        0.5, objective="regression", tol=1e-12, **RBF
    ),
    "TwoStepRanker": rw.TwoStepRanker((0.5, 2.0), fill="mean", **RBF),
    "KernelFilter": rw.KernelFilter((0.4, 0.3, 0.2, 0.1), **RBF),
    "NearestNodes": rw.NearestNodes(3, **RBF),
}
pytestmark = pytest.mark.parametrize("name", MEMBERS)
EXACT = {"rtol": 1e-6, "atol": 1e-7}


def fitted(name, *arguments, edges=None, **parameters):
    return clone(MEMBERS[name]).set_params(**parameters).fit(*arguments, edges=edges)


def test_it_is_a_learner_of_relations(name):
    check_relational(MEMBERS[name])
    model = clone(MEMBERS[name])
    with pytest.raises(NotFittedError):
        model.predict(A, B)
    before = model.get_params()
    assert model.fit((A, B), Y) is model and model.get_params() == before
    with pytest.raises(NotFittedError):
        clone(model).predict_edges(A, B, [[0, 0]])


@pytest.mark.parametrize("condition", ["row", "column"])
def test_scores_of_edges_and_ranks_are_those_of_the_matrix(name, condition):
    model = fitted(name, (A, B), Y, condition=condition)
    S = model.predict(NEW_A, NEW_B)
    edges = np.array([[3, 1], [0, 4], [3, 1], [2, 0]])
    found = model.predict_edges(NEW_A, NEW_B, edges)
    np.testing.assert_allclose(found, S[tuple(edges.T)], **EXACT)
    given, ranked, T = (NEW_A, NEW_B, S) if condition == "row" else (NEW_B, NEW_A, S.T)
    index, scores = model.rank(given, ranked, k=3)
    np.testing.assert_allclose(scores, -np.sort(-T, axis=1)[:, :3], **EXACT)
    np.testing.assert_allclose(np.take_along_axis(T, index, axis=1), scores, **EXACT)


def test_a_matrix_with_holes_is_a_list_of_edges(name):
    labels = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
    edges = RNG.permutation(np.argwhere(np.isfinite(labels)))
    one = fitted(name, (A, B), labels)
    other = fitted(name, (A, B), labels[tuple(edges.T)], edges=edges)
    np.testing.assert_allclose(one.predict(A, B), other.predict(A, B), **EXACT)


def test_the_order_of_the_nodes_does_not_matter(name):
    rows, columns = RNG.permutation(11), RNG.permutation(8)
    expected = fitted(name, (A, B), Y).predict(NEW_A, NEW_B)
    found = fitted(name, (A[rows], B[columns]), Y[np.ix_(rows, columns)])
    np.testing.assert_allclose(found.predict(NEW_A, NEW_B), expected, **EXACT)


def test_a_turned_relation_has_turned_scores(name):
    turned = {"condition": "column"}
    if name == "TwoStepRanker":
        turned["alpha"] = MEMBERS[name].alpha[::-1]
    if name == "KernelFilter":
        label, row, column, constant = MEMBERS[name].weights
        turned["weights"] = (label, column, row, constant)
    expected = fitted(name, (A, B), Y).predict(NEW_A, NEW_B)
    found = fitted(name, (B, A), Y.T, **turned).predict(NEW_B, NEW_A)
    np.testing.assert_allclose(found.T, expected, **EXACT)


def test_several_relations_are_several_models(name):
    both = np.stack([Y, np.cos(Y)], axis=-1)
    found = fitted(name, (A, B), both).predict(NEW_A, NEW_B)
    for number in (0, 1):
        alone = fitted(name, (A, B), both[..., number]).predict(NEW_A, NEW_B)
        np.testing.assert_allclose(found[..., number], alone, **EXACT)


def test_kernel_matrices_are_kernels(name):
    expected = fitted(name, (A, B), Y).predict(NEW_A, NEW_B)
    matrices = rbf_kernel(A, gamma=0.4), rbf_kernel(B, gamma=0.4)
    model = fitted(name, matrices, Y, kernel="precomputed")
    new = rbf_kernel(NEW_A, A, gamma=0.4), rbf_kernel(NEW_B, B, gamma=0.4)
    np.testing.assert_allclose(model.predict(*new), expected, **EXACT)


@pytest.mark.parametrize("relation, sign", [("symmetric", 1), ("reciprocal", -1)])
def test_mirrored_relations_have_mirrored_scores(name, relation, sign):
    labels = RNG.normal(size=(11, 11))
    alike = {"weights": (0.4, 0.25, 0.25, 0.1)} if name == "KernelFilter" else {}
    S = fitted(name, A, labels + sign * labels.T, relation=relation, **alike).predict(NEW_A)
    np.testing.assert_allclose(S, sign * S.T, atol=1e-9)
    with pytest.warns(UserWarning, match=f"Y is not {relation}.* at the nodes"):
        fitted(name, A, labels, relation=relation)


@pytest.mark.parametrize("repair", ["clip", "flip", "shift", ("clip", None)])
def test_repaired_similarities_are_told_and_saved(name, repair, tmp_path):
    K, G = rbf_kernel(A, gamma=0.4), rbf_kernel(B, gamma=0.4)
    K = K - 0.3  # all nodes are less similar: one negative eigenvalue
    with pytest.raises(ValueError, match="repair="):
        fitted(name, (K, G), Y, kernel="precomputed")
    with pytest.warns(KernelRepairWarning, match="the row nodes") as told:
        model = fitted(name, (K, G), Y, kernel="precomputed", repair=repair)
    assert told[0].filename == __file__ and len(told) == 1
    (report,) = model.repairs_
    assert report["smallest_eigenvalue"] < 0 < report["relative_change"]
    rw.save(model, tmp_path / "model.rw")
    loaded = rw.load(tmp_path / "model.rw")
    assert loaded.repairs_ == model.repairs_ and loaded.get_params()["repair"] == repair
    new = rbf_kernel(NEW_A, A, gamma=0.4) - 0.3
    np.testing.assert_allclose(loaded.predict(new, G), model.predict(new, G))
    assert not hasattr(fitted(name, (A, B), Y), "repairs_")
