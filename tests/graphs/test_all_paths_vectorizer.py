"""Label-pair features: their products are the kernel of the definitions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rankwise import RankRLS
from rankwise.graphs import AllPathsVectorizer, LabelledGraph, all_paths_vectorizer
from tests import reference_graphs as reference

VARIANTS = [(c, n) for c in ("sum", "max") for n in (False, True)]


@st.composite
def graphs(draw, names="abc", negative=False):
    n = draw(st.integers(0, 6))
    labels = draw(st.lists(st.sets(st.sampled_from(names), max_size=2), min_size=n, max_size=n))
    if not n:
        return LabelledGraph([], [])
    vertex = st.integers(0, n - 1)
    weight = st.sampled_from([-0.4, -0.1, 0.2, 0.5] if negative else [0.0, 0.1, 0.3, 0.9])
    edges = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=9))
    return LabelledGraph(labels, edges)


def radius(graph):
    return np.abs(np.linalg.eigvals(graph.adjacency())).max(initial=0.0)


@settings(max_examples=60)
@given(st.lists(graphs(), min_size=1, max_size=4), graphs("abcz"), st.sampled_from(VARIANTS))
def test_products_are_the_kernel(known, new, variant):
    assume(all(radius(graph) < 0.97 for graph in [*known, new]))
    vectorizer = AllPathsVectorizer(*variant)
    F = vectorizer.fit_transform(known)
    assert_allclose((F @ F.T).toarray(), reference.kernel_matrix(known, known, *variant), atol=1e-9)
    assert_allclose(vectorizer.transform(known).toarray(), F.toarray(), atol=1e-15)
    F_new = vectorizer.transform([new])
    expected = reference.kernel_matrix([new], known, *variant)
    assert_allclose((F_new @ F.T).toarray(), expected, atol=1e-9)


@settings(max_examples=40)
@given(graphs(negative=True), st.sampled_from(["sum", "max"]))
def test_negative_weights(graph, combine):
    assume(radius(graph) < 0.97)
    F = AllPathsVectorizer(combine).fit_transform([graph])
    expected = reference.kernel(graph, graph, combine)
    assert_allclose((F @ F.T).toarray(), [[expected]], atol=1e-9)


@settings(max_examples=60)
@given(graphs(), st.sampled_from([1.0, 2.5]))
def test_refuses_exactly_what_diverges(graph, scale):
    edges = [(a, b, scale * w) for a, b, w in graph.edges]
    graph = LabelledGraph(graph.labels, edges)
    assume(abs(radius(graph) - 1) > 1e-6)
    if radius(graph) < 1:
        assert np.isfinite(AllPathsVectorizer().fit_transform([graph]).data).all()
    else:
        with pytest.raises(ValueError, match=r"graphs\[0\] has a spectral radius of"):
            AllPathsVectorizer().fit([graph])


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 0, 1.0)],
        [(0, 1, 1.0), (1, 0, 1.0)],
        [(0, 1, -1.0), (1, 0, 1.0)],
        [(0, 0, 0.5), (0, 0, 0.5)],
        [(0, 1, 2.0), (1, 0, 2.0)],
    ],
)
def test_refuses_a_radius_of_one(edges):
    fine = LabelledGraph([{"a"}], [])
    with pytest.raises(ValueError, match=r"graphs\[1\].*Scale"):
        AllPathsVectorizer().fit([fine, LabelledGraph([{"a"}, {"b"}], edges)])


def test_features_of_a_path():
    """0.9, 0.9² … along a chain; the labels that two vertices share are summed or the largest."""
    chain = LabelledGraph([{"a", "x"}, {"b"}, {"b"}], [(0, 1, 0.9), (1, 2, 0.9)])
    for combine, expected in (("sum", 0.9 + 0.81), ("max", 0.9)):
        vectorizer = AllPathsVectorizer(combine)
        found = vectorizer.fit_transform([chain])
        names = vectorizer.get_feature_names_out().tolist()
        assert names == ["a → b", "b → b", "x → b"]
        assert_allclose(found.toarray(), [[expected, 0.9, expected]])
        assert vectorizer.labels_[vectorizer.pairs_[0]].tolist() == ["a", "b"]


def test_what_cannot_be_reached_has_no_feature():
    """A cycle that leads to another: nothing leads back, not even by rounding."""
    weights = np.random.default_rng(0).uniform(0.1, 0.3, 12)
    rings = [(i, (i + 1) % 5) for i in range(5)] + [(5 + i, 5 + (i + 1) % 6) for i in range(6)]
    edges = [(a, b, w) for (a, b), w in zip([*rings, (0, 5)], weights)]
    graph = LabelledGraph([{str(i)} for i in range(11)], edges)
    F = AllPathsVectorizer().fit_transform([graph])
    assert F.nnz == 5 * 11 + 6 * 6
    expected = reference.kernel(graph, graph, "sum")
    assert_allclose((F @ F.T).toarray(), [[expected]], rtol=1e-12)


def random_graphs(count, seed):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(rng.integers(2, 12))
        labels = [set(rng.choice(list("abcdefgh"), 2)) for _ in range(n)]
        edges = [(*map(int, rng.integers(0, n, 2)), 0.1) for _ in range(2 * n)]
        made.append(LabelledGraph(labels, edges))
    return made


def test_the_number_of_threads_changes_nothing():
    many = random_graphs(150, 1)
    one, *others = (AllPathsVectorizer(n_jobs=n).fit_transform(many) for n in (1, 2, -1, None))
    for other in others:
        assert (one != other).nnz == 0
    assert one.has_canonical_format and sparse.isspmatrix_csr(one)
    check = sparse.csr_matrix((one.data.copy(), one.indices.copy(), one.indptr.copy()), one.shape)
    check.sum_duplicates()
    assert (check != one).nnz == 0 and check.nnz == one.nnz


@pytest.mark.parametrize("entries", [1, 300])
def test_neither_does_the_number_of_tasks(monkeypatch, entries):
    many = random_graphs(40, 3)
    expected = AllPathsVectorizer("max", True).fit_transform(many)
    monkeypatch.setattr(all_paths_vectorizer, "TASK_ENTRIES", entries)
    assert (AllPathsVectorizer("max", True).fit_transform(many) != expected).nnz == 0
    diverging = LabelledGraph([{"a"}, {"b"}], [(0, 1, 2.0), (1, 0, 2.0)])
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match=r"graphs\[7\] has a spectral radius of 2"):
            AllPathsVectorizer(n_jobs=n_jobs).fit([*many[:7], diverging, *many[7:], diverging])


def test_normalised_rows_have_norm_one_and_empty_graphs_none():
    several = [*random_graphs(5, 2), LabelledGraph([], []), LabelledGraph([{"a"}], [])]
    F = AllPathsVectorizer("max", True).fit_transform(several)
    norms = np.sqrt(F.multiply(F).sum(axis=1)).A1
    assert_allclose(norms, [1, 1, 1, 1, 1, 0, 0])


def test_works_in_pipelines_and_searches():
    several = random_graphs(30, 4)
    y = np.array([len(graph.edges) for graph in several], dtype=float)
    pipeline = make_pipeline(AllPathsVectorizer(), RankRLS())
    grid = {"allpathsvectorizer__combine": ["sum", "max"], "rankrls__alpha": [0.1, 10.0]}
    search = GridSearchCV(clone(pipeline), grid, cv=3).fit(several, y)
    assert search.best_score_ > 0.7
    assert search.predict(several[:4]).shape == (4,)


def test_bad_input():
    graph = LabelledGraph([{"a"}], [(0, 0, 0.5)])
    for arguments, given_graphs, message in [
        ({"combine": "mean"}, [graph], "combine must be one of 'sum', 'max'"),
        ({"normalize": "l2"}, [graph], "normalize must be True or False"),
        ({"n_jobs": 0}, [graph], "n_jobs must be None or a nonzero integer; got 0"),
        ({}, [], "graphs is empty"),
        ({}, graph, r"must be a list of LabelledGraph; got LabelledGraph\(1"),
        ({}, None, "must be a list of LabelledGraph; got None"),
        ({}, [graph, "text"], r"graphs\[1\] is a str"),
    ]:
        with pytest.raises(ValueError, match=message):
            AllPathsVectorizer(**arguments).fit(given_graphs)
