"""Tables, from CSV, TSV or Parquet: `read_table`, and the named columns behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.arrow_tables import read_large_csv, read_parquet
from rankwise.io.cell_numbers import AMBIGUOUS, DECIMALS
from rankwise.io.feature_columns import learnt_columns, read_as_learnt
from rankwise.io.source import Readable, Source, read_source
from rankwise.io.table_columns import Columns
from rankwise.io.table_rows import columns_of, is_number_or_missing, split_rows

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def read_table(
    path: Readable,
    target: str | None = None,
    query: str | None = None,
    *,
    comments: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
    categorical: Sequence[str] = (),
    decimal: str = "auto",
    encoding: str | None = None,
    like: Any = None,
) -> Bunch:
    r"""Read CSV, TSV (separated by tab, comma or semicolon) or Parquet with named columns.

    The format is recognised by content; Parquet needs pyarrow, which also reads large CSV files.
    Without a header line, that is with a first line of numbers, the columns are called "1", "2",
    ... A cell that cannot be read is a ReadError with the file, line and column; the lines of a
    Parquet file are its rows.

    Numbers may have decimal commas or points, thousands in groups, and percent signs (12% is 0.12);
    yes and no, true and false are 1 and 0; dates (2024-05-31, 31.5.2024, with a time if need be)
    are days since 1970-01-01. How a column is written is found from all its cells, and what may
    mean two things is an error.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open file; may be gzip, xz or bzip2.
    target
        Column of scores; None if there is none, as for items that are to be ranked.
    query
        Column of query labels, any text or numbers.
    comments
        Column that is kept as text, such as the id of a document.
    features
        Columns of X, in this order; None for all other columns, which must be numbers.
    drop
        Columns to leave out.
    missing
        "error", or "nan" to keep missing values in X, for learners that accept them.
    categorical
        Columns of categories: each level becomes a feature of 0 and 1, `city=Bonn`.
    decimal
        The decimal sign "." or ","; "auto" finds it.
    encoding
        Of the text, such as "cp1252"; None for UTF-8, or UTF-16 with a byte order mark.
    like
        What an earlier `read_table` returned: the same columns become the same features, a level
        that was not seen then is 0 in all of them, and features, drop and categorical are not used.

    Returns
    -------
    Bunch
        With X (m, n) array; y (m,), qid (m,) integers or text, comments (m,) text, each None if its
        column was not named; feature_names, a list; columns, how the columns of X were read.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_table
    >>> text = "traveller,price,breakfast,stars\nann,143,yes,4\nann,98,no,3\n"
    >>> data = read_table(io.StringIO(text), target="stars", query="traveller")
    >>> data.X, data.y, data.feature_names
    (array([[143.,   1.],
           [ 98.,   0.]]), array([4., 3.]), ['price', 'breakfast'])
    """
    _check_options(
        missing, decimal, {"features": features, "drop": drop, "categorical": categorical}
    )
    columns = read_columns(read_source(path, encoding))
    columns.decimal = decimal
    named = {"target": target, "query": query, "comments": comments}
    taken = [columns.require(column, role) for role, column in named.items() if column is not None]
    taken += [columns.require(column, "drop") for column in drop]
    if like is not None:
        (X, _), learnt = read_as_learnt(columns, like.columns), list(like.columns)
    else:
        chosen = [column for column in columns.values if column not in taken]
        if features is not None:
            chosen = [columns.require(column, "features") for column in features]
        X, learnt = _learnt(columns, chosen, categorical)
    if missing == "error":
        _refuse_missing(columns, X, learnt)
    from sklearn.utils import Bunch

    return Bunch(
        X=X,
        y=None if target is None else columns.without_missing(target),
        qid=None if query is None else columns.labels(query),
        comments=None if comments is None else columns.text(comments),
        feature_names=[feature for column in learnt for feature in column.features],
        columns=learnt,
    )


def _check_options(missing: str, decimal: str, lists: dict[str, Any]) -> None:
    if missing not in ("error", "nan"):
        raise ValueError(f'missing must be "error" or "nan"; got {missing!r}.')
    if decimal not in DECIMALS:
        raise ValueError(f"decimal must be one of {DECIMALS}; got {decimal!r}.")
    for name, value in lists.items():
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list of columns; got the text {value!r}.")


def _learnt(columns: Columns, chosen: list[str], categorical: Sequence[str]) -> tuple[Any, Any]:
    if not chosen:
        raise ReadError("no column is left that could be a feature.", columns.name)
    for column in categorical:
        columns.require(column, "categorical")
    try:
        return learnt_columns(columns, chosen, categorical)
    except ReadError as error:
        if error.column is None or AMBIGUOUS in error.reason or "finite" in error.reason:
            raise
        way_out = (
            f"leave the column out with drop=[{error.column!r}], or make it categories with "
            f"categorical=[{error.column!r}]"
        )
        reason = f"{error.reason[:-1]}; {way_out}."
        raise ReadError(reason, columns.name, error.line, error.column) from None


def _refuse_missing(columns: Columns, X: np.ndarray, learnt: Sequence[Any]) -> None:
    """Raise a ReadError with the line and the column of the first missing value."""
    absent = np.isnan(X).any(axis=0)
    if not absent.any():
        return
    owners = [column.name for column in learnt for _ in column.features]
    j = int(np.argmax(absent))
    row = int(np.argmax(np.isnan(X[:, j])))
    reason = 'a value is missing; impute it, drop the column, or read with missing="nan".'
    raise columns.error(reason, row, owners[j])


def read_columns(source: Source) -> Columns:
    """The columns of a table; without a header line (a first line of numbers) named 1, 2, ..."""
    if source.data.startswith(b"PAR1"):
        return read_parquet(source)
    large = read_large_csv(source)
    if large is not None:
        return large
    rows = split_rows(source, None)
    if not rows:
        raise ReadError("the file is empty.", source.name)
    header, names = rows[0]
    if all(map(is_number_or_missing, names)):
        names = [str(j + 1) for j in range(len(names))]
    elif not rows[1:]:
        raise ReadError("the file has a header line but no rows.", source.name)
    else:
        rows = rows[1:]
    return columns_of(source.name, names, rows, header)
