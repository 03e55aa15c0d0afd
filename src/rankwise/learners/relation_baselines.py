"""Baselines of relations: what similar nodes say, without any training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.relation_model import RelationModel, check_domains, nodes_of, report_repairs
from rankwise.learners.two_step_ranker import SideKernelArguments, kernel_tags
from rankwise.spaces.node_kernels import repaired_kernels
from rankwise.spaces.smoothed_relation import SimilarityFunction, SmoothedRelation, Weigh
from rankwise.supervision.filled_relation import FilledRelation
from rankwise.supervision.node_names import index_names
from rankwise.supervision.relation import RelationTask, check_labels, warn_if_not_mirrored
from rankwise.validation import check_choice, check_count


@dataclass(eq=False, repr=False)
class RelationBaseline(SideKernelArguments, RelationModel):
    """Keeps the nodes and the labels; scores are made when they are asked for."""

    _: KW_ONLY
    kernel: Any = "rbf"

    def fit(self, X, Y, *, edges=None):
        """Keep Y (p, p[, k]), nan where not observed, or y (q[, k]) at `edges` (q, 2).

        X holds the nodes, or is a pair (A, B) of the row nodes and the column nodes of two domains.
        """
        task = RelationTask("regression", self.relation, self.condition)
        kernels = repaired_kernels(self)
        self._check_parameters()
        A, B = check_domains(self, X, task)
        labels, self._has_relations = check_labels(Y, edges, (A.shape[0], B.shape[0]))
        warn_if_not_mirrored(labels, task, index_names(X))
        relations = [FilledRelation.of_labels(one, 0.0, task.sign) for one in labels]
        self._known = np.stack([one.known for one in relations], axis=-1)
        self._observed = np.stack([one.observed for one in relations], axis=-1)
        self._two_domains = B is not A
        self._rows, self._columns = nodes_of(A, B, kernels)
        self._check_domains()
        report_repairs(self, self._rows, self._columns, stacklevel=3)
        self._remember_parameters()
        self.n_observed_ = int(self._observed.sum())
        return self

    def catalogue(self, V):
        raise ValueError("a baseline has no coefficients to prepare: give V itself to rank.")

    def _check_parameters(self) -> None:
        """Refuse constructor arguments that make no sense."""

    def _check_domains(self) -> None:
        """Refuse domains that the baseline has no scores for."""

    def _smoothed(self, weigh: Weigh, shares: tuple) -> SmoothedRelation:
        sides = (self._rows, self._columns, self._known, self._observed)
        return SmoothedRelation(*sides, weigh, shares)

    def __sklearn_tags__(self):
        return kernel_tags(super().__sklearn_tags__(), self.kernel)


@dataclass(eq=False, repr=False)
class KernelFilter(RelationBaseline):
    """Smooths known labels with the kernels of the nodes; nothing is learnt.

    method="smoothing" is the linear filter of Stock, Poisot, Waegeman and De Baets (2017): a
    weighted sum of a pair's own label, the mean of its row, the mean of its column and the mean of
    all labels. For new nodes, labels and means are those of the training nodes, weighted by
    max(0, k(u, i)) and max(0, k(v, j)) and divided by the sum of the weights. O(p_a p_b) per node.

    method="similarity" ignores the labels: objects are ranked by their kernel value with the
    condition, K(u, v), equation 40 of Pahikkala et al. (2013). It needs one domain.

    Parameters
    ----------
    weights
        (label, row, column, all), not negative, not all zero.
    method
        "smoothing" or "similarity".
    kernel, gamma, degree, coef0
        The kernel of the nodes, each one value or a pair (rows, columns); "precomputed" takes node
        kernels. With method="similarity" and a precomputed kernel predict takes the kernel values
        of U to the training nodes, which are then V.
    repair
        None refuses indefinite similarities; "clip", "flip" and "shift" make them semi-definite, as
        in ConditionalRanker; not for method="similarity".
    relation
        "symmetric" and "reciprocal" labels count in both directions. Scores are mirrored too if
        rows and columns have the same weight.
    condition
        "row" ranks columns for each row, "column" ranks rows for each column.

    Attributes
    ----------
    n_observed_
        Number of observed labels.
    repairs_
        If repair is asked for, what was changed, as in TwoStepRanker.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import KernelFilter
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    >>> Y = drugs @ targets.T
    >>> model = KernelFilter(gamma=2.0).fit((drugs[:30], targets), Y[:30])
    >>> print(f"{model.score(drugs[30:], targets, Y[30:]):.2f}")
    0.83
    """

    weights: Any = (0.25, 0.25, 0.25, 0.25)
    _: KW_ONLY
    method: str = "smoothing"
    relation: str = "general"
    condition: str = "row"

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("smoothing", "similarity"))
        if self.method == "similarity" and self.repair is not None:
            raise ValueError(
                "method='similarity' ranks by the kernel values as they are: leave repair out, or "
                "repair the matrix before by rankwise.kernels.repair_kernel."
            )
        try:
            shares = np.asarray(self.weights, dtype=float)
        except (TypeError, ValueError):
            shares = np.zeros(0)
        if shares.shape != (4,) or not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise ValueError(
                "weights must be four numbers (label, row, column, all), not negative; got "
                f"{self.weights!r}."
            )
        if not shares.any():
            raise ValueError("weights are all zero: every score would be 0.")

    def _check_domains(self) -> None:
        if self.method == "similarity" and (self._two_domains or self._rows is not self._columns):
            raise ValueError(
                "method='similarity' ranks by the kernel between condition and object, which needs "
                "one domain with one kernel: use method='smoothing' for two domains."
            )

    @property
    def pair_function(self):
        """The scores of pairs of nodes."""
        check_is_fitted(self)
        if self.fitted_parameters.method == "similarity":
            return SimilarityFunction(self._rows)
        shares = tuple(float(w) for w in self.fitted_parameters.weights)
        return self._smoothed(_positive_part, shares)


@dataclass(eq=False, repr=False)
class NearestNodes(RelationBaseline):
    """The mean label between the nearest training nodes of a pair; nothing is learnt.

    The score of (u, v) is the mean of the observed labels between the k training rows nearest to u
    and the k training columns nearest to v; the mean of all labels if none of them was observed.
    Near is a small distance k(u, u) − 2 k(u, i) + k(i, i) in the space of the kernel. A training
    node is its own nearest node. O(p_a p_b) per new node.

    Parameters
    ----------
    n_neighbors
        Number of neighbours k on each side.
    kernel, gamma, degree, coef0
        The kernel of the nodes, each one value or a pair (rows, columns); "precomputed" takes node
        kernels.
    repair
        None refuses indefinite similarities; "clip", "flip" and "shift" make them semi-definite, as
        in ConditionalRanker.
    relation
        "symmetric" and "reciprocal" labels count in both directions.
    condition
        "row" ranks columns for each row, "column" ranks rows for each column.

    Attributes
    ----------
    n_observed_
        Number of observed labels.
    repairs_
        If repair is asked for, what was changed, as in TwoStepRanker.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import NearestNodes
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    >>> Y = drugs @ targets.T
    >>> model = NearestNodes(3).fit((drugs[:30], targets), Y[:30])
    >>> print(f"{model.score(drugs[30:], targets, Y[30:]):.2f}")
    0.89
    """

    n_neighbors: Any = 5
    _: KW_ONLY
    relation: str = "general"
    condition: str = "row"

    def _check_parameters(self) -> None:
        check_count("n_neighbors", self.n_neighbors)

    @property
    def pair_function(self):
        """The scores of pairs of nodes."""
        check_is_fitted(self)
        k = int(self.fitted_parameters.n_neighbors)

        def weigh(similarity: np.ndarray, own: np.ndarray) -> np.ndarray:
            return _nearest(similarity, own, k)

        return self._smoothed(weigh, (1.0, 0.0, 0.0, 0.0))


def _positive_part(similarity: np.ndarray, own: np.ndarray) -> np.ndarray:
    return np.maximum(similarity, 0.0)


def _nearest(similarity: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
    """1 at the k nearest training nodes of each row; of equal ones the first."""
    distance = own - 2 * similarity
    chosen = np.argsort(distance, axis=1, kind="stable")[:, :k]
    weights = np.zeros_like(similarity)
    np.put_along_axis(weights, chosen, 1.0, axis=1)
    return weights
