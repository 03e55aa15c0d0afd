"""Input checks, once, at the door of every learner. Inside, nobody checks arrays again."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from rankwise.numerics.arrays import canonical, first_inexact
from rankwise.numerics.frame_columns import matched_columns
from rankwise.numerics.threads import run


def refuse_masked(values, name: str) -> None:
    """Refuse a masked array with a masked entry: any conversion would lose the mask silently."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        raise ValueError(
            f"{name} is a masked array, whose mask would be lost: the first masked entry is at "
            f"{_place(place)}. Fill it with .filled(value), or leave the row out."
        )


def refuse_unreal(values, name: str) -> None:
    """Refuse what a conversion to float64 would change silently.

    These are masks, dates, complex numbers, censored outcomes, and integers beyond 2**53 that no
    float64 equals.
    """
    refuse_masked(values, name)
    if getattr(getattr(values, "dtype", None), "names", None):
        raise ValueError(
            f"{name} holds censored outcomes (rankwise.Censored or a structured array), where "
            "numbers are needed: RankRLS, RankRLSCV, RankSVM, RankSVMCV and GreedyRankRLS learn "
            "from censored outcomes, metrics.concordance and metrics.uno_concordance judge them."
        )
    if isinstance(values, np.ma.MaskedArray | np.ndarray) or sparse.issparse(values):
        kinds: list[tuple[str, str]] = [(values.dtype.kind, name)]
    elif hasattr(values, "columns") and hasattr(values, "dtypes"):
        _refuse_repeated(values.columns, name)
        kinds = [(_kind(kind), f"{name}[{column!r}]") for column, kind in _column_types(values)]
    else:
        kinds = [(_kind(getattr(values, "dtype", None)), name)]
    for kind, where in kinds:
        if kind in "mM":
            raise ValueError(
                f"{where} holds dates or durations: convert them to numbers, for instance days "
                "since the first of them."
            )
        if kind == "c":
            raise ValueError(f"Complex data not supported: {where} must hold real numbers.")
    _refuse_merged_integers(values, name)


def _refuse_merged_integers(values, name: str) -> None:
    """One pass over integers of 64 bits, and over the entries of object arrays; else nothing."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for j, (column, kind) in enumerate(_column_types(values)):
            if str(kind).lower() in ("int64", "uint64", "object"):
                place = first_inexact(np.asarray(values[column]))
                if place is not None:
                    raise _merged(values[column], (place[0], j), place, name)
        return
    if sparse.issparse(values):
        if _kind(values.dtype) in "iu":
            entries = values.tocoo()
            found = first_inexact(entries.data)
            if found is not None:
                place = (int(entries.row[found[0]]), int(entries.col[found[0]]))
                raise _merged(entries.data, place, found, name)
        return
    if getattr(getattr(values, "dtype", None), "kind", "O") == "f":
        return
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths, of which the conversion will complain
        return
    place = first_inexact(array)
    if place is not None:
        raise _merged(array, place, place, name)


def _merged(values, place: tuple[int, ...], position: tuple[int, ...], name: str) -> ValueError:
    value = np.asarray(values)[position]
    return ValueError(
        f"{name} holds the integer {value} at {_place(place)}, which is no float64: beyond 2**53, "
        "different integers become the same float. Subtract an offset first, for example the "
        f"smallest value of the column: {name} - {name}.min(axis=0)."
    )


def _kind(dtype) -> str:
    """The letter of NumPy's types; "M" for the dates of pandas and polars."""
    if any(word in str(dtype).lower() for word in ("date", "time", "duration")):
        return "M"
    return getattr(dtype, "kind", "O")


def _column_types(frame) -> list[tuple]:
    types = frame.dtypes
    return list(zip(frame.columns, types.values() if isinstance(types, dict) else types))


def _refuse_repeated(columns, name: str) -> None:
    seen: set = set()
    for column in columns:
        if column in seen:
            raise ValueError(f"{name} has two columns called {column!r}: rename one of them.")
        seen.add(column)


def _place(place: tuple[int, ...]) -> str:
    return ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column", "output"), place))


def check_items(estimator, X, *, reset: bool, dtype=np.float64, finite: bool = True):
    """X as a finite float array or CSR matrix with the features seen in training.

    The columns of a frame are matched with those of training by name; other columns are ignored.
    """
    if not reset and _is_as_in_training(estimator, X):
        if finite:
            refuse_non_finite(X, "X")
        return X
    if not reset:
        X = matched_columns(X, getattr(estimator, "feature_names_in_", None))
    refuse_unreal(X, "X")
    with naming_text(X, "X"):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=dtype,
            ensure_all_finite=False,
            ensure_min_samples=1,
        )
    X = canonical(X)
    if finite:
        refuse_non_finite(X, "X", getattr(estimator, "feature_names_in_", None))
    return X


@contextmanager
def naming_text(X, name: str) -> Iterator[None]:
    """If X cannot be converted to numbers, name the first cell that holds text."""
    try:
        yield
    except ValueError as error:
        if hasattr(X, "columns") and hasattr(X, "dtypes"):
            _refuse_text_columns(X, name)
        elif "could not convert" in str(error):
            for place, value in np.ndenumerate(np.asarray(X, dtype=object)):
                if not _is_number(value):
                    raise ValueError(
                        f"could not convert {name} to numbers: it holds {str(value)[:40]!r} at "
                        f"{_place(place)}. Leave the column out, or encode it as numbers, for "
                        "example with sklearn.preprocessing.OneHotEncoder."
                    ) from error
        raise


def _refuse_text_columns(frame, name: str) -> None:
    for column in frame.columns:
        values = np.asarray(frame[column])
        if values.dtype.kind not in "OSU":
            continue
        for row, value in enumerate(values):
            if isinstance(value, str) and not _is_number(value):
                raise ValueError(
                    f"column {column!r} of {name} holds text ({str(value)!r} at row {row}), and "
                    "features are numbers. Leave it out, or encode it: make_pipeline("
                    f"make_column_transformer((OneHotEncoder(), [{column!r}]), "
                    "remainder='passthrough'), RankRLS()), all but RankRLS from sklearn.pipeline, "
                    "compose and preprocessing."
                )


def _is_number(value) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_as_in_training(estimator, X) -> bool:
    """Whether X is an array that scikit-learn's checks would return as it is, without a warning.

    They take longer than the scores of a single item.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def refuse_non_finite(array, name: str, columns=None, *, allow_nan: bool = False) -> None:
    """Raise a ValueError that names the first row (and column) holding nan or inf.

    `columns` are the names of the columns, if they have names.
    """
    values = array.data if sparse.issparse(array) else array
    if _sum_is_finite(values):
        return
    finite = ~np.isinf(values) if allow_nan else np.isfinite(values)
    if finite.all():
        return
    if sparse.issparse(array):
        entry = int(np.argmin(finite))
        row, column = int(np.searchsorted(array.indptr, entry, side="right")) - 1, None
        column = int(array.indices[entry])
        value = values[entry]
    else:
        place = np.unravel_index(int(np.argmin(finite)), values.shape)
        row, column = int(place[0]), (int(place[1]) if values.ndim == 2 else None)
        value = values[place]
    kind = "NaN" if np.isnan(value) else "infinity"
    where = f"row {row}" if column is None else f"row {row}, column {column}"
    if column is not None and columns is not None:
        where += f", {str(columns[column])!r}"
    raise ValueError(
        f"Input {name} contains {kind} (the first at {where}). "
        f"Impute or drop it, for example with sklearn.impute.SimpleImputer."
    )


def _sum_is_finite(values: np.ndarray) -> bool:
    """One pass over the memory, on all cores where there is much of it."""
    if values.size < 1e6:
        return _part_is_finite(values)
    parts = np.array_split(values, 16)
    return all(run([partial(_part_is_finite, part) for part in parts]))


def _part_is_finite(part: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(part.sum()))


def check_scores(y, n_items: int) -> np.ndarray:
    """y as a finite float array (m,) or (m, k), one row an item."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: give scores y or preferences."
        )
    refuse_unreal(y, "y")
    try:
        array = check_array(
            y, ensure_2d=False, allow_nd=True, dtype=None, ensure_all_finite=False, input_name="y"
        )
    except TypeError as error:  # a single value
        raise ValueError(f"y must have shape (m,) or (m, k): {error}") from error
    if array.dtype.kind in "OSU":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError("y must hold numbers (real scores, higher is better).") from error
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have shape (m,) or (m, k), got {array.shape}.")
    if len(array) != n_items:
        raise ValueError(f"X and y must have as many rows: X has {n_items}, y has {len(array)}.")
    array = array.astype(np.float64)
    refuse_non_finite(array, "y")
    return array


SMALLEST_WEIGHT = 1e-150
"""The largest weight of all items must not be smaller, nor larger than its inverse."""


def check_weights(sample_weight, n_items: int) -> np.ndarray | None:
    """Item weights as a float array (m,), or None for equal weights."""
    if sample_weight is None:
        return None
    refuse_unreal(sample_weight, "sample_weight")
    if isinstance(sample_weight, numbers.Real):
        weight = np.full(n_items, float(sample_weight))
    else:
        try:
            weight = np.array(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must hold numbers, one an item: {error}.") from error
    if weight.shape != (n_items,):
        raise ValueError(f"sample_weight must have shape ({n_items},), got {weight.shape}.")
    refuse_non_finite(weight, "sample_weight")
    if (weight < 0).any():
        raise ValueError(f"sample_weight is negative at row {int(np.argmax(weight < 0))}.")
    if not weight.any():
        raise ValueError("every sample_weight is zero: nothing to learn from.")
    return weight


def refuse_extreme_weights(weight: np.ndarray) -> None:
    """For objectives in which a pair weighs the product of its items' weights, not a share."""
    largest = float(weight.max(initial=0.0))
    if largest and not SMALLEST_WEIGHT <= largest <= 1.0 / SMALLEST_WEIGHT:
        raise ValueError(
            f"the largest sample_weight is {largest:.3g}, and products of two such weights leave "
            "the range of floating-point numbers: divide all weights by the largest."
        )


def check_positive(name: str, value, *, zero: bool = False) -> float:
    """A finite real number above zero (or not below it)."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if np.isfinite(number) and (number > 0 or (zero and number == 0)):
            return number
    bound = "not negative" if zero else "positive"
    raise ValueError(f"{name} must be a finite number, {bound}; got {value!r}.")


def check_count(name: str, value, least: int = 1, *, none: bool = False):
    """An integer of at least `least`, or None where `none` allows it."""
    if value is None and none:
        return None
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    wanted = "a positive integer" if least == 1 else f"an integer of at least {least}"
    raise ValueError(f"{name} must be {'None or ' if none else ''}{wanted}; got {value!r}.")


def check_choice(name: str, value, options) -> None:
    """One of the named options; the error lists them."""
    if not (isinstance(value, str) and value in options):
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")


def check_index(index, n_items: int, name: str = "index", repeats: bool = False) -> np.ndarray:
    """Row numbers of the training items, distinct unless `repeats`; a boolean mask is accepted."""
    refuse_masked(index, name)
    array = np.asarray(index)
    if array.dtype == bool:
        if array.shape != (n_items,):
            raise ValueError(f"{name} as a mask must have shape ({n_items},), got {array.shape}.")
        return np.flatnonzero(array)
    array = np.atleast_1d(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a one-dimensional array of row numbers.")
    outside = (array < 0) | (array >= n_items)
    if outside.any():
        raise ValueError(
            f"{name} holds {int(array[np.argmax(outside)])}, not a row of the training data "
            f"(0 to {n_items - 1})."
        )
    if not repeats and len(np.unique(array)) != len(array):
        raise ValueError(f"{name} names a row twice.")
    return array.astype(np.intp)


def check_pairs(pairs, n_items: int) -> np.ndarray:
    """(p, 2) row numbers of two different items each."""
    refuse_masked(pairs, "pairs")
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"pairs must be an integer array (p, 2), got shape {pairs.shape}.")
    outside = (pairs < 0) | (pairs >= n_items)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(f"pairs[{row}] = {pairs[row]} is not within rows 0 to {n_items - 1}.")
    if (pairs[:, 0] == pairs[:, 1]).any():
        row = int(np.argmax(pairs[:, 0] == pairs[:, 1]))
        raise ValueError(f"pairs[{row}] names item {pairs[row, 0]} twice.")
    return pairs.astype(np.int64)


def check_alphas(
    alphas, name: str = "alphas", each: str = "alpha", *, zero: bool = False
) -> np.ndarray:
    """A grid of positive numbers, or not negative ones, as a float array (a,)."""
    refuse_unreal(alphas, name)
    try:
        grid = np.asarray(alphas)
    except ValueError as error:
        raise ValueError(f"{name} must hold positive numbers; got {alphas!r}.") from error
    if grid.ndim != 1 or not len(grid):
        raise ValueError(
            f"{name} must be a non-empty one-dimensional list of numbers; got {alphas!r}."
        )
    for value in grid.tolist():
        check_positive(f"every {each} in {name}", value, zero=zero)
    return grid.astype(np.float64)
