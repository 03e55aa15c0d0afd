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
from rankwise.io.table_columns import Columns, no_column

FORMAT = click.option(
    "--format",
    type=click.Choice(["auto", "letor", "table"]),
    default="auto",
    help="Format of DATA; auto looks at its name and content.",
)
IGNORE = click.option(
    "--ignore", metavar="COLUMN", multiple=True, help="Tables: leave a column out (repeatable)."
)
FILES = {
    "preferences": "Lines winner,loser[,magnitude[,weight]] instead of scores, or votes with --a, "
    "--b and --winner; ids or rows from 0.",
    "items": "Lines item,feature,... of the items that DATA rates in lines user,item,rating.",
    "nodes": "Relations: lines name,feature,... of one domain (or .npz, or similarities).",
    "row_nodes": "Relations: the row nodes of two domains.",
    "column_nodes": "Relations: the column nodes of two domains.",
}
"""The options that name further files, and their help."""
EDGES = {
    "row": "Relations: the column of DATA that names row nodes.",
    "column": "Relations: the column of DATA that names column nodes.",
    "value": "Relations: the column of values; default: the only one that is left.",
}
"""The columns of a list of edges, and the help of their options."""
EDGE_OPTIONS = {"row": "--row-column", "column": "--column-column", "value": "--value"}


VOTES = {
    "a": "Votes: the column of the item that was shown first.",
    "b": "Votes: the column of the other item.",
    "winner": "Votes: the column that says who won: a name, a or b, 1 or 0, or tie or 0.5.",
    "judge": "Votes: the column of judges, whose votes are held out together.",
}
"""The options that name a column of a file of votes, and their help."""
CELLS = {
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
"""The options that say how cells of DATA become features, and where further features are."""


class OutcomeTexts(dict):
    """{"a": text, "b": text, "tie": text}, which is written as on the command line."""

    def __str__(self) -> str:
        return ",".join(f"{end}={text}" for end, text in self.items())


class Outcomes(click.ParamType):
    """What a file writes if a won, if b won, and if neither did: "a=1,b=-1,tie=0"."""

    name = "a=TEXT,b=TEXT,tie=TEXT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.partition("=") for part in value.split(",")]
        if not all(end in ("a", "b", "tie") and equals for end, equals, _ in parts):
            self.fail(f"{value!r} is not like a=1,b=-1,tie=0.", param, ctx)
        return OutcomeTexts({end: text for end, _, text in parts})


OUTCOMES = click.option(
    "--outcomes", type=Outcomes(), help="Votes: what the column of --winner says; default: above."
)


def vote_option(name: str, required: bool = False) -> Callable:
    """The option of one column of a file of votes."""
    return click.option(f"--{name}", name, metavar="COLUMN", required=required, help=VOTES[name])


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
    "baseline": ColumnOption(
        "--baseline",
        "an existing ranking's scores, which the model must beat (LETOR: a feature's number)",
        (),
        "baseline",
        Columns.must_be_numbers,
    ),
    "time": ColumnOption(
        "--time", "times of censored outcomes, in place of scores", (), "time", Columns.times
    ),
    "event": ColumnOption(
        "--event", "events: 1 if it was seen at --time, 0 if censored", (), "event", Columns.events
    ),
}
OUTCOME = ("time", "event")
"""The two columns that take the place of the scores."""
BASELINE_AS_FEATURE = click.option(
    "--baseline-as-feature", is_flag=True, help="Also learn from the column of --baseline."
)


@dataclass(frozen=True)
class CellOptions:
    """The values of CELLS, and what training found: how columns were read, and which arrays."""

    categorical: tuple[str, ...] = ()
    decimal: str = "auto"
    encoding: str | None = None
    features: tuple[str, ...] = ()
    learnt: tuple[dict[str, Any], ...] = ()  # FeatureColumn.record() of each column
    arrays: tuple[dict[str, Any], ...] = ()  # name and width of each array of --features

    @property
    def given(self) -> str | None:
        """The first option that was given, or None."""
        usual = CellOptions()
        names = (name for name in CELLS if getattr(self, name) != getattr(usual, name))
        return next((f"--{name}" for name in names), None)

    def record(self) -> dict[str, Any]:
        """What a model must know to read new data; nothing if all columns are plain numbers."""
        record: dict[str, Any] = {}
        if self.learnt:
            record["learnt"] = list(self.learnt)
        if self.arrays:
            record["arrays"] = list(self.arrays)
        return record

    def over(self, record: dict[str, Any]) -> CellOptions:
        """These options with what the record of a model says about columns and arrays."""
        learnt, arrays = (tuple(record.get(name, ())) for name in ("learnt", "arrays"))
        return replace(self, learnt=learnt, arrays=arrays)


@dataclass(frozen=True)
class DataOptions:
    """The format of DATA, in tables the names of its columns, and the paths of further files."""

    format: str = "auto"
    columns: dict[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    baseline_as_feature: bool = False
    preferences: str | None = None
    items: str | None = None
    nodes: str | None = None
    row_nodes: str | None = None
    column_nodes: str | None = None
    edges: dict[str, str | None] = field(default_factory=dict)
    cells: CellOptions = field(default_factory=CellOptions)
    votes: dict[str, str | None] = field(default_factory=dict)
    outcomes: dict[str, str] | None = None

    @property
    def vote_columns(self) -> dict[str, str]:
        """The roles of rankwise.io.vote_tables with the columns that were named; {} if none was.

        With --preferences a column of --groups is one of that file, like --judge.
        """
        groups = self.columns.get("groups") if self.preferences else None
        if groups and self.votes.get("judge"):
            raise click.UsageError("with --preferences give --judge or --groups, not both.")
        named = {"a": self.votes.get("a"), "b": self.votes.get("b")}
        named |= {"outcome": self.votes.get("winner"), "judge": self.votes.get("judge") or groups}
        return {role: column for role, column in named.items() if column is not None}

    @property
    def relational(self) -> str | None:
        """The first option that was given although it is for relations only, or None."""
        nodes = ("nodes", "row_nodes", "column_nodes")
        files = (f"--{name.replace('_', '-')}" for name in nodes if getattr(self, name))
        columns = (EDGE_OPTIONS[role] for role, name in self.edges.items() if name)
        return next(iter([*files, *columns]), None)

    def with_edges(self, roles: dict[str, str]) -> DataOptions:
        """The options with the columns of edges that were found."""
        return replace(self, edges={role: roles.get(role) for role in EDGES})

    @property
    def of_items(self) -> DataOptions:
        """The options for the items alone, if other columns are those of --preferences."""
        return replace(self, columns={**self.columns, "groups": None})

    def record(self) -> dict[str, Any]:
        """Format and columns as plain values for the training record."""
        known: dict[str, Any] = {"format": self.format, **self.columns}
        known["ignore"] = list(self.ignore)
        if any(self.edges.values()):
            known["edges"] = dict(self.edges)
        return known | self.cells.record()

    def over(self, record: dict[str, Any] | None) -> DataOptions:
        """These options; columns that they leave open are those of the record."""
        past = record or {}
        columns = {role: self.columns.get(role) or past.get(role) for role in COLUMNS}
        if self.columns.get("target"):  # judged by scores, whatever the model has learnt from
            columns |= dict.fromkeys(OUTCOME)
        elif any(self.columns.get(role) for role in OUTCOME):
            columns["target"] = None
        ignore = self.ignore or tuple(past.get("ignore", ()))
        return replace(self, columns=columns, ignore=ignore, cells=self.cells.over(past))

    def found_in(self, table: str, names: list[str], required: bool = True) -> DataOptions:
        """The options for a table with these columns, in which usual names are recognised."""
        columns = {
            role: column.find(table, names, self.columns.get(role), required)
            for role, column in COLUMNS.items()
        }
        if any(self.columns.get(role) for role in OUTCOME):
            self._check_outcome()
            columns["target"] = None  # a column with a usual name is then a feature
        return replace(self, format="auto", columns=columns)

    def _check_outcome(self) -> None:
        """A time says little without the event, and scores would contradict both."""
        for role, other in (OUTCOME, OUTCOME[::-1]):
            if not self.columns.get(other):
                raise click.UsageError(
                    f"--{role} needs --{other}: a censored outcome is a time and whether the event "
                    "was seen then."
                )
        if self.columns.get("target"):
            raise click.UsageError("give --target, or --time and --event, not both.")


def data_options(
    query: str = COLUMNS["query"].option, *, baseline: bool = True, trains: bool = True
) -> Callable:
    """The options of DATA for a command, which receives them as one argument, `files`.

    `query` is the name of the option for the column of queries. `baseline` says whether the command
    compares with an existing ranking, and `trains` whether it chooses the features.
    """
    roles = [role for role in COLUMNS if baseline or role != "baseline"]

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def bundled(*args: Any, **options: Any) -> Any:
            columns = {role: options.pop(role) for role in roles}
            others = {name: options.pop(name) for name in ("format", "ignore", "outcomes", *FILES)}
            others["cells"] = CellOptions(**{name: options.pop(name) for name in CELLS})
            others["edges"] = {role: options.pop(f"edge_{role}") for role in EDGES}
            others["votes"] = {name: options.pop(name) for name in VOTES}
            others["baseline_as_feature"] = options.pop("baseline_as_feature", False)
            return command(*args, files=DataOptions(columns=columns, **others), **options)

        options = [FORMAT]
        for role in roles:
            name = query if role == "query" else COLUMNS[role].option
            about = f"Tables: the column of {COLUMNS[role].content}."
            options.append(click.option(name, role, metavar="COLUMN", help=about))
        options += [IGNORE, *CELLS.values()]
        options += [BASELINE_AS_FEATURE] if baseline and trains else []
        for role, about in FILES.items():
            name = f"--{role.replace('_', '-')}"
            options.append(click.option(name, role, metavar="FILE", help=about))
            if role == "preferences":
                options += [*map(vote_option, VOTES), OUTCOMES]
        for role, about in EDGES.items():
            name = EDGE_OPTIONS[role]
            options.append(click.option(name, f"edge_{role}", metavar="COLUMN", help=about))
        return stacked(*options)(bundled)

    return decorate
