"""Files of any kind as items: told apart by name and content."""

from __future__ import annotations

import io
import re
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from rankwise.cli.tables import Columns, read_columns
from rankwise.datasets import read_letor
from rankwise.datasets.source import Source, read_source
from rankwise.exceptions import ReadError
from rankwise.preferences import Preferences
from rankwise.workflow.items import Items
from rankwise.workflow.relation import Relation

TARGETS = ("target", "score", "label", "relevance", "grade", "rating", "y")
QUERIES = ("qid", "query", "query_id", "query id", "group")
NAMES = ("id", "docid", "doc_id", "item", "name")
LETOR_LINE = re.compile(rb"\s*[-+0-9.eEinfa]+(\s+qid:\S+)?(\s+\d+:\S+)+\s*(#|$)")
DOCID = re.compile(r"docid\s*=\s*(\S+)")


@dataclass(frozen=True)
class Reading:
    """How to read a file: its format, and for tables which column is what."""

    format: str = "auto"
    target: str | None = None
    query: str | None = None
    name: str | None = None
    ignore: tuple[str, ...] = ()

    def record(self) -> dict:
        return {**asdict(self), "ignore": list(self.ignore)}

    def over(self, record: dict | None) -> Reading:
        """What is given here, and for the rest what a model was trained with."""
        past = record or {}
        return Reading(
            self.format,
            self.target or past.get("target"),
            self.query or past.get("query"),
            self.name or past.get("name"),
            self.ignore or tuple(past.get("ignore", ())),
        )


def read_items(path: str, reading: Reading, features: list[str] | None = None):
    """Items, and the reading with the columns that were found; `features` are a model's."""
    source = read_source(path)
    if not source.data.strip():
        raise ReadError("the file is empty.", source.name)
    kind = reading.format if reading.format != "auto" else _kind(path, source)
    if kind == "letor":
        return _letor(path, source, features), reading
    return _table(read_columns(source), reading, features)


def _kind(path: str, source: Source) -> str:
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if source.data.startswith(b"PAR1") or {".csv", ".tsv", ".tab", ".parquet"} & set(suffixes):
        return "table"
    lines = (line for line in source.data[:200_000].splitlines() if line.strip())
    first = next((line for line in lines if not line.lstrip().startswith(b"#")), b"")
    if LETOR_LINE.match(first):
        return "letor"
    if b"," in first or b"\t" in first or b";" in first:
        return "table"
    return "letor"


def _letor(path: str, source: Source, features: list[str] | None) -> Items:
    n = None if features is None else len(features)
    content: str | io.BytesIO = path
    if path == "-":
        content = io.BytesIO(source.data)
        content.name = source.name
    found = read_letor(content, n_features=n)
    names = None
    if any(found.comments):
        matches = [DOCID.search(comment) for comment in found.comments]
        names = np.array(
            [
                m.group(1) if m else (comment or f"row {i + 1}")
                for i, (m, comment) in enumerate(zip(matches, found.comments))
            ]
        )
    return Items(found.X, found.y, found.qid, names, features or [], source.name)


def _table(columns: Columns, reading: Reading, features: list[str] | None):
    target = _column(columns, reading.target, TARGETS, "--target", required=features is None)
    query = _column(columns, reading.query, QUERIES, "--query", required=features is None)
    name = _column(columns, reading.name, NAMES, "--id", required=features is None)
    if target is None and features is None:
        raise ValueError(
            f"{columns.name}: which column holds the scores to learn? Give --target, one of "
            f"{', '.join(map(repr, columns.values))}."
        )
    for ignored in reading.ignore if features is None else ():
        columns.require(ignored, "--ignore")
    chosen = features
    if chosen is None:
        others = {target, query, name, *reading.ignore}
        chosen = [column for column in columns.values if column not in others]
        if not chosen:
            raise ValueError(f"{columns.name} has no column left that could be a feature.")
    X = _features(columns, chosen, trained=features is not None)
    items = Items(
        X,
        None if target is None else _scores(columns, target),
        None if query is None else _labels(columns, query),
        None if name is None else columns.text(name),
        list(chosen),
        columns.name,
    )
    return items, Reading("auto", target, query, name, reading.ignore)


def _column(columns: Columns, given, usual, option: str, required: bool) -> str | None:
    """A column that was named, or one with a usual name; a model's own may be absent."""
    if given is not None:
        if given in columns.values:
            return given
        return columns.require(given, option) if required else None
    lower = {column.lower(): column for column in reversed(columns.values)}
    return next((lower[name] for name in usual if name in lower), None)


def _features(columns: Columns, chosen: list[str], trained: bool) -> np.ndarray:
    absent = [name for name in chosen if name not in columns.values]
    if absent:
        shown = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
        raise ValueError(
            f"{columns.name} lacks {len(absent)} of the model's {len(chosen)} features: {shown}."
        )
    found: dict[str, Any] = {name: columns.numbers(name) for name in chosen}
    words = [name for name, values in found.items() if values is None]
    if words and not trained:
        hint = " ".join(f"--ignore {name!r}" for name in words[:8])
        raise ValueError(
            f"{columns.name}: {', '.join(map(repr, words[:8]))} "
            f"{'holds' if len(words) == 1 else 'hold'} text, not numbers. Leave out with {hint}, "
            "or make numbers of it."
        )
    for name in words:
        columns.must_be_numbers(name)
    return np.column_stack([found[name] for name in chosen])


def _scores(columns: Columns, target: str) -> np.ndarray:
    y = columns.must_be_numbers(target)
    if np.isnan(y).any():
        line = int(columns.lines[int(np.argmax(np.isnan(y)))])
        raise ReadError("the score is missing.", columns.name, line, target)
    return y


def _labels(columns: Columns, query: str) -> np.ndarray:
    values = columns.values[query]
    text = columns.text(query)
    empty = np.array([cell in ("", "None") for cell in text])
    if empty.any():
        line = int(columns.lines[int(np.argmax(empty))])
        raise ReadError("the query is missing.", columns.name, line, query)
    return values if values.dtype.kind in "iu" else text


def read_preferences(path: str, items: Items) -> Items:
    """Items told by preferences: columns winner, loser and, where given, magnitude and weight."""
    rows, columns = _tuples(path, least=2)
    winner, loser = (_places(columns, rows[j], items) for j in (0, 1))
    extra = {
        what: columns.must_be_numbers(name)
        for what, name in zip(("magnitude", "weight"), rows[2:4])
    }
    items.y = None
    items.preferences = Preferences(winner, loser, **extra, n_items=len(items))
    return items


def read_ratings(path: str, objects: Items) -> Items:
    """User, object, rating: every user is a query over the features of the objects rated."""
    names, columns = _tuples(path, least=3)
    rated = _places(columns, names[1], objects)
    items = objects.take(rated)
    items.y, items.qid = columns.must_be_numbers(names[2]), columns.text(names[0])
    items.source = columns.name
    return items


def read_relation(path: str, rows: Items, columns_of: Items | None, need_values: bool) -> Relation:
    """Row node, column node and, where given, a value."""
    names, columns = _tuples(path, least=3 if need_values else 2)
    other = rows if columns_of is None else columns_of
    edges = np.column_stack([_places(columns, names[0], rows), _places(columns, names[1], other)])
    y = columns.must_be_numbers(names[2]) if len(names) > 2 else None
    return Relation(rows, columns_of, edges, y, columns.name)


def read_nodes(path: str, features: list[str] | None = None) -> Items:
    """Objects with features: the first column is the name, the others numbers."""
    columns = read_columns(read_source(path))
    name = next(iter(columns.values))
    chosen = [column for column in columns.values if column != name]
    if not chosen:
        raise ValueError(f"{columns.name}: expected a name and at least one feature a line.")
    X = _features(columns, features or chosen, trained=features is not None)
    names = columns.text(name)
    if len(set(names)) < len(names):
        seen, counts = np.unique(names, return_counts=True)
        raise ValueError(f"{columns.name} holds {seen[counts.argmax()]!r} twice.")
    return Items(X, None, None, names, features or chosen, columns.name)


def _tuples(path: str, least: int) -> tuple[list[str], Columns]:
    source = read_source(path)
    columns = read_columns(source)
    names = list(columns.values)
    if len(names) < least:
        raise ValueError(f"{columns.name}: expected {least} columns, found {len(names)}.")
    return names, columns


def _places(columns: Columns, column: str, items: Items) -> np.ndarray:
    """Row numbers of the items that a column names; items without names go by number from 1."""
    known = {str(name): row for row, name in enumerate(items.names)}
    if "row 1" in known:
        known = {str(row + 1): row for row in range(len(items))}
    out = np.empty(len(columns), dtype=np.intp)
    for i, label in enumerate(columns.text(column)):
        if label not in known:
            reason = f"{label!r} is not an item of {items.source}."
            raise ReadError(reason, columns.name, int(columns.lines[i]), column)
        out[i] = known[label]
    return out
