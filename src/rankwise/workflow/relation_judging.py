"""Judging a model of a relation: on which edges, what of them is new, and held out where needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankwise.evaluation import relational_score
from rankwise.exceptions import UndefinedMetric
from rankwise.workflow.judging import Judgement, judge
from rankwise.workflow.ranking_data import Items, Relation, counted, sides_of
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.relation_pairs import IN_WORDS, KINDS, SEEN, newness
from rankwise.workflow.relation_recipe import (
    built,
    relation_arguments,
    without_lone_objects,
)
from rankwise.workflow.relation_search import setting_of, unfitted_search
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.suited_measures import suited
from rankwise.workflow.trained_model import TrainedModel

FOLDS = 5


@dataclass
class JudgedEdges:
    """Edges as items with their scores, and what a reader must know about them.

    `on_training_data` says that the model has seen these edges, so that the scores flatter it;
    `held_out` says in words which folds the scores come from, if they come from models that were
    trained without the edges; `interval` is then that of the share of pairs, over nodes. `kinds`
    holds one of KINDS for each item, or is None.
    """

    items: Items
    scores: np.ndarray
    on_training_data: bool = False
    held_out: str = ""
    kinds: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    interval: Any = None

    def by_kind(self) -> list[tuple[str, int, float | None]]:
        """For each kind of edges their number, and the share of their pairs in the right order."""
        rows: list[tuple[str, int, float | None]] = []
        for kind in KINDS if self.kinds is not None else ():
            chosen = np.flatnonzero(self.kinds == kind)
            if len(chosen):
                part = self.items.take(chosen)
                try:
                    error = judge(part.y, self.scores[chosen], part.qid)["ranking_error"].value
                except UndefinedMetric:
                    error = None
                rows.append((kind, len(chosen), None if error is None else 1 - error))
        return rows


def judged_edges(model: TrainedModel, relation: Relation, new: str | None = None) -> JudgedEdges:
    """The edges of a relation with the scores of the model.

    With `new`, only edges of which just this is new to the model; if the edges are the training
    data, they are held out in folds of this setting, and each is scored by a model that was trained
    without its fold, with the same parameters. The price is that of FOLDS trainings.
    """
    if relation.y is None:
        raise ValueError(f"{relation.source} holds no values to judge by: give --value.")
    condition = model.ranker.condition
    kinds = newness(model.training, relation)
    trained_on = _was_trained_on(model, relation, kinds)
    if new is not None and trained_on:
        return _held_out(model, relation, new)
    scores = predicted(model, relation)
    items = relation.as_items(condition)
    if new is None:
        notes: tuple[str, ...] = ()
        seen = 0 if kinds is None else int(np.sum(kinds == SEEN))
        if seen and not trained_on:
            notes = (
                f"{counted(seen, 'edge')} of {len(relation):,} were in the training data: on them "
                "the model looks better than it is.",
            )
        return JudgedEdges(items, scores, trained_on, kinds=kinds, notes=notes)
    if kinds is None:
        raise ValueError("--new needs nodes with names, in training and here.")
    chosen = np.flatnonzero(kinds == new)
    if not len(chosen):
        counts = Counter(kinds.tolist())
        listed = ", ".join(f"{counts[kind]:,} {IN_WORDS[kind]}" for kind in KINDS if counts[kind])
        raise ValueError(f"{relation.source} has no edge with {IN_WORDS[new]}: it has {listed}.")
    part = items.take(chosen)
    part.description = f"{counted(len(chosen), 'edge')} with {IN_WORDS[new]}"
    return JudgedEdges(part, scores[chosen], kinds=kinds[chosen])


def predicted(model: TrainedModel, relation: Relation) -> np.ndarray:
    """The scores of the edges."""
    rows, columns = relation.domains
    return model.ranker.predict_edges(rows.X, columns.X, relation.edges)


def _was_trained_on(model: TrainedModel, relation: Relation, kinds: np.ndarray | None) -> bool:
    """Whether the model has seen all of the pairs, or these are the very data of its training."""
    if kinds is not None and model.training.get("pairs"):
        return bool(np.all(kinds == SEEN))
    used, _ = without_lone_objects(relation, (False, False))
    return model.was_trained_on(used.as_items("row"))


def unfitted_relation(model: TrainedModel, relation: Relation) -> Any:
    """The learner of the model with its chosen parameters, to be fitted to other edges."""
    record = model.training
    recipe = replace(Recipe.from_record(record["recipe"]), **record["found"])
    options, _ = relation_arguments(recipe, relation)
    path = SearchPath.from_record(record["path"])
    return built(recipe, recipe.value if path is None else path.chosen, options)


def _held_out(model: TrainedModel, relation: Relation, new: str) -> JudgedEdges:
    ranker = unfitted_relation(model, relation)
    recipe = Recipe.from_record(model.training["recipe"])
    found = relational_score(
        ranker,
        relation.nodes,
        relation.y,
        relation.edges,
        setting=new,
        cv=FOLDS,
        random_state=recipe.seed,
    )
    edges, y, s, fold = found.held_out
    condition = model.ranker.condition
    tested = replace(relation, edges=edges, y=y, line_of=None)
    items = tested.as_items(condition)
    items.qid = _within_folds(tested, condition, fold)
    held_out = f"{FOLDS} folds of {'rows and columns' if new == 'both' else new} held out"
    items.description = f"{counted(len(edges), 'edge')}, {held_out}"
    return JudgedEdges(items, s, held_out=held_out, interval=tuple(found.interval))


def nested_relation(recipe: Recipe, relation: Relation, folds: int) -> NestedScore:
    """The whole recipe in outer folds: alpha is chosen again without each of them."""
    options, _ = relation_arguments(recipe, relation)
    is_search = recipe.searches
    learner = (
        unfitted_search(recipe, options, relation)
        if is_search
        else built(recipe, recipe.value, options)
    )
    setting = setting_of(recipe)
    scoring = None
    if recipe.scoring is not None:
        scoring = suited(recipe.scoring, relation.y, recipe.relevant)
    found = relational_score(
        learner,
        relation.nodes,
        relation.y,
        relation.edges,
        setting=setting,
        cv=folds,
        scoring=scoring,
        random_state=recipe.seed,
    )
    edges, y, s, fold = found.held_out
    tested = replace(relation, edges=edges, y=y, line_of=None)
    judgement = judge(y, s, _within_folds(tested, recipe.condition, fold))
    return NestedScore(over_nodes(judgement, found.interval), found, s)


class NestedScore(NamedTuple):
    """A judgement on outer folds, the score behind it, and the scores of the test edges."""

    judgement: Judgement
    score: Any
    held_out: np.ndarray

    def chosen(self) -> list[str]:
        """What each outer fold chose, in words."""
        alphas = [one for one in self.score.chosen if one is not None]
        return [f"alpha {', '.join(f'{a:.5g}' for a in np.atleast_1d(one))}" for one in alphas]


def over_nodes(judgement: Judgement, interval: tuple[float, float] | None) -> Judgement:
    """The judgement with the interval over nodes for the share of pairs, and none for the others.

    Edges that share a node are not independent, so intervals over conditions and folds are too
    narrow.
    """
    if interval is None:
        return judgement
    low, high = interval
    measures = [
        replace(one, low=1 - high, high=1 - low, reason="over nodes")
        if one.key == "ranking_error"
        else replace(one, low=None, high=None)
        for one in judgement.measures
    ]
    return replace(judgement, measures=measures)


def _within_folds(relation: Relation, condition: str, fold: np.ndarray) -> np.ndarray:
    """The query of each edge: its condition, and its fold if a condition lies in several."""
    given = relation.edges[:, sides_of(condition)[0]]
    names = relation.domains[sides_of(condition)[0]].names
    several = len(np.unique(np.column_stack([given, fold]), axis=0)) > len(np.unique(given))
    labels = [
        f"{names[node]}, fold {part + 1}" if several else str(names[node])
        for node, part in zip(given, fold)
    ]
    return np.array(labels, dtype=object)
