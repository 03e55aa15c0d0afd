"""rankwise evaluate"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import Mistake, cells, say, say_json, stdout, table, working
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.cli.relation_results import JUDGE_NEW, evaluate_relation
from rankwise.cli.run_files import RunOptions, Wanted, evaluate_runs, run_options
from rankwise.cli.verdicts import verdict_lines
from rankwise.io.plain_text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from rankwise.evaluation.baseline_verdict import BaselineVerdict
    from rankwise.workflow.judging import Judgement, Measure
    from rankwise.workflow.ranking_data import Items

FLATTERED = (
    "DATA are what the model was trained on, and on them it looks better than it is. Judge it on "
    "other data, or use rankwise crossval."
)


@click.command()
@click.option("--per-query", is_flag=True, help="Also list every query, worst first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--relevant", type=float, help="MAP: items of this score and above are relevant.")
@click.option(
    "--scoring",
    metavar="NAMES",
    help="Measures with commas: concordance, ndcg@K, map, tau, auc, err@K, ranking_error, ...",
)
@JUDGE_NEW
@run_options
@applies_model(required=False, judges=True)
def evaluate(
    task: ModelAndData | None,
    runs: RunOptions,
    new: str | None,
    per_query: bool,
    as_json: bool,
    relevant: float | None,
    scoring: str | None,
) -> None:
    """Judge MODEL on DATA: ranking error, NDCG@10, MAP and Kendall's tau_b, with 95% intervals.

    With --run and --qrels in place of MODEL and DATA, judge run files as trec_eval does.

    \b
    Examples:
      rankwise evaluate model.rw test.letor
      rankwise evaluate model.rw test.csv --per-query
      rankwise evaluate model.rw test.csv --relevant 3 --json
      rankwise evaluate model.rw test.csv --scoring ndcg@5,ndcg@20,err@5
      rankwise evaluate model.rw test.csv --baseline bm25
      rankwise evaluate model.rw items.csv --preferences votes.csv --a left --b right --winner won
      rankwise evaluate model.rw patients.csv --time days --event died
      rankwise evaluate model.rw edges.csv --nodes proteins.csv --new both
      rankwise evaluate --run bm25.run --run new.run --qrels qrels.txt --scoring map,P_5

    With queries the values are means over queries and the intervals come from a bootstrap over
    queries (for few queries they are Student's); without queries the intervals are over items
    (DeLong, jackknife). With --preferences the share of statements in the right order is judged,
    with intervals over pairs of items, or over judges (--judge). Censored outcomes (--time and
    --event) are judged by Harrell's and Uno's concordance; higher scores mean longer survival. Do
    not use the training data as DATA: on them the model looks better than it is. --baseline says
    whether the model is better than an existing ranking, how sure that is, and on which queries it
    is worse. Edges of a relation are judged apart by what of them is new to the model; --new
    chooses one kind, and on the training data holds it out in 5 folds.
    """
    wanted = Wanted(scoring, relevant, per_query, as_json)
    if runs.paths or runs.qrels:
        if task is not None:
            raise Mistake("--run and --qrels take the place of MODEL and DATA: leave these out.")
        evaluate_runs(runs, wanted)
        return
    if task is None:
        raise click.UsageError("Missing argument 'MODEL' (or --run and --qrels).")
    if task.is_relational:
        evaluate_relation(task, wanted, new)
        return
    if new is not None:
        raise Mistake("--new is for models of relations.")
    if task.files.preferences:
        _judge_by_statements(task, as_json, {"--per-query": per_query, "--scoring": scoring})
        return
    _judge_by_scores(task, wanted)


def _judge_by_scores(task: ModelAndData, wanted: Wanted) -> None:
    from rankwise.supervision.censored import Censored
    from rankwise.workflow.judging import MEASURED, judge

    scoring, relevant, per_query, as_json = wanted
    with working("evaluating"):
        items, scores = task.scored()
    if isinstance(items.y, Censored):
        _judge_by_outcomes(task, items, scores, wanted)
        return
    with working("evaluating"):
        if items.y is None:
            raise Mistake(f"{items.source} holds no scores to judge by: give --target.")
        if scores.ndim > 1:
            raise Mistake("the model has several outputs, but evaluate judges only one.")
        names = MEASURED if scoring is None else tuple(dict.fromkeys(scoring.split(",")))
        judgement = judge(items.y, scores, items.qid, relevant=relevant, scoring=names)
        asked = None if scoring is None else names[0]
        flattered, found = _beside_baseline(task, items, scores, asked, relevant)
    if flattered:
        say(f"Note: {FLATTERED}")
    if as_json:
        record = {**judgement.record(), "on_training_data": flattered}
        say_json(record | _further(judgement, found, per_query))
        return
    _print_further(_print_measures(judgement.measures), judgement, found, per_query)


def _print_measures(measures: Iterable[Measure]) -> Console:
    """A table of what was measured; returns the console, for what follows the table."""
    console = stdout()
    shown = table("measure", "value", "95% interval", right=(1,))
    for measure in measures:
        shown.add_row(measure.name, *measure.cells())
    console.print(shown)
    return console


def print_queries(judgement: Judgement) -> None:
    """Every query with its measures, worst first."""
    console = stdout()
    console.print()
    titles = [measure.name for measure in judgement.measures]
    shown = table("query", "items", *titles, right=tuple(range(1, 2 + len(titles))))
    order = judgement.worst_first()
    rest = np.setdiff1d(np.arange(len(judgement.queries)), order)
    for number in [*order, *rest]:
        values = [judgement.by_query[key][number] for key in judgement.keys]
        figures = ["–" if np.isnan(value) else f"{value:.4f}" for value in values]
        label, size = judgement.queries.labels[number], judgement.queries.sizes[number]
        shown.add_row(*cells(str(label)), str(size), *figures)
    console.print(shown)


def _judge_by_outcomes(
    task: ModelAndData, items: Items, scores: np.ndarray, wanted: Wanted
) -> None:
    from rankwise.workflow.judged_outcomes import judge_outcomes, terciles

    scoring, relevant, per_query, as_json = wanted
    for option, value in {"--scoring": scoring, "--relevant": relevant}.items():
        if value is not None:
            raise Mistake(f"{option} is for scores: censored outcomes are judged by concordance.")
    with working("evaluating"):
        judgement = judge_outcomes(items.y, scores, items.qid)
        p_value = terciles(items.y, scores).p_value
        flattered, found = _beside_baseline(task, items, scores)
    if flattered:
        say(f"Note: {FLATTERED}")
    if as_json:
        record = {**judgement.record(), "log_rank_p": p_value, "on_training_data": flattered}
        say_json(record | _further(judgement, found, per_query))
        return
    console = _print_measures(judgement.measures)
    if p_value is not None:
        console.print(f"Log-rank test between thirds of the predicted scores: p = {p_value:.3g}.")
    _print_further(console, judgement, found, per_query)


def _beside_baseline(
    task: ModelAndData,
    items: Items,
    scores: np.ndarray,
    scoring: str | None = None,
    relevant: float | None = None,
) -> tuple[bool, BaselineVerdict | None]:
    """Whether the model was trained on the items, and the verdict about a baseline: on training
    data that of the outer folds."""
    from rankwise.evaluation import BaselineVerdict
    from rankwise.workflow.verdict import against_baseline

    training = task.model.training
    if task.model.was_trained_on(items):
        return True, BaselineVerdict.from_record(training.get("baseline"))
    learner = training["recipe"]["learner"]
    return False, against_baseline(learner, scores, items, scoring, relevant)


def _further(
    judgement: Judgement, found: BaselineVerdict | None, per_query: bool
) -> dict[str, Any]:
    """What JSON says about the baseline and about each query."""
    record: dict[str, Any] = {} if found is None else {"baseline": found.record()}
    return record | ({"per_query": judgement.query_records()} if per_query else {})


def _print_further(
    console: Console, judgement: Judgement, found: BaselineVerdict | None, per_query: bool
) -> None:
    for line in verdict_lines(found):
        console.print(plain(line), soft_wrap=True)
    if per_query:
        print_queries(judgement)


def _judge_by_statements(task: ModelAndData, as_json: bool, unused: dict[str, Any]) -> None:
    from rankwise.workflow.judged_statements import judge_statements, probabilities

    for option, value in unused.items():
        if value:
            raise Mistake(f"{option} is for scores: preferences are judged one by one.")
    with working("evaluating"):
        items, scores = task.scored()
        assert items.preferences is not None
        said = probabilities(task.model, items)
        judgement = judge_statements(items.preferences, scores, said)
        flattered = task.model.was_trained_on(items)
    if flattered:
        say(f"Note: {FLATTERED}")
    if as_json:
        say_json({**judgement.record(), "on_training_data": flattered})
        return
    console = _print_measures(judgement.measures)
    what = "judges" if judgement.resampled == "groups" else judgement.resampled
    console.print(f"Intervals are over {judgement.units:,} {what}.")
