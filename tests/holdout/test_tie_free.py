"""Hold-outs of losses without tied pairs against plain refits by enumerated pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import RankRLS, RankRLSCV
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from rankwise.holdout.tie_free_base import ClassLayout, RestLaplacian
from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.losses.quadratic_loss import FreeRows, TieFreeRows
from rankwise.supervision.supervision import ScoredItems, pairs_within
from tests.problems import scored
from tests.reference import dual_solution, laplacian_and_target, target_and_weight

LOSSES = {"unit": {"loss": "unit"}, "dropped": {"ties": "drop"}}


def kernel_of(X):
    return np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def plain_pairs(y, weight, loss, query_weight):
    """(h, j, z, w²) of the pairs with different scores, scaled as `query_weight` says."""
    rows = []
    for i in range(len(y)):
        for j in range(i):
            if y[i] != y[j]:
                h, l = (i, j) if y[i] > y[j] else (j, i)
                z, w = target_and_weight(loss, y[h] - y[l])
                rows.append((h, l, z, weight[h] * weight[l] * w**2))
    total = {"pairs": 1.0, "size": weight.sum(), "queries": sum(row[3] for row in rows)}
    scale = 1.0 / total[query_weight] if total[query_weight] else 0.0
    return [(h, l, z, scale * w) for h, l, z, w in rows]


def plain_refit(K, y, weight, held, alpha, loss, query_weight):
    """Predictions for `held` by equation 17 on the other items."""
    rest = np.setdiff1d(np.arange(len(y)), held)
    name = "unit" if loss == "unit" else "magnitude"
    pairs = plain_pairs(y[rest], weight[rest], name, query_weight)
    L, b = laplacian_and_target(pairs, len(rest))
    return K[np.ix_(held, rest)] @ dual_solution(K[np.ix_(rest, rest)], L, b, alpha)


@pytest.fixture
def refits(monkeypatch):
    """Counts how often a problem is refitted without some items."""
    counts = []
    refit = QuadraticHoldouts._refit

    def counted(self, items, *args):
        counts.append(items)
        return refit(self, items, *args)

    monkeypatch.setattr(QuadraticHoldouts, "_refit", counted)
    return counts


def hold_outs(K, y, weight, loss, query_weight):
    model = RankRLS(1.0, kernel="precomputed", query_weight=query_weight, **LOSSES[loss])
    return model.fit(K, y, sample_weight=weight).training_problem


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(2, 14),
    levels=st.integers(2, 14),
    loss=st.sampled_from(list(LOSSES)),
    query_weight=st.sampled_from(["pairs", "size", "queries"]),
    weights=st.sampled_from(["equal", "two", "zero", "real"]),
    alpha=st.sampled_from([1e-5, 0.1, 3.0, 1e4, 1e9]),
    seed=st.integers(0, 10**6),
)
def test_every_pair_and_item_equals_a_plain_refit(
    m, levels, loss, query_weight, weights, alpha, seed
):
    rng = np.random.default_rng(seed)
    K = kernel_of(rng.normal(size=(m, 2)))
    y = rng.integers(0, levels, m).astype(float)
    y[:2] = 0.0, 1.0
    drawn = {
        "two": rng.integers(1, 3, m),
        "zero": rng.integers(0, 2, m),
        "real": rng.random(m) + 0.1,
    }
    weight = np.full(m, 2.0) if weights == "equal" else drawn[weights].astype(float)
    weight[:2] = np.maximum(weight[:2], 1.0)
    problem = hold_outs(K, y, weight, loss, query_weight)
    pairs = pairs_within(problem.supervision.queries)
    found = problem.leave_pairs_out(pairs, [alpha])[0, ..., 0]
    for items, values in zip(pairs, found):
        expected = plain_refit(K, y, weight, items, alpha, loss, query_weight)
        assert_allclose(values, expected, rtol=0, atol=1e-7 * max(np.abs(found).max(), 1e-12))
    each = problem.leave_each_out([alpha])[0]
    for i in range(m):
        expected = plain_refit(K, y, weight, np.array([i]), alpha, loss, query_weight)
        assert_allclose(each[i], expected, rtol=0, atol=1e-7 * max(np.abs(each).max(), 1e-12))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize(
    "sizes",
    [[6, 5], [7, 1, 1], [3, 4, 5], [9, 2, 1, 1], [1] * 12, [60, 50, 9]]
    + [[12, 9, 8, 8, 3, 3, 3, 2, 2, 1, 1], [3, 3, 3] + [2] * 70 + [1]],
)
def test_judged_pairs_are_those_of_the_predictions(loss, query_weight, sizes, refits):
    """Classes that are solved in batches, by loops, by LAPACK, and that leave nothing behind."""
    rng = np.random.default_rng(len(sizes))
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(float)
    X = rng.normal(size=(len(y), 3))
    alphas = [1e-4, 0.7, 1e3, 1e13]
    problem = hold_outs(kernel_of(X), y, np.ones(len(y)), loss, query_weight)
    judged = problem.judge_pairs(alphas)
    if max(sizes) <= len(y) - 3:  # otherwise one class holds all that could stay
        assert not refits
    pairs = pairs_within(problem.supervision.queries)
    gap = y[pairs[:, 0]] - y[pairs[:, 1]]
    for i, scores in enumerate(problem.leave_pairs_out(pairs, alphas)):
        difference = scores[:, 0, 0] - scores[:, 1, 0]
        tie = np.abs(difference) <= 1e-12 * np.abs(scores[..., 0]).sum(axis=1)
        right = np.where(tie, 0.5, 0.5 + 0.5 * np.sign(difference) * np.sign(gap))
        counted, correct = np.zeros(len(y)), np.zeros(len(y))
        for side in pairs.T:
            np.add.at(counted, side, gap != 0)
            np.add.at(correct, side, np.where(gap != 0, right, 0.0))
        assert_array_equal(judged.counted[i, :, 0], counted)
        assert_allclose(judged.right[i, :, 0], correct, atol=0.01)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("space", ["linear", "wide", "rbf", "reduced", "queries", "two outputs"])
def test_ordinary_data_need_no_refit(loss, space, refits):
    rng = np.random.default_rng(3)
    m = 60
    X = rng.normal(size=(m, 40 if space == "wide" else 4))
    y = rng.integers(0, 6, m).astype(float)
    options = {} if space in ("linear", "wide") else {"kernel": "rbf", "gamma": 0.2}
    qid = np.repeat([0, 1], m // 2) if space == "queries" else None
    if space == "reduced":
        options["basis"] = np.arange(0, m, 5)
    if space == "two outputs":
        y = np.column_stack((y, 2 * y + 1, rng.normal(size=m)))
    model = RankRLS(**options, **LOSSES[loss]).fit(X, y, qid=qid)
    alphas = 2.0 ** np.arange(-15, 16, 5)
    model.training_problem.judge_pairs(alphas)
    model.training_problem.leave_each_out(alphas)
    assert not refits


@pytest.mark.parametrize("levels", [40, 5])
def test_an_alpha_near_the_rounding_errors_needs_no_refit(levels, refits):
    """The constant direction, which no pair sees, does not make the kernel matrix singular."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.permutation(40) % levels + 0.0
    options = {"kernel": "rbf", "gamma": 1.0, "loss": "unit"}
    problem = RankRLS(**options).hold_outs(X, y)
    largest = problem.parts[0][1].spectrum.eigenvalues.max()
    alpha = 1.5e-10 * largest
    problem.judge_pairs([alpha])
    pairs = np.array([(0, 1), (5, 30)])
    found = problem.leave_pairs_out(pairs, [alpha])[0, :, :, 0]
    assert not refits
    for pair, scores in zip(pairs, found):
        rest = np.setdiff1d(np.arange(40), pair)
        expected = RankRLS(alpha, **options).fit(X[rest], y[rest]).predict(X[pair])
        assert_allclose(scores, expected, atol=1e-5 * np.abs(expected).max())


def test_dropped_ties_take_the_path_of_kept_ones_if_there_are_none():
    rng = np.random.default_rng(0)
    items = scored(rng.permutation(20))
    dropped, kept = (quadratic_loss("magnitude", ties, "pairs") for ties in ("drop", "keep"))
    rules = dropped.holdout_rule(items), kept.holdout_rule(items)
    assert all(isinstance(rule, FreeRows) and rule.centred for rule in rules)
    assert isinstance(dropped.holdout_rule(scored([0.0, 1.0, 1.0])), TieFreeRows)


def test_search_chooses_by_the_scores_of_a_double_loop():
    rng = np.random.default_rng(5)
    m, alphas = 14, [0.01, 1.0, 50.0]
    X = rng.normal(size=(m, 2))
    y = np.round(2 * X[:, 0] + rng.normal(size=m))
    K, weight = kernel_of(X), np.ones(m)
    model = RankRLSCV(alphas, kernel="rbf", gamma=0.3, loss="unit").fit(X, y)
    for alpha, score in zip(alphas, model.cv_results_["score"]):
        right = []
        for i in range(m):
            for j in range(i):
                if y[i] != y[j]:
                    held = np.array([j, i])
                    s_j, s_i = plain_refit(K, y, weight, held, alpha, "unit", "pairs")
                    right.append((s_i > s_j) == (y[i] > y[j]))
        assert_allclose(score, np.mean(right))


def test_a_refit_decomposes_once_for_all_alphas(refits):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 2)), rng.permutation(9).astype(float)
    model = RankRLS(loss="relative").fit(X, y)
    model.training_problem.judge_pairs([0.1, 1.0, 10.0])
    assert len(refits) == 36


@pytest.mark.parametrize("kept_all", [True, False])
def test_laplacian_of_the_rest_by_elimination(kept_all):
    """R Rᵀ equals noise and class effects with the intercept eliminated, as the docstring says."""
    rng = np.random.default_rng(2)
    classes, weight = np.array([0, 1, 1, 2, 0, 2, 2, 1]), rng.uniform(0.5, 2.0, 8)
    layout = ClassLayout(classes, weight)
    V_k, lost = layout.class_weight, 0.3
    V, kept = weight.sum() - lost, V_k - (0.0 if kept_all else lost / 3)
    same = classes[:, None] == classes
    gap = (V - kept)[classes]
    covariance = np.diag(1 / (weight * gap)) - same / (V * gap)
    W = np.linalg.inv(covariance)
    column = W.sum(axis=1)
    laplacian = RestLaplacian(layout, V, kept)
    assert_allclose(
        laplacian.factor(laplacian.factor_t(np.eye(8))), W - np.outer(column, column) / column.sum()
    )
    root = layout.root
    expected = laplacian.apply(np.eye(8))[np.ix_(layout.order, layout.order)]
    assert_allclose(root[:, None] * laplacian.matrix() * root, expected, atol=1e-12)


def test_nothing_to_judge_when_a_pair_leaves_nothing(monkeypatch):
    monkeypatch.setattr(ScoredItems, "check", lambda self: None)
    model = RankRLS(loss="unit").fit(np.eye(2), [0.0, 1.0])
    assert_array_equal(model.leave_pair_out(), np.zeros((1, 2)))


def test_pairs_of_a_heavy_class_without_a_function_that_old_lapack_wrappers_lack(monkeypatch):
    """SciPy 1.13 has no `dsytri`."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.array([0.0] * 11 + [1.0])
    pairs = np.array([[0, 1], [3, 4], [5, 11]])
    model = RankRLS(loss="unit", kernel="rbf").fit(X, y)
    expected = model.leave_pair_out(pairs)
    monkeypatch.delattr("scipy.linalg.lapack.dsytri", raising=False)
    found = RankRLS(loss="unit", kernel="rbf").fit(X, y).leave_pair_out(pairs)
    assert_allclose(found, expected, atol=1e-12)
