import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit

ALL = (EdgeSplit, RowSplit, ColumnSplit, RowColumnSplit)
graphs = st.tuples(st.integers(6, 15), st.integers(6, 15), st.integers(0, 2**16))


def make_edges(graph):
    """A complete graph, a fifth of its edges repeated, in random order."""
    p_a, p_b, seed = graph
    rng = np.random.default_rng(seed)
    edges = np.array([(u, v) for u in range(p_a) for v in range(p_b)])
    edges = np.vstack([edges, edges[rng.integers(len(edges), size=len(edges) // 5)]])
    return rng.permutation(edges)


@given(graphs, st.sampled_from(ALL), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_two_domains(graph, Split, n_splits):
    edges = make_edges(graph)
    folds = list(Split(n_splits, random_state=0).split(edges))
    assert len(folds) == n_splits == Split(n_splits).get_n_splits(edges)
    tested = np.concatenate([test for _, test in folds])
    assert len(np.unique(tested)) == len(tested)
    if Split is not RowColumnSplit:
        assert len(tested) == len(edges)
    for train, test in folds:
        assert len(train) and len(test)
        seen, new = edges[train], edges[test]
        if Split is EdgeSplit:
            assert not set(map(tuple, seen)) & set(map(tuple, new))
            assert len(train) + len(test) == len(edges)
        if Split in (RowSplit, RowColumnSplit):
            assert not np.isin(new[:, 0], seen[:, 0]).any()
        if Split in (ColumnSplit, RowColumnSplit):
            assert not np.isin(new[:, 1], seen[:, 1]).any()
        if Split is RowSplit:
            assert np.isin(new[:, 1], seen[:, 1]).all()
        if Split is ColumnSplit:
            assert np.isin(new[:, 0], seen[:, 0]).all()


@given(st.integers(8, 15), st.sampled_from(ALL), st.integers(2, 4), st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_one_domain(p, Split, n_splits, seed):
    edges = make_edges((p, p, seed))
    for train, test in Split(n_splits, random_state=seed, one_domain=True).split(edges):
        seen, new = edges[train], edges[test]
        known = np.isin(new, seen)
        if Split is EdgeSplit:
            assert not {frozenset(e) for e in seen.tolist()} & {frozenset(e) for e in new.tolist()}
        else:
            assert (known[:, 0] == (Split is ColumnSplit)).all()
            assert (known[:, 1] == (Split is RowSplit)).all()


def test_same_folds_for_the_same_random_state():
    edges = make_edges((9, 8, 0))
    for Split in ALL:
        first, again = ([t.tolist() for _, t in Split(3, 7).split(edges)] for _ in range(2))
        assert first == again


def test_bad_input():
    edges = np.array([(u, v) for u in range(4) for v in range(4)])
    with pytest.raises(ValueError, match="n_splits=5, but there are 4 rows"):
        list(RowSplit(5).split(edges))
    with pytest.raises(ValueError, match="at least 2"):
        list(EdgeSplit(1).split(edges))
    with pytest.raises(ValueError, match=r"shape \(q, 2\)"):
        list(EdgeSplit(2).split(edges[:, 0]))
    diagonal = np.column_stack([np.arange(6), (np.arange(6) + 3) % 6])
    with pytest.raises(ValueError, match="too sparse"):
        for seed in range(20):
            list(RowColumnSplit(5, seed).split(diagonal))
    assert repr(EdgeSplit(3, 0)) == "EdgeSplit(n_splits=3, random_state=0, one_domain=False)"
