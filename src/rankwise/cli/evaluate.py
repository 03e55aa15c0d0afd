"""rankwise evaluate"""

from __future__ import annotations

import json

import click
import numpy as np

from rankwise.cli.console import stdout, table, working
from rankwise.cli.failures import Mistake
from rankwise.cli.models import load_model, scored_data, taken_files
from rankwise.cli.options import reading_options, relation_options, taken_reading
from rankwise.workflow.judging import NAMES, Judgement, judge


@click.command(short_help="Judge a model on DATA with known scores.")
@click.argument("model")
@click.argument("data")
@click.option("--per-query", is_flag=True, help="Also list every query, worst first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--relevant", type=float, help="MAP: items of this score and above are relevant.")
@reading_options
@relation_options
def evaluate(model, data, per_query, as_json, relevant, **options):
    """Judge MODEL on DATA: ranking error, NDCG@10, MAP and Kendall's tau_b, with 95% intervals.

    \b
    Examples:
      rankwise evaluate model.rw test.letor
      rankwise evaluate model.rw test.csv --per-query
      rankwise evaluate model.rw test.csv --relevant 3 --json

    Means over queries, intervals by bootstrap over them; without queries over items (DeLong,
    jackknife). DATA must not be what the model was trained on: that flatters.
    """
    reading, files = taken_reading(options), taken_files(options)
    with working("evaluating"):
        trained = load_model(model)
        items, scores = scored_data(trained, data, reading, files)
        if items.y is None:
            raise Mistake(f"{items.source} holds no scores to judge by: give --target.")
        if scores.ndim > 1:
            raise Mistake("this model has several outputs; evaluate judges one.")
        judgement = judge(items.y, scores, items.qid, relevant=relevant)
    if as_json:
        record = judgement.record()
        if per_query:
            record["per_query"] = judgement.query_records()
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
        return
    show(judgement, per_query)


def show(judgement: Judgement, per_query: bool) -> None:
    console = stdout()
    made = table("measure", "value", "95% interval", right=(1,))
    for measure in judgement.measures:
        value = "–" if measure.value is None else f"{measure.value:.4f}"
        interval = measure.reason
        if measure.low is not None:
            interval = f"{measure.low:.4f} to {measure.high:.4f}"
        made.add_row(measure.name, value, interval)
    console.print(made)
    if not per_query:
        return
    console.print()
    made = table("query", "items", *NAMES.values(), right=(1, 2, 3, 4, 5))
    order = judgement.worst_first()
    rest = np.setdiff1d(np.arange(len(judgement.queries)), order)
    for number in [*order, *rest]:
        values = [judgement.by_query[key][number] for key in NAMES]
        cells = ["–" if np.isnan(value) else f"{value:.4f}" for value in values]
        label, size = judgement.queries.labels[number], judgement.queries.sizes[number]
        made.add_row(str(label), str(size), *cells)
    console.print(made)
