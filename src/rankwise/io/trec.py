"""Judgements and runs in the formats of TREC: `read_qrels`, `read_run`, `write_run`."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import ReadError
from rankwise.io.atomic import write_atomically
from rankwise.io.plain_text import is_one_word, unseen_escaped
from rankwise.io.source import COMPRESSIONS, Readable, Source, read_source

if TYPE_CHECKING:
    from sklearn.utils import Bunch

INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)
BEIR_HEADER = ["query-id", "corpus-id", "score"]
"""The header line of judgements in the format of the BEIR collection: three columns."""


def read_qrels(path: Readable) -> Bunch:
    r"""Read relevance judgements: lines `query iteration document relevance`, O(bytes).

    Columns are separated by blanks or tabs, and lines may come in any order. Relevance is an
    integer, higher is better; negative numbers occur and are kept. Lines `query document relevance`
    are read too, if the header line `query-id corpus-id score` announces them. A line that cannot
    be read, and a document that is judged twice for a query, is a ReadError with the line.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open file; may be gzip, xz or bzip2.

    Returns
    -------
    Bunch
        With qid (m,) and docid (m,), both text; relevance (m,) integers.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_qrels
    >>> qrels = read_qrels(io.StringIO("q1 0 doc-a 2\nq1 0 doc-b 0\n"))
    >>> qrels.docid.tolist(), qrels.relevance
    (['doc-a', 'doc-b'], array([2, 0]))
    """
    source = read_source(path)
    lines = _lines(source)
    head = next(lines, None)
    if head is None:
        raise ReadError("the file is empty.", source.name)
    is_short = [cell.lower() for cell in head[1]] == BEIR_HEADER
    width, form = (3, "query document relevance") if is_short else (4, "query 0 document relevance")
    rows = [] if is_short else [head]
    rows += lines
    if not rows:
        raise ReadError("the file has a header line but no judgements.", source.name)
    relevance = np.empty(len(rows), dtype=np.int64)
    for row, (line, cells) in enumerate(rows):
        _check_width(source, line, cells, width, form)
        if not INTEGER.fullmatch(cells[-1]):
            reason = f"the relevance {cells[-1][:40]!r} is not an integer."
            raise ReadError(reason, source.name, line, width)
        relevance[row] = int(cells[-1])
    qid, docid = _text(rows, 0), _text(rows, width - 2)
    _refuse_repeated(source, rows, qid, docid, "judged")
    from sklearn.utils import Bunch

    return Bunch(qid=qid, docid=docid, relevance=relevance)


def read_run(path: Readable) -> Bunch:
    r"""Read the results of a search: lines `query Q0 document rank score tag`, O(bytes).

    The lines may come in any order. As in trec_eval, scores say what is above what, and ranks are
    only kept; ranks that contradict the scores raise a warning. A line that cannot be read, and a
    document that occurs twice for a query, is a ReadError with the line.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open file; may be gzip, xz or bzip2.

    Returns
    -------
    Bunch
        With qid (m,) and docid (m,), both text; rank (m,) integers; score (m,); tag, the text in
        the last column of the first line.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_run
    >>> run = read_run(io.StringIO("q1 Q0 doc-b 1 12.5 bm25\nq1 Q0 doc-a 2 11.0 bm25\n"))
    >>> run.docid.tolist(), run.score, run.tag
    (['doc-b', 'doc-a'], array([12.5, 11. ]), 'bm25')
    """
    source = read_source(path)
    rows = list(_lines(source))
    if not rows:
        raise ReadError("the file is empty.", source.name)
    rank, score = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for row, (line, cells) in enumerate(rows):
        _check_width(source, line, cells, 6, "query Q0 document rank score tag")
        if not INTEGER.fullmatch(cells[3]):
            raise ReadError(f"the rank {cells[3][:40]!r} is not an integer.", source.name, line, 4)
        rank[row] = int(cells[3])
        score[row] = _score(source, line, cells[4])
    qid, docid = _text(rows, 0), _text(rows, 2)
    _refuse_repeated(source, rows, qid, docid, "ranked")
    _warn_of_ranks(source, rows, qid, rank, score)
    from sklearn.utils import Bunch

    return Bunch(qid=qid, docid=docid, rank=rank, score=score, tag=rows[0][1][5])


def write_run(
    path: str | os.PathLike,
    qid: ArrayLike | None,
    docid: ArrayLike,
    score: ArrayLike,
    *,
    tag: str = "rankwise",
) -> None:
    """Write lines `query Q0 document rank score tag`, completely or not at all.

    Queries come in the order of their first document, documents from the highest score down; ranks
    count from 1. Scores read back as the same numbers. White space and unseen characters of a name
    are written as %20 and the like, because a blank ends a column, and no two names become one.

    Parameters
    ----------
    path
        The file; the endings .gz, .xz and .bz2 compress it.
    qid
        (m,) labels of queries, or None for one query "0".
    docid
        (m,) names of documents, each only once in a query.
    score
        (m,) finite numbers.
    tag
        The name of the run, the last column.

    Examples
    --------
    >>> import tempfile
    >>> from rankwise.datasets import write_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run(f"{folder}/run.txt", ["q1", "q1"], ["doc-a", "doc-b"], [0.5, 0.7], tag="new")
    ...     print(open(f"{folder}/run.txt").read(), end="")
    q1 Q0 doc-b 1 0.7 new
    q1 Q0 doc-a 2 0.5 new
    """
    data = run_text(qid, docid, score, tag=tag).encode()
    name = os.fsdecode(path).lower()
    for compression in COMPRESSIONS:
        if name.endswith(compression.extension):
            data = compression.compress(data)
    write_atomically(path, [data])


def run_text(
    qid: ArrayLike | None, docid: ArrayLike, score: ArrayLike, *, tag: str = "rankwise"
) -> str:
    """The lines that `write_run` writes."""
    docid = np.asarray(docid, dtype=object)
    s = np.asarray(score, dtype=float)
    labels = np.full(len(s), "0", object) if qid is None else np.asarray(qid, dtype=object)
    if s.ndim != 1 or not len(labels) == len(docid) == len(s):
        raise ValueError(
            "qid, docid and score must have one entry per document; their shapes are "
            f"{labels.shape}, {docid.shape} and {s.shape}."
        )
    if not np.isfinite(s).all():
        row = int(np.argmax(~np.isfinite(s)))
        raise ValueError(f"score[{row}] is {s[row]}, which has no place in an order.")
    queries, documents = _words(labels, "queries"), _words(docid, "documents")
    members: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        members.setdefault(query, []).append(row)
    last = _words(np.array([tag], dtype=object), "tags")[0]
    lines = []
    for query, rows in members.items():
        seen: set[str] = set()
        for rank, row in enumerate(sorted(rows, key=lambda row: -s[row]), 1):
            if documents[row] in seen:
                raise ValueError(f"document {docid[row]!r} occurs twice in query {labels[row]!r}.")
            seen.add(documents[row])
            lines.append(f"{query} Q0 {documents[row]} {rank} {float(s[row])!r} {last}\n")
    return "".join(lines)


def _words(names: np.ndarray, what: str) -> list[str]:
    """Each name as one word; a ValueError if two names would become the same word."""
    name_of: dict[str, str] = {}
    words = []
    for name in map(str, names):
        word = name if is_one_word(name) else unseen_escaped(name)
        if name_of.setdefault(word, name) != name:
            both = f"{name_of[word]!r} and {name!r}"
            raise ValueError(f"the {what} {both} would both be written as {word!r}: rename one.")
        words.append(word)
    return words


def _lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every line that is not blank."""
    for number, line in enumerate(source.text().split("\n"), 1):
        if cells := line.split() if line.isascii() else _split_at_ascii_blanks(line):
            yield number, cells


def _split_at_ascii_blanks(line: str) -> list[str]:
    """A name may hold other blanks, such as the ideographic space."""
    return [cell.decode() for cell in line.encode().split()]


def _check_width(source: Source, line: int, cells: Sequence[str], width: int, form: str) -> None:
    if len(cells) != width:
        reason = f"expected {width} columns `{form}`, but found {len(cells)}."
        raise ReadError(reason, source.name, line)


def _score(source: Source, line: int, text: str) -> float:
    try:
        value = float(text) if "_" not in text else np.nan
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        reason = f"the score {text[:40]!r} is not a finite number."
        raise ReadError(reason, source.name, line, 5)
    return value


def _text(rows: list[tuple[int, list[str]]], column: int) -> np.ndarray:
    cells = np.empty(len(rows), dtype=object)
    cells[:] = [row[1][column] for row in rows]
    return cells


def _refuse_repeated(source: Source, rows: Any, qid: Any, docid: Any, what: str) -> None:
    """Raise a ReadError if a document occurs twice for a query."""
    first: dict[tuple[str, str], int] = {}
    for (line, _), pair in zip(rows, zip(qid, docid)):
        if pair in first:
            raise ReadError(
                f"document {pair[1][:40]!r} of query {pair[0][:40]!r} is {what} twice, first in "
                f"line {first[pair]}: keep one of the lines.",
                source.name,
                line,
            )
        first[pair] = line


def _warn_of_ranks(source: Source, rows: Any, qid: Any, rank: Any, score: Any) -> None:
    """Warn if a document has a better rank than another one of its query, but a lower score."""
    _, codes = np.unique(qid.astype(str), return_inverse=True)
    order = np.lexsort((rank, codes))
    rises = (np.diff(score[order]) > 0) & (np.diff(codes[order]) == 0)
    rises &= np.diff(rank[order]) > 0
    if rises.any():
        row = order[int(np.argmax(rises)) + 1]
        warnings.warn(
            f"{source.name}, line {rows[row][0]}: rank {rank[row]} of query {qid[row]!r} has a "
            "higher score than the rank before it. The scores count, as in trec_eval.",
            UserWarning,
            stacklevel=3,
        )
