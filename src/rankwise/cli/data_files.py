"""From data files of any format to Items or a Relation."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.cli.console import Mistake
from rankwise.cli.data_options import COLUMNS, OUTCOME, DataOptions
from rankwise.cli.item_features import (
    array_features,
    known_features,
    new_features,
    records_of,
    width_of,
)
from rankwise.cli.relation_files import read_nodes, training_relation
from rankwise.exceptions import ReadError
from rankwise.io.feature_columns import stacked_columns
from rankwise.io.source import Source, read_source
from rankwise.io.table_columns import Columns
from rankwise.io.tables import read_columns
from rankwise.supervision.censored import Censored
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe

LETOR_LINE = re.compile(rb"\s*[-+0-9.eEinfa]+(\s+qid:\S+)?(\s+\d+:\S+)+\s*(#|$)")
DOCID = re.compile(r"docid\s*=\s*(\S+)")


def training_data(
    path: str, recipe: Recipe, files: DataOptions
) -> tuple[Items | Relation, DataOptions | None]:
    """The data that the recipe learns from, and the options that were found if DATA holds items."""
    other = recipe.method.learns_relations or files.items or files.preferences
    if files.columns.get("baseline") and other:
        raise Mistake(
            "--baseline is for items with scores or outcomes, not for statements, ratings or edges."
        )
    if recipe.method.learns_relations:
        return training_relation(path, recipe, files)
    if files.relational:
        raise Mistake(
            f"{files.relational} is for relations, --learner conditional; for ratings give --items."
        )
    if files.items:
        return read_ratings(path, read_nodes(files.items)), None
    if files.preferences:
        items, found = read_items(path, files.of_items, scores=False)
        return read_preferences(files, items), found
    refuse_vote_columns(files)
    return read_items(path, files)


def refuse_vote_columns(files: DataOptions) -> None:
    """Columns of votes mean nothing without a file of votes."""
    for name, column in files.votes.items():
        if column is not None:
            raise Mistake(f"--{name} names a column of votes: give their file, --preferences.")


def read_items(
    path: str, files: DataOptions, features: list[str] | None = None, scores: bool = True
) -> tuple[Items, DataOptions]:
    """The items of a file, and the options with the columns that were found.

    `features` are the features of a model, which then must be there. Without a model a table must
    have scores, unless scores=False.
    """
    source = read_source(path, files.cells.encoding)
    if not source.data.strip():
        raise ReadError("the file is empty.", source.name)
    format_ = _recognised(path, source) if files.format == "auto" else files.format
    own = features if features is None else features[: len(features) - width_of(files.cells.arrays)]
    if format_ == "letor":
        if any(files.columns.get(role) for role in OUTCOME) and features is None:
            raise Mistake("--time and --event name columns of a table: DATA is LETOR.")
        items = _letor(path, source, files, own)
    else:
        columns = read_columns(source)
        columns.decimal = files.cells.decimal
        items, files = _table(columns, files, own, scores)
    return with_arrays(items, files, trained=features is not None)


def _recognised(path: str, source: Source) -> str:
    """The format of a file, from its name or else from its first line."""
    suffixes = {suffix.lower() for suffix in PurePath(path).suffixes}
    if source.data.startswith(b"PAR1") or {".csv", ".tsv", ".tab", ".parquet"} & suffixes:
        return "table"
    lines = (line for line in source.data[:200_000].splitlines() if line.strip())
    first = next((line for line in lines if not line.lstrip().startswith(b"#")), b"")
    is_letor = LETOR_LINE.match(first) or not any(mark in first for mark in (b",", b"\t", b";"))
    return "letor" if is_letor else "table"


def _letor(path: str, source: Source, files: DataOptions, features: list[str] | None) -> Items:
    from rankwise.io.letor import read_letor

    numbers = _feature_numbers(features)
    n = None if numbers is None else int(numbers.max(initial=-1)) + 1
    baseline = _baseline_number(files)
    if n is not None and baseline is not None:
        n = max(n, baseline + 1)
    content: str | io.BytesIO = path
    if path == "-":
        content = io.BytesIO(source.data)
        content.name = source.name
    try:
        data = read_letor(content, n_features=n)
    except ReadError as error:
        reason = error.reason.replace(f"n_features={n}", f"the model was trained on {n} features")
        raise ReadError(reason, error.path, error.line, error.column) from None
    names = None
    if any(data.comments):
        docids = [DOCID.search(comment) for comment in data.comments]
        texts = [comment or f"row {i}" for i, comment in enumerate(data.comments, 1)]
        names = np.array([m.group(1) if m else text for m, text in zip(docids, texts)])
    chosen, known = _chosen_features(data.X, numbers, baseline, files)
    if chosen is not None:
        data.X, features = data.X[:, chosen], [f"feature {j + 1}" for j in chosen]
    return Items(data.X, data.y, data.qid, names, features or [], source.name, **known)


def _chosen_features(
    X: Any, numbers: np.ndarray | None, baseline: int | None, files: DataOptions
) -> tuple[np.ndarray | None, dict[str, Any]]:
    """The columns of X that are features (None: all of them), and the existing ranking."""
    known: dict[str, Any] = {}
    if baseline is not None:
        if baseline >= X.shape[1]:
            raise Mistake(f"--baseline {baseline + 1}: there are only {X.shape[1]} features.")
        scores = X[:, [baseline]]
        scores = scores.toarray() if hasattr(scores, "toarray") else np.array(scores)
        known = {"baseline": scores.ravel(), "baseline_name": f"feature {baseline + 1}"}
        if numbers is None and not files.baseline_as_feature:
            numbers = np.delete(np.arange(X.shape[1]), baseline)
    are_all = numbers is None or np.array_equal(numbers, np.arange(X.shape[1]))
    return None if are_all else numbers, known


FEATURE = re.compile(r"(?:feature )?([1-9]\d*)")


def _feature_numbers(features: list[str] | None) -> np.ndarray | None:
    """The columns of LETOR features called "feature 1", ...; other names are taken in order."""
    if features is None:
        return None
    matches = [FEATURE.fullmatch(name) for name in features]
    if all(matches):
        return np.array([int(match[1]) - 1 for match in matches if match])
    return np.arange(len(features))


def _baseline_number(files: DataOptions) -> int | None:
    """The feature of a LETOR file that --baseline names, from 0."""
    name = files.columns.get("baseline")
    if name is None:
        return None
    match = FEATURE.fullmatch(name)
    if match is None:
        raise Mistake(f"--baseline {name!r}: in LETOR files it is the number of a feature.")
    return int(match[1]) - 1


def _table(
    columns: Columns, files: DataOptions, features: list[str] | None, scores: bool
) -> tuple[Items, DataOptions]:
    is_new = features is None
    looked_at = [column for column in columns.values if column not in files.ignore]
    files = files.found_in(columns.name, looked_at, required=is_new)
    if is_new and scores:
        require_target(files, columns.name, columns.values)
    for ignored in files.ignore if is_new else ():
        columns.require(ignored, "--ignore")
    if features is None:
        others = {*files.columns.values(), *files.ignore}
        if files.baseline_as_feature:
            others.discard(files.columns["baseline"])
        chosen = [column for column in columns.values if column not in others]
        if not chosen and not files.cells.features:
            raise ValueError(f"{columns.name} has no column left that could be a feature.")
        X, learnt = new_features(columns, chosen, files.cells.categorical)
        files = replace(files, cells=replace(files.cells, learnt=records_of(learnt)))
        features = [feature for column in learnt for feature in column.features]
    else:
        X = known_features(columns, features, files.cells)
    known: dict[str, Any] = {
        column.item_field: column.values(columns, name)
        for role, column in COLUMNS.items()
        if (name := files.columns[role]) is not None
    }
    if (baseline := files.columns["baseline"]) is not None:
        for role in ("target", *OUTCOME):
            if baseline == files.columns[role]:
                raise Mistake(f"--baseline {baseline!r} is the {role}: name an existing ranking.")
        known["baseline_name"] = baseline
        if is_new:
            columns.without_missing(baseline)
    parts = [known.pop(role, None) for role in OUTCOME]
    if all(part is not None for part in parts):
        time, event = parts
        known["y"] = Censored(event, time)
    items = Items(X, features=list(features), source=columns.name, line_of=columns.line, **known)
    return items, files


def with_arrays(items: Items, files: DataOptions, trained: bool) -> tuple[Items, DataOptions]:
    """The items with the features of the arrays beside them, which a model must find again."""
    cells = files.cells
    if not cells.features and not cells.arrays:
        return items, files
    names, blocks, arrays = array_features(items, cells, trained)
    if not blocks:
        return items, files
    if sparse.issparse(items.X):
        X = sparse.hstack([items.X, *blocks], format="csr")
    else:
        X = stacked_columns([items.X, *blocks], len(items))
    joined = replace(items, X=X, features=items.features + names)
    return joined, replace(files, cells=replace(cells, arrays=arrays))


def require_target(files: DataOptions, table: str, columns: Iterable[str]) -> str:
    """The column of scores, or an error if there is none."""
    target = files.columns["target"] or files.columns.get("time")
    if target is None:
        raise ValueError(
            f"{table}: which column holds the scores to learn? Give --target, one of "
            f"{', '.join(map(repr, columns))}. For censored outcomes give --time and --event."
        )
    return target


def read_preferences(files: DataOptions, items: Items) -> Items:
    """The items with preferences instead of scores; the file names items, or rows from 0."""
    from rankwise.io import edge_lists
    from rankwise.io.vote_tables import VOTE_ROLES, read_vote_table

    path, columns = files.preferences, files.vote_columns
    assert path is not None
    names = items.names if items.named else None
    if {*VOTE_ROLES} & columns.keys():
        if absent := [role for role in VOTE_ROLES if role not in columns]:
            option = {"outcome": "winner"}.get(absent[0], absent[0])
            raise Mistake(f"votes need the columns --a, --b and --winner: --{option} is missing.")
        if names is None:
            raise Mistake(f"votes name items: which column of {items.source} has names? Give --id.")
        found = read_vote_table(path, columns, files.outcomes).preferences(names)
    else:
        if files.outcomes:
            raise Mistake("--outcomes is for votes: give --a, --b and --winner too.")
        judge = columns.get("judge")
        found = edge_lists.read_preferences(path, items=names, n_items=len(items), judge=judge)
    items.preferences, items.y = found, None
    items.source = f"{items.source} with {path}"
    return items


def read_ratings(path: str, objects: Items) -> Items:
    """Lines user, object, rating: each user is a query over the objects that the user rated."""
    from rankwise.io import edge_lists

    ratings = edge_lists.read_ratings(path)
    known = {str(name): row for row, name in enumerate(objects.names)}
    absent = [str(name) for name in ratings.item_names if str(name) not in known]
    if absent:
        raise ValueError(f"{path}: {absent[0]!r} is rated but not in {objects.source}.")
    row_of_item = np.array([known[str(name)] for name in ratings.item_names])
    items = objects.take(row_of_item[ratings.edges[:, 1]])
    items.y, items.qid, items.source = ratings.y, ratings.user_names[ratings.edges[:, 0]], path
    return items
