"""What commands show about relations: measures by what is new, and the best objects of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from rankwise.cli.console import Mistake, say, say_json, stdout, table, working
from rankwise.workflow.recipe import SETTINGS

if TYPE_CHECKING:
    from rankwise.cli.model_files import ModelAndData
    from rankwise.cli.run_files import Wanted
    from rankwise.workflow.judging import Judgement
    from rankwise.workflow.relation_judging import JudgedEdges

JUDGE_NEW = click.option(
    "--new",
    type=click.Choice(SETTINGS),
    help="Relations: judge edges of which this is new; on training data by 5 folds.",
)


def edges_to_judge(task: ModelAndData, new: str | None) -> JudgedEdges:
    """The edges of DATA with their scores; what was held out or seen is said."""
    from rankwise.workflow.relation_judging import judged_edges
    from rankwise.workflow.training import interruptions_raised

    with interruptions_raised():
        found = judged_edges(task.model, task.relation, new)
    for note in found.notes:
        say(f"Note: {note}")
    return found


def flattery(task: ModelAndData) -> str:
    """What to say about figures on training data, with the cross-validated one beside them."""
    from rankwise.workflow.search_path import SearchPath

    path = SearchPath.from_record(task.model.training.get("path"))
    said = "these are figures ON TRAINING DATA, and there a model looks better than it is."
    if path is not None and not path.lower_is_better:
        said += f" Cross-validated ({path.by}), {path.judged}: {path.at_chosen[0]:.4f}."
    return f"{said} --new {{edges,rows,columns,both}} judges by cross-validation in that setting."


def evaluate_relation(task: ModelAndData, wanted: Wanted, new: str | None) -> None:
    """Print the measures of a relation, and how they differ by what is new."""
    from rankwise.workflow.judging import MEASURED, judge
    from rankwise.workflow.relation_judging import over_nodes

    with working("evaluating", wanted.as_json):
        found = edges_to_judge(task, new)
        names: tuple[str, ...] = MEASURED
        if wanted.scoring is not None:
            names = tuple(dict.fromkeys(wanted.scoring.split(",")))
        items = found.items
        judgement = judge(items.y, found.scores, items.qid, relevant=wanted.relevant, scoring=names)
        judgement = over_nodes(judgement, found.interval)
        kinds = found.by_kind()
    if found.on_training_data:
        say(f"Note: {flattery(task)}")
    if wanted.as_json:
        record: dict[str, Any] = {**judgement.record(), "on_training_data": found.on_training_data}
        record["held_out"] = found.held_out or None
        record["by_kind"] = {kind: {"edges": n, "concordance": share} for kind, n, share in kinds}
        if wanted.per_query:
            record["per_query"] = judgement.query_records()
        say_json(record)
        return
    _print(judgement, found, kinds, wanted.per_query)


def _print(
    judgement: Judgement,
    found: JudgedEdges,
    kinds: list[tuple[str, int, float | None]],
    per_query: bool,
) -> None:
    from rankwise.cli.evaluate import print_queries
    from rankwise.workflow.relation_pairs import IN_WORDS

    console = stdout()
    on = " on training data" if found.on_training_data else ""
    if found.held_out:
        console.print(f"Cross-validated: {found.held_out}.")
    shown = table("measure", f"value{on}", "95% interval", right=(1,))
    for measure in judgement.measures:
        shown.add_row(measure.name, *measure.cells())
    console.print(shown)
    if len(kinds) > 1 or (kinds and not found.on_training_data):
        console.print()
        shown = table("new to the model", "edges", "pairs in the right order", right=(1, 2))
        for kind, n, share in kinds:
            shown.add_row(IN_WORDS[kind], f"{n:,}", "–" if share is None else f"{share:.4f}")
        console.print(shown)
    if per_query:
        print_queries(judgement)


class BestPairs(NamedTuple):
    """The columns of a table of predictions for pairs of nodes."""

    row: np.ndarray
    column: np.ndarray
    score: np.ndarray
    rank: np.ndarray

    def columns(self) -> dict[str, Any]:
        return self._asdict()


def best_pairs(task: ModelAndData, top: int | None) -> BestPairs:
    """Every pair of the given nodes, or for each condition its `top` best objects, best first."""
    from rankwise.cli.relation_files import read_sides
    from rankwise.numerics.progress import track
    from rankwise.workflow.ranking_data import sides_of

    rows, columns = read_sides(task.files, task.remembered)
    domains = (rows, rows if columns is None else columns)
    ranker = task.model.ranker
    given, ranked = sides_of(ranker.condition)
    conditions, objects = domains[given], domains[ranked]
    k = len(objects) if top is None else min(top, len(objects))
    index = np.empty((len(conditions), k), dtype=np.int64)
    scores = np.empty((len(conditions), k))
    for number in track(range(len(conditions)), len(conditions), f"{ranker.condition}s"):
        best, values = ranker.rank(conditions.X[number : number + 1], objects.X, k=k)
        if np.ndim(values) > 1:
            raise Mistake("the model has several outputs, but a ranking has one.")
        index[number], scores[number] = best, values
    sides: list[Any] = [None, None]
    sides[given] = np.repeat(conditions.names, k)
    sides[ranked] = objects.names[index.ravel()]
    rank = np.tile(np.arange(1, k + 1), len(conditions))
    return BestPairs(sides[0], sides[1], scores.ravel(), rank)
