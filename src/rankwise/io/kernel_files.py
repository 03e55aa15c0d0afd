"""Kernels in files: a matrix of similarities with names, matched by name to the objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.array_files import NamedMatrix, holds_arrays, read_matrix
from rankwise.io.edge_lists import split_lines
from rankwise.io.relation_tables import read_named_matrix
from rankwise.io.source import Readable, read_source
from rankwise.io.table_columns import did_you_mean

if TYPE_CHECKING:
    from sklearn.utils import Bunch

Names = Sequence | np.ndarray
SHOWN = 5


def read_kernel(path: Readable, *, names: Names | None = None, known: Names | None = None) -> Bunch:
    r"""Read a matrix of similarities between objects, for kernel="precomputed".

    The file is a table with the names of the columns in its first line and the name of a row at the
    start of every other line, a table of numbers alone, or a .npy or .npz file (`row_names` and
    `column_names` name the objects). Rows and columns are matched by name, whatever their order in
    the file; a value that is missing is an error. Whether the matrix is positive semi-definite is
    checked by the learner.

    Parameters
    ----------
    path
        As in `read_preferences`.
    names
        The objects of the rows of K, in this order; default: all rows, in the order of the file.
    known
        The objects of the columns of K, in this order: those that a model was trained on. Default:
        the objects of the rows, for training.

    Returns
    -------
    Bunch
        With K (len(names), len(known)), names and column_names; both are None if the file has none.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_kernel
    >>> data = read_kernel(io.StringIO("name,a,b\na,1.0,0.3\nb,0.3,1.0\n"))
    >>> data.K, data.names
    (array([[1. , 0.3],
           [0.3, 1. ]]), array(['a', 'b'], dtype='<U1'))
    """
    source = read_source(path)
    if holds_arrays(source):
        matrix, lines = read_matrix(source), None
    else:
        cells = [row for row in split_lines(source) if not row[1][0].startswith("#")]
        if not cells:
            raise ReadError("the file is empty.", source.name)
        matrix, lines = read_named_matrix(source.name, cells, nameless=True)
    K, rows, columns = matrix
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        column = int(j) if columns is None else columns[j]
        line = None if lines is None else lines[i]
        raise ReadError(f"row {_name(rows, i)}: a value is missing.", source.name, line, column)
    K, rows, columns = _matched(matrix, source.name, names, known)
    from sklearn.utils import Bunch

    return Bunch(K=K, names=_array(rows), column_names=_array(columns))


def _matched(
    matrix: NamedMatrix, path: str, names: Names | None, known: Names | None
) -> NamedMatrix:
    """Rows and columns in the order of the names that are asked for."""
    K, rows, columns = matrix
    if columns is None and rows is not None and K.shape[0] == K.shape[1]:
        columns = rows
    if names is not None:
        K, rows = _ordered(K, rows, names, path, "row"), [str(name) for name in names]
    if known is None:
        known = rows
        if rows is None or columns is None:
            if K.shape[0] != K.shape[1]:
                raise ReadError(f"a kernel is square; this one has the shape {K.shape}.", path)
            return NamedMatrix(K, rows, rows)
        only = [name for name in columns if name not in set(rows)]
        if only and names is None:
            raise ReadError(
                f"rows and columns have different names: {_listed(only)} "
                f"{'is' if len(only) == 1 else 'are'} no row.",
                path,
            )
    assert known is not None
    K = _ordered(K.T, columns, known, path, "column").T
    return NamedMatrix(np.ascontiguousarray(K), rows, [str(name) for name in known])


def _ordered(
    K: np.ndarray, own: list[str] | None, wanted: Names, path: str, side: str
) -> np.ndarray:
    """The rows of K that are asked for; without names they must be as many, in that order."""
    if own is None:
        if len(K) != len(wanted):
            raise ReadError(
                f"it has {len(K)} {side}s without names, but {len(wanted)} objects are expected.",
                path,
            )
        return K
    place = {name: number for number, name in enumerate(own)}
    if len(place) < len(own):
        twice = next(name for number, name in enumerate(own) if place[name] != number)
        raise ReadError(f"two {side}s are called {twice[:40]!r}.", path)
    absent = [str(name) for name in wanted if str(name) not in place]
    if absent:
        raise ReadError(
            f"it has no {side} {_listed(absent)}.{did_you_mean(absent[0], place)}", path
        )
    return K[[place[str(name)] for name in wanted]]


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _name(names: list[str] | None, number: int) -> str:
    return str(number) if names is None else repr(names[number][:40])


def _array(names: list[str] | None) -> np.ndarray | None:
    return None if names is None else np.array(names)
