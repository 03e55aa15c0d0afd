"""The options that say what the data files are: their format, their columns, and further files.

A new column option is one more entry of COLUMNS: its column is then found, read, left out of the
features, kept in the model's record, and passed to the field of Items that the entry names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import click
import numpy as np

from rankwise.cli.recipe_options import stacked
from rankwise.io.near_names import no_column
from rankwise.io.table_columns import Columns

FORMAT = click.option(
    "--format",
    type=click.Choice(["auto", "letor", "table"]),
    default="auto",
    help="Format of DATA; auto looks at its name and content.",
)
IGNORE = click.option(
    "--ignore", metavar="COLUMN", multiple=True, help="Tables: leave a column out (repeatable)."
)
TABLES = {
    "categorical": click.option(
        "--categorical",
        metavar="COLUMN",
        multiple=True,
        help="Tables: a column of categories, a feature for each level (repeatable).",
    ),
    "decimal": click.option(
        "--decimal",
        type=click.Choice(["auto", ".", ","]),
        default="auto",
        help="Tables: the decimal sign; auto finds it.",
    ),
    "encoding": click.option(
        "--encoding", metavar="NAME", help="Of the text of DATA, if it is not UTF-8: cp1252, ..."
    ),
    "features": click.option(
        "--features",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Further features, .npy or .npz with one row per item (repeatable).",
    ),
}
"""The options that say how the cells of DATA become features, and where further features are."""
FILES = {
    "preferences": "Lines winner,loser[,magnitude[,weight]] instead of scores; ids or rows from 0.",
    "items": "Lines item,feature,... of the items that DATA rates in lines user,item,rating.",
    "nodes": "conditional: lines name,feature,... of one domain.",
    "row_nodes": "conditional: the row nodes of two domains.",
    "column_nodes": "conditional: the column nodes of two domains.",
}
"""The options that name further files, and their help."""


@dataclass(frozen=True)
class ColumnOption:
    """A table's column with a meaning: its option, its usual names, and how Items take it."""

    option: str
    content: str
    usual: tuple[str, ...]
    item_field: str
    values: Callable[[Columns, str], np.ndarray]

    def find(self, table: str, columns: list[str], given: str | None, required: bool) -> str | None:
        """The column that was given, or one with a usual name, or None.

        A given column that is absent is an error, unless it is not required: a model remembers
        its columns, and new data need not have all of them.
        """
        if given is None:
            lower = {column.lower(): column for column in reversed(columns)}
            return next((lower[name] for name in self.usual if name in lower), None)
        if required and given not in columns:
            raise ValueError(no_column(table, given, self.option, columns))
        return given if given in columns else None


TARGETS = ("target", "score", "label", "relevance", "grade", "rating", "y")
QUERIES = ("qid", "query", "query_id", "query id", "group")
NAMES = ("id", "docid", "doc_id", "item", "name")
COLUMNS = {
    "target": ColumnOption("--target", "scores", TARGETS, "y", Columns.without_missing),
    "query": ColumnOption("--query", "queries", QUERIES, "qid", Columns.labels),
    "name": ColumnOption("--id", "item names", NAMES, "names", Columns.text),
    "groups": ColumnOption(
        "--groups", "groups that are held out together", (), "groups", Columns.labels
    ),
}


@dataclass(frozen=True)
class DataOptions:
    """The format of DATA, in tables the names of its columns, and the paths of further files."""

    format: str = "auto"
    columns: dict[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    preferences: str | None = None
    items: str | None = None
    nodes: str | None = None
    row_nodes: str | None = None
    column_nodes: str | None = None
    categorical: tuple[str, ...] = ()
    decimal: str = "auto"
    encoding: str | None = None
    features: tuple[str, ...] = ()
    learnt: tuple[dict[str, Any], ...] = ()  # found in training: FeatureColumn.record()
    arrays: tuple[dict[str, Any], ...] = ()  # found in training: names and widths of arrays

    def record(self) -> dict[str, Any]:
        """Format and columns as plain values for the training record."""
        return {"format": self.format, **self.columns, "ignore": list(self.ignore)}

    def over(self, record: dict[str, Any] | None) -> DataOptions:
        """These options; columns that they leave open are those of the record."""
        past = record or {}
        columns = {role: self.columns[role] or past.get(role) for role in COLUMNS}
        return replace(self, columns=columns, ignore=self.ignore or tuple(past.get("ignore", ())))

    def found_in(self, table: str, names: list[str], required: bool = True) -> DataOptions:
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
        def bundled(*args: Any, **options: Any) -> Any:
            columns = {role: options.pop(role) for role in COLUMNS}
            others = {name: options.pop(name) for name in ("format", "ignore", *FILES)}
            return command(*args, files=DataOptions(columns=columns, **others), **options)

        options = [FORMAT]
        for role, column in COLUMNS.items():
            name = query if role == "query" else column.option
            about = f"Tables: the column of {column.content}."
            options.append(click.option(name, role, metavar="COLUMN", help=about))
        options.append(IGNORE)
        for role, about in FILES.items():
            name = f"--{role.replace('_', '-')}"
            options.append(click.option(name, role, metavar="FILE", help=about))
        return stacked(*options)(bundled)

    return decorate
