"""The options that say what the data files are: their format, their columns, and further files.

A new column option is one more entry of COLUMNS: its column is then found, read, left out of the
features, kept in the model's record, and passed to the field of Items that the entry names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import click
import numpy as np

from rankwise.cli.recipe_options import stacked
from rankwise.io.columns import Columns

FILES = ("preferences", "objects", "nodes", "row_nodes", "column_nodes")


@dataclass(frozen=True)
class ColumnOption:
    """A table's column with a meaning: its option, its usual names, and how Items take it."""

    option: str
    help: str
    usual: tuple[str, ...]
    item_field: str
    values: Callable[[Columns, str], np.ndarray]

    def find(self, table: str, columns: Iterable[str], given: str | None, required: bool = True):
        """The column that was given, or one with a usual name, or None.

        A given column that is absent is an error, unless it is not required: a model remembers
        its columns, and new data need not have all of them.
        """
        columns = list(columns)
        if given is None:
            lower = {column.lower(): column for column in reversed(columns)}
            return next((lower[name] for name in self.usual if name in lower), None)
        if required and given not in columns:
            listed = ", ".join(map(repr, columns))
            raise ValueError(f"{table} has no column {given!r} ({self.option}); it has {listed}.")
        return given if given in columns else None


COLUMNS = {
    "target": ColumnOption(
        "--target",
        "Tables: the column of scores.",
        ("target", "score", "label", "relevance", "grade", "rating", "y"),
        "y",
        Columns.without_missing,
    ),
    "query": ColumnOption(
        "--query",
        "Tables: the column of queries.",
        ("qid", "query", "query_id", "query id", "group"),
        "qid",
        Columns.labels,
    ),
    "name": ColumnOption(
        "--id",
        "Tables: the column of item names.",
        ("id", "docid", "doc_id", "item", "name"),
        "names",
        Columns.text,
    ),
}


@dataclass(frozen=True)
class DataOptions:
    """The format of DATA, in tables the names of its columns, and the paths of further files."""

    format: str = "auto"
    columns: dict[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    preferences: str | None = None
    objects: str | None = None
    nodes: str | None = None
    row_nodes: str | None = None
    column_nodes: str | None = None

    @property
    def names_files(self) -> bool:
        return any(getattr(self, name) for name in FILES)

    def record(self) -> dict[str, Any]:
        """Format and columns as plain values for the training record."""
        return {"format": self.format, **self.columns, "ignore": list(self.ignore)}

    def over(self, record: dict[str, Any] | None) -> DataOptions:
        """These options; columns that they leave open are those of the record."""
        past = record or {}
        columns = {role: self.columns[role] or past.get(role) for role in COLUMNS}
        return replace(self, columns=columns, ignore=self.ignore or tuple(past.get("ignore", ())))

    def found_in(self, table: str, names: Iterable[str], required: bool = True) -> DataOptions:
        """The options for a table with these columns, in which usual names are recognised."""
        columns = {
            role: column.find(table, names, self.columns[role], required)
            for role, column in COLUMNS.items()
        }
        return replace(self, format="auto", columns=columns)


def data_options(query: str = COLUMNS["query"].option) -> Callable:
    """The options of DATA for a command, which receives them as one argument, `files`.

    `query` is the name of the option for the column of queries.
    """

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def bundled(*args, **options):
            columns = {role: options.pop(role) for role in COLUMNS}
            others = {name: options.pop(name) for name in ("format", "ignore", *FILES)}
            return command(*args, files=DataOptions(columns=columns, **others), **options)

        names = {role: column.option for role, column in COLUMNS.items()} | {"query": query}
        columns = [
            click.option(names[role], role, metavar="COLUMN", help=column.help)
            for role, column in COLUMNS.items()
        ]
        return stacked(_FORMAT, *columns, _IGNORE, *_FILE_OPTIONS)(bundled)

    return decorate


_FORMAT = click.option(
    "--format",
    type=click.Choice(["auto", "letor", "table"]),
    default="auto",
    help="Format of DATA; auto looks at its name and content.",
)
_IGNORE = click.option(
    "--ignore", metavar="COLUMN", multiple=True, help="Tables: leave a column out (repeatable)."
)
_FILE_OPTIONS = (
    click.option(
        "--preferences",
        metavar="FILE",
        help="Lines winner,loser[,magnitude[,weight]] instead of scores; ids, or rows from 0.",
    ),
    click.option(
        "--items",
        "objects",
        metavar="FILE",
        help="Lines item,feature,... of the items that DATA rates in lines user,item,rating.",
    ),
    click.option(
        "--nodes", metavar="FILE", help="conditional: lines name,feature,... of one domain."
    ),
    click.option("--row-nodes", metavar="FILE", help="conditional: the row nodes of two domains."),
    click.option("--column-nodes", metavar="FILE", help="conditional: the column nodes."),
)
