"""LETOR and SVMlight ranking files: `read_letor` and `write_letor`, exact in both directions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_array

from rankwise.exceptions import ReadError
from rankwise.io.atomic import write_atomically
from rankwise.io.letor_lines import LARGEST_ID, REASONS, LineError, Part, parse_part
from rankwise.io.source import BYTE_ORDER_MARK, COMPRESSIONS, Readable, Source, read_source
from rankwise.io.table_rows import split_words
from rankwise.numerics.arrays import canonical
from rankwise.numerics.compiled import compiled
from rankwise.numerics.memory import refuse_too_large
from rankwise.numerics.threads import run
from rankwise.validation import check_count, check_scores, refuse_non_finite, refuse_unreal

PART_BYTES = 1 << 22
"""A file is cut into parts of this size, at line ends, and threads parse the parts."""
DENSE_SHARE = 0.25
"""dense="auto" returns an array if the file gives at least this share of all values."""
ROWS_AT_ONCE = 10_000
"""Lines that are written as one block; in compressed files each block is a member of its own."""


def read_letor(
    path: Readable,
    n_features: int | None = None,
    *,
    zero_based: bool | str = "auto",
    dense: bool | str = "auto",
    query_sizes: Any = "auto",
) -> Bunch:
    r"""Read lines `score qid:label feature:value … # comment`, O(bytes), on all cores.

    Every number is the double nearest to its text. Blank lines and comment lines are skipped. The
    features of a line may come in any order, but each only once; values must be finite. A line that
    cannot be read is a ReadError with the file, line and column.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open file; may be gzip, xz or bzip2.
    n_features
        Number of columns of X; None for the largest feature number in the file.
    zero_based
        Whether feature numbers start at 0; "auto": if a 0 occurs.
    dense
        True for an array, False for CSR, "auto" for an array if the file gives at least a quarter
        of all values.
    query_sizes
        For files without qid, the number of consecutive items of each query: an array, or the path
        of a file of such numbers. "auto" looks for a file with the same name and the ending .query
        (rank.train.gz: rank.train.query); None means no queries.

    Returns
    -------
    Bunch
        With X (m, n); y (m,); qid (m,), integers if all labels are plain integers, else text, and
        None without queries; comments (m,), the text after #, stripped, "" if there is none.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_letor
    >>> data = read_letor(io.BytesIO(b"2 qid:7 1:0.5 2:0.1 # doc-a\n0 qid:7 1:0.2 2:0.9 # doc-b\n"))
    >>> data.X, data.y, data.qid, data.comments.tolist()
    (array([[0.5, 0.1],
           [0.2, 0.9]]), array([2., 0.]), array([7, 7]), ['doc-a', 'doc-b'])
    """
    for name, value in (("zero_based", zero_based), ("dense", dense)):
        if not (value is True or value is False or value == "auto"):
            raise ValueError(f'{name} must be True, False or "auto"; got {value!r}.')
    n_features = check_count("n_features", n_features, none=True)
    source = read_source(path)
    parts = _parse(source)
    y = _joined(parts, "y")
    qid = _qid(source, parts)
    automatic = isinstance(query_sizes, str) and query_sizes == "auto"
    if qid is None:
        qid = _qid_from_sizes(query_file_beside(path) if automatic else query_sizes, len(y))
    elif query_sizes is not None and not automatic:
        raise ValueError("the file has its own qid labels: do not give query_sizes.")
    X = _features(source, parts, n_features, zero_based, dense)
    comments = _texts(source, _joined(parts, "spans")[:, 2:], "comment")
    return Bunch(X=X, y=y, qid=qid, comments=comments)


def _parse(source: Source) -> list[Part]:
    source.refuse_other_encodings()
    data = np.frombuffer(source.data, dtype=np.uint8)
    bounds = [len(BYTE_ORDER_MARK) if source.data.startswith(BYTE_ORDER_MARK) else 0]
    while bounds[-1] < len(data):
        newline = source.data.find(b"\n", bounds[-1] + PART_BYTES)
        bounds.append(len(data) if newline < 0 else newline + 1)
    try:
        parts = run([partial(parse_part, data, *ends) for ends in pairwise(bounds)])
    except LineError as error:  # of the first part that has one
        code, at = error.args
        words = source.data[at : at + 200].split(b"\n", 1)[0].split(None, 1)
        found = words[0].decode("utf-8", "replace")[:40] if words else ""
        raise source.error(REASONS[code].format(found=found), at) from None
    if not any(len(part.lines.y) for part in parts):
        raise ReadError("the file has no items: it is empty, or all comments.", source.name)
    return parts


def _joined(parts: list[Part], name: str) -> np.ndarray:
    return np.concatenate([getattr(part.lines, name) for part in parts])


def _qid(source: Source, parts: list[Part]) -> np.ndarray | None:
    spans = _joined(parts, "spans")[:, :2]
    given = spans[:, 0] >= 0
    if not given.any():
        return None
    if not given.all():
        starts = _joined(parts, "starts")
        reason = "this line has no qid, but others have: give a qid to all lines, or to none."
        raise source.error(reason, int(starts[np.argmin(given)]))
    if all(part.qid_is_plain for part in parts):
        return _joined(parts, "qid")
    return _texts(source, spans, "qid").astype(str)


def _texts(source: Source, spans: np.ndarray, what: str) -> np.ndarray:
    """The stripped text of each span; "" for spans that start at −1."""
    texts = np.full(len(spans), "", dtype=object)
    for row in np.flatnonzero(spans[:, 0] >= 0).tolist():
        start, stop = spans[row]
        try:
            texts[row] = source.data[start:stop].decode().strip()
        except UnicodeDecodeError as error:
            raise source.not_utf8(int(start) + error.start, f" of the {what}") from None
    return texts


def _features(
    source: Source,
    parts: list[Part],
    n_features: int | None,
    zero_based: bool | str,
    dense: bool | str,
) -> np.ndarray | sparse.csr_matrix:
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
    first_rows = np.cumsum([0] + [len(part.lines.y) for part in parts])
    m = int(first_rows[-1])
    if not all(part.in_order for part in parts):
        _sort_features(source, parts)
    if dense == "auto":
        dense = sum(len(part.lines.ids) for part in parts) >= DENSE_SHARE * m * n
    offset = 0 if zero_based else 1
    if dense:
        refuse_too_large(m, n, "the dense array", "read it with dense=False", 1)
        X = np.zeros((m, n))
        run([partial(_scatter, X[i:], part.lines, offset) for i, part in zip(first_rows, parts)])
        return X
    indices = _joined(parts, "ids")
    indices -= np.int32(offset)
    indptr = np.concatenate([[0], np.cumsum(_joined(parts, "sizes"))])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sparse.csr_matrix((_joined(parts, "values"), indices, indptr), shape=(m, n))


@compiled
def _scatter(X, lines, offset):
    at = 0
    for row in range(len(lines.sizes)):
        for _ in range(lines.sizes[row]):
            X[row, lines.ids[at] - offset] = lines.values[at]
            at += 1


def _sort_features(source: Source, parts: list[Part]) -> None:
    """Sort the features of every line in place; a feature that occurs twice is an error."""
    for part in parts:
        lines = part.lines
        row = np.repeat(np.arange(len(lines.sizes)), lines.sizes)
        order = np.lexsort((lines.ids, row))
        ids = lines.ids[order]
        twice = (ids[1:] == ids[:-1]) & (row[1:] == row[:-1])
        if twice.any():
            first = int(np.argmax(twice))
            reason = f"feature {ids[first]} occurs twice in this line."
            raise source.error(reason, int(lines.starts[row[first]]))
        part.lines = lines._replace(ids=ids, values=lines.values[order])


def _qid_from_sizes(query_sizes: Any, m: int) -> np.ndarray | None:
    if query_sizes is None:
        return None
    name = "query_sizes"
    if isinstance(query_sizes, str | os.PathLike) or hasattr(query_sizes, "read"):
        query_sizes, name = _read_sizes(query_sizes)
    else:
        query_sizes = np.asarray(query_sizes)
        if query_sizes.ndim != 1 or query_sizes.dtype.kind not in "iu" or (query_sizes < 1).any():
            raise ValueError("query_sizes must be a one-dimensional array of positive integers.")
    total = int(query_sizes.sum(dtype=object))
    if total != m:
        raise ValueError(f"{name}: all queries together have {total} items, the data have {m}.")
    return np.repeat(np.arange(len(query_sizes)), query_sizes)


def query_file_beside(path: Readable) -> Path | None:
    """The file of query sizes that belongs to a LETOR file, if it exists: the same name, .query."""
    if path == "-" or not isinstance(path, str | os.PathLike):
        return None
    file = Path(os.fsdecode(path))
    if file.suffix in [compression.extension for compression in COMPRESSIONS]:
        file = file.with_suffix("")
    beside = file.with_name(file.name + ".query")
    return beside if beside.is_file() else None


def _read_sizes(path: Readable) -> tuple[np.ndarray, str]:
    source = read_source(path)
    sizes = []
    for line, cells in split_words(source.text(), None):
        text = " ".join(cells)
        if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= LARGEST_ID):
            reason = f"expected the size of a query, a positive integer, but found {text[:40]!r}."
            raise ReadError(reason, source.name, line, 1)
        sizes.append(int(text))
    return np.array(sizes, dtype=np.int64), source.name


def write_letor(
    path: str | os.PathLike,
    X: Any,
    y: ArrayLike,
    qid: Sequence | np.ndarray | None = None,
    comments: Sequence | np.ndarray | None = None,
    *,
    zero_based: bool = False,
) -> None:
    """Write lines `score qid:label feature:value … # comment` that `read_letor` reads exactly.

    All values of an array are written, of a sparse matrix the stored ones, each as the shortest
    decimal that reads back the same. The file is compressed if the path ends in .gz, .xz or .bz2,
    and appears whole or not at all.

    Parameters
    ----------
    path
        The file; the endings .gz, .xz and .bz2 compress it.
    X
        (m, n) array or sparse matrix.
    y
        (m,) scores.
    qid
        (m,) labels without blanks or #.
    comments
        (m,) text, each of one line.
    zero_based
        Number the features from 0 instead of 1.

    Examples
    --------
    >>> import tempfile
    >>> from rankwise.datasets import write_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_letor(f"{folder}/train.txt", [[0.5, 0.1], [0.2, 0.9]], [2, 0], qid=[7, 7])
    ...     print(open(f"{folder}/train.txt").read(), end="")
    2.0 qid:7 1:0.5 2:0.1
    0.0 qid:7 1:0.2 2:0.9
    """
    refuse_unreal(X, "X")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    refuse_non_finite(X, "X")
    y = check_scores(y, X.shape[0])
    if y.ndim != 1:
        raise ValueError(f"y must have shape (m,), because a line has one score; got {y.shape}.")
    labels = None if qid is None else _one_text_per_item(qid, len(y), "qid")
    texts = None if comments is None else _one_text_per_item(comments, len(y), "comments")
    for row, label in enumerate(labels or []):
        if not label or any(c.isspace() or c in "#\x00" for c in label):
            reason = "a label must be text without blanks or #"
            raise ValueError(f"qid[{row}] = {label!r} cannot be written: {reason}.")
    for row, text in enumerate(texts or []):
        if any(c in "\n\r\x00" for c in text):
            raise ValueError(f"comments[{row}] cannot be written: it must be one line of text.")
    extension = os.path.splitext(os.fsdecode(path))[1].lower()
    compress = {known.extension: known.compress for known in COMPRESSIONS}.get(extension, bytes)
    blocks = _blocks(X, y, labels, texts, 0 if zero_based else 1)
    write_atomically(path, (compress(block) for block in blocks))


def _one_text_per_item(values: Sequence | np.ndarray, m: int, name: str) -> list[str]:
    texts = [str(value) for value in values]
    if len(texts) != m:
        raise ValueError(f"{name} must have one entry per item: {m}, got {len(texts)}.")
    return texts


def _blocks(
    X: Any, y: np.ndarray, labels: list[str] | None, texts: list[str] | None, offset: int
) -> Iterator[bytes]:
    X = canonical(X)
    columns: Sequence[int] = range(X.shape[1])
    for start in range(0, len(y), ROWS_AT_ONCE):
        lines = []
        for row in range(start, min(start + ROWS_AT_ONCE, len(y))):
            if sparse.issparse(X):
                stored = slice(X.indptr[row], X.indptr[row + 1])
                columns, values = X.indices[stored].tolist(), X.data[stored].tolist()
            else:
                values = X[row].tolist()
            words = [repr(float(y[row]))]
            if labels is not None:
                words.append(f"qid:{labels[row]}")
            words += [f"{j + offset}:{value!r}" for j, value in zip(columns, values)]
            if texts is not None and texts[row]:
                words.append(f"# {texts[row]}")
            lines.append(" ".join(words))
        yield ("\n".join(lines) + "\n").encode()
