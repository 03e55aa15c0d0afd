"""What a model of a relation has seen, and values that contradict the relation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.supervision.relation import RelationTask
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.relation_pairs import newness, pairs_record, refuse_unmirrored


def relation(edges, y=None, names=("abcdef", "xyzuvw"), one_domain=False):
    sides = [Items(np.ones((len(each), 1)), names=np.array(list(each))) for each in names]
    edges = np.array(edges)
    y = np.zeros(len(edges)) if y is None else np.array(y, dtype=float)
    return Relation(sides[0], None if one_domain else sides[1], edges, y, "edges.csv")


@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1),
)
def test_kinds_of_edges(trained, asked):
    seen = relation(sorted(trained), names=("abcd", "xyzuv"))
    record = {"node_names": [list("abcd"), list("xyzuv")], "pairs": pairs_record(seen)}
    expected = []
    for i, j in asked:
        kind = {(0, 0): "edges", (1, 0): "rows", (0, 1): "columns", (1, 1): "both"}[i > 3, j > 4]
        expected.append("seen" if (i, j) in trained else kind)
    assert newness(record, relation(asked)).tolist() == expected


def test_the_reverse_of_a_pair_is_seen_in_mirrored_relations():
    seen = relation([[0, 1]], one_domain=True)
    record = {"node_names": [list("abcdef")] * 2, "pairs": pairs_record(seen)}
    other = relation([[1, 0], [0, 2]], one_domain=True)
    assert newness(record, other).tolist() == ["edges", "edges"]
    record["recipe"] = {"relation": "symmetric"}
    assert newness(record, other).tolist() == ["seen", "edges"]


def test_what_cannot_be_told():
    known = relation([[0, 1]])
    assert newness({}, known) is None
    record = {"node_names": [["a"], ["y"]], "pairs": pairs_record(relation([[0, 0]], names="ay"))}
    assert newness(record, known).tolist() == ["seen"]
    assert newness({**record, "nodes_named": False}, known) is None
    known.rows.named = False
    assert newness(record, known) is None


@pytest.mark.parametrize(("kind", "sign"), [("symmetric", 1), ("reciprocal", -1)])
def test_values_must_be_mirrored(kind, sign):
    edges = [[0, 1], [1, 0], [1, 2], [2, 1], [3, 0], [0, 1]]
    task = RelationTask("regression", kind)
    right = relation(edges, [1, sign * 2, 3, sign * 3, 9, 3], one_domain=True)
    refuse_unmirrored(right, task)
    wrong = relation(edges, [1, sign * 2, 3, sign * 4, 9, 3], one_domain=True)
    with pytest.raises(ValueError, match=rf"edge 3: 'c' to 'b' is {sign * 4}, but edge 2 says 3"):
        refuse_unmirrored(wrong, task)
    refuse_unmirrored(wrong, RelationTask())


def test_a_ranking_does_not_see_constants():
    edges = [[0, 1], [1, 0], [1, 2], [2, 1]]
    shares = relation(edges, [0.9, 0.1, 0.3, 0.7], one_domain=True)
    refuse_unmirrored(shares, RelationTask("ranking", "reciprocal"))
    with pytest.raises(ValueError, match="not reciprocal"):
        refuse_unmirrored(shares, RelationTask("regression", "reciprocal"))
