"""LETOR files, written whole or not at all, with the shortest decimals that read back the same."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from rankwise.io.atomic import write_atomically
from rankwise.validation import check_scores, refuse_non_finite

PACKERS: dict[str, Callable] = {
    ".gz": partial(gzip.compress, mtime=0),
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
ROWS = 10_000
"""Lines put together at once; in packed files each such block is a member of its own."""


def write_letor(path, X, y, qid=None, comments=None, *, zero_based=False) -> None:
    """Write `score qid:label feature:value ... # comment` lines that `read_letor` reads exactly.

    Of arrays all values are written, of sparse matrices the stored ones. Packed where the path ends
    in .gz, .xz or .bz2. The file appears whole or not at all.

    Parameters
    ----------
    X : (m, n) array or sparse matrix; y : (m,) scores
    qid : (m,) labels without blanks or #; comments : (m,) text of one line, or None
    zero_based : number the features from 0 instead of 1
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    refuse_non_finite(X, "X")
    y = check_scores(y, X.shape[0])
    if y.ndim != 1:
        raise ValueError(f"y must have shape (m,): a line holds one score, got {y.shape}.")
    labels = None if qid is None else _texts(qid, len(y), "qid")
    texts = None if comments is None else _texts(comments, len(y), "comments")
    for row, label in enumerate(labels or []):
        if not label or any(c.isspace() or c in "#\x00" for c in label):
            raise ValueError(
                f"qid[{row}] = {label!r} cannot be written: a label has no blank or #."
            )
    for row, text in enumerate(texts or []):
        if any(c in "\n\r\x00" for c in text):
            raise ValueError(f"comments[{row}] cannot be written: it must be one line of text.")
    packed = PACKERS.get(os.path.splitext(os.fsdecode(path))[1].lower())
    blocks = _blocks(X, y, labels, texts, 0 if zero_based else 1)
    write_atomically(path, (block if packed is None else packed(block) for block in blocks))


def _texts(values, m: int, name: str) -> list[str]:
    texts = [str(value) for value in values]
    if len(texts) != m:
        raise ValueError(f"{name} must hold one entry an item: {m}, got {len(texts)}.")
    return texts


def _blocks(X, y, labels, texts, offset: int) -> Iterator[bytes]:
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    for start in range(0, len(y), ROWS):
        lines = []
        for row in range(start, min(start + ROWS, len(y))):
            if sparse.issparse(X):
                stored = slice(X.indptr[row], X.indptr[row + 1])
                columns, values = X.indices[stored].tolist(), X.data[stored].tolist()
            else:
                values = X[row].tolist()
                columns = range(len(values))
            parts = [repr(float(y[row]))]
            if labels is not None:
                parts.append(f"qid:{labels[row]}")
            parts += [f"{j + offset}:{value!r}" for j, value in zip(columns, values)]
            if texts is not None and texts[row]:
                parts.append(f"# {texts[row]}")
            lines.append(" ".join(parts))
        yield ("\n".join(lines) + "\n").encode()
