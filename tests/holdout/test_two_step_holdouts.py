import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import TwoStepRanker
from rankwise.holdout.two_step_holdouts import TwoStepHoldouts
from rankwise.learners.two_step_ranker import two_step_problem
from tests import reference_two_step as reference

KINDS = ("edge", "row", "column", "both")
FILLS = (None, "mean", "row", "column", "model", 0.0)


def assert_equal_to_refits(model, A, B, Y, two_domains, kinds=KINDS):
    for kind in kinds:
        found = getattr(model, f"leave_{kind}_out")()
        expected = reference.held_out(model, A, B, Y, kind, two_domains)
        scale = max(np.abs(expected).max(), np.nanmax(np.abs(Y)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale, err_msg=kind)


@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("kernel, n", [("linear", 2), ("linear", 9), ("rbf", 3)])
def test_complete_relations_equal_refitting(relation, two_domains, fill, kernel, n):
    rng = np.random.default_rng(0)
    A, B, X, Y = reference.make_relation(rng, relation, two_domains, n)
    for alpha in ((0.3, 2.0), 1e-9):
        model = TwoStepRanker(alpha, kernel=kernel, relation=relation, fill=fill).fit(X, Y)
        assert_equal_to_refits(model, A, B, Y, two_domains)


@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("fill", ["mean", "row", "column", 0.0])
def test_filled_relations_are_refilled_without_what_is_held_out(relation, two_domains, fill):
    rng = np.random.default_rng(1)
    A, B, X, Y = reference.make_relation(rng, relation, two_domains, 3)
    Y = reference.unobserved(Y, relation)
    model = TwoStepRanker((0.3, 2.0), kernel="rbf", relation=relation, fill=fill).fit(X, Y)
    if relation != "general" and fill in ("row", "column"):
        with pytest.raises(ValueError, match=r"only if Y is complete.*fill='mean'.*selection"):
            model.leave_row_out()
    else:
        assert_equal_to_refits(model, A, B, Y, two_domains)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_filled_by_the_model_refuse_hold_outs(kind):
    rng = np.random.default_rng(1)
    _, _, X, Y = reference.make_relation(rng, "general", True, 3)
    model = TwoStepRanker(fill="model").fit(X, reference.unobserved(Y, "general"))
    with pytest.raises(ValueError, match="2 cells are not observed"):
        getattr(model, f"leave_{kind}_out")()


def test_a_hold_out_that_leaves_nothing_to_fill_with_is_refused():
    rng = np.random.default_rng(2)
    _, _, X, Y = reference.make_relation(rng, "general", True, 3)
    Y[1:, 2] = np.nan
    model = TwoStepRanker(fill="column").fit(X, Y)
    for kind in ("edge", "row", "both"):
        with pytest.raises(ValueError, match="without any observed value"):
            getattr(model, f"leave_{kind}_out")()
    assert np.isfinite(model.leave_column_out()).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-70, 1e70, 1e150])
@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("n", [3, 8])
def test_ill_scaled_features(scale, relation, two_domains, n):
    """Features c·x with alpha·c² are the same model, as far as the squares are numbers."""
    rng = np.random.default_rng(3)
    A, B, X, Y = reference.make_relation(rng, relation, two_domains, n)
    scaled = (scale * A, scale * B) if two_domains else scale * A
    plain = TwoStepRanker((0.5, 0.5), relation=relation).fit(X, Y)
    model = TwoStepRanker(0.5 * scale**2, relation=relation)
    try:
        model.fit(scaled, Y)
    except ValueError as error:
        assert scale < 1e-100 and "overflow" in str(error)
        return
    for kind in KINDS:
        method = f"leave_{kind}_out"
        np.testing.assert_allclose(
            getattr(model, method)(), getattr(plain, method)(), rtol=1e-7, atol=1e-9
        )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), exponent=st.integers(-14, 8), case=st.sampled_from(range(4)))
def test_nodes_that_are_alone_or_twins(seed, exponent, case):
    """A node with a feature of its own, and two equal nodes, with alphas down to 1e-14."""
    relation, two_domains = reference.CASES[case]
    rng = np.random.default_rng(seed)
    A, B, X, Y = reference.make_relation(rng, relation, two_domains, 3)
    for nodes in (A, B) if two_domains else (A,):
        nodes[:, 2] = 0.0
        nodes[1] = [0.0, 0.0, 2.0]
        nodes[3] = nodes[2]
    model = TwoStepRanker(10.0**exponent, relation=relation).fit(X, Y)
    assert_equal_to_refits(model, A, B, Y, two_domains, ("row", "column", "both"))


def test_several_relations_and_a_later_alpha():
    rng = np.random.default_rng(4)
    _A, _B, X, Y = reference.make_relation(rng, "general", True, 3)
    both = np.stack([Y, reference.unobserved(Y, "general")], axis=-1)
    model = TwoStepRanker(fill="mean", kernel="rbf").fit(X, both)
    model.set_params(alpha=(0.2, 3.0), kernel="linear", fill="row", relation="symmetric")
    for kind in KINDS:
        found = getattr(model, f"leave_{kind}_out")()
        for number in (0, 1):
            alone = TwoStepRanker((0.2, 3.0), fill="mean", kernel="rbf").fit(X, both[..., number])
            expected = getattr(alone, f"leave_{kind}_out")()
            np.testing.assert_allclose(found[..., number], expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", ["mean", "row", "column"])
def test_a_grid_equals_single_hold_outs(kind, fill):
    rng = np.random.default_rng(5)
    _, _, X, Y = reference.make_relation(rng, "general", True, 3)
    model = TwoStepRanker(fill=fill)
    problem, _ = two_step_problem(model, X, reference.unobserved(Y, "general"), None)
    holdouts = TwoStepHoldouts(problem)
    pairs = []
    for alphas, found in holdouts.over_grid(kind, [0.1, 1.0], [0.5, 2.0, 9.0]):
        pairs.append(alphas)
        np.testing.assert_allclose(found, holdouts.without(kind, alphas), atol=1e-12)
    assert sorted(pairs) == [(a, b) for a in (0.1, 1.0) for b in (0.5, 2.0, 9.0)]


def test_few_nodes_are_refused():
    model = TwoStepRanker().fit((np.eye(2), np.eye(3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="at least three nodes"):
        model.leave_row_out()
