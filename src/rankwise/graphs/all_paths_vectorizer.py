"""AllPathsVectorizer: graphs to sparse label-pair features whose products are the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import GraphWarning
from rankwise.graphs.label_pairs import label_pairs, number_labels, ranked
from rankwise.graphs.labelled_graph import LabelledGraph
from rankwise.graphs.walks import LARGEST_RADIUS, all_walks, piece_starts
from rankwise.numerics.memory import refuse_too_large
from rankwise.numerics.progress import progress_bar
from rankwise.numerics.threads import limit_threads, one_blas_thread, run
from rankwise.validation import check_choice, check_count

COMBINE = {
    "sum": "over all walks between the two labels, G = L W Lᵀ",
    "max": "over the pairs of vertices that carry the two labels (the erratum)",
}
TASK_GRAPHS, TASK_ENTRIES = 32, 10**6
"""A task has at most so many graphs, and several only if their matrices W have few entries."""


class AllPathsVectorizer(TransformerMixin, BaseEstimator):
    """Graphs as sparse vectors F of label pairs, with F Fᵀ the all-paths graph kernel.

    W = (I − A)⁻¹ − I sums the weights of all walks between two vertices. The feature (a, b) is the
    sum of W_kl over the vertices k with label a and l with label b, G = L W Lᵀ, and the kernel of
    two graphs is the sum of the products of their features (Airola et al. 2008, "The all-paths
    graph kernel"). With combine="max" the feature is the largest of those W_kl (equation 2 of the
    erratum), the variant behind the published figures.

    The walks of one graph cost O(edges × vertices), plus O(c³) for every strong component of c
    vertices. The features cost O(nonzero entries of W × label pairs of two vertices).

    Parameters
    ----------
    combine : {"sum", "max"}
    normalize
        Whether to divide the features of every graph by their norm, so that the kernel of a graph
        with itself is 1. The norm of a new graph includes its unseen label pairs, so that its
        products with training graphs are exactly the normalised kernel.
    longest
        The number of edges of the longest walks that count, W = A + A² + … + A^longest (Airola
        2011, section 2.6); None for walks of every length. O(edges × vertices) per step.
    n_jobs
        The largest number of threads; None or −1 for all cores, −2 for all but one, and so on. The
        result does not depend on it.

    Attributes
    ----------
    labels_
        (l,) the labels seen in fit, sorted.
    pairs_
        (n, 2) the two labels of each feature, as positions in `labels_`.
    n_features_out_ : int
        The number of features.

    Notes
    -----
    transform drops label pairs that were not seen in fit. Long work shows a progress bar on a
    terminal.

    The weights of all walks have no finite sum if a graph has a cycle so heavy that its spectral
    radius is 1 or more; (I − A)⁻¹ then exists in most cases, but its entries weigh no walks and may
    be negative. In such a graph the edges of each strong component with that radius are scaled down
    to a radius of 0.9, and all others keep their weights. The features of a graph depend on the
    graph alone, so fit and transform agree. One GraphWarning counts these graphs. With `longest`
    there is nothing to scale.

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

    def __init__(
        self,
        combine: str = "sum",
        normalize: bool = False,
        *,
        longest: int | None = None,
        n_jobs: int | None = None,
    ):
        self.combine = combine
        self.normalize = normalize
        self.longest = longest
        self.n_jobs = n_jobs

    def fit(self, graphs: Iterable[LabelledGraph], y: Any = None) -> AllPathsVectorizer:
        """Make the label pairs of these graphs the features."""
        self._learn(graphs)
        return self

    def fit_transform(self, graphs: Iterable[LabelledGraph], y: Any = None) -> sparse.csr_matrix:
        """The result of fit and transform, at the cost of one of them."""
        values, columns, starts = self._learn(graphs)
        return self._matrix(values, columns, starts, self._norms(values, starts))

    def transform(self, graphs: Iterable[LabelledGraph]) -> sparse.csr_matrix:
        """(graphs, n) CSR matrix, one row per graph."""
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
        return self._matrix(values[seen], columns[seen], piece_starts(seen)[starts], norms)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """'a → b' for every feature."""
        check_is_fitted(self)
        names = (f"{a} → {b}" for a, b in self.labels_[self.pairs_])
        return np.array(list(names), dtype=object)

    def _learn(self, graphs: Iterable[LabelledGraph]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values and columns of all features, and where each graph begins in them."""
        graphs = self._check(graphs)
        self.labels_ = np.array(sorted(_distinct_labels(graphs)), dtype=object)
        codes = {label: code for code, label in enumerate(self.labels_.tolist())}
        keys, values, starts = self._label_pairs(graphs, codes)
        distinct, columns = ranked(keys, len(codes))
        self.pairs_ = np.column_stack(np.divmod(distinct, max(len(codes), 1))).astype(np.int32)
        self.n_features_out_ = len(distinct)
        return values, columns, starts

    def _check(self, graphs: Iterable[LabelledGraph]) -> list[LabelledGraph]:
        check_choice("combine", self.combine, COMBINE)
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(f"normalize must be True or False; got {self.normalize!r}.")
        check_count("longest", self.longest, none=True)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or not self.n_jobs):
            raise ValueError(f"n_jobs must be None or a nonzero integer; got {self.n_jobs!r}.")
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

    def _label_pairs(
        self, graphs: list[LabelledGraph], codes: dict[str, int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Keys a·l + b and values of all graphs, and where each graph begins in them."""
        cuts = _cut_into_tasks([graph.n_vertices for graph in graphs])
        with (
            progress_bar(len(cuts) - 1, "summing walks") as advance,
            limit_threads(self.n_jobs),
            one_blas_thread(),
        ):
            how = WalkSums(codes, self.combine == "max", self.longest)
            task = partial(_sum_walks, how=how, done=advance)
            parts = run([partial(task, graphs[low:high]) for low, high in pairwise(cuts)])
        keys, values, counts, radii = (np.concatenate(column) for column in zip(*parts))
        _report(radii)
        return keys, values, piece_starts(counts)

    def _norms(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The norm of each graph's features, 1 if there are none, before any are dropped."""
        norms = np.ones(len(starts) - 1)
        some = np.flatnonzero(np.diff(starts))
        if self.normalize and len(some):
            first, sizes = starts[some], np.diff(starts)[some]
            unit = np.maximum.reduceat(np.abs(values), first)
            if unit.min() > 1e-140 and unit.max() < 1e140:  # squares neither vanish nor overflow
                norms[some] = np.sqrt(np.add.reduceat(np.square(values), first))
            else:
                squares = np.square(values / np.repeat(unit, sizes))
                norms[some] = unit * np.sqrt(np.add.reduceat(squares, first))
        return norms

    def _matrix(
        self, values: np.ndarray, columns: np.ndarray, starts: np.ndarray, norms: np.ndarray
    ) -> sparse.csr_matrix:
        data = values / np.repeat(norms, np.diff(starts)) if self.normalize else values
        shape = (len(starts) - 1, self.n_features_out_)
        F = sparse.csr_matrix((data, columns, starts), shape=shape)
        F.has_canonical_format = True
        return F

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags


def _distinct_labels(graphs: list[LabelledGraph]) -> set[str]:
    return set().union(*chain.from_iterable(graph.labels for graph in graphs))


def _cut_into_tasks(sizes: list[int]) -> list[int]:
    """Where each task begins in a list of graphs with these numbers of vertices, and its end."""
    largest = max(sizes)
    refuse_too_large(largest, largest, "the walks of a graph", "cut the graph into smaller ones")
    cuts, entries = [0], 0
    for number, size in enumerate(sizes):
        entries += size * size
        if number - cuts[-1] == TASK_GRAPHS or (entries > TASK_ENTRIES and number > cuts[-1]):
            cuts.append(number)
            entries = size * size
    return [*cuts, len(sizes)]


class WalkSums(NamedTuple):
    """What is summed: the codes of the labels, and two arguments of the vectoriser."""

    codes: dict[str, int]
    maximum: bool
    longest: int | None


def _sum_walks(
    graphs: list[LabelledGraph], how: WalkSums, done: Callable[[], None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Keys and values of some graphs, one after the other; for each graph the number of its keys,
    and 0, or its radius if it was scaled down, or nan if its walks are too heavy.

    Labels without a code are dropped.
    """
    sizes = np.array([graph.n_vertices for graph in graphs])
    starts = piece_starts(sizes)
    offsets = np.repeat(starts[:-1], [len(graph.edges) for graph in graphs])
    walks, found = all_walks(
        int(starts[-1]),
        np.concatenate([graph.source for graph in graphs]) + offsets,
        np.concatenate([graph.target for graph in graphs]) + offsets,
        np.concatenate([graph.weight for graph in graphs]),
        how.longest,
    )
    radii = np.array([found[low:high].max(initial=0.0) for low, high in pairwise(starts)])
    vertices = list(chain.from_iterable(graph.labels for graph in graphs))
    numbered = number_labels(vertices, sizes, how.codes)
    pairs = label_pairs(walks, numbered, len(how.codes), how.maximum)
    done()
    return *pairs, radii


def _report(radii: np.ndarray) -> None:
    """One warning that counts the graphs that were scaled down; an error for an overflow."""
    if np.isnan(radii).any():
        raise ValueError(
            f"the walks of graphs[{int(np.argmax(np.isnan(radii)))}] are too heavy for a "
            "floating-point number. Scale its edge weights down."
        )
    scaled = np.count_nonzero(radii)
    if scaled:
        number = int(np.argmax(radii))
        warnings.warn(
            f"{scaled} of {len(radii)} graphs: the spectral radius is 1 or more (the largest, "
            f"{radii[number]:.3g}, is that of graphs[{number}]), so that the weights of the walks "
            "have no finite sum. The edges of heavy cycles were scaled down to a radius of "
            f"{LARGEST_RADIUS}. Walks of a finite length (longest=) need no scaling.",
            GraphWarning,
            stacklevel=5,
        )
