import numpy as np
import pytest

from rankwise.evaluation.node_uncertainty import JudgedEdges
from rankwise.evaluation.relational_folds import HeldOutEdges
from rankwise.metrics.scorers import read_scoring

RNG = np.random.default_rng(0)


def held_out(p=7, q=6, drop=0.2):
    edges = np.argwhere(RNG.uniform(size=(p, q)) > drop)
    y = RNG.integers(0, 4, len(edges)).astype(float)
    return HeldOutEdges(edges, y, RNG.normal(size=len(edges)), edges[:, 1] % 2)


def theta(h, average):
    """The statistic written plainly: pairs of one row and one fold."""
    hits, pairs = {}, {}
    for a in range(len(h.y)):
        for b in range(a):
            same = h.edges[a, 0] == h.edges[b, 0] and h.fold[a] == h.fold[b]
            if same and h.y[a] != h.y[b]:
                c = h.edges[a, 0]
                right = (h.y[a] - h.y[b]) * (h.s[a] - h.s[b]) > 0
                hits[c], pairs[c] = hits.get(c, 0) + right, pairs.get(c, 0) + 1
    if average == "pairs":
        return sum(hits.values()) / sum(pairs.values()), len(pairs)
    return np.mean([hits[c] / pairs[c] for c in pairs]), len(pairs)


def without(h, kept):
    return HeldOutEdges(*(part[kept] for part in h))


@pytest.mark.parametrize("average", ["conditions", "pairs"])
def test_the_score_is_that_of_plain_code(average):
    h = held_out()
    found = JudgedEdges(h, True, (7, 6), False).estimate(read_scoring(None), average)
    expected, n = theta(h, average)
    assert found.score == pytest.approx(expected)
    assert found.judged[0] == n


def test_influence_of_objects_is_the_jackknife():
    h = held_out(p=9, q=8, drop=0.0)
    found = JudgedEdges(h, True, (9, 8), False).estimate(read_scoring(None), "conditions")
    values = np.array([theta(without(h, h.edges[:, 1] != j), "conditions")[0] for j in range(8)])
    variance = 7 / 8 * ((values - values.mean()) ** 2).sum()
    assert found.objects @ found.objects == pytest.approx(variance, rel=1e-9)
    rows = np.array([theta(without(h, h.edges[:, 0] == i), "conditions")[0] for i in range(9)])
    assert found.conditions @ found.conditions == pytest.approx(rows.var(ddof=1) / 9)


def test_other_measures_leave_groups_of_objects_out():
    h = held_out(p=9, q=8, drop=0.0)
    one = JudgedEdges(h, True, (9, 8), False).estimate(read_scoring(None), "conditions")

    def own(y, s):
        d, e = np.subtract.outer(y, y), np.subtract.outer(s, s)
        return np.mean(e[d > 0] > 0)

    other = JudgedEdges(h._replace(fold=0 * h.fold), True, (9, 8), False)
    same = JudgedEdges(h._replace(fold=0 * h.fold), True, (9, 8), False)
    expected = same.estimate(read_scoring(None), "conditions")
    found = other.estimate(read_scoring(own), "conditions")
    assert found.score == pytest.approx(expected.score)
    np.testing.assert_allclose(np.sort(found.objects), np.sort(expected.objects), atol=1e-12)
    assert one.variance > 0


def test_columns_as_conditions_are_the_transposed_relation():
    h = held_out()
    turned = HeldOutEdges(h.edges[:, ::-1], h.y, h.s, h.fold)
    for average in ("conditions", "pairs"):
        one = JudgedEdges(h, True, (7, 6), False).estimate(read_scoring(None), average)
        other = JudgedEdges(turned, False, (6, 7), False).estimate(read_scoring(None), average)
        assert one.score == other.score and one.variance == other.variance


def test_in_one_domain_both_roles_of_a_node_add_up():
    h = held_out(p=7, q=7)
    two = JudgedEdges(h, True, (7, 7), False).estimate(read_scoring(None), "conditions")
    one = JudgedEdges(h, True, (7, 7), True).estimate(read_scoring(None), "conditions")
    np.testing.assert_allclose(one.conditions, two.conditions + two.objects)
    assert one.score == two.score


def test_a_difference_of_equal_estimates_is_no_difference():
    h = held_out()
    one = JudgedEdges(h, True, (7, 6), False).estimate(read_scoring(None), "conditions")
    assert (one - one).p_value() == 1.0
    other = JudgedEdges(h._replace(s=h.y), True, (7, 6), False)
    difference = other.estimate(read_scoring(None), "conditions") - one
    assert 0 < difference.p_value() < 0.2
