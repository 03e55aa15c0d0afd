"""Label-pair features: their products are the kernel of the definitions."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rankwise import RankRLS
from rankwise.exceptions import GraphWarning
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


@settings(max_examples=30)
@given(
    st.lists(graphs(), min_size=1, max_size=3),
    st.sampled_from([1.0, 2.5]),
    st.sampled_from(VARIANTS),
)
def test_scales_exactly_what_diverges(several, scale, variant):
    """By brute force: heavy strong components scaled to 0.9, all else as it is; one warning."""
    several = [LabelledGraph(g.labels, [(a, b, scale * w) for a, b, w in g.edges]) for g in several]
    radii = np.array([radius(graph) for graph in several])
    assume(all(abs(r - 1) > 1e-6 and not 0.97 < r < 1 for g in several for r in strong_radii(g)))
    combine, normalize = variant
    vectorizer = AllPathsVectorizer(combine, normalize)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        F = vectorizer.fit_transform(several)
    heavy = int(np.count_nonzero(radii > 1))
    assert len(caught) == (heavy > 0)
    if heavy:
        assert f"{heavy} of {len(several)} graphs" in str(caught[0].message)
        assert f"{radii.max():.3g}" in str(caught[0].message)
    light = [scaled_down(graph) for graph in several]
    assert_allclose(
        (F @ F.T).toarray(),
        reference.kernel_matrix(light, light, combine, normalize),
        rtol=1e-9,
        atol=1e-9,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_allclose(vectorizer.transform(several).toarray(), F.toarray(), atol=1e-15)
        alone = [vectorizer.transform([graph]).toarray()[0] for graph in several]
    assert_allclose(alone, F.toarray(), rtol=1e-12, atol=1e-15)


def strong_radii(graph):
    """The spectral radius of every strong component."""
    A = graph.adjacency()
    _, part = csgraph.connected_components(A != 0, directed=True, connection="strong")
    return [
        np.abs(np.linalg.eigvals(A[np.ix_(part == c, part == c)])).max() for c in np.unique(part)
    ]


def scaled_down(graph):
    """The graph with the edges within each heavy strong component scaled to a radius of 0.9."""
    if not graph.n_vertices:
        return graph
    A = graph.adjacency()
    _, part = csgraph.connected_components(A != 0, directed=True, connection="strong")
    radii = strong_radii(graph)
    factor = [0.9 / r if r >= 1 else 1.0 for r in radii]
    edges = [(a, b, w * factor[part[a]] if part[a] == part[b] else w) for a, b, w in graph.edges]
    return LabelledGraph(graph.labels, edges)


HEAVY = {
    "a loop of 1": [(0, 0, 1.0)],
    "I − A is singular": [(0, 1, 1.0), (1, 0, 1.0)],
    "radius 1, complex": [(0, 1, -1.0), (1, 0, 1.0)],
    "parallel loops": [(0, 0, 0.5), (0, 0, 0.5)],
    "a loop of −3": [(0, 0, -3.0), (0, 1, 0.3)],
    "radius 2": [(0, 1, 2.0), (1, 0, 2.0)],
    "radius 1.29": [(0, 1, 0.9), (1, 0, 0.9), (0, 0, 0.6450697674418605)],
    "three around": [(0, 1, 0.9), (1, 2, 0.9), (2, 0, 0.9), (1, 0, 0.9), (2, 1, 0.9), (0, 2, 0.9)],
    "huge": [(0, 1, 1e150), (1, 0, 1e150)],
    "cycle, then chain": [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 0.5), (3, 0, 0.25)],
}


@pytest.mark.parametrize("edges", HEAVY.values(), ids=HEAVY)
@pytest.mark.parametrize("variant", VARIANTS)
def test_heavy_cycles_are_scaled_with_one_warning(edges, variant):
    fine = LabelledGraph([{"a"}, {"b"}], [(0, 1, 0.5)])
    heavy = LabelledGraph([{"a"}, {"b"}, {"c"}, {"d"}], edges)
    vectorizer = AllPathsVectorizer(*variant)
    with pytest.warns(GraphWarning, match=r"^2 of 3 graphs: .* graphs\[[12]\]") as caught:
        F = vectorizer.fit_transform([fine, heavy, heavy])
    assert len(caught) == 1
    light = [fine, scaled_down(heavy), scaled_down(heavy)]
    expected = reference.kernel_matrix(light, light, *variant)
    assert_allclose((F @ F.T).toarray(), expected, rtol=1e-9)
    alone = AllPathsVectorizer(*variant).fit_transform([fine])
    assert_allclose((alone @ alone.T).toarray(), [[(F[0] @ F[0].T).toarray()[0, 0]]])
    with pytest.warns(GraphWarning, match="^1 of 1 graphs"):
        assert_allclose(vectorizer.transform([heavy]).toarray(), F[[1]].toarray())


def test_a_radius_close_to_one():
    """Below 1 the sum is exact; 1 within rounding counts as 1."""
    below = LabelledGraph([{"a"}, {"b"}], [(0, 1, 1 - 1e-6), (1, 0, 1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F = AllPathsVectorizer().fit_transform([below]).toarray()
    assert_allclose(F.max(), 1e6, rtol=1e-5)
    almost = LabelledGraph([{"a"}, {"b"}], [(0, 1, 1 - 1e-16), (1, 0, 1.0)])
    with pytest.warns(GraphWarning):
        assert AllPathsVectorizer().fit_transform([almost]).max() < 10


def test_weights_beyond_floating_point_are_refused():
    chain = LabelledGraph([{"a"}, {"b"}, {"c"}], [(0, 1, 1e200), (1, 2, 1e200)])
    loops = LabelledGraph([{"a"}], [(0, 0, 1e308), (0, 0, 1e308)])
    for graph, longest in [(chain, None), (loops, None), (chain, 3), (loops, 3)]:
        with pytest.raises(ValueError, match=r"walks of graphs\[1\] are too heavy"):
            AllPathsVectorizer(longest=longest).fit([LabelledGraph([{"a"}], []), graph])


@settings(max_examples=30)
@given(st.lists(graphs(), min_size=1, max_size=3), st.integers(1, 6), st.sampled_from(VARIANTS))
def test_walks_of_a_finite_length(several, longest, variant):
    """A + A² + … + A^longest by powers of A, also for graphs whose walks have no finite sum."""
    combine, normalize = variant
    several = [LabelledGraph(g.labels, [(a, b, 3 * w) for a, b, w in g.edges]) for g in several]
    F = AllPathsVectorizer(combine, normalize, longest=longest).fit_transform(several)
    expected = reference.kernel_matrix(several, several, combine, normalize, longest)
    assert_allclose((F @ F.T).toarray(), expected, rtol=1e-9, atol=1e-9)


def test_long_walks_of_an_acyclic_graph_are_all_walks():
    chain = LabelledGraph([{str(i)} for i in range(9)], [(i, i + 1, 0.9) for i in range(8)])
    short, every = AllPathsVectorizer(longest=50), AllPathsVectorizer()
    assert_allclose(short.fit_transform([chain]).toarray(), every.fit_transform([chain]).toarray())


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
        with pytest.warns(
            GraphWarning, match=r"^2 of 42 graphs: .* 2, is that of graphs\[7\]"
        ) as caught:
            AllPathsVectorizer(n_jobs=n_jobs).fit([*many[:7], diverging, *many[7:], diverging])
        assert len(caught) == 1


def test_normalised_rows_have_norm_one_and_empty_graphs_none():
    several = [*random_graphs(5, 2), LabelledGraph([], []), LabelledGraph([{"a"}], [])]
    F = AllPathsVectorizer("max", True).fit_transform(several)
    norms = np.sqrt(F.multiply(F).sum(axis=1)).A1
    assert_allclose(norms, [1, 1, 1, 1, 1, 0, 0])


def test_norms_do_not_depend_on_other_graphs():
    weights = (1e-150, 1e-9, 1.0, 1e9, 1e150)
    several = [LabelledGraph([{"a"}, {"b"}], [(0, 1, w)]) for w in weights]
    for order in (several, several[::-1]):
        assert_allclose(AllPathsVectorizer(normalize=True).fit_transform(order).toarray(), 1.0)


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
        ({"longest": 0}, [graph], "longest must be None or a positive integer; got 0"),
        ({"longest": True}, [graph], "longest must be None or a positive integer; got True"),
        ({"longest": 2.5}, [graph], "longest must be None or a positive integer; got 2.5"),
        ({"n_jobs": 0}, [graph], "n_jobs must be None or a nonzero integer; got 0"),
        ({}, [], "graphs is empty"),
        ({}, graph, r"must be a list of LabelledGraph; got LabelledGraph\(1"),
        ({}, None, "must be a list of LabelledGraph; got None"),
        ({}, [graph, "text"], r"graphs\[1\] is a str"),
    ]:
        with pytest.raises(ValueError, match=message):
            AllPathsVectorizer(**arguments).fit(given_graphs)
