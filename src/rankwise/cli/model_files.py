"""Model files: reading and writing them, and scoring the data of a command with a model."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from rankwise import load, save
from rankwise.cli.data_files import read_items, read_nodes, read_ratings, read_relation
from rankwise.cli.data_options import DataOptions
from rankwise.cli.failures import Mistake
from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.learners.rank_boost import RankBoost
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.trained_model import TrainedModel


def load_model(path: str) -> TrainedModel:
    """The model of a file; a learner that Python saved is wrapped, with its name as record."""
    model = load(path)
    if isinstance(model, TrainedModel):
        return model
    return TrainedModel(model, None, {"recipe": {"learner": type(model).__name__}})


def write_model(model: TrainedModel, path: str) -> None:
    """Write the model to a file, or to standard output for "-"."""
    if path != "-":
        save(model, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "model.rw"
        save(model, scratch)
        sys.stdout.buffer.write(scratch.read_bytes())
        sys.stdout.buffer.flush()


def is_relational(model: TrainedModel) -> bool:
    return isinstance(model.ranker, ConditionalRanker)


def scored_data(model: TrainedModel, path: str, files: DataOptions) -> tuple[Items, np.ndarray]:
    """The items of DATA and the model's scores; for a relation the items are its edges."""
    if not is_relational(model):
        items = items_for(model, path, files)
        return items, model.predict(items.X, items.qid)
    relation = relation_for(model, path, files)
    rows, columns = relation.domains
    scores = model.ranker.predict_edges(rows.X, columns.X, relation.edges)
    return relation.as_items(model.ranker.condition), scores


def items_for(model: TrainedModel, path: str, files: DataOptions) -> Items:
    """The items of DATA with the features of the model, read as in training."""
    features = model.training.get("features") or None
    if files.objects:
        return read_ratings(path, read_nodes(files.objects, features))
    items, _ = read_items(path, files.over(model.training.get("reading")), features)
    expected = getattr(model.ranker, "n_features_in_", items.X.shape[1])
    if items.X.shape[1] != expected:
        raise Mistake(
            f"{items.source} has {items.X.shape[1]} features, the model was trained on {expected}."
        )
    fills_missing = model.scaler is not None and model.scaler.missing == "median"
    if not fills_missing and not isinstance(model.ranker, RankBoost):
        items.refuse_missing("Train with --missing median, or --learner rank-boost.")
    return items


def relation_for(model: TrainedModel, path: str, files: DataOptions) -> Relation:
    """The edges of DATA between objects with the features of the model."""
    features = model.training.get("node_features")
    return read_relation(path, files, need_values=False, features=features)
