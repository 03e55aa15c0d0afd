"""LETOR and SVMlight ranking files: read fast and exactly, written whole or not at all."""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise
from numbers import Integral
from pathlib import Path

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.utils import Bunch

from rankwise.exceptions import ReadError
from rankwise.io.letor_lines import LARGEST_ID, REASONS, LineError, Part, parse_part
from rankwise.io.source import COMPRESSED, Source, read_source, refuse_other_encodings
from rankwise.numerics.threads import run
from rankwise.validation import refuse_too_large

PART_BYTES = 1 << 22
DENSE_SHARE = 0.25
"""dense="auto" gives an array where at least this share of all values is written in the file."""


def read_letor(
    path, n_features=None, *, zero_based="auto", dense="auto", query_sizes="auto"
) -> Bunch:
    """Read `score qid:label feature:value ... # comment` lines, O(bytes), on all cores.

    Every number is the double nearest to its text. Blank lines and lines of comments are left
    out; features may come in any order but not twice; values are finite. What cannot be read is a
    ReadError with the file, line and column.

    Parameters
    ----------
    path : a path, "-" for standard input, or an open file; gzip, xz and bzip2 by their content
    n_features : number of columns of X; None for the largest feature number in the file
    zero_based : whether feature numbers start at 0; "auto": where a 0 occurs
    dense : True for an array, False for CSR, "auto" for an array where at least a quarter of all
        values is written in the file
    query_sizes : for files without qid: the numbers of successive items that make the queries, an
        array or the path of a file of them; "auto" takes the file of the same name that ends in
        .query (rank.train.gz: rank.train.query) if there is one; None takes none

    Returns
    -------
    Bunch of X (m, n); y (m,); qid (m,), integers where all labels are plain integers, else text,
    None where there are no queries; comments (m,) what follows #, stripped, "" where nothing does
    """
    if not (zero_based is True or zero_based is False or zero_based == "auto"):
        raise ValueError(f'zero_based must be True, False or "auto"; got {zero_based!r}.')
    if not (dense is True or dense is False or dense == "auto"):
        raise ValueError(f'dense must be True, False or "auto"; got {dense!r}.')
    if n_features is not None and not (isinstance(n_features, Integral) and int(n_features) >= 1):
        raise ValueError(f"n_features must be a positive integer or None; got {n_features!r}.")
    source = read_source(path)
    parts = _parse(source)
    y = np.concatenate([part.y for part in parts])
    qid = _qid(source, parts)
    if qid is None:
        qid = _qid_from_sizes(path, query_sizes, len(y))
    elif not (query_sizes is None or (isinstance(query_sizes, str) and query_sizes == "auto")):
        raise ValueError("the file has qid labels of its own: leave query_sizes out.")
    X = _features(source, parts, n_features, zero_based, dense)
    spans = np.concatenate([part.comment_span for part in parts])
    return Bunch(X=X, y=y, qid=qid, comments=_texts(source, spans, "comment"))


def _parse(source: Source) -> list[Part]:
    refuse_other_encodings(source)
    data = np.frombuffer(source.data, dtype=np.uint8)
    bounds = [3 if source.data.startswith(b"\xef\xbb\xbf") else 0]
    while bounds[-1] < len(data):
        newline = source.data.find(b"\n", bounds[-1] + PART_BYTES)
        bounds.append(len(data) if newline < 0 else newline + 1)
    tasks = [partial(_parse_or_error, data, low, high) for low, high in pairwise(bounds)]
    parts = []
    for part in run(tasks):
        if isinstance(part, LineError):
            line = source.data[part.at : part.at + 200].split(b"\n", 1)[0].split(None, 1)
            shown = line[0].decode("utf-8", "replace")[:40] if line else ""
            raise source.error(REASONS[part.code].format(found=shown), part.at)
        parts.append(part)
    if not sum(len(part.y) for part in parts):
        raise ReadError("no item in the file: it is empty, blank or all comment.", source.name)
    return parts


def _parse_or_error(data, start, stop) -> Part | LineError:
    try:
        return parse_part(data, start, stop)
    except LineError as error:
        return error


def _qid(source: Source, parts: list[Part]) -> np.ndarray | None:
    spans = np.concatenate([part.qid_span for part in parts])
    given = spans[:, 0] >= 0
    if not given.any():
        return None
    if not given.all():
        starts = np.concatenate([part.starts for part in parts])
        row = int(np.argmin(given))
        reason = "this line has no qid, others have: give all of them one, or none."
        raise source.error(reason, int(starts[row]))
    if all(part.qid_is_plain for part in parts):
        return np.concatenate([part.qid for part in parts])
    return _texts(source, spans, "qid").astype(str)


def _texts(source: Source, spans: np.ndarray, what: str) -> np.ndarray:
    texts = np.empty(len(spans), dtype=object)
    texts[:] = ""
    data = source.data
    for row in np.flatnonzero(spans[:, 0] >= 0).tolist():
        start, stop = spans[row]
        try:
            texts[row] = data[start:stop].decode().strip()
        except UnicodeDecodeError as error:
            place = int(start) + error.start
            raise source.error(
                f"byte 0x{data[place]:02x} of the {what} is not UTF-8 text.", place
            ) from None
    return texts


def _features(source: Source, parts: list[Part], n_features, zero_based, dense):
    least = min(part.least for part in parts)
    largest = max(parts, key=lambda part: part.largest)
    if zero_based == "auto":
        zero_based = least == 0
    if least == 0 and not zero_based:
        raise ReadError("feature number 0 occurs, but zero_based=False.", source.name)
    n = largest.largest + bool(zero_based)
    if n_features is not None and n > n_features:
        reason = f"feature number {largest.largest}, but n_features={n_features}."
        raise source.error(reason, largest.largest_at)
    n = max(n if n_features is None else int(n_features), 1)
    m = sum(len(part.y) for part in parts)
    if not all(part.in_order for part in parts):
        _sort_features(source, parts)
    nnz = sum(len(part.ids) for part in parts)
    if dense == "auto":
        dense = nnz >= DENSE_SHARE * m * n
    offset = 0 if zero_based else 1
    rows = np.cumsum([0] + [len(part.y) for part in parts])
    if dense:
        refuse_too_large(m, n, "the dense array", "read it with dense=False", 1)
        X = np.zeros((m, n))
        run(
            [
                partial(_scatter, X[low:], part.sizes, part.ids, part.values, offset)
                for low, part in zip(rows, parts)
            ]
        )
        return X
    indices = np.concatenate([part.ids for part in parts])
    indices -= np.int32(offset)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part in parts]))])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    values = np.concatenate([part.values for part in parts])
    return sparse.csr_matrix((values, indices, indptr), shape=(m, n))


@njit(cache=True, nogil=True)
def _scatter(X, sizes, ids, values, offset):
    at = 0
    for row in range(len(sizes)):
        for _ in range(sizes[row]):
            X[row, ids[at] - offset] = values[at]
            at += 1


def _sort_features(source: Source, parts: list[Part]) -> None:
    """Every line's features in ascending order; one that comes twice is an error."""
    for part in parts:
        row = np.repeat(np.arange(len(part.sizes)), part.sizes)
        order = np.lexsort((part.ids, row))
        part.ids, part.values = part.ids[order], part.values[order]
        twice = (part.ids[1:] == part.ids[:-1]) & (row[1:] == row[:-1])
        if twice.any():
            first = int(np.argmax(twice))
            feature = int(part.ids[first])
            start = int(part.starts[row[first]])
            raise source.error(f"feature {feature} comes twice in this line.", start)


def _qid_from_sizes(path, query_sizes, m: int) -> np.ndarray | None:
    if isinstance(query_sizes, str) and query_sizes == "auto":
        query_sizes = query_file_beside(path)
    if query_sizes is None:
        return None
    if isinstance(query_sizes, str | os.PathLike) or hasattr(query_sizes, "read"):
        query_sizes, name = _read_sizes(query_sizes)
    else:
        name = "query_sizes"
        query_sizes = np.asarray(query_sizes)
        if query_sizes.ndim != 1 or query_sizes.dtype.kind not in "iu" or (query_sizes < 1).any():
            raise ValueError("query_sizes must be a one-dimensional array of positive integers.")
    total = int(query_sizes.sum(dtype=object))
    if total != m:
        raise ValueError(f"{name}: the queries hold {total} items together, the data {m}.")
    return np.repeat(np.arange(len(query_sizes)), query_sizes)


def query_file_beside(path) -> Path | None:
    if path == "-" or not isinstance(path, str | os.PathLike):
        return None
    file = Path(os.fsdecode(path))
    if file.suffix in [extension for extension, _ in COMPRESSED.values()]:
        file = file.with_suffix("")
    beside = file.with_name(file.name + ".query")
    return beside if beside.is_file() else None


def _read_sizes(path) -> tuple[np.ndarray, str]:
    source = read_source(path)
    sizes = []
    for number, line in enumerate(source.text().splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= LARGEST_ID):
            reason = f"expected the size of a query, a positive integer, but found {text[:40]!r}."
            raise ReadError(reason, source.name, number, 1)
        sizes.append(int(text))
    return np.array(sizes, dtype=np.int64), source.name
