"""Files of any kind as items: told apart by name and content."""

from __future__ import annotations

import io
import re
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from rankwise import datasets
from rankwise.exceptions import ReadError
from rankwise.io.source import Source, read_source
from rankwise.io.tables import Columns, read_columns
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


def read_items(path: str, reading: Reading, features: list[str] | None = None, scores=True):
    """Items, and the reading with the columns that were found; `features` are a model's.

    Without a model a table must have scores, unless scores=False.
    """
    source = read_source(path)
    if not source.data.strip():
        raise ReadError("the file is empty.", source.name)
    kind = reading.format if reading.format != "auto" else _kind(path, source)
    if kind == "letor":
        return _letor(path, source, features), reading
    return _table(read_columns(source), reading, features, scores)


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
    try:
        found = datasets.read_letor(content, n_features=n)
    except ReadError as error:
        reason = error.reason.replace(f"n_features={n}", f"the model was trained on {n} features")
        raise ReadError(reason, error.path, error.line, error.column) from None
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


def _table(columns: Columns, reading: Reading, features: list[str] | None, scores: bool):
    target = _column(columns, reading.target, TARGETS, "--target", required=features is None)
    query = _column(columns, reading.query, QUERIES, "--query", required=features is None)
    name = _column(columns, reading.name, NAMES, "--id", required=features is None)
    if target is None and features is None and scores:
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
        None if target is None else columns.without_missing(target),
        None if query is None else columns.labels(query),
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
            f"{'holds' if len(words) == 1 else 'hold'} text, not numbers. Say what it is (--query, "
            f"--id), or leave it out: {hint}."
        )
    for name in words:
        columns.must_be_numbers(name)
    return np.column_stack([found[name] for name in chosen])


def read_preferences(path: str, items: Items) -> Items:
    """Items told by preferences among them: by names, else by row numbers from 0."""
    names = items.names if items.named else None
    items.preferences = datasets.read_preferences(path, items=names, n_items=len(items))
    items.y = None
    return items


def read_ratings(path: str, objects: Items) -> Items:
    """User, object, rating: every user is a query over the features of the objects rated."""
    found = datasets.read_ratings(path)
    known = {str(name): row for row, name in enumerate(objects.names)}
    absent = [str(name) for name in found.item_names if str(name) not in known]
    if absent:
        raise ValueError(f"{path}: {absent[0]!r} is rated but not in {objects.source}.")
    place = np.array([known[str(name)] for name in found.item_names])
    items = objects.take(place[found.edges[:, 1]])
    items.y, items.qid, items.source = found.y, found.user_names[found.edges[:, 0]], path
    return items


def read_relation(path: str, rows: Items, columns: Items | None, need_values: bool) -> Relation:
    """Row node, column node and, where given, a value."""
    other = rows if columns is None else columns
    found = datasets.read_edges(path, rows=rows.names, columns=other.names)
    if need_values and found.y is None:
        raise ValueError(f"{path}: every edge needs a value, as the third column.")
    return Relation(rows, columns, found.edges, found.y, path)


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
