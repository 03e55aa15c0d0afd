"""What the fields of a model file must be, and whether a model that was read can predict.

A field is checked by its name when its object is built, then fields of a learner against each
other, and at last the model scores one item of zeros: what passes can predict.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

MOST_FEATURES = 10_000_000
"""A trial item is not made for more features than this."""


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


def _is_record(value: Any) -> bool:
    names = getattr(getattr(value, "dtype", None), "names", None)
    return value.ndim == 1 and names == ("feature", "threshold", "missing") if names else False


def _instance(cls: type | tuple[type, ...], words: str) -> Field:
    return Field(lambda value: isinstance(value, cls), words)


def _named(*names: str) -> Field:
    """An object of one of these classes, which a file builds by their names only."""
    words = " or ".join(names)
    return Field(lambda value: type(value).__name__ in names, f"an object {words}")


NONE = Field(lambda value: value is None, "none")
TRUTH = _instance((bool, np.bool_), "true or false")
TEXT = _instance(str, "text")
COUNT = Field(_is_count, "an integer, not negative")
NUMBER = Field(_is_number, "a number")
MATRIX = Field(_is_matrix, "a matrix of finite floats")
DICT, LIST, TUPLE = (_instance(cls, f"a {cls.__name__}") for cls in (dict, list, tuple))
VALUES = NUMBER | _floats(1)
LABELS = _instance(np.ndarray, "an array")

FIELDS: dict[str, Field] = {
    "n_features_in_": COUNT | Field(_is_two_counts, "two of them"),
    "feature_names_in_": Field(_is_text_array, "an array of text"),
    "coef_": _floats(1, 2, 3),
    "dual_coef_": _floats(1, 2, 3),
    "basis_index_": _integers(1),
    "_X_basis": NONE | MATRIX,
    "_X": NONE | MATRIX,
    "_supervision": NONE | _named("ScoredItems", "ComparedItems", "CensoredItems"),
    "_basis": NONE | _integers(1),
    "_single_output": TRUTH,
    "_has_queries": TRUTH,
    "_accumulated": NONE | TUPLE,
    "_last": NONE | _floats(2),
    "_moments": NONE | _named("CentredMoments"),
    "_space": NONE | _named("ReducedSpace"),
    "_told": TUPLE,
    "_two_domains": TRUTH,
    "_has_relations": TRUTH,
    "_rows": _named("Nodes"),
    "_columns": _named("Nodes"),
    "_map": _named("NystromMap"),
    "strengths_": _floats(1),
    "order_effect_": NUMBER,
    "tie_effect_": NUMBER,
    "components_": _integers(1, least=-1),
    "_counts": NONE | _named("VoteCounts"),
    "_judged": NONE | MATRIX,
    "_items_checksum": NONE | COUNT,
    "_without_features": NONE | TRUTH,
    "n_iter_": COUNT | _integers(1),
    "objective_": VALUES,
    "gap_": VALUES,
    "history_": DICT | LIST,
    "alpha_": VALUES,
    "C_": NUMBER,
    "best_score_": VALUES,
    "best_cost_": NUMBER,
    "alphas_": _floats(1),
    "Cs_": _floats(1),
    "cv_": TEXT,
    "n_units_": COUNT,
    "cv_results_": DICT,
    "n_rounds_": COUNT,
    "selected_": _integers(1),
    "criterion_": _floats(1),
    "criterion_of_none_": NUMBER,
    "coef_path_": _floats(2),
    "rankers_": Field(_is_record, "an array of thresholds"),
    "weights_": _floats(1),
    "n_skipped_conditions_": COUNT,
    "solver_": TEXT,
    "best_estimator_": _named("ConditionalRanker"),
    "centred_": TRUTH,
    "mean_": _floats(1),
    "deviation_": _floats(1),
    "fill_": _floats(1),
}
"""Fields by name; a learner keeps a thing under the same name as the others do."""

PART_FIELDS: dict[tuple[str, str], Field] = {
    ("Queries", "codes"): _integers(1),
    ("Queries", "labels"): LABELS,
    ("ScoredItems", "Y"): _floats(2),
    ("ScoredItems", "weight"): _floats(1),
    ("ScoredItems", "queries"): _named("Queries"),
    ("ComparedItems", "preferences"): _named("Preferences"),
    ("ComparedItems", "weight"): _floats(1),
    ("ComparedItems", "queries"): _named("Queries"),
    ("CensoredItems", "outcome"): _named("Censored"),
    ("CensoredItems", "weight"): _floats(1),
    ("CensoredItems", "queries"): _named("Queries"),
    ("VoteCounts", "n_items"): COUNT,
    ("VoteCounts", "first"): _integers(1),
    ("VoteCounts", "second"): _integers(1),
    ("VoteCounts", "won"): _floats(1),
    ("VoteCounts", "lost"): _floats(1),
    ("VoteCounts", "tied"): _floats(1),
    ("VoteCounts", "by_order"): TRUTH,
    ("NystromMap", "kernel"): _named("Kernel"),
    ("NystromMap", "basis_index"): _integers(1),
    ("NystromMap", "X_basis"): NONE | MATRIX,
    ("NystromMap", "embedding"): NONE | _floats(2),
    ("NystromMap", "basis_to_features"): _floats(2),
    ("Nodes", "rows"): _floats(2),
    ("Nodes", "X"): NONE | MATRIX,
    ("Nodes", "parameters"): DICT,
    ("Nodes", "through_features"): TRUTH,
    ("CentredMoments", "n_items"): COUNT,
    ("CentredMoments", "gram"): _floats(2),
    ("ReducedSpace", "map"): _named("NystromMap", "KernelMap"),
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
    if names is not None and len(names) != n:
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
    if X is not None and told is not None and told.queries.n_items != X.shape[0]:
        raise ValueError(f"{owner}._X has the shape {X.shape}, but other items are scored")


def check_predicts(model: Any) -> None:
    """A ValueError if the model cannot score an item of zeros."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _try(model)
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ValueError(f"its {type(model).__name__} cannot predict: {reason}") from error


def _try(model: Any) -> None:
    part = getattr(model, "best_estimator_", model)
    ranker = getattr(part, "ranker", part)  # of a trained model
    if hasattr(ranker, "predict_edges"):
        n = ranker.n_features_in_
        rows, columns = n if isinstance(n, tuple) else (n, n)
        _scored(ranker.predict, rows, columns)
        return
    if hasattr(part, "vectorizer_") or hasattr(part, "labels_"):
        return  # takes graphs and sentences
    if hasattr(ranker, "strengths_") and not hasattr(ranker, "n_features_in_"):
        ranker.predict(None)
        return
    parts = [getattr(part, "scaler", None), ranker]
    if hasattr(part, "steps"):
        parts = [step for _, step in part.steps]
    widths = [one.n_features_in_ for one in parts if hasattr(one, "n_features_in_")]
    if not widths:
        raise ValueError("it has no number of features")
    _scored(part.predict if hasattr(part, "predict") else part.transform, widths[0])


def _scored(score: Callable[..., Any], *widths: int) -> None:
    if max(widths) <= MOST_FEATURES:
        found = score(*(np.zeros((1, int(n))) for n in widths))
        if len(found) != 1 or np.asarray(found).dtype.kind != "f":
            raise ValueError("its scores are no numbers")
