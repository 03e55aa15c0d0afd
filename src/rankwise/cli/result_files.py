"""Results, written completely or not at all: scores of items as lines or run files, and tables of
named columns as CSV, TSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.console import Mistake, write_text
from rankwise.io.trec import run_text

if TYPE_CHECKING:
    from rankwise.workflow.ranking_data import Items

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
KINDS = ("csv", "tsv", "json", "jsonl", "parquet")


def kind_of(path: str, default: str) -> str:
    """The kind of table that the ending of a file name asks for."""
    return ENDINGS.get(PurePath(path).suffix.lower(), default)


def write_rows(path: str, columns: dict[str, Any], kind: str) -> None:
    """Write columns of equal length, completely or not at all; numbers keep every digit."""
    if kind == "parquet":
        _write_parquet(path, columns)
        return
    values = [_plain(column) for column in columns.values()]
    if kind in ("csv", "tsv"):
        text = io.StringIO()
        writer = csv.writer(text, delimiter="," if kind == "csv" else "\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*values))
        write_text(path, text.getvalue())
        return
    rows = [dict(zip(columns, row)) for row in zip(*values)]
    if kind == "json":
        write_text(path, json.dumps(rows, indent=1) + "\n")
    else:
        write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _plain(column: Any) -> list[Any]:
    """The column as numbers and text of Python."""
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        return array.tolist()
    return [str(value) for value in array]


def _write_parquet(path: str, columns: dict[str, Any]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Mistake("Parquet files need pyarrow: pip install rankwise[frames].") from None
    buffer = io.BytesIO()
    table = pyarrow.table({name: _plain(column) for name, column in columns.items()})
    pyarrow.parquet.write_table(table, buffer)
    if path == "-":
        if sys.stdout.isatty():
            raise Mistake("Parquet cannot be shown on a terminal: give -o a file, or use a pipe.")
        sys.stdout.buffer.write(buffer.getvalue())
        sys.stdout.buffer.flush()
        return
    from rankwise.io.atomic import write_atomically

    write_atomically(path, [buffer.getvalue()])


def write_predictions(scored: tuple[Items, np.ndarray], output: str, kind: str, tag: str) -> None:
    """Write items and their scores as `kind`: scores, trec, or a kind of table."""
    items, scores = scored
    if kind == "scores":
        write_text(output, score_lines(scores))
    elif kind == "trec":
        if scores.ndim > 1:
            raise Mistake("the model has several outputs, but a run file holds one score.")
        names = items.names if items.named else [f"row_{i}" for i in range(1, len(items) + 1)]
        write_text(output, run_text(items.qid, names, scores, tag=tag))
    else:
        write_rows(output, ranking_columns(items, scores), kind)


def ranking_columns(items: Items, scores: np.ndarray) -> dict[str, Any]:
    """The columns of a table of predictions: query, id, score and rank within the query."""
    columns: dict[str, Any] = {} if items.qid is None else {"query": items.qid}
    columns["id"] = items.names if items.named else np.arange(1, len(items) + 1)
    if scores.ndim > 1:
        return columns | {f"score {j + 1}": one for j, one in enumerate(scores.T)}
    rank = np.empty(len(scores), dtype=np.int64)
    for members in items.queries:
        rank[members[np.argsort(-scores[members], kind="stable")]] = np.arange(1, len(members) + 1)
    return columns | {"score": scores, "rank": rank}


def score_lines(scores: np.ndarray) -> str:
    """One line per item with every digit of its score, or of its scores if there are several."""
    rows = scores.reshape(len(scores), -1).tolist()
    return "".join(" ".join(repr(value) for value in row) + "\n" for row in rows)
