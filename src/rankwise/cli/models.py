"""Model files, and the data that go with them."""

from __future__ import annotations

import numpy as np

from rankwise.cli.failures import Mistake
from rankwise.cli.inputs import Reading, read_items, read_nodes, read_ratings, read_relation
from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.learners.rank_boost import RankBoost
from rankwise.workflow.items import Items
from rankwise.workflow.relation import Relation
from rankwise.workflow.trained_model import TrainedModel


def load_model(path: str) -> TrainedModel:
    """A model file; a learner saved from Python is wrapped, without a record."""
    from rankwise import load

    model = load(path)
    if isinstance(model, TrainedModel):
        return model
    return TrainedModel(model, None, {"recipe": {"learner": type(model).__name__}})


def is_relational(model: TrainedModel) -> bool:
    return isinstance(model.ranker, ConditionalRanker)


def data_of(model: TrainedModel, path: str, reading: Reading, files: dict) -> Items:
    """Items (of a relation: its edges) that the model can score, with what is known of them."""
    record = model.record or {}
    features = record.get("features") or None
    if files.get("objects"):
        return read_ratings(path, read_nodes(files["objects"], features))
    items, _ = read_items(path, reading.over(record.get("reading")), features)
    expected = getattr(model.ranker, "n_features_in_", items.X.shape[1])
    if items.X.shape[1] != expected:
        raise Mistake(
            f"{items.source} has {items.X.shape[1]} features, the model was trained on {expected}."
        )
    takes_missing = isinstance(model.ranker, RankBoost) or (
        model.scaler is not None and model.scaler.missing == "median"
    )
    if not takes_missing:
        items.refuse_missing("Train with --missing median, or --learner rank-boost.")
    return items


def relation_of(model: TrainedModel, path: str, files: dict, need_values: bool) -> Relation:
    record = model.record or {}
    return read_relation_files(path, files, need_values, record.get("node_features"))


def scored_data(
    model: TrainedModel, path: str, reading: Reading, files: dict
) -> tuple[Items, np.ndarray]:
    """Items and the model's scores; of a relation its edges, condition by condition."""
    if not is_relational(model):
        items = data_of(model, path, reading, files)
        return items, model.predict(items.X, items.qid)
    relation = relation_of(model, path, files, need_values=False)
    nodes = (relation.rows.X, relation.column_items.X)
    scores = model.ranker.predict_edges(*nodes, relation.edges)
    return relation.as_items(model.ranker.condition), scores


def read_relation_files(path, files: dict, need_values: bool, features=None) -> Relation:
    """The edges of DATA between the nodes of --nodes, or of --row-nodes and --column-nodes."""
    rows, columns = features or (None, None)
    if files.get("nodes"):
        return read_relation(path, read_nodes(files["nodes"], rows), None, need_values)
    if not (files.get("row_nodes") and files.get("column_nodes")):
        raise Mistake(
            "conditional ranking needs features of the objects: --nodes FILE, or --row-nodes "
            "and --column-nodes."
        )
    return read_relation(
        path,
        read_nodes(files["row_nodes"], rows),
        read_nodes(files["column_nodes"], columns),
        need_values,
    )


def taken_files(options: dict) -> dict:
    names = ("preferences", "objects", "nodes", "row_nodes", "column_nodes")
    return {name: options.pop(name, None) for name in names}
