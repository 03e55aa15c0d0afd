"""From files of edges and nodes to a Relation: names matched, what does not fit refused."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.console import Mistake
from rankwise.cli.data_options import DataOptions
from rankwise.cli.item_features import new_features
from rankwise.exceptions import ReadError
from rankwise.io.feature_columns import refuse_absent
from rankwise.io.source import read_source
from rankwise.io.tables import read_columns
from rankwise.workflow.ranking_data import Items, Relation

if TYPE_CHECKING:
    from rankwise.workflow.recipe import Recipe

SHOWN = 5
OPTIONS = ("--row-column", "--column-column", "--value")
NO_NODES = (
    "relations need features or similarities of the objects: --nodes FILE, or --row-nodes and "
    "--column-nodes."
)


@dataclass(frozen=True)
class Remembered:
    """What a model remembers: which nodes were kernels, the features (or nodes) of each side, and
    the columns of its edges."""

    precomputed: tuple[bool, bool] = (False, False)
    features: Sequence = (None, None)
    columns: dict[str, str | None] = field(default_factory=dict)


def training_relation(
    path: str, recipe: Recipe, files: DataOptions
) -> tuple[Relation, DataOptions]:
    """The edges in DATA between the nodes that have an edge; the others are told and left out."""
    from rankwise.workflow.relation_recipe import is_precomputed, without_lone_objects

    precomputed = is_precomputed(recipe)
    relation, found = read_relation(path, files, Remembered(precomputed))
    relation, lone = without_lone_objects(relation, precomputed)
    sources = (files.nodes or files.row_nodes, files.column_nodes)
    for names, source in zip(lone, sources):
        if names:
            shown = ", ".join(repr(name[:40]) for name in names[:SHOWN])
            rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            said = f"{source}: no edge of {path} names {shown}{rest}; left out of training."
            warnings.warn(said, UserWarning, stacklevel=2)
    return relation, found


def read_relation(
    path: str, files: DataOptions, known: Remembered | None = None
) -> tuple[Relation, DataOptions]:
    """The edges in DATA between the objects of --nodes, or of --row-nodes and --column-nodes.

    The options come back with the columns that were found.
    """
    from rankwise.io.relation_tables import Reading
    from rankwise.io.relation_tables import read_relation as read_table

    known = known or Remembered()
    rows, columns = read_sides(files, known)
    other = rows if columns is None else columns
    wanted = Reading(
        row=files.edges.get("row"),
        column=files.edges.get("column"),
        value=files.edges.get("value") or files.columns.get("target"),
        rows=rows.names,
        columns=other.names,
        one_domain=columns is None,
        where=(rows.source, other.source),
        options=OPTIONS,
        usual=known.columns,
    )
    table = read_table(path, wanted)
    relation = Relation(rows, columns, table.edges, table.y, table.source, table.line)
    return relation, files.with_edges(table.roles)


def read_sides(files: DataOptions, known: Remembered) -> tuple[Items, Items | None]:
    """The objects of both sides; None for the columns of one domain."""
    if files.nodes and (files.row_nodes or files.column_nodes):
        raise Mistake("give --nodes for one domain, or --row-nodes and --column-nodes for two.")
    precomputed, features = known.precomputed, known.features
    if files.nodes:
        return read_nodes(files.nodes, features[0], precomputed[0]), None
    if not files.row_nodes or not files.column_nodes:
        raise Mistake(NO_NODES)
    return (
        read_nodes(files.row_nodes, features[0], precomputed[0]),
        read_nodes(files.column_nodes, features[1], precomputed[1]),
    )


def read_nodes(path: str, features: list[str] | None = None, precomputed: bool = False) -> Items:
    """Objects with features, or with similarities to the objects of training.

    In a table the first column is the name and the other columns are numbers; a .npz file may hold
    names beside its matrix. Objects without names are called by their numbers, from 0. `features`
    are those of a model: then they must be there, in any order.
    """
    from rankwise.io.array_files import holds_arrays, read_matrix

    source = read_source(path)
    if precomputed:
        return _similarities(path, features)
    if holds_arrays(source):
        matrix = read_matrix(source)
        if not np.isfinite(matrix.values).all():
            row, column = np.argwhere(~np.isfinite(matrix.values))[0]
            raise ReadError(f"row {row}, column {column} (from 0) is not finite.", source.name)
        if features is not None and matrix.values.shape[1] != len(features):
            raise ReadError(
                f"it has {matrix.values.shape[1]} features, the model was trained on "
                f"{len(features)}.",
                source.name,
            )
        return _objects(matrix.values, matrix.rows, features or matrix.columns or [], source.name)
    columns = read_columns(source)
    name, *others = columns.values
    if not others:
        raise ValueError(f"{columns.name}: each line needs a name and at least one feature.")
    refuse_absent(columns, features or others)
    X, _ = new_features(columns, features or others)
    names = [str(one) for one in columns.text(name)]
    if len(set(names)) < len(names):
        (twice, _), *_ = Counter(names).most_common(1)
        raise ValueError(f"{columns.name} holds {twice!r} twice.")
    if len(names) > 1 and features is None and {*names} == {*others}:
        said = (
            f"{columns.name} looks like a matrix of similarities, but its columns are used as "
            "features: --kernel precomputed takes it as a kernel."
        )
        warnings.warn(said, UserWarning, stacklevel=2)
    return _objects(X, names, features or others, columns.name)


def _similarities(path: str, known: list[str] | None) -> Items:
    from rankwise.io.kernel_files import read_kernel

    found = read_kernel(path, known=known)
    n = found.K.shape[1]
    columns = [str(j) for j in range(n)] if found.column_names is None else found.column_names
    names = None if found.names is None else found.names.tolist()
    return _objects(found.K, names, [str(one) for one in columns], path)


def _objects(X: Any, names: list[str] | None, features: Sequence[str], source: str) -> Items:
    called = [str(number) for number in range(X.shape[0])] if names is None else names
    items = Items(X, None, None, np.array(called, dtype=object), list(features), source)
    items.named = names is not None
    return items
