"""Every quadratic loss, the own loss of docs/extending.md included, against enumerated pairs.

Model without some items: by minimising the objective over the pairs that are left, plainly.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, Preferences, RankRLS, RankRLSCV
from rankwise.losses.compared_pairs import ComparedPairs
from rankwise.losses.losses_by_name import QUADRATIC_LOSSES, quadratic_loss
from rankwise.losses.pair_losses import MagnitudeLoss
from rankwise.losses.quadratic_loss import PointwiseLoss
from rankwise.supervision.supervision import pairs_within
from tests import reference
from tests.problems import compared, scored

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
ALPHA = 0.7


def loss_of_the_page():
    """The example of docs/extending.md: the first class of the page that has `pairs`."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    code = next(block for block in blocks if "def pairs(" in block)
    names: dict = {"__name__": "page"}
    exec(code[: code.index("\n\n\n", code.index("def pairs("))], names)
    return next(
        value for value in names.values() if isinstance(value, type) and hasattr(value, "pairs")
    )()


class Flat:
    """The unit loss as a loss of one's own, without its fast rules."""

    def pairs(self, difference):
        return np.ones_like(difference), np.ones_like(difference)


LOSSES = {
    **{(name, ties): (name, ties) for name in QUADRATIC_LOSSES for ties in ("keep", "drop")},
    ("page", "keep"): (loss_of_the_page(), "keep"),
    ("flat", "keep"): (Flat(), "keep"),
}


def enumerated(y, qid, weight, loss, ties, query_weight):
    return reference.enumerate_pairs(y, qid, weight, loss, ties, query_weight)


def solve(X, pairs, alpha):
    return reference.primal_solution(X, *reference.laplacian_and_target(pairs, len(X)), alpha)


def without(X, y, qid, weight, held, loss, ties, query_weight, alpha=ALPHA):
    left = np.setdiff1d(np.arange(len(y)), held)
    pairs = enumerated(y[left], qid[left], weight[left], loss, ties, query_weight)
    return X[held] @ solve(X[left], pairs, alpha)


def data(seed, m=11, n=3, queries=2):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n)), np.round(rng.normal(size=m), 1)
    y[: m // 2] = np.round(y[: m // 2])
    qid = np.arange(m) % queries
    return X, y, qid, rng.uniform(0.3, 2.0, m)


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("key", LOSSES, ids=str)
class TestEveryLoss:
    def test_laplacian_and_target_are_those_of_the_pairs(self, key, query_weight):
        loss, ties = LOSSES[key]
        X, y, qid, weight = data(1)
        m = len(y)
        pairs = enumerated(y, qid, weight, loss, ties, query_weight)
        L, b = reference.laplacian_and_target(pairs, m)
        quadratic = quadratic_loss(loss, ties, query_weight).quadratic(scored(y, qid, weight))
        laplacian = quadratic.laplacian
        R = laplacian.factor(np.eye(laplacian.rank))
        assert_allclose(laplacian.apply(np.eye(m)), L, atol=1e-10)
        assert_allclose(R @ R.T, L, atol=1e-10)
        assert_allclose(R @ quadratic.target.beta[:, 0], b, atol=1e-10)
        assert_allclose(quadratic.target.b[:, 0], b, atol=1e-10)
        K = X @ X.T
        assert_allclose(laplacian.sandwich(K), R.T @ K @ R, atol=1e-9)
        for items in (np.array([0]), np.array([0, 1])):
            closure = laplacian.closure(items)
            others = np.setdiff1d(np.arange(m), closure)
            assert np.isin(items, closure).all()
            assert_allclose(L[np.ix_(closure, others)], 0.0, atol=1e-12)

    @pytest.mark.parametrize("queries", [1, 2])
    @pytest.mark.parametrize("kernel", ["linear", "precomputed"])
    def test_hold_outs_equal_refits_over_the_pairs_that_are_left(
        self, key, query_weight, queries, kernel
    ):
        loss, ties = LOSSES[key]
        X, y, qid, weight = data(2, queries=queries)
        items = X if kernel == "linear" else X @ X.T
        model = RankRLS(ALPHA, loss=loss, ties=ties, query_weight=query_weight, kernel=kernel).fit(
            items, y, qid=qid if queries > 1 else None, sample_weight=weight
        )

        def expected(held):
            return without(X, y, qid, weight, np.atleast_1d(held), loss, ties, query_weight)

        pairs = enumerated(y, qid, weight, loss, ties, query_weight)
        assert_allclose(model.predict(items), X @ solve(X, pairs, ALPHA), atol=1e-7)
        each = np.concatenate([expected(i) for i in range(len(y))])
        assert_allclose(model.leave_one_out(), each, atol=1e-7)
        for held in ([0], [3, 4, 7], [1, 2, 9, 10]):
            assert_allclose(model.holdout(held), expected(np.array(held)), atol=1e-7)
        some = pairs_within(model.training_problem.supervision.queries)[::4]
        found = model.leave_pair_out(some)
        assert_allclose(found, np.array([expected(pair) for pair in some]), atol=1e-7)
        if queries > 1:
            by_query = np.concatenate([expected(np.flatnonzero(qid == q)) for q in range(queries)])
            order = np.argsort(qid, kind="stable")
            assert_allclose(model.leave_query_out()[order], by_query, atol=1e-7)

    def test_preferences_are_pairs_too(self, key, query_weight):
        """Told as statements, the pairs of the scores give the same L and b (no tied pairs)."""
        loss, ties = LOSSES[key]
        if (loss, ties) == ("magnitude", "keep"):
            pytest.skip("statements hold no ties")
        _, y, qid, weight = data(3)
        chosen = quadratic_loss(loss, ties, query_weight)
        by_scores = chosen.quadratic(scored(y, qid, weight))
        statements = compared(Preferences.from_scores(y, qid), len(y), qid, weight)
        by_statements = chosen.quadratic(statements)
        identity = np.eye(len(y))
        assert_allclose(
            by_statements.laplacian.apply(identity), by_scores.laplacian.apply(identity), atol=1e-9
        )
        assert_allclose(by_statements.target.b, by_scores.target.b, atol=1e-9)
        assert isinstance(chosen.holdout_rule(statements), ComparedPairs)

    def test_outputs_are_grouped_once_each(self, key, query_weight):
        loss, ties = LOSSES[key]
        X, y, qid, weight = data(4)
        Y = np.column_stack((y, y[::-1], 2 * y))
        chosen = quadratic_loss(loss, ties, query_weight)
        groups = chosen.output_groups(scored(Y, qid, weight))
        assert sorted(np.concatenate(groups)) == [0, 1, 2]
        options = {"loss": loss, "ties": ties, "query_weight": query_weight}
        together = RankRLS(ALPHA, **options).fit(X, Y, qid=qid, sample_weight=weight)
        for j in range(3):
            alone = RankRLS(ALPHA, **options).fit(X, Y[:, j], qid=qid, sample_weight=weight)
            assert_allclose(together.predict(X)[:, j], alone.predict(X), atol=1e-9)
            assert_allclose(together.leave_one_out()[:, j], alone.leave_one_out(), atol=1e-7)

    def test_normal_equations_of_whole_queries_add_up(self, key, query_weight):
        loss, ties = LOSSES[key]
        X, y, qid, weight = data(5)
        chosen = quadratic_loss(loss, ties, query_weight)
        (G,), moments = chosen.normal_equations(X, scored(y, qid, weight))
        parts = [
            chosen.normal_equations(X[rows], scored(y[rows], None, weight[rows]))
            for rows in (qid == 0, qid == 1)
        ]
        assert_allclose(G, sum(part[0][0] for part in parts), atol=1e-8)
        assert_allclose(moments, sum(part[1] for part in parts), atol=1e-8)


@pytest.mark.parametrize("cv", ["leave-pair-out", "leave-one-out", "leave-query-out", 3])
@pytest.mark.parametrize("key", LOSSES, ids=str)
def test_cross_validation_scores_are_those_of_refits(key, cv):
    loss, ties = LOSSES[key]
    X, y, qid, _ = data(6, m=9)
    ones, alphas = np.ones(len(y)), np.array([0.1, 1.0, 10.0])
    several = cv != "leave-pair-out" and cv != "leave-one-out"
    given = qid if several else None
    told = qid if several else np.zeros(len(y), dtype=int)
    folds = [np.flatnonzero(qid == q) for q in (0, 1)] if several else None
    cv = folds if cv == 3 else cv
    found = RankRLSCV(alphas, cv=cv, loss=loss, ties=ties).fit(X, y, qid=given).cv_results_["score"]
    for alpha, score in zip(alphas, found):

        def held_out(items, alpha=alpha):
            return without(X, y, told, ones, np.asarray(items), loss, ties, "pairs", alpha)

        if several:
            means = [share_right(y[items], held_out(items)) for items in folds]
            assert score == pytest.approx(np.mean(means))
        elif cv == "leave-one-out":
            scores = np.concatenate([held_out([i]) for i in range(len(y))])
            assert score == pytest.approx(share_right(y, scores))
        else:
            pairs = [(i, j) for i in range(len(y)) for j in range(i) if y[i] != y[j]]
            right = [share_right(y[list(pair)], held_out(pair)) for pair in pairs]
            assert score == pytest.approx(np.mean(right))


def share_right(y, s):
    right = counted = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                counted += 1
                right += 1.0 if s[i] > s[j] + 1e-10 else 0.5 if abs(s[i] - s[j]) <= 1e-10 else 0.0
    return right / counted


def test_pointwise_loss_is_diagonal_and_rows_leave_freely():
    X, y, qid, weight = data(7)
    quadratic = PointwiseLoss().quadratic(scored(y, qid, weight))
    assert_allclose(quadratic.laplacian.apply(np.eye(len(y))), np.diag(weight))
    assert_allclose(quadratic.target.b[:, 0], weight * y)
    model = RLS(ALPHA).fit(X, y, sample_weight=weight)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        refit = RLS(ALPHA).fit(X[rest], y[rest], sample_weight=weight[rest])
        assert_allclose(model.leave_one_out()[i], refit.predict(X[[i]])[0])


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("gap", "loss must be one of .*, or an object with a method pairs"),
        (object(), "method pairs"),
        (3, "method pairs"),
    ],
)
def test_other_losses_are_refused(loss, words):
    X, y, _, _ = data(8)
    with pytest.raises(ValueError, match=words):
        RankRLS(loss=loss).fit(X, y)


class Wrong:
    def __init__(self, z, w):
        self.z, self.w = z, w

    def pairs(self, difference):
        return self.z(difference), self.w(difference)


@pytest.mark.parametrize(
    ("z", "w", "words"),
    [
        (lambda d: d[:-1], np.ones_like, "Wrong: pairs.*shape"),
        (lambda d: d, lambda d: 1.0, "shape"),
        (lambda d: np.full_like(d, np.nan), np.ones_like, "not finite"),
        (lambda d: d, lambda d: np.full_like(d, np.inf), "not finite"),
    ],
)
def test_losses_that_return_nonsense_are_refused(z, w, words):
    X, y, _, _ = data(9)
    with pytest.raises(ValueError, match=words):
        RankRLS(loss=Wrong(z, w)).fit(X, y)


def test_a_tie_free_loss_cannot_lose_its_target():
    with pytest.raises(TypeError, match="subclass PairLoss"):
        type("Log", (MagnitudeLoss,), {"pairs": lambda self, d: (np.log1p(d), np.ones_like(d))})
