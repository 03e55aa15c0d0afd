"""Model files: writing them, and applying them to the data of a command."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import Mistake
from rankwise.cli.data_options import COLUMNS, DataOptions, data_options

if TYPE_CHECKING:
    from rankwise.cli.relation_files import Remembered
    from rankwise.workflow.ranking_data import Items, Relation
    from rankwise.workflow.trained_model import TrainedModel


def write_model(model: TrainedModel, path: str) -> None:
    """Write the model to a file, or to standard output for "-"."""
    from rankwise import save

    if path != "-":
        save(model, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "model.rw"
        save(model, scratch)
        sys.stdout.buffer.write(scratch.read_bytes())
        sys.stdout.buffer.flush()


def applies_model(
    query: str = COLUMNS["query"].option,
    *,
    required: bool = True,
    judges: bool = False,
    without_data: bool = False,
) -> Callable:
    """The arguments MODEL and DATA with the options of DATA, for a command that scores items.

    The command receives them as its first argument, a ModelAndData, or None if they are not
    required and neither is given. A command that `judges` the model also compares it with an
    existing ranking, --baseline. With `without_data` the command may do without DATA.
    """

    def decorate(command: Callable) -> Callable:
        @click.argument("model", required=required)
        @click.argument("data", required=required and not without_data)
        @data_options(query, baseline=judges, trains=False)
        @wraps(command)
        def bundled(model: str | None, data: str | None, files: DataOptions, **options: Any) -> Any:
            if model is None:
                return command(None, **options)
            if data is None and not without_data:
                raise click.UsageError("Missing argument 'DATA'.")
            return command(ModelAndData(model, data, files), **options)

        return bundled

    return decorate


@dataclass
class ModelAndData:
    """A model file and the data that it is applied to; both are read when they are needed."""

    model_path: str
    data_path: str | None
    files: DataOptions

    @cached_property
    def model(self) -> TrainedModel:
        """A learner that Python saved is wrapped, and its name becomes its record."""
        from rankwise import load
        from rankwise.workflow.trained_model import TrainedModel

        model = load(self.model_path)
        if isinstance(model, TrainedModel):
            return model
        return TrainedModel(model, None, {"recipe": {"learner": type(model).__name__}})

    @property
    def is_relational(self) -> bool:
        return hasattr(self.model.ranker, "predict_edges")

    def scored(self) -> tuple[Items, np.ndarray]:
        """The items of DATA and their scores; for a relation the items are its edges."""
        ranker = self.model.ranker
        if not self.is_relational:
            items = self._items()
            return items, self.model.predict(items.X, items.qid)
        rows, columns = self.relation.domains
        scores = ranker.predict_edges(rows.X, columns.X, self.relation.edges)
        return self.relation.as_items(ranker.condition), scores

    @cached_property
    def relation(self) -> Relation:
        """The edges of DATA between objects with the features of the model."""
        from rankwise.cli.relation_files import read_relation

        if self.data_path is None:
            raise Mistake("which edges? Give DATA, a file of edges.")
        return read_relation(self.data_path, self.files, self.remembered)[0]

    @property
    def remembered(self) -> Remembered:
        """What the model knows about nodes and edges."""
        from rankwise.cli.relation_files import Remembered
        from rankwise.workflow.recipe import Recipe
        from rankwise.workflow.relation_recipe import is_precomputed

        record = self.model.training
        recipe = record.get("recipe") or {}
        precomputed = (False, False)
        if "kernel" in recipe:
            precomputed = is_precomputed(Recipe.from_record(recipe))
        features = record.get("node_features", (None, None))
        return Remembered(precomputed, features, (record.get("reading") or {}).get("edges", {}))

    def _items(self) -> Items:
        """The items of DATA with the features of the model, read as in training."""
        from rankwise.cli.data_files import (
            read_items,
            read_preferences,
            read_ratings,
            refuse_vote_columns,
        )
        from rankwise.cli.relation_files import read_nodes
        from rankwise.learners.item_scaler import FILLED

        model, record = self.model, self.model.training
        if self.data_path is None:
            raise click.UsageError("Missing argument 'DATA'.")
        features = record.get("features") or None
        if self.files.items:
            return read_ratings(self.data_path, read_nodes(self.files.items, features))
        if not self.files.preferences:
            refuse_vote_columns(self.files)
        files = self.files.of_items if self.files.preferences else self.files
        items, _ = read_items(self.data_path, files.over(record.get("reading")), features)
        n, expected = items.X.shape[1], getattr(model.ranker, "n_features_in_", items.X.shape[1])
        if n != expected:
            raise Mistake(f"{items.source} has {n} features, the model was trained on {expected}.")
        if model.needs_queries and items.qid is None:
            raise Mistake(
                f"{items.source} has no column of queries, but the model scales features within "
                "each query: give --query COLUMN."
            )
        fills_missing = model.scaler is not None and model.scaler.missing in FILLED
        if not fills_missing and type(model.ranker).__name__ != "RankBoost":
            items.refuse_missing("Train with --missing mean, or --learner rank-boost.")
        return read_preferences(self.files, items) if self.files.preferences else items
