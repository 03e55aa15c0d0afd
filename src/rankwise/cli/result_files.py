"""Results as tables: lines of named columns, written as CSV, TSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import PurePath
from typing import Any

import numpy as np

from rankwise.cli.console import Mistake, write_text

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
