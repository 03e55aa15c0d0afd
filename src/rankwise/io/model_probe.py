"""A probe of a model: its scores of two made-up items, kept in the file and compared after loading.

The probe tells what a checksum cannot: whether the loaded model still predicts what the saved one
predicted, also with another version of scikit-learn. The items follow from the model alone. A file
has no probe if the model takes no such items, or if their scores depend on rounding errors.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

MOST_FEATURES = 1_000_000
"""Items with more features are not made."""
TOLERANCE = 1e-4
"""Relative to the largest score; rounding errors of another processor are far smaller."""


def probe(model: Any) -> list | None:
    """The shape of the scores and the first scores, or None."""
    try:
        with _quiet():
            scores = _scores(model, 0.0)
            moved = _scores(model, 1e-12)
    except Exception:  # the items are not such as the model takes
        return None
    if scores is None or not np.isfinite(scores).all():
        return None
    size = np.abs(scores).max(initial=0.0)
    if not np.abs(scores - moved).max(initial=0.0) <= 0.01 * TOLERANCE * size:
        return None
    return [list(scores.shape), [float(score) for score in scores.ravel()[:16]]]


def check_probe(model: Any, expected: Any) -> None:
    """A ValueError if the model does not score the probe as it did when it was saved."""
    try:
        with _quiet():
            scores = _scores(model, 0.0)
    except ImportError:  # no library for frames is installed here
        return
    except Exception as error:
        raise ValueError(_cannot_predict(model, error)) from error
    shape, values = expected
    if scores is None:
        raise ValueError(f"its {type(model).__name__} takes other items than when it was saved")
    found = scores.ravel()[:16]
    same = list(scores.shape) == list(shape) and np.allclose(
        found, values, rtol=0, atol=TOLERANCE * np.abs(values).max(initial=0.0)
    )
    if not same:
        raise ValueError(
            f"its {type(model).__name__} predicts otherwise than when it was saved ({found[:2]} "
            f"instead of {np.array(values[:2])})"
        )


def check_predicts(model: Any) -> None:
    """A ValueError if the model cannot score an item of zeros, for files without a probe."""
    try:
        with _quiet():
            _scores(model, None)
    except Exception as error:
        raise ValueError(_cannot_predict(model, error)) from error


def _cannot_predict(model: Any, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    return f"its {type(model).__name__} cannot predict: {reason}"


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _scores(model: Any, shift: float | None) -> np.ndarray | None:
    """The scores of two items, or with shift=None of one item of zeros; None for other inputs.

    A small `shift` moves the items.
    """
    part = getattr(model, "best_estimator_", model)
    ranker = getattr(part, "ranker", part)  # of a trained model
    if hasattr(ranker, "predict_edges"):
        n = ranker.n_features_in_
        sides = [_numbers(width, shift) for width in (n if isinstance(n, tuple) else (n, n))]
        return _checked(ranker.predict(*sides), len(sides[0]))
    if hasattr(part, "vectorizer_") or hasattr(part, "labels_"):
        return None  # takes graphs and sentences
    if hasattr(ranker, "strengths_") and not hasattr(ranker, "n_features_in_"):
        return np.asarray(ranker.predict(None))
    parts = [getattr(part, "scaler", None), ranker]
    if hasattr(part, "steps"):
        parts = [step for _, step in part.steps]
    first = next((one for one in parts if hasattr(one, "n_features_in_")), None)
    if first is None:
        raise ValueError("it has no number of features")
    if first.n_features_in_ > MOST_FEATURES:
        return None
    if shift is None and any(type(one).__name__ in TAKES_TEXT for one in parts):
        return None
    X = _items(first, shift)
    score = part.predict if hasattr(part, "predict") else part.transform
    labels = {"qid": [0] * len(X)} if hasattr(part, "ranker") else {}
    return _checked(score(X, **labels), len(X))


def _checked(scores: Any, n_items: int) -> np.ndarray:
    found = np.asarray(scores.toarray() if hasattr(scores, "toarray") else scores)
    if len(found) != n_items or found.dtype.kind != "f":
        raise ValueError("its scores are no numbers")
    return found


TAKES_TEXT = {"ColumnTransformer", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer", "Pipeline"}
"""Steps whose input may be text; zeros are no items for them."""


def _numbers(n: int, shift: float | None) -> np.ndarray:
    """Items with values between 0 and 1, which every kernel takes."""
    if shift is None:
        return np.zeros((1, int(n)))
    return np.abs(np.cos(np.arange(1.0, 2 * int(n) + 1).reshape(2, -1))) * (1.0 + shift)


def _items(first: Any, shift: float | None) -> Any:
    """Two items for the first step: categories that it knows where it encodes, else numbers."""
    while hasattr(first, "steps"):
        first = next(one for _, one in first.steps if hasattr(one, "n_features_in_"))
    X = _numbers(first.n_features_in_, shift)
    known = {column: values for column, values in _known_values(first) if len(values)}
    if not known and not hasattr(first, "transformers_"):
        return X
    columns: list[Any] = list(X.T)
    for column, values in known.items():
        columns[column] = np.array([values[0], values[-1]], dtype=object)
    names = getattr(first, "feature_names_in_", None)
    if names is None:
        return np.column_stack([np.asarray(column, dtype=object) for column in columns])
    return _frame({str(name): list(column) for name, column in zip(names, columns)})


def _known_values(step: Any) -> Iterator[tuple[int, Any]]:
    """Columns of the input that are encoded or filled, with values that the step knows."""
    if hasattr(step, "steps"):
        inner = next((one for _, one in step.steps if hasattr(one, "n_features_in_")), None)
        if inner is not None:
            yield from _known_values(inner)
    elif hasattr(step, "categories_"):
        yield from enumerate(step.categories_)
    elif hasattr(step, "statistics_") and step.statistics_.dtype.kind not in "biuf":
        yield from ((j, [value]) for j, value in enumerate(step.statistics_))
    elif hasattr(step, "transformers_"):
        names = list(getattr(step, "feature_names_in_", ()))
        for _, transformer, columns in step.transformers_:
            numbers = _column_numbers(columns, step.n_features_in_, names)
            for j, values in _known_values(transformer):
                yield numbers[j], values


def _column_numbers(columns: Any, n: int, names: list[str]) -> list[int]:
    if isinstance(columns, str):
        return [names.index(columns)]
    if isinstance(columns, slice):
        ends = [names.index(end) if isinstance(end, str) else end for end in (columns.start,)]
        return list(range(n))[slice(ends[0], None, columns.step)]
    array = np.atleast_1d(np.asarray(columns, dtype=object if names else None))
    if len(array) == n and all(isinstance(one, bool | np.bool_) for one in array):
        return np.flatnonzero(array.astype(bool)).tolist()
    return [names.index(one) if isinstance(one, str) else range(n)[int(one)] for one in array]


def _frame(columns: dict[str, list]) -> Any:
    for library in ("pandas", "polars"):
        try:
            return importlib.import_module(library).DataFrame(columns)
        except ImportError:
            continue
    raise ImportError("the model takes frames: install pandas or polars.")
