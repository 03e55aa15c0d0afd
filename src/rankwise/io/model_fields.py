"""What the fields of a model file must be.

A field is checked when its object is built: `FIELDS` says what a fitted attribute of a name is, and
the schema of each class (`model_schemas`) which of them it has. Then the fields of a learner are
checked against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np


class Field(NamedTuple):
    """The test that a value must pass, and what it tests in words."""

    is_right: Callable[[Any], bool]
    expected: str

    def __or__(self, other: Field) -> Field:  # type: ignore[override]
        first, second = self, other
        return Field(
            lambda value: first.is_right(value) or second.is_right(value),
            f"{first.expected} or {second.expected}",
        )


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "indptr") and hasattr(value, "data")


def _floats(*dimensions: int) -> Field:
    def is_right(value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return False
        return value.ndim in dimensions and bool(np.isfinite(value).all())

    axes = " or ".join(map(str, dimensions))
    return Field(is_right, f"an array of finite floats with {axes} dimensions")


def _integers(dimensions: int, least: int = 0) -> Field:
    def is_right(value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            return False
        return value.ndim == dimensions and bool((value >= least).all())

    return Field(is_right, f"an array of integers from {least} on with {dimensions} dimensions")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_matrix(value: Any) -> bool:
    if _is_sparse(value):
        return value.dtype.kind == "f" and bool(np.isfinite(value.data).all())
    return _floats(2).is_right(value)


def _is_two_counts(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_count, value))


def _is_text_array(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        return False
    return all(isinstance(name, str) for name in value.tolist())


def _is_names(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and all(one is None or _is_text_array(one) for one in value)
    return _is_text_array(value)


def _is_record(value: Any) -> bool:
    names = getattr(getattr(value, "dtype", None), "names", None)
    return value.ndim == 1 and names == ("feature", "threshold", "missing") if names else False


def instances(cls: type | tuple[type, ...], words: str) -> Field:
    return Field(lambda value: isinstance(value, cls), words)


def object_named(*names: str) -> Field:
    """An object of one of these classes, which a file builds by their names only."""
    words = " or ".join(names)
    return Field(lambda value: type(value).__name__ in names, f"an object {words}")


def numeric(dimensions: int) -> Field:
    """An array of numbers that may be nan or infinite, as scikit-learn keeps them."""

    def is_right(value: Any) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.kind in "biuf"
            and (value.ndim == dimensions)
        )

    return Field(is_right, f"an array of numbers with {dimensions} dimensions")


def lists_of(field: Field) -> Field:
    def is_right(value: Any) -> bool:
        return isinstance(value, list) and all(map(field.is_right, value))

    return Field(is_right, f"a list, each entry {field.expected}")


def _is_number_or_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iuf"
    if isinstance(value, list | tuple):
        return all(map(_is_number_or_numbers, value))
    return value is None or _is_number(value)


def _is_two_of(field: Field) -> Field:
    def is_right(value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == 2 and all(map(field.is_right, value))

    return Field(is_right, f"a pair, each {field.expected}")


def _is_text_or_texts(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(one is None or isinstance(one, str) for one in values)


def _is_kernel(value: Any) -> bool:
    sides = value if isinstance(value, tuple | list) else (value,)
    named = ("KernelSum", "Kernel", "InteractionProfile")
    return all(isinstance(one, str) or type(one).__name__ in named for one in sides)


NONE = Field(lambda value: value is None, "none")
TRUTH = instances((bool, np.bool_), "true or false")
TEXT = instances(str, "text")
COUNT = Field(_is_count, "an integer, not negative")
NUMBER = Field(_is_number, "a number")
MATRIX = Field(_is_matrix, "a matrix of finite floats")
DICT, LIST, TUPLE = (instances(cls, f"a {cls.__name__}") for cls in (dict, list, tuple))
VALUES = NUMBER | _floats(1)
LABELS = instances(np.ndarray, "an array")
INDEX_LIST = lists_of(COUNT)
NUMBERS = Field(_is_number_or_numbers, "a number, several numbers or none")
WORDS = Field(_is_text_or_texts, "text, a pair of texts or none")

FIELDS: dict[str, Field] = {
    "n_features_in_": COUNT | Field(_is_two_counts, "two of them"),
    "feature_names_in_": Field(_is_names, "an array of text, or one for each of two domains"),
    "coef_": _floats(1, 2, 3),
    "dual_coef_": _floats(1, 2, 3),
    "basis_index_": _integers(1),
    "_X_basis": NONE | MATRIX,
    "_X": NONE | MATRIX,
    "_supervision": NONE | object_named("ScoredItems", "ComparedItems", "CensoredItems"),
    "_basis": NONE | _integers(1),
    "_single_output": TRUTH,
    "_has_queries": TRUTH,
    "_accumulated": NONE | TUPLE,
    "_last": NONE | _floats(2),
    "_moments": NONE | object_named("CentredMoments"),
    "_space": NONE | object_named("ReducedSpace"),
    "_told": TUPLE,
    "_two_domains": TRUTH,
    "_has_relations": TRUTH,
    "_rows": object_named("Nodes"),
    "_columns": object_named("Nodes"),
    "_map": object_named("NystromMap"),
    "strengths_": _floats(1),
    "order_effect_": NUMBER,
    "tie_effect_": NUMBER,
    "components_": _integers(1, least=-1),
    "_counts": NONE | object_named("VoteCounts"),
    "_judged": NONE | MATRIX,
    "_items_checksum": NONE | COUNT,
    "_without_features": NONE | TRUTH,
    "n_iter_": COUNT | _integers(1),
    "objective_": VALUES,
    "gap_": VALUES,
    "history_": DICT | LIST,
    "alpha_": VALUES | _is_two_of(NUMBER),
    "C_": NUMBER,
    "best_score_": VALUES,
    "best_cost_": NUMBER,
    "alphas_": _floats(1) | _is_two_of(_floats(1)),
    "Cs_": _floats(1),
    "cv_": TEXT,
    "n_units_": COUNT,
    "cv_results_": DICT,
    "intercept_": VALUES,
    "row_effects_": _floats(1, 2),
    "column_effects_": _floats(1, 2),
    "repairs_": LIST,
    "best_params_": DICT,
    "grid_results_": LIST,
    "n_rounds_": COUNT,
    "selected_": _integers(1),
    "criterion_": _floats(1),
    "criterion_of_none_": NUMBER,
    "coef_path_": _floats(2),
    "rankers_": Field(_is_record, "an array of thresholds"),
    "weights_": _floats(1),
    "n_skipped_conditions_": COUNT,
    "solver_": TEXT,
    "best_estimator_": object_named("ConditionalRanker", "TwoStepRanker"),
    "n_filled_": COUNT,
    "n_observed_": COUNT,
    "_known": _floats(3),
    "_observed": _floats(3),
    "has_queries_": TRUTH,
    "centred_": TRUTH,
    "mean_": _floats(1),
    "deviation_": _floats(1),
    "fill_": _floats(1),
    "dimensions_": _integers(1, 1),
    "query_directions_": _floats(2),
    "document_directions_": _floats(2),
}
"""Fields by name; a learner keeps a thing under the same name as the others do."""

PARAMETERS: dict[str, Field] = {
    **dict.fromkeys(("alpha", "alphas", "C", "Cs", "gamma", "degree", "coef0", "tol"), NUMBERS),
    **dict.fromkeys(("epsilon", "learning_rate", "item_effect", "validation_fraction"), NUMBERS),
    "kernel": Field(_is_kernel, "the name of a kernel, a KernelSum, or a pair of them"),
    **dict.fromkeys(("pairwise", "effects", "repair"), WORDS),
    **dict.fromkeys(("loss", "ties", "query_weight", "solver", "relation"), WORDS),
    **dict.fromkeys(("objective", "condition", "scale", "missing", "combine"), WORDS),
    **dict.fromkeys(("max_iter", "n_rounds"), NONE | COUNT),
    "fill": NUMBERS | WORDS,
    **dict.fromkeys(("warm_start", "order_effect", "normalize", "alpha_per_target"), TRUTH),
}
"""Constructor arguments by name; others are checked by the learner when it is fitted."""

PART_FIELDS: dict[tuple[str, str], Field] = {
    ("Queries", "codes"): _integers(1),
    ("Queries", "labels"): LABELS,
    ("ScoredItems", "Y"): _floats(2),
    ("ScoredItems", "weight"): _floats(1),
    ("ScoredItems", "queries"): object_named("Queries"),
    ("ComparedItems", "preferences"): object_named("Preferences"),
    ("ComparedItems", "weight"): _floats(1),
    ("ComparedItems", "queries"): object_named("Queries"),
    ("CensoredItems", "outcome"): object_named("Censored"),
    ("CensoredItems", "weight"): _floats(1),
    ("CensoredItems", "queries"): object_named("Queries"),
    ("VoteCounts", "n_items"): COUNT,
    ("VoteCounts", "first"): _integers(1),
    ("VoteCounts", "second"): _integers(1),
    ("VoteCounts", "won"): _floats(1),
    ("VoteCounts", "lost"): _floats(1),
    ("VoteCounts", "tied"): _floats(1),
    ("VoteCounts", "by_order"): TRUTH,
    ("NystromMap", "kernel"): object_named("Kernel"),
    ("NystromMap", "basis_index"): _integers(1),
    ("NystromMap", "X_basis"): NONE | MATRIX,
    ("NystromMap", "embedding"): NONE | _floats(2),
    ("NystromMap", "basis_to_features"): _floats(2),
    ("Nodes", "rows"): _floats(2),
    ("Nodes", "X"): NONE | MATRIX,
    ("Nodes", "parameters"): DICT,
    ("Nodes", "parts"): lists_of(object_named("KernelPart")),
    ("Nodes", "own"): NONE | _floats(2),
    ("KernelPart", "kernel"): object_named("Kernel"),
    ("KernelPart", "weight"): NUMBER,
    ("KernelPart", "start"): COUNT,
    ("KernelPart", "stop"): NONE | COUNT,
    ("KernelPart", "transform"): NONE | _floats(2),
    ("InteractionProfile", "gamma"): NUMBER,
    ("InteractionProfile", "fill"): NUMBER | TEXT,
    ("Nodes", "through_features"): TRUTH,
    ("CentredMoments", "n_items"): COUNT,
    ("CentredMoments", "gram"): _floats(2),
    ("ReducedSpace", "map"): object_named("NystromMap", "KernelMap"),
}


def check_field(owner: str, name: str, value: Any, field: Field | None) -> None:
    """A ValueError that names the field and what was expected, unless the value is right."""
    if field is not None and not field.is_right(value):
        raise ValueError(f"{owner}.{name} must be {field.expected}, but is {_described(value)}")


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind != "f" or np.isfinite(value).all()
        return f"an array {value.shape} of {value.dtype}{'' if finite else ' that are not finite'}"
    return f"{type(value).__name__} {value!r:.40}"


def check_together(owner: str, state: dict[str, Any]) -> None:
    """Refuse fields of a learner whose shapes contradict each other."""
    n, names = state.get("n_features_in_"), state.get("feature_names_in_")
    w, a, basis = (state.get(name) for name in ("coef_", "dual_coef_", "basis_index_"))
    X_basis, X, told = (state.get(name) for name in ("_X_basis", "_X", "_supervision"))
    if isinstance(names, tuple) != isinstance(n, tuple) and names is not None:
        raise ValueError(f"{owner} has names of other domains than features")
    if names is not None and not isinstance(names, tuple) and len(names) != n:
        raise ValueError(f"{owner} has {len(names)} names of {n} features")
    if "_rows" not in state and isinstance(n, Integral):
        if w is not None and (w.ndim > 2 or w.shape[-1] != n):
            raise ValueError(f"{owner}.coef_ has the shape {w.shape}, but there are {n} features")
        if a is not None and (basis is None or a.ndim > 2 or len(a) != len(basis)):
            items = "no basis items" if basis is None else f"{len(basis)} basis items"
            raise ValueError(f"{owner}.dual_coef_ has the shape {a.shape}, but there are {items}")
        if X_basis is not None and (basis is None or X_basis.shape != (len(basis), n)):
            raise ValueError(f"{owner}._X_basis has the shape {X_basis.shape}, not that of a basis")
        if X is not None and X.shape[1] != n:
            raise ValueError(f"{owner}._X has the shape {X.shape}, but there are {n} features")
    if "_has_relations" in state:
        coefficients = w if w is not None else a
        if coefficients is not None and coefficients.ndim != 2 + state["_has_relations"]:
            raise ValueError(
                f"{owner} has coefficients of shape {coefficients.shape}, but "
                f"_has_relations is {state['_has_relations']}"
            )
    if X is not None and told is not None and told.queries.n_items != X.shape[0]:
        raise ValueError(f"{owner}._X has the shape {X.shape}, but other items are scored")


def with_attributes(cls: Any, /, **state: Any) -> Any:
    """An object of the class with these attributes; its constructor is not called."""
    value = object.__new__(cls)
    vars(value).update(state)
    return value
