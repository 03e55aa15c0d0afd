import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankwise import ConditionalRanker
from rankwise.spaces.kernels import Kernel
from tests import reference_conditional as reference
from tests import reference_pairwise as plain

DELTA = (0.2, 0.1)


def nodes_of(rng, two_domains):
    A = rng.normal(size=(7, 3))
    B = rng.normal(size=(6, 2)) if two_domains else A
    return A, B, (5, 4 if two_domains else 5)


def fitted(A, B, known, graph, rng, pairwise, **parameters):
    """A model with item effects, its kernels, training edges and labels."""
    deltas = DELTA if B is not A else (DELTA[0], DELTA[0])
    K = plain.with_item_effect(Kernel("rbf", 0.3).matrix(A, A), deltas[0], known[0])
    G = plain.with_item_effect(Kernel("rbf", 0.3).matrix(B, B), deltas[1], known[1])
    edges = reference.all_edges(*known)
    if graph == "multigraph":
        edges = edges[rng.integers(len(edges), size=24)]
    if graph == "with nan":
        edges = edges[np.sort(rng.choice(len(edges), size=len(edges) - 6, replace=False))]
    y = rng.normal(size=len(edges))
    options = {"kernel": "rbf", "gamma": 0.3, "tol": 1e-13, "max_iter": 3000}
    options["solver"] = "cg" if graph == "complete, cg" else "auto"
    model = ConditionalRanker(
        0.1,
        pairwise=pairwise,
        item_effect=deltas if B is not A else deltas[0],
        **options,
        **parameters,
    )
    if graph == "multigraph":
        reference.fit(model, A, B, known, y, edges=edges)
    else:
        Y = np.full(known, np.nan)
        Y[tuple(edges.T)] = y
        reference.fit(model, A, B, known, Y)
    return model, K, G, edges, y


FORMS = [
    (pairwise, *case)
    for pairwise in plain.KERNELS
    for case in reference.CASES
    if plain.exists(pairwise, *case)
]
EFFECTS = ("intercept", "rows", "columns", "both")


def has_meaning(effects, relation):
    allowed = {"general": EFFECTS, "symmetric": ("intercept", "both"), "reciprocal": ("both",)}
    return effects in allowed[relation]


@pytest.mark.parametrize("graph", ["complete", "complete, cg", "multigraph", "with nan"])
@pytest.mark.parametrize("condition", reference.CONDITIONS)
@pytest.mark.parametrize("objective", reference.OBJECTIVES)
@pytest.mark.parametrize("pairwise, relation, two_domains", FORMS)
def test_explicit_kernel(pairwise, objective, relation, two_domains, condition, graph):
    rng = np.random.default_rng(1)
    A, B, known = nodes_of(rng, two_domains)
    task = {"objective": objective, "relation": relation, "condition": condition}
    model, K, G, edges, y = fitted(A, B, known, graph, rng, pairwise, **task)
    pairs = reference.all_edges(len(A), len(B))
    found, size = model.predict(A, B), None
    for alpha, coefficients in zip((0.1, 4.0), model.path([0.1, 4.0])):
        expected = plain.scores(
            pairwise, K, G, edges, y, alpha, known=known, at=pairs, **task
        ).reshape(found.shape)
        size = np.abs(expected).max()
        function = model.pair_function
        function.coefficients = coefficients[:, :, None]
        on_path = function.scores(A, B)[:, :, 0]
        np.testing.assert_allclose(on_path, expected, rtol=0, atol=1e-8 * size)
        if alpha == 0.1:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)
            at_edges = model.predict_edges(A, B, pairs[::-1])
            np.testing.assert_allclose(at_edges[::-1], found.ravel(), rtol=0, atol=1e-12 * size)
    ranked = A[[6, 2]] if condition == "row" else B[[5, 2]]
    index, scores = model.rank(ranked, B if condition == "row" else A, k=3)
    table = found[[6, 2]] if condition == "row" else found.T[[5, 2]]
    for one, values, row in zip(index, scores, table):
        np.testing.assert_allclose(values, np.sort(row)[::-1][:3], atol=1e-10 * size)
        np.testing.assert_allclose(row[one], values, atol=1e-10 * size)
    prepared = model.catalogue(B if condition == "row" else A)
    np.testing.assert_allclose(model.rank(ranked, prepared, k=3)[1], scores, atol=1e-10 * size)
    sign = reference.SIGNS[relation] or plain.OWN_SIGN.get(pairwise, 0)
    if sign:
        np.testing.assert_allclose(found, sign * found.T, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("graph", ["complete", "multigraph", "with nan"])
@pytest.mark.parametrize(
    "pairwise, relation, two_domains, effects",
    [(*form, effects) for form in FORMS for effects in EFFECTS if has_meaning(effects, form[1])],
)
def test_effects_solve_the_bordered_system(pairwise, relation, two_domains, effects, graph):
    sign = reference.SIGNS[relation]
    rng = np.random.default_rng(2)
    A, B, known = nodes_of(rng, two_domains)
    task = {"objective": "regression", "relation": relation, "effects": effects}
    for condition in reference.CONDITIONS:
        model, K, G, edges, y = fitted(
            A, B, known, graph, rng, pairwise, condition=condition, **task
        )
        R = plain.edge_kernel(pairwise, K, G, edges, edges, sign, known)
        a, at_edges = plain.bordered(R, y, 0.1, edges, effects, relation, known)
        expected = R @ a + at_edges
        size = np.abs(expected).max()
        found = model.predict_edges(A, B, edges)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)
        new = np.array([(5, 5 if not two_domains else 4), (6, 5)])
        h = plain.edge_kernel(pairwise, K, G, new, edges, sign, known) @ a
        found = model.predict_edges(A, B, new) - model.intercept_
        np.testing.assert_allclose(found, h, rtol=0, atol=1e-8 * size)
        for name, side in (("row_effects_", 0), ("column_effects_", 1)):
            if effects in (name.split("_")[0] + "s", "both"):
                touched = np.unique(edges[:, side])
                values = getattr(model, name)
                if not sign:
                    assert abs(values[touched].mean()) < 1e-12


def test_forms_that_do_not_exist():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 5))
    for pairwise, relation in (("ranking", "symmetric"), ("mlpk", "reciprocal")):
        with pytest.raises(ValueError, match=f"its {relation} form is zero"):
            ConditionalRanker(pairwise=pairwise, relation=relation).fit(X, Y)
        with pytest.raises(ValueError, match="nodes of one domain"):
            ConditionalRanker(pairwise=pairwise).fit((X, X), Y)
    with pytest.raises(ValueError, match="pairwise must be one of"):
        ConditionalRanker(pairwise="tensor").fit(X, Y)
    with pytest.raises(ValueError, match=r"polynomial.*no closed form"):
        ConditionalRanker(pairwise="polynomial", solver="closed").fit(X, Y)


def test_effects_without_a_meaning_are_refused():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5, 2))
    Y = rng.normal(size=(5, 5))
    for effects in EFFECTS:
        with pytest.raises(ValueError, match="needs objective='regression'"):
            ConditionalRanker(effects=effects).fit(X, Y)
    regression = ConditionalRanker(objective="regression")
    for relation, effects in (("symmetric", "rows"), ("reciprocal", "columns")):
        with pytest.raises(ValueError, match=f"contradicts relation='{relation}'"):
            regression.set_params(relation=relation, effects=effects).fit(X, Y)
    with pytest.raises(ValueError, match="leaves no constant"):
        regression.set_params(relation="reciprocal", effects="intercept").fit(X, Y)
    with pytest.raises(ValueError, match="effects must be one of"):
        regression.set_params(relation="general", effects="all").fit(X, Y)
    with pytest.raises(ValueError, match="early_stopping ends"):
        regression.set_params(effects="both", early_stopping=0.5).fit(X, Y)


def test_regression_with_row_effects_is_the_ranking_objective():
    rng = np.random.default_rng(5)
    A, B, Y = rng.normal(size=(8, 3)), rng.normal(size=(6, 3)), rng.normal(size=(8, 6))
    ranking = ConditionalRanker(kernel="rbf").fit((A, B), Y)
    regression = ConditionalRanker(kernel="rbf", objective="regression", effects="rows")
    S = regression.fit((A, B), Y).predict(A, B)
    expected = ranking.predict(A, B)
    np.testing.assert_allclose(
        S - S.mean(axis=1, keepdims=True),
        expected - expected.mean(axis=1, keepdims=True),
        atol=1e-10,
    )
    np.testing.assert_allclose(S.mean(axis=1), Y.mean(axis=1), atol=1e-10)


def test_several_relations_have_their_own_effects():
    rng = np.random.default_rng(6)
    A, B, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5, 2))
    parameters = {"objective": "regression", "effects": "both", "kernel": "rbf", "tol": 1e-12}
    for labels in (Y, np.where(np.arange(5)[:, None] == 4, np.nan, Y)):
        model = ConditionalRanker(**parameters).fit((A, B), labels)
        for j in range(2):
            single = ConditionalRanker(**parameters).fit((A, B), labels[:, :, j])
            np.testing.assert_allclose(
                model.predict(A, B)[:, :, j], single.predict(A, B), atol=1e-9
            )


def test_holdouts_of_other_kernels_are_refused_with_the_way_out():
    rng = np.random.default_rng(7)
    A, B, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5))
    others = [{"pairwise": "cartesian"}, {"objective": "regression", "effects": "intercept"}]
    for parameters in others:
        model = ConditionalRanker(kernel="rbf", **parameters).fit((A, B), Y)
        for kind in ("row", "column", "edge", "both"):
            with pytest.raises(ValueError, match=r"Kronecker kernel only.*ConditionalRankerCV"):
                getattr(model, f"leave_{kind}_out")()


def test_a_new_pair_gets_nothing_from_the_cartesian_kernel():
    rng = np.random.default_rng(8)
    A, B, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5))
    model = ConditionalRanker(kernel="rbf", pairwise="cartesian").fit((A, B), Y)
    new = rng.normal(size=(2, 3))
    assert not model.predict(new, new).any()
    assert model.predict(new, B).any() and model.predict(A, new).any()


def test_twins_share_their_effects():
    rng = np.random.default_rng(9)
    A, B, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5))
    A[1] = A[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConditionalRanker(kernel="rbf", item_effect=1.0).fit((A, B), Y)
    S = model.predict(A, B)
    np.testing.assert_allclose(S[0], S[1])


@pytest.mark.parametrize("effects", EFFECTS)
def test_effects_with_few_features(effects):
    """Nodes that enter through their features give the model of their kernel matrices."""
    rng = np.random.default_rng(10)
    A, B, Y = rng.normal(size=(8, 2)), rng.normal(size=(7, 3)), rng.normal(size=(8, 7))
    options = {"objective": "regression", "effects": effects, "tol": 1e-12, "max_iter": 2000}
    for labels in (Y, np.where(rng.random(Y.shape) < 0.2, np.nan, Y)):
        model = ConditionalRanker(**options).fit((A, B), labels)
        expected = ConditionalRanker(kernel="precomputed", **options)
        expected.fit((A @ A.T, B @ B.T), labels)
        assert model.coef_.shape == (2, 3)
        found = model.predict(A, B)
        np.testing.assert_allclose(found, expected.predict(A @ A.T, B @ B.T), atol=1e-8)


CHOICES = st.tuples(
    st.sampled_from(FORMS),
    st.sampled_from(reference.OBJECTIVES),
    st.sampled_from(reference.CONDITIONS),
    st.sampled_from([None, *EFFECTS]),
    st.sampled_from(["complete", "multigraph", "with nan"]),
    st.integers(0, 2**16),
)


@settings(max_examples=40, deadline=None)
@given(CHOICES)
@example((("kronecker", "symmetric", False), "regression", "row", "both", "multigraph", 9444))
def test_any_kernels_of_any_rank(drawn):
    """Singular kernels, repeated nodes, parallel edges and loops, with and without effects."""
    (pairwise, relation, two_domains), objective, condition, effects, graph, seed = drawn
    if effects is not None and (objective == "ranking" or not has_meaning(effects, relation)):
        effects = None
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 7)), int(rng.integers(2, 7)))
    shape = shape if two_domains else (shape[0], shape[0])
    sides = [rng.normal(size=(p, int(rng.integers(1, 4)))) for p in shape]
    sides[1] = sides[1] if two_domains else sides[0]
    K, G = (X @ X.T for X in sides)
    edges = reference.all_edges(*shape)
    if graph == "multigraph":
        edges = edges[rng.integers(len(edges), size=int(rng.integers(3, 25)))]
    if graph == "with nan":
        edges = edges[rng.random(len(edges)) < 0.7]
    y = rng.normal(size=len(edges))
    task = {"objective": objective, "relation": relation, "condition": condition}
    model = ConditionalRanker(
        0.5, kernel="linear", pairwise=pairwise, effects=effects, tol=1e-13, max_iter=3000, **task
    )
    counts = np.bincount(edges[:, 0 if condition == "row" else 1], minlength=1)
    if not len(edges) or (objective == "ranking" and counts.max() < 2):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if graph == "multigraph":
            model.fit(tuple(sides) if two_domains else sides[0], y, edges=edges)
        else:
            Y = np.full(shape, np.nan)
            Y[tuple(edges.T)] = y
            model.fit(tuple(sides) if two_domains else sides[0], Y)
    R = plain.edge_kernel(pairwise, K, G, edges, edges, reference.SIGNS[relation], shape)
    if effects is None:
        L = reference.loss_matrix(edges, objective, condition)
        expected = R @ np.linalg.solve(L @ R + 0.5 * np.eye(len(edges)), L @ y)
    else:
        a, at_edges = plain.bordered(R, y, 0.5, edges, effects, relation, shape)
        expected = R @ a + at_edges
    found = model.predict_edges(sides[0], sides[1], edges)
    size = np.abs(expected).max() + np.abs(y).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * size)
