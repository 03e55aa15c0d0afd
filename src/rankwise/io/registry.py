"""The classes that a model file may name, and what of each makes the model.

Of an estimator: its constructor's arguments, its public fitted attributes (name_), and the private
ones listed here. Nothing else of it is written, and no other class is ever made from a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn import model_selection, pipeline, preprocessing

from rankwise import selection
from rankwise.applications.ppi import InteractionRanker
from rankwise.graphs import AllPathsVectorizer
from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.learners.conditional_ranker_cv import ConditionalRankerCV
from rankwise.learners.item_scaler import ItemScaler
from rankwise.learners.mprank import MPRank
from rankwise.learners.mprank_cv import MPRankCV
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.learners.rank_rls_cv import RankRLSCV
from rankwise.learners.rank_svm import RankSVM
from rankwise.learners.rank_svm_cv import RankSVMCV
from rankwise.learners.svrank import SVRank
from rankwise.losses.least_squares import PairwisePreferences, PairwiseScores, PointwiseScores
from rankwise.metrics.scorers import Scorer
from rankwise.solvers.moments import CentredMoments
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.nystrom_map import KernelMap
from rankwise.spaces.space import ReducedSpace
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.trained_model import TrainedModel


@dataclass(frozen=True)
class Estimator:
    """An estimator's private attributes: the model's, the training data's, and mere caches.

    Training data are written on request only; after `load` they and the caches are None, so that
    methods which need them can say so. `streaming` is what sums of a stream refer to.
    """

    cls: type
    private: tuple[str, ...] = ()
    training: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    streaming: tuple[str, ...] = ()

    def state(self, estimator, training_data: bool) -> dict[str, Any]:
        found = vars(estimator)
        names = {*self._parameters(), *self.private, *(self.training if training_data else ())}
        if training_data or found.get("_moments") is not None:
            names.update(self.streaming)
        return {name: found[name] for name in found if name in names or _is_fitted_name(name)}

    def build(self, state: dict[str, Any]):
        """The estimator, without calling its constructor's or any other code on the state."""
        allowed = {*self._parameters(), *self.private, *self.training, *self.streaming}
        for name in state:
            if name not in allowed and not _is_fitted_name(name):
                raise ValueError(f"{self.cls.__name__} has no attribute {name!r}")
        made: Any = object.__new__(self.cls)
        vars(made).update(self._defaults())
        vars(made).update(dict.fromkeys((*self.training, *self.caches, *self.streaming)))
        vars(made).update(state)
        return made

    def _parameters(self) -> list[str]:
        return self.cls._get_param_names()  # type: ignore[attr-defined]

    def _defaults(self) -> dict[str, Any]:
        """For arguments that the version which wrote the file did not have yet."""
        return vars(pipeline.Pipeline([]) if self.cls is pipeline.Pipeline else self.cls())


@dataclass(frozen=True)
class Part:
    """A plain object that `make` (the class itself by default) builds from its attributes."""

    cls: type
    fields: tuple[str, ...]
    make: Callable | None = None

    def state(self, part, training_data: bool) -> dict[str, Any]:
        return {name: getattr(part, name) for name in self.fields}

    def build(self, state: dict[str, Any]):
        if state.keys() != set(self.fields):
            raise ValueError(f"{self.cls.__name__} lacks one of {', '.join(self.fields)}")
        return (self.make or self.cls)(**state)


def _is_fitted_name(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name == "_sklearn_output_config"


def _queries(codes, labels) -> Queries:
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or labels.ndim != 1:
        raise ValueError("queries are no labels of items")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(labels):
        raise ValueError("a query has no label")
    return Queries(codes, labels)


def _scorer(name, options) -> Scorer:
    return Scorer(name, **options)


def _moments(**state) -> CentredMoments:
    made = CentredMoments(0, 0)
    vars(made).update(state)
    return made


def _splitter(cls) -> Part:
    """As made by its constructor, whose arguments a splitter keeps under their names."""

    def make(**state):
        made = cls.__new__(cls)
        vars(made).update(state)
        return made

    return Part(cls, tuple(sorted(vars(cls()))), make)


_ITEMS = ("_X", "_supervision")
_TOLD = ("_single_output", "_has_queries", "_X_basis")
_SVM = Estimator(RankSVM, ("_has_queries", "_X_basis", "_last"))
_QUADRATIC: dict[str, Any] = {"training": (*_ITEMS, "_basis"), "caches": ("_space", "_fits")}
_MAP = (
    "_X_basis",
    "_scale",
    "_eigenvalues",
    "_Q",
    "_basis_to_features",
    "_is_singular",
    "_has_gap",
    "_K_MR",
)
_NODES = ("_two_domains", "_has_relations", "_rows", "_columns")
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")
_FOLDS = ("KFold", "GroupKFold", "LeaveOneGroupOut", "LeaveOneOut")
_EDGE_FOLDS = ("EdgeSplit", "RowSplit", "ColumnSplit", "RowColumnSplit")

KNOWN: tuple[Estimator | Part, ...] = (
    Estimator(RankRLS, (*_TOLD, "_accumulated"), **_QUADRATIC),
    Estimator(RLS, _TOLD, **_QUADRATIC),
    Estimator(RankRLSCV, _TOLD),
    _SVM,
    Estimator(RankSVMCV, _SVM.private),
    Estimator(MPRank, (*_TOLD, "_moments", "_told"), _ITEMS, ("_problem",), ("_space",)),
    Estimator(MPRankCV, _TOLD, _ITEMS),
    Estimator(SVRank, _TOLD, _ITEMS),
    Estimator(RankBoost, ("_has_queries",)),
    Estimator(ConditionalRanker, _NODES, caches=("_problem",)),
    Estimator(ConditionalRankerCV),
    Estimator(KernelMap, _MAP),
    Estimator(AllPathsVectorizer),
    Estimator(InteractionRanker),
    Estimator(ItemScaler),
    Estimator(TrainedModel),
    Estimator(pipeline.Pipeline),
    *(Estimator(getattr(preprocessing, name)) for name in _SCALERS),
    Part(Queries, ("codes", "labels"), _queries),
    Part(Preferences, ("winner", "loser", "magnitude", "weight", "n_items")),
    Part(PointwiseScores, ("Y", "queries", "weight")),
    Part(PairwiseScores, ("Y", "queries", "weight", "loss", "ties", "by_query")),
    Part(PairwisePreferences, ("preferences", "queries", "weight", "loss", "by_query")),
    Part(Nodes, ("rows", "X", "kernel", "parameters", "through_features")),
    Part(ReducedSpace, ("map",), ReducedSpace.of_map),
    Part(CentredMoments, ("n_items", "mean_F", "mean_Y", "gram", "cross"), _moments),
    Part(Scorer, ("name", "options"), _scorer),
    *(_splitter(getattr(model_selection, name)) for name in _FOLDS),
    *(_splitter(getattr(selection, name)) for name in _EDGE_FOLDS),
)
BY_CLASS = {known.cls: known for known in KNOWN}
BY_NAME = {known.cls.__name__: known for known in KNOWN}
ESTIMATORS = [known.cls.__name__ for known in KNOWN if isinstance(known, Estimator)]
