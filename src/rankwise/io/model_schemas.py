"""The classes that a model file may hold, and which of their attributes are written.

A file names classes without their modules. The table below finds a class by its name, and imports
it when a model of that class is saved or loaded: this module itself imports no learner. No other
class is ever built from a file, and nothing in a file is executed.

To make a learner saveable, add an entry to `_MODELS` that names its fitted attributes; what they
must be is declared in `model_fields`. If the class of a part is replaced, add one line to `LEGACY`,
and older files still load. Classes of scikit-learn are in `sklearn_schemas`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankwise.io.model_fields import (
    FIELDS,
    PARAMETERS,
    PART_FIELDS,
    check_field,
    check_together,
    with_attributes,
)
from rankwise.io.model_values import Unsaveable
from rankwise.io.sklearn_schemas import INSIDE, TRANSFORMERS, Foreign
from rankwise.numerics.import_paths import ClassPath, imported
from rankwise.supervision.queries import Queries

SEARCH_ARGUMENTS = ("cv", "scoring")
"""What only `fit` reads: `set_params` may replace code of one's own by a name before saving."""


@dataclass(frozen=True)
class Estimator(ClassPath):
    """An estimator: its constructor arguments, public fitted attributes (`name_`) and private ones.

    Parameters
    ----------
    model : private attributes that are always written
    training : private attributes that are written with training_data=True only; without it they
        are None after `load`, and methods which need them can say so
    caches : private attributes that are never written, and None after `load`
    kept_with : {"_a": "_b"} writes `_a`, one of `training`, without training data too if `_b` is
        not None
    older : "module:function" that turns the attributes of an older file into those of today
    fitted : the public attributes that a fit may set, besides n_features_in_ and
        feature_names_in_
    """

    model: tuple[str, ...] = ()
    training: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    kept_with: Mapping[str, str] = field(default_factory=dict)
    older: str = ""
    fitted: tuple[str, ...] = ()

    @property
    def fitted_names(self) -> set[str]:
        """All public attributes of a fit."""
        return {*self.fitted, "n_features_in_", "feature_names_in_", "_sklearn_output_config"}

    def state(self, value: Any, training_data: bool) -> dict[str, Any]:
        current = vars(value)
        chosen_by = {name: current[name] for name in SEARCH_ARGUMENTS if name in current}
        attributes = {**current, **current.get("_fitted", {}), **chosen_by}
        written = {*inspect.signature(type(value)).parameters, *self.model}
        for name in self.training:
            if training_data or attributes.get(self.kept_with.get(name, "")) is not None:
                written.add(name)
        public = {name for name in attributes if _is_fitted_name(name)} - written
        strange = sorted(public - self.fitted_names)
        if strange:
            raise Unsaveable(
                f"{self.name}.{strange[0]} is no attribute that a fit sets, and a model file holds "
                "only those: delete it before saving."
            )
        names = sorted(k for k in attributes if k in written or k in public)
        return {name: attributes[name] for name in names}

    def build(self, state: dict[str, Any]) -> Any:
        cls = self.imported()
        parameters = inspect.signature(cls).parameters
        if self.older:
            state = imported(self.older)(state)
        allowed = {*parameters, *self.model, *self.training, *self.fitted_names}
        for name, value in state.items():
            if name not in allowed:
                raise ValueError(f"{self.name} has no attribute {name!r}")
            declared = PARAMETERS if name in parameters else FIELDS
            check_field(self.name, name, value, declared.get(name))
        check_together(self.name, state)
        # An older file may lack arguments that the constructor has today.
        defaults = {k: p.default for k, p in parameters.items() if p.default is not p.empty}
        absent = dict.fromkeys((*self.training, *self.caches))
        attributes = {**defaults, **absent, **state}
        if hasattr(cls, "fitted_parameters"):
            attributes["_fitted"] = {name: attributes[name] for name in parameters}
        return with_attributes(cls, **attributes)


@dataclass(frozen=True)
class Part(ClassPath):
    """A plain object, rebuilt from its `fields` by the class, or by `make(class, **fields)`.

    Older files may lack the fields in `optional`, and may have those in `older`, which `make` then
    understands.
    """

    fields: tuple[str, ...]
    make: Callable[..., Any] | None = None
    optional: tuple[str, ...] = ()
    older: tuple[str, ...] = ()

    def state(self, value: Any, training_data: bool) -> dict[str, Any]:
        return {name: getattr(value, name) for name in self.fields}

    def build(self, state: dict[str, Any]) -> Any:
        allowed = {*self.fields, *self.older}
        if not {*self.fields} - {*self.optional} <= state.keys() <= allowed:
            raise ValueError(f"{self.name} must have exactly {', '.join(self.fields)}")
        for name, value in state.items():
            check_field(self.name, name, value, PART_FIELDS.get((self.name, name)))
        if self.make is not None:
            return self.make(self.imported(), **state)
        return self.imported()(**state)


AnySchema = Estimator | Foreign | Part


def _is_fitted_name(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name == "_sklearn_output_config"


def _checked_queries(cls: type[Queries], codes: Any, labels: Any) -> Queries:
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or labels.ndim != 1:
        raise ValueError("its queries do not label items")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(labels):
        raise ValueError("one of its queries has no label")
    return cls(codes, labels)


def _checked_counts(cls: Any, **fields: Any) -> Any:
    lengths = {len(fields[name]) for name in ("first", "second", "won", "lost", "tied")}
    ends = (fields["first"], fields["second"])
    if len(lengths) > 1 or any(side.max(initial=-1) >= fields["n_items"] for side in ends):
        raise ValueError("its counts of votes do not belong to pairs of its items")
    return cls(**fields)


def _with_options(cls: Any, name: str, options: dict[str, Any]) -> Any:
    return cls(name, **options)


def _reduced_space(cls: Any, map: Any) -> Any:
    """An older file holds a KernelMap, which keeps its map in an attribute."""
    return cls(getattr(map, "_map", map))


def _nodes(cls: Any, **state: Any) -> Any:
    """An older file holds the name and parameters of one kernel."""
    if "parts" in state:
        return cls(**state)
    older = imported("rankwise.learners.older_files:kernel_parts")
    parts = older(state.pop("kernel"), state.pop("parameters"))
    return cls(parts=parts, **state)


_OLDER = "rankwise.learners.older_files"
_ITEMS = ("_X", "_supervision")
_SHAPE = ("_single_output", "_has_queries", "_X_basis")
_SUMS = (*_SHAPE, "_accumulated", "_space")
_SVM = ("_has_queries", "_X_basis", "_last")
_QUADRATIC: dict[str, Any] = {
    "training": (*_ITEMS, "_basis"),
    "caches": ("_problem", "_systems", "_embedding"),
}
_VOTES = ("_has_queries", "_X_basis", "_basis", "_items_checksum", "_without_features")
_COUNTED: dict[str, Any] = {
    "training": ("_X", "_counts", "_judged"),
    "kept_with": {"_counts": "_without_features", "_judged": "_without_features"},
    "caches": ("_posterior",),
}
_STREAM: dict[str, Any] = {"training": (*_ITEMS, "_space"), "kept_with": {"_space": "_moments"}}
_NODES = ("_two_domains", "_has_relations", "_rows", "_columns")
_MAP = (
    *("kernel", "basis_index", "exact", "X_basis", "embedding", "K_MR", "scale"),
    *("basis_features", "basis_to_features"),
)
_SCORES = ("Y", "queries", "weight")
_PAIRS = ("preferences", "queries", "weight")
_PREFERENCES = ("winner", "loser", "magnitude", "weight", "n_items", "tie")
_COUNTS = ("n_items", "first", "second", "won", "lost", "tied", "by_order")
_NODE_FIELDS = ("rows", "X", "parts", "through_features", "own")
_PART_OF_KERNEL = ("kernel", "weight", "start", "stop", "transform")
_MOMENTS = ("n_items", "mean_F", "mean_Y", "gram", "cross")
_GRAPH_LABELS = ("labels_", "pairs_", "n_features_out_")
_INTERACTIONS = (
    *("alpha_", "coef_", "vectorizer_", "documents_"),
    *("threshold_", "auc_", "held_out_", "intercept_"),
)
_SPLITTERS = ("KFold", "GroupKFold", "LeaveOneGroupOut", "LeaveOneOut")
_EDGE_SPLITTERS = ("EdgeSplit", "RowSplit", "ColumnSplit", "RowColumnSplit")

_SOLVED = ("coef_", "dual_coef_", "basis_index_", "n_iter_")
_ITERATED = (*_SOLVED, "objective_", "gap_", "history_")
_CHOSEN = ("alpha_", "alphas_", "best_score_", "cv_", "cv_results_", "n_units_")
_CHOSEN_C = ("C_", "Cs_", "best_cost_", "best_score_", "cv_", "cv_results_", "n_units_")
_STRENGTHS = ("strengths_", "order_effect_", "tie_effect_", "components_")
_BOOSTED = ("rankers_", "weights_", "n_rounds_", "validation_scores_")
_RELATION = (
    *(*_SOLVED[:2], "n_iter_", "history_", "n_skipped_conditions_", "solver_"),
    *("intercept_", "row_effects_", "column_effects_", "repairs_"),
)
_TWO_STEP = (*_SOLVED[:2], "n_filled_", "repairs_")
_LABELS = (*_NODES, "_known", "_observed")
_CHOSEN_RELATION = (
    *("alpha_", "alphas_", "best_score_", "cv_results_", "n_units_", "best_estimator_"),
    *("best_params_", "grid_results_", "repairs_"),
)
_SELECTED = ("coef_", "coef_path_", "selected_", "criterion_", "criterion_of_none_", "cv_")
_CROSSED = ("dimensions_", "query_directions_", "document_directions_")
_SCALED = ("has_queries_", "centred_", "mean_", "deviation_", "fill_")

# The models that `save` accepts, each with its fitted attributes.
_MODELS: tuple[Estimator | Foreign, ...] = (
    Estimator("rankwise:RankRLS", _SUMS, fitted=_SOLVED, **_QUADRATIC),
    Estimator("rankwise:RLS", _SUMS, fitted=_SOLVED, **_QUADRATIC),
    Estimator("rankwise:RankRLSCV", _SHAPE, fitted=(*_SOLVED, *_CHOSEN)),
    Estimator("rankwise:RankLogistic", _VOTES, fitted=(*_ITERATED, *_STRENGTHS), **_COUNTED),
    Estimator(
        "rankwise:RankLogisticCV", _VOTES, fitted=(*_ITERATED, *_STRENGTHS, *_CHOSEN), **_COUNTED
    ),
    Estimator("rankwise:RankSVM", _SVM, fitted=_ITERATED),
    Estimator("rankwise:RankSVMCV", _SVM, fitted=(*_ITERATED, *_CHOSEN)),
    Estimator(
        "rankwise:MPRank",
        (*_SHAPE, "_moments", "_told"),
        caches=("_problem", "_stream"),
        fitted=_ITERATED,
        **_STREAM,
    ),
    Estimator("rankwise:MPRankCV", _SHAPE, _ITEMS, fitted=(*_SOLVED, *_CHOSEN_C)),
    Estimator("rankwise:SVRank", _SHAPE, _ITEMS, fitted=_ITERATED),
    Estimator("rankwise:RankBoost", ("_has_queries",), fitted=_BOOSTED),
    Estimator("rankwise:GreedyRankRLS", ("_has_queries",), fitted=_SELECTED),
    Estimator("rankwise:ConditionalRanker", _NODES, caches=("_problem",), fitted=_RELATION),
    Estimator("rankwise:ConditionalRankerCV", fitted=_CHOSEN_RELATION),
    Estimator("rankwise:TwoStepRanker", _NODES, caches=("_problem",), fitted=_TWO_STEP),
    Estimator("rankwise:TwoStepRankerCV", fitted=_CHOSEN_RELATION),
    Estimator("rankwise:KernelFilter", _LABELS, fitted=("n_observed_", "repairs_")),
    Estimator("rankwise:NearestNodes", _LABELS, fitted=("n_observed_", "repairs_")),
    Estimator(
        "rankwise:KernelMap", ("_map",), older=f"{_OLDER}:kernel_map", fitted=("basis_index_",)
    ),
    Estimator("rankwise.graphs:AllPathsVectorizer", fitted=_GRAPH_LABELS),
    Estimator("rankwise.applications.ppi:InteractionRanker", fitted=_INTERACTIONS),
    Estimator("rankwise.scaling:ItemScaler", fitted=_SCALED),
    Estimator("rankwise.features:Interactions", fitted=_CROSSED),
    Estimator("rankwise.workflow.trained_model:TrainedModel"),
    *TRANSFORMERS,
)
# Attributes of models, and splitters, which keep their constructor arguments as estimators do.
_PARTS: tuple[Estimator | Foreign | Part, ...] = (
    *INSIDE,
    Part("rankwise.supervision.queries:Queries", ("codes", "labels"), _checked_queries),
    Part("rankwise:Preferences", _PREFERENCES, optional=("tie",)),
    Part("rankwise.supervision.vote_counts:VoteCounts", _COUNTS, _checked_counts),
    Part("rankwise.supervision.supervision:ScoredItems", _SCORES),
    Part("rankwise.supervision.supervision:ComparedItems", _PAIRS),
    Part("rankwise:Censored", ("event", "time")),
    Part("rankwise.supervision.censored:CensoredItems", ("outcome", "queries", "weight")),
    Part("rankwise.spaces.kernels:Kernel", ("kernel", "gamma", "degree", "coef0")),
    Part("rankwise.spaces.nystrom_map:NystromMap", _MAP, with_attributes),
    Part(
        "rankwise.spaces.nodes:Nodes",
        _NODE_FIELDS,
        _nodes,
        optional=("parts", "own"),
        older=("kernel", "parameters"),
    ),
    Part("rankwise.spaces.nodes:KernelPart", _PART_OF_KERNEL),
    Part("rankwise.kernels:InteractionProfile", ("gamma", "fill")),
    Estimator("rankwise.kernels:KernelSum"),
    Part("rankwise.spaces.space:ReducedSpace", ("map",), _reduced_space),
    Part("rankwise.solvers.moments:CentredMoments", _MOMENTS, with_attributes),
    Part("rankwise.metrics.scorers:Scorer", ("name", "options"), _with_options),
    *(Estimator(f"sklearn.model_selection:{name}") for name in _SPLITTERS),
    *(Estimator(f"rankwise.selection:{name}") for name in _EDGE_SPLITTERS),
)
SCHEMAS: dict[str, AnySchema] = {schema.name: schema for schema in (*_MODELS, *_PARTS)}
MODELS = [schema.name for schema in _MODELS]

MATCHING = {"NamedPipeline": "Pipeline"}
"""Classes that `load` returns in place of the class in the file."""

LEGACY: dict[str, Part] = {
    "PointwiseScores": Part(f"{_OLDER}:scored_items", _SCORES),
    "PairwiseScores": Part(f"{_OLDER}:scored_items", (*_SCORES, "loss", "ties", "by_query")),
    "PairwisePreferences": Part(f"{_OLDER}:compared_items", (*_PAIRS, "loss", "by_query")),
}
"""Class names that only older files use: "OldName": Part("module:function", fields of the file).

The function takes the fields by keyword, and returns the object that replaces the old one.
"""


def schema_of(value: object) -> AnySchema | None:
    """The schema of the value's own class, not of a base class; None if there is none."""
    cls = type(value)
    if cls.__name__ in MATCHING:
        base = SCHEMAS[MATCHING[cls.__name__]]
        return base if issubclass(cls, base.imported()) else None
    schema = SCHEMAS.get(cls.__name__)
    return schema if schema is not None and schema.imported() is type(value) else None


def schema_named(name: object) -> AnySchema:
    """The schema for a class name in a file; a ValueError if that class may not be built."""
    schema = (SCHEMAS.get(name) or LEGACY.get(name)) if isinstance(name, str) else None
    if schema is None:
        raise ValueError(f"{name!r} is not a class that this version of rankwise knows")
    return schema


def is_model(value: object) -> bool:
    schema = schema_of(value)
    return schema is not None and schema.name in MODELS
