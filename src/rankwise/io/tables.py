"""Tables of items: a row an item, a column a feature, its score, its query or its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from rankwise.exceptions import ReadError
from rankwise.io.columns import Columns, read_columns
from rankwise.io.source import read_source
from rankwise.validation import refuse_too_large


def read_table(
    path,
    target: str | None = None,
    query: str | None = None,
    *,
    comments: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
) -> Bunch:
    """Read CSV, TSV (any of tab, comma, semicolon) or Parquet with named columns.

    Told apart by content. Text needs nothing but Python, Parquet needs pyarrow. Without a header
    line (a first line of numbers) columns are called "1", "2", ... A cell that cannot be read is a
    ReadError with its file, line and column; a Parquet file's lines are its rows.

    Parameters
    ----------
    path : a path, "-" for standard input, or an open file; gzip, xz and bzip2 by their content
    target : column of scores; None where there are none, as of items to be ranked
    query : column of query labels, any text or numbers
    comments : column to be kept as text, such as a document's id
    features : columns of X, in this order; None for all others, which must hold numbers
    drop : columns to leave out
    missing : "error", or "nan" to have them in X, for learners that take them

    Returns
    -------
    Bunch of X (m, n) array; y (m,), qid (m,) integers or text, comments (m,) text: None where no
    column was named; feature_names, a list
    """
    if missing not in ("error", "nan"):
        raise ValueError(f'missing must be "error" or "nan"; got {missing!r}.')
    for name, value in (("features", features), ("drop", drop)):
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list of columns; got the text {value!r}.")
    columns = read_columns(read_source(path))
    named = {"target": target, "query": query, "comments": comments}
    taken = [columns.require(column, role) for role, column in named.items() if column is not None]
    taken += [columns.require(column, "drop") for column in drop]
    if features is None:
        chosen = [column for column in columns.values if column not in taken]
    else:
        chosen = [columns.require(column, "features") for column in features]
    if not chosen:
        raise ReadError("no column is left that could be a feature.", columns.name)
    return Bunch(
        X=_features(columns, chosen, missing),
        y=None if target is None else columns.without_missing(target),
        qid=None if query is None else columns.labels(query),
        comments=None if comments is None else columns.text(comments),
        feature_names=chosen,
    )


def _features(columns: Columns, chosen: list[str], missing: str) -> np.ndarray:
    refuse_too_large(len(columns), len(chosen), "the table", "read fewer columns")
    X = np.empty((len(columns), len(chosen)))
    for j, column in enumerate(chosen):
        try:
            read = columns.without_missing if missing == "error" else columns.must_be_numbers
            X[:, j] = read(column)
        except ReadError as error:
            way_out = 'impute it, drop the column, or read with missing="nan"'
            if "missing" not in error.reason:
                way_out = f"leave the column out with drop=[{column!r}], or encode it as numbers"
            raise ReadError(
                f"{error.reason[:-1]}; {way_out}.", columns.name, error.line, column
            ) from None
    return X
