"""Held-out edges of a relation, predicted by models that never saw what their setting holds out."""

from __future__ import annotations

import inspect
import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

from rankwise.learners.relation_model_search import SETTINGS
from rankwise.model_selection.folds import Fold, RandomState
from rankwise.numerics.progress import track
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.node_kernels import pair_of
from rankwise.supervision.relation import Labels, RelationTask, check_labels
from rankwise.validation import check_choice


@dataclass
class RelationData:
    """The nodes and the observed edges of one relation.

    `X` is (A, B), the row nodes and the column nodes; in one domain both are the same object.
    """

    X: tuple[Any, Any]
    edges: np.ndarray
    y: np.ndarray
    one_domain: bool

    @classmethod
    def checked(cls, X: Any, Y: ArrayLike, edges: ArrayLike | None) -> RelationData:
        """From the arguments of `fit`; one relation at a time."""
        one_domain = not isinstance(X, tuple)
        if not one_domain:
            RelationTask().check_domains(X)
        A, B = (X, X) if one_domain else X
        if any(isinstance(side, list) and side and np.ndim(side[0]) > 1 for side in (A, B)):
            raise ValueError(
                "X holds several matrices for one side: give one matrix for each side, for example "
                "the weighted sum of the kernels with kernel='precomputed'."
            )
        labels, _ = check_labels(Y, edges, (_n_nodes(A, "X"), _n_nodes(B, "X")))
        if len(labels) > 1:
            raise ValueError(
                f"Y holds {len(labels)} relations: evaluate one relation at a time, Y[..., 0]."
            )
        told = labels[0].as_edges()
        if not len(told):
            raise ValueError("no edge is observed: all labels are nan.")
        return cls((A, B), np.column_stack([told.rows, told.columns]), told.y, one_domain)

    @property
    def shape(self) -> tuple[int, int]:
        return _n_nodes(self.X[0], "X"), _n_nodes(self.X[1], "X")

    def labels(self) -> Labels:
        return Labels(self.shape, rows=self.edges[:, 0], columns=self.edges[:, 1], y=self.y)

    def with_nodes(self, rows: np.ndarray, columns: np.ndarray, sides: _Precomputed) -> Any:
        """X in which node i has the features of node rows[i] or columns[i]."""
        A = _nodes(self.X[0], rows, rows if sides.rows else None)
        B = A if self.one_domain else _nodes(self.X[1], columns, columns if sides.columns else None)
        return RelationData((A, B), self.edges, self.y, self.one_domain)


class _Precomputed(NamedTuple):
    """Whether X of the row nodes and of the column nodes is a kernel matrix."""

    rows: bool
    columns: bool


class HeldOutEdges(NamedTuple):
    """Test edges (n, 2) of all folds, their labels, scores, and the number of their fold."""

    edges: np.ndarray
    y: np.ndarray
    s: np.ndarray
    fold: np.ndarray


def argument_of(est: BaseEstimator, name: str, default: Any) -> Any:
    """A constructor argument of the estimator, or of the ranker that it searches for."""
    parameters = est.get_params(deep=True)
    return parameters.get(name, parameters.get(f"ranker__{name}", default))


def precomputed_sides(est: BaseEstimator) -> _Precomputed:
    kernels = pair_of(argument_of(est, "kernel", "linear"), "kernel")
    rows, columns = (isinstance(one, str) and Kernel(one).is_precomputed for one in kernels)
    return _Precomputed(rows, columns)


def check_relational(est: BaseEstimator) -> None:
    """Refuse what is no learner of relations; the error says what is missing."""
    if isinstance(est, type):
        raise ValueError(f"give an estimator, not its class: {est.__name__}().")
    for method in ("fit", "get_params", "predict_edges"):
        if not hasattr(est, method):
            raise ValueError(
                f"{type(est).__name__} is no learner of relations: it needs {method}. "
                "ConditionalRanker, TwoStepRanker, their searches, KernelFilter and "
                "NearestNodes are."
            )
    if "edges" not in inspect.signature(est.fit).parameters:
        raise ValueError(f"{type(est).__name__}.fit must take edges=, as ConditionalRanker's does.")
    if isinstance(argument_of(est, "early_stopping", None), tuple):
        raise ValueError(
            "early_stopping=(edges, y) names edges of the whole relation, some of which are test "
            "edges here: give early_stopping as a fraction."
        )


def prepared(est: BaseEstimator, setting: str) -> BaseEstimator:
    """A clone whose own search holds out the same as the setting.

    A TwoStepRanker that refuses missing cells fills held-out edges by the model, as its
    leave_edge_out does.
    """
    model, parameters = clone(est), est.get_params(deep=False)
    if "setting" in parameters:
        model.set_params(setting=setting)
    if setting == "edges" and "fill" in parameters and parameters["fill"] is None:
        model.set_params(fill="model")
    return model


def relational_splits(
    data: RelationData, est: BaseEstimator, setting: str, cv: Any, random_state: RandomState
) -> list[Fold]:
    """(train, test) numbers of the edges, for each fold of the setting."""
    check_choice("setting", setting, tuple(SETTINGS))
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(data.edges))
    if not isinstance(cv, numbers.Integral) or isinstance(cv, bool) or int(cv) < 2:
        raise ValueError(
            f"cv must be a number of folds of at least 2, or a splitter of rankwise.selection; "
            f"got {cv!r}."
        )
    task = RelationTask(relation=argument_of(est, "relation", "general"))
    one_domain = task.sign != 0 if setting == "edges" else data.one_domain
    seed = 0 if random_state is None else random_state
    split: Any = SETTINGS[setting][0]
    splitter = split(int(cv), seed, one_domain=one_domain)
    return list(splitter.split(data.edges))


def fitted_to(model: BaseEstimator, data: RelationData, train: np.ndarray) -> TrainedOn:
    """The model fitted to the edges `train`, and to the nodes that these edges touch only."""
    edges = data.edges[train]
    if data.one_domain:
        rows = columns = np.unique(edges)
    else:
        rows, columns = np.unique(edges[:, 0]), np.unique(edges[:, 1])
    sides = precomputed_sides(model)
    A = _nodes(data.X[0], rows, rows if sides.rows else None)
    X = (
        A
        if data.one_domain
        else (A, _nodes(data.X[1], columns, columns if sides.columns else None))
    )
    at = np.column_stack(
        [np.searchsorted(rows, edges[:, 0]), np.searchsorted(columns, edges[:, 1])]
    )
    fitted = clone(model).fit(X, data.y[train], edges=at)
    return TrainedOn(fitted, rows, columns, sides)


class TrainedOn(NamedTuple):
    """A fitted model, the numbers of its training nodes, and which sides are kernel matrices."""

    model: Any
    rows: np.ndarray
    columns: np.ndarray
    sides: _Precomputed

    def scores(self, data: RelationData, edges: np.ndarray) -> np.ndarray:
        """(n,) scores of edges between any nodes."""
        rows, columns = np.unique(edges[:, 0]), np.unique(edges[:, 1])
        U = _nodes(data.X[0], rows, self.rows if self.sides.rows else None)
        V = _nodes(data.X[1], columns, self.columns if self.sides.columns else None)
        at = np.searchsorted(rows, edges[:, 0]), np.searchsorted(columns, edges[:, 1])
        s = np.asarray(self.model.predict_edges(U, V, np.column_stack(at)), dtype=float)
        if s.shape != (len(edges),) or not np.isfinite(s).all():
            raise ValueError(
                f"{type(self.model).__name__}.predict_edges must return one finite score per edge."
            )
        return s


def held_out_edges(
    est: BaseEstimator, data: RelationData, splits: list[Fold]
) -> tuple[HeldOutEdges, list[Any]]:
    """The test edges of all folds with their scores, and what each fold chose."""
    parts, chosen = [], []
    for fold, (train, test) in track(enumerate(splits), len(splits), "folds", least=2):
        trained = fitted_to(est, data, train)
        s = trained.scores(data, data.edges[test])
        parts.append((data.edges[test], data.y[test], s, np.full(len(test), fold)))
        chosen.append(getattr(trained.model, "alpha_", None))
    return HeldOutEdges(*(np.concatenate(part) for part in zip(*parts))), chosen


def _n_nodes(A: Any, name: str) -> int:
    shape = getattr(A, "shape", None)
    if shape is None:
        try:
            return len(A)
        except TypeError:
            raise ValueError(f"{name} must hold nodes, got {type(A).__name__}.") from None
    return int(shape[0])


def _nodes(A: Any, index: np.ndarray, columns: np.ndarray | None) -> Any:
    """Some nodes; for a kernel matrix their values to the nodes `columns`."""
    chosen = _safe_indexing(A, index)
    return chosen if columns is None else _safe_indexing(chosen, columns, axis=1)
