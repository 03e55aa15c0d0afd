"""The classes of scikit-learn that a model file may hold, with every attribute they may have.

A pipeline is saved only if each of its parts is listed here. Constructor arguments are checked by
scikit-learn's own declarations, fitted attributes by the fields below. An attribute that is not
listed is refused when it is saved: a newer scikit-learn may predict by it.
"""

from __future__ import annotations

import inspect
from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

from rankwise.io.model_fields import (
    COUNT,
    DICT,
    INDEX_LIST,
    LABELS,
    LIST,
    MATRIX,
    NONE,
    NUMBER,
    TRUTH,
    TUPLE,
    Field,
    check_field,
    instances,
    lists_of,
    numeric,
    object_named,
    with_attributes,
)
from rankwise.io.model_values import Unsaveable
from rankwise.numerics.import_paths import ClassPath

COMMON: dict[str, Field] = {
    "n_features_in_": COUNT,
    "feature_names_in_": LABELS,
    "_sklearn_output_config": DICT,
}

FORMER = {"ColumnTransformer": ("force_int_remainder_cols",)}
"""Arguments of older versions of scikit-learn that scores do not depend on."""
NOT_WRITTEN = {"_metadata_request"}
"""What only `fit` and `score` of a meta-estimator read: which labels a step asks for."""


@dataclass(frozen=True)
class Foreign(ClassPath):
    """An estimator of scikit-learn.

    Parameters
    ----------
    fitted : its fitted attributes, and what each of them must be
    written : turns the attributes into those that a file holds, or raises Unsaveable
    check : raises a ValueError if the attributes of a file contradict each other
    """

    fitted: Mapping[str, Field]
    written: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    check: Callable[[dict[str, Any]], None] | None = None

    def state(self, value: Any, training_data: bool) -> dict[str, Any]:
        attributes = {k: v for k, v in vars(value).items() if k not in NOT_WRITTEN}
        known = {*inspect.signature(self.imported()).parameters, *self.fitted, *COMMON}
        unknown = sorted(attributes.keys() - known)
        if unknown:
            raise Unsaveable(
                f"{self.name}.{unknown[0]} is an attribute of scikit-learn {sklearn.__version__} "
                "that a model file of this version of rankwise does not know: install a newer "
                "rankwise, or keep the model with joblib.dump."
            )
        if self.written is not None:
            attributes = self.written(attributes)
        return dict(sorted(attributes.items()))

    def build(self, state: dict[str, Any]) -> Any:
        cls = self.imported()
        parameters = inspect.signature(cls).parameters
        gone = set(FORMER.get(self.name, ())) - set(parameters)
        state = {name: value for name, value in state.items() if name not in gone}
        fields = {**COMMON, **self.fitted}
        for name, value in state.items():
            if name not in parameters and name not in fields:
                raise ValueError(f"{self.name} has no attribute {name!r}")
            if name not in parameters:
                check_field(self.name, name, value, fields[name])
        if self.check is not None:
            self.check(state)
        # A file of an older scikit-learn may lack arguments that the constructor has today.
        defaults = {k: p.default for k, p in parameters.items() if p.default is not p.empty}
        built = with_attributes(cls, **{**defaults, **state})
        built._validate_params()
        return built


def _with_listed_columns(attributes: dict[str, Any]) -> dict[str, Any]:
    """Columns that were given as an Index of pandas or as a range are written as a list."""
    attributes = dict(attributes)
    for name in ("transformers", "transformers_"):
        if name in attributes:
            attributes[name] = [(*t[:2], _listed(t[2])) for t in attributes[name]]
    if "_columns" in attributes:
        attributes["_columns"] = [_listed(columns) for columns in attributes["_columns"]]
    if "_remainder" in attributes:
        *others, columns = attributes["_remainder"]
        attributes["_remainder"] = (*others, _listed(columns))
    indices = attributes.get("_transformer_to_input_indices")
    if indices is not None:
        listed = {name: [int(i) for i in columns] for name, columns in indices.items()}
        attributes["_transformer_to_input_indices"] = listed
    return attributes


def _listed(columns: Any) -> Any:
    if isinstance(columns, UserList):  # how scikit-learn 1.6 keeps the columns of the remainder
        return list(columns.data)
    return list(columns) if hasattr(columns, "to_list") or isinstance(columns, range) else columns


def _identity_only(attributes: dict[str, Any]) -> dict[str, Any]:
    """The FunctionTransformer by which ColumnTransformer passes columns through."""
    for name in ("func", "inverse_func"):
        if attributes.get(name) is not None:
            raise Unsaveable(
                f"FunctionTransformer.{name} is code of your own, and a model file holds no code. "
                "Apply it to the data before the pipeline, or keep the model with joblib.dump, "
                "which needs your function to load it."
            )
    return attributes


def _refuse_function(state: dict[str, Any]) -> None:
    if state.get("func") is not None or state.get("inverse_func") is not None:
        raise ValueError("its FunctionTransformer has a function, which no file can hold")


def _check_categories(state: dict[str, Any]) -> None:
    categories, n = state.get("categories_"), state.get("n_features_in_")
    if categories is not None and len(categories) != n:
        raise ValueError(f"its encoder has categories of {len(categories)} of {n} features")


def _check_transformers(state: dict[str, Any]) -> None:
    for name in ("transformers", "transformers_"):
        for entry in state.get(name, ()):
            is_whole = isinstance(entry, tuple) and len(entry) == 3 and isinstance(entry[0], str)
            is_known = is_whole and (entry[1] in ("passthrough", "drop") or _is_step(entry[1]))
            if not is_known:
                raise ValueError("its ColumnTransformer has an entry that is no transformer")


def _check_steps(state: dict[str, Any]) -> None:
    steps = state.get("steps")
    if not isinstance(steps, list) or not steps:
        raise ValueError("its Pipeline has no steps")
    for entry in steps:
        is_pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
        if not is_pair or not (entry[1] in (None, "passthrough") or _is_step(entry[1])):
            raise ValueError("its Pipeline has a step that is no estimator")


def _is_step(value: Any) -> bool:
    return not isinstance(value, str) and (hasattr(value, "fit") or hasattr(value, "predict"))


_VALUES = numeric(1)
_MAYBE = NONE | numeric(1)
_SEEN = NUMBER | numeric(1)
_DTYPE = instances(np.dtype, "a data type")
_INDICES = lists_of(NONE | numeric(1))
_ENCODER: dict[str, Field] = {
    "categories_": lists_of(LABELS),
    "_infrequent_enabled": TRUTH,
    "_infrequent_indices": _INDICES,
    "_default_to_infrequent_mappings": _INDICES,
}

TRANSFORMERS = (
    Foreign(
        "sklearn.preprocessing:StandardScaler",
        {"mean_": _MAYBE, "var_": _MAYBE, "scale_": _MAYBE, "n_samples_seen_": _SEEN},
    ),
    Foreign(
        "sklearn.preprocessing:MinMaxScaler",
        {
            **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), _VALUES),
            "n_samples_seen_": _SEEN,
        },
    ),
    Foreign(
        "sklearn.preprocessing:MaxAbsScaler",
        {"max_abs_": _VALUES, "scale_": _VALUES, "n_samples_seen_": _SEEN},
    ),
    Foreign("sklearn.preprocessing:RobustScaler", {"center_": _MAYBE, "scale_": _MAYBE}),
    Foreign("sklearn.preprocessing:Normalizer", {}),
    Foreign(
        "sklearn.preprocessing:PolynomialFeatures",
        dict.fromkeys(("n_output_features_", "_min_degree", "_max_degree", "_n_out_full"), COUNT),
    ),
    Foreign(
        "sklearn.preprocessing:OneHotEncoder",
        {
            **_ENCODER,
            "drop_idx_": NONE | LABELS,
            "_drop_idx_after_grouping": NONE | LABELS,
            "_n_features_outs": INDEX_LIST,
        },
        check=_check_categories,
    ),
    Foreign(
        "sklearn.preprocessing:OrdinalEncoder",
        {**_ENCODER, "_missing_indices": DICT},
        check=_check_categories,
    ),
    Foreign(
        "sklearn.impute:SimpleImputer",
        {
            "statistics_": LABELS,
            "indicator_": NONE | object_named("MissingIndicator"),
            "_fit_dtype": _DTYPE,
            "_fill_dtype": _DTYPE,
        },
    ),
    Foreign(
        "sklearn.kernel_approximation:Nystroem",
        {
            "components_": MATRIX,
            "component_indices_": numeric(1),
            "normalization_": numeric(2),
            "_n_features_out": COUNT,
        },
    ),
    Foreign(
        "sklearn.compose:ColumnTransformer",
        {
            "transformers_": LIST,
            "sparse_output_": TRUTH,
            "output_indices_": DICT,
            "_columns": LIST,
            "_transformer_to_input_indices": DICT,
            "_remainder": TUPLE,
            "_transformers_feature_names_out": NONE | LABELS | DICT,
            "_n_features": COUNT,
            "_name_to_fitted_passthrough": DICT,
        },
        written=_with_listed_columns,
        check=_check_transformers,
    ),
    Foreign(
        "sklearn.pipeline:Pipeline",
        {"_transformers_feature_names_out": NONE | LABELS | DICT},
        check=_check_steps,
    ),
)
"""What `save` takes by itself or as a step of a pipeline."""

INSIDE = (
    Foreign(
        "sklearn.impute:MissingIndicator",
        {"features_": numeric(1), "_n_features": COUNT, "_precomputed": TRUTH},
    ),
    Foreign(
        "sklearn.preprocessing:FunctionTransformer",
        {},
        written=_identity_only,
        check=_refuse_function,
    ),
)
"""What only transformers of scikit-learn make themselves."""
