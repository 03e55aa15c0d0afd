"""AllPathsVectorizer: graphs to sparse label-pair features whose products are the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise.graphs.labelled import LabelledGraph
from rankwise.graphs.walks import CONVERGES, label_pairs, ranked
from rankwise.numerics.progress import track
from rankwise.numerics.threads import n_threads, one_blas_thread
from rankwise.spaces.kernels import refuse_too_large
from rankwise.validation import check_choice

COMBINE = {
    "sum": "over all walks between the two labels, G = L W Lᵀ",
    "max": "over the pairs of vertices that carry the two labels (the erratum)",
}
AT_ONCE = 32
"""Graphs a task."""


class AllPathsVectorizer(TransformerMixin, BaseEstimator):
    """Graphs as sparse vectors F of label pairs, with F Fᵀ the all-paths graph kernel.

    W = (I − A)⁻¹ − I sums the weights of all walks between two vertices, and the feature (a, b) is
    the sum of W_kl over the vertices k with label a and l with label b, G = L W Lᵀ; the kernel of
    two graphs is the sum of products of their features (Airola et al. 2008, "The all-paths graph
    kernel"). With combine="max" it is the largest of those W_kl (equation 2 of the erratum), the
    variant behind the published figures.

    Walks cost O(edges × vertices) a graph plus O(c³) for every strong component of c vertices (see
    rankwise.graphs.walks), features O(nonzeros of W × label pairs of two vertices).

    Parameters
    ----------
    combine : "sum" or "max"
    normalize : divide every graph's features by their norm, so that the kernel of a graph with
        itself is 1. The norm of a new graph counts its unseen label pairs too: its products with
        training graphs are the normalised kernel, exactly.
    n_jobs : threads; None all cores, else as in joblib. The result does not depend on it.

    Attributes
    ----------
    labels_ : (l,) the labels seen in fit, sorted
    pairs_ : (n, 2) each feature's two labels, as places in labels_
    n_features_out_ : n

    Label pairs not seen in fit are dropped by transform. A graph whose spectral radius is 1 or more
    has no finite sum of walks and is refused. A progress bar shows on a terminal.

    Examples
    --------
    >>> from rankwise.graphs import AllPathsVectorizer, LabelledGraph
    >>> path = LabelledGraph([{"a"}, {"b"}, {"a"}], [(0, 1, 0.5), (1, 2, 0.5)])
    >>> vectorizer = AllPathsVectorizer()
    >>> vectorizer.fit_transform([path]).toarray()
    array([[0.25, 0.5 , 0.5 ]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['a → a', 'a → b', 'b → a']
    """

    def __init__(self, combine="sum", normalize=False, *, n_jobs=None):
        self.combine = combine
        self.normalize = normalize
        self.n_jobs = n_jobs

    def fit(self, graphs, y=None):
        """Take the label pairs of these graphs for features."""
        self._learn(graphs)
        return self

    def fit_transform(self, graphs, y=None) -> sparse.csr_matrix:
        """fit and transform for the price of one."""
        values, columns, starts = self._learn(graphs)
        return self._matrix(values, columns, starts, self._norms(values, starts))

    def transform(self, graphs) -> sparse.csr_matrix:
        """(graphs, n) CSR."""
        check_is_fitted(self)
        graphs = self._check(graphs)
        codes = {label: code for code, label in enumerate(self.labels_.tolist())}
        if self.normalize:
            for label in _distinct_labels(graphs):
                codes.setdefault(label, len(codes))
        keys, values, starts = self._label_pairs(graphs, codes)
        norms = self._norms(values, starts)
        known = self.pairs_[:, 0].astype(np.int64) * len(codes) + self.pairs_[:, 1]
        columns = np.searchsorted(known, keys)
        seen = np.zeros(len(keys), dtype=bool)
        if len(known):
            seen = known[np.minimum(columns, len(known) - 1)] == keys
        starts = np.concatenate(([0], np.cumsum(seen)))[starts]
        return self._matrix(values[seen], columns[seen], starts, norms)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """'a → b' for every feature."""
        check_is_fitted(self)
        names = (f"{a} → {b}" for a, b in self.labels_[self.pairs_])
        return np.array(list(names), dtype=object)

    def _learn(self, graphs):
        graphs = self._check(graphs)
        self.labels_ = np.array(sorted(_distinct_labels(graphs)), dtype=object)
        codes = {label: code for code, label in enumerate(self.labels_.tolist())}
        keys, values, starts = self._label_pairs(graphs, codes)
        distinct, columns = ranked(keys, len(codes))
        self.pairs_ = np.column_stack(np.divmod(distinct, max(len(codes), 1))).astype(np.int32)
        self.n_features_out_ = len(distinct)
        return values, columns, starts

    def _check(self, graphs) -> list[LabelledGraph]:
        check_choice("combine", self.combine, COMBINE)
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(f"normalize must be True or False; got {self.normalize!r}.")
        if isinstance(graphs, LabelledGraph):
            raise ValueError("graphs must be a list of LabelledGraph; got a single one.")
        if not isinstance(graphs, Iterable):
            raise ValueError(f"graphs must be a list of LabelledGraph; got {graphs!r}.")
        graphs = list(graphs)
        for number, graph in enumerate(graphs):
            if not isinstance(graph, LabelledGraph):
                raise ValueError(
                    f"graphs[{number}] is a {type(graph).__name__}; make a "
                    "rankwise.graphs.LabelledGraph of it."
                )
        if not graphs:
            raise ValueError("graphs is empty: at least one graph is needed.")
        return graphs

    def _label_pairs(self, graphs, codes: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Keys a·l + b and values of all graphs, and where each graph's begin."""
        jobs = n_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        cuts = [*range(0, len(graphs), AT_ONCE), len(graphs)]
        work = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
        with one_blas_thread():
            parts = list(
                track(
                    work(
                        delayed(self._task)(graphs[low:high], low, codes)
                        for low, high in pairwise(cuts)
                    ),
                    len(cuts) - 1,
                    "summing walks",
                )
            )
        keys, values, counts = (np.concatenate(column) for column in zip(*parts))
        return keys, values, np.concatenate(([0], np.cumsum(counts)))

    def _task(self, graphs, first: int, codes: dict):
        n_labels = max(len(codes), 1)
        arrays = _joined(graphs, codes)
        compiled: Callable = label_pairs
        keys, values, starts, status = compiled(*arrays, n_labels, self.combine == "max")
        if (status != CONVERGES).any():
            number = int(np.argmax(status != CONVERGES))
            _refuse_divergence(graphs[number], first + number)
        return keys, values, np.diff(starts)

    def _norms(self, values, starts) -> np.ndarray:
        squares = np.concatenate(([0.0], np.cumsum(values**2)))
        if not self.normalize:
            return np.ones(len(starts) - 1)
        sums = np.array([squares[high] - squares[low] for low, high in pairwise(starts)])
        return np.sqrt(np.where(sums > 0, sums, 1.0))

    def _matrix(self, values, columns, starts, norms) -> sparse.csr_matrix:
        data = values / np.repeat(norms, np.diff(starts)) if self.normalize else values
        shape = (len(starts) - 1, self.n_features_out_)
        F = sparse.csr_matrix((data, columns, starts), shape=shape)
        F.has_canonical_format = True
        return F

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags


def _distinct_labels(graphs) -> set:
    return set().union(*(graph_labels for graph in graphs for graph_labels in graph.labels))


def _joined(graphs, codes: dict) -> tuple:
    """Vertices, edges and label codes of some graphs, one after the other; unknown labels go."""
    sizes = [graph.n_vertices for graph in graphs]
    for size in sizes:
        refuse_too_large(size, size, "the walks of a graph", "cut the graph into smaller ones")
    marks = [
        [codes[label] for label in labels if label in codes]
        for labels in chain.from_iterable(graph.labels for graph in graphs)
    ]
    label_starts = np.concatenate(([0], np.cumsum([len(own) for own in marks], dtype=np.int64)))
    return (
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        np.concatenate(([0], np.cumsum([len(graph.edges) for graph in graphs], dtype=np.int64))),
        np.concatenate([graph.source for graph in graphs]),
        np.concatenate([graph.target for graph in graphs]),
        np.concatenate([graph.weight for graph in graphs]),
        label_starts,
        np.fromiter(chain.from_iterable(marks), np.int64, label_starts[-1]),
    )


def _refuse_divergence(graph: LabelledGraph, number: int) -> None:
    radius = np.abs(np.linalg.eigvals(graph.adjacency())).max(initial=0.0)
    raise ValueError(
        f"graphs[{number}] has a spectral radius of {radius:.6g}: with 1 or more, the weights of "
        "its walks have no finite sum. Scale its edge weights down."
    )
