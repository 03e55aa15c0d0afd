"""rankwise report"""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.console import Mistake, check_writable, say, working, write_text
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.cli.recipe_options import words_of_the_command
from rankwise.cli.relation_results import JUDGE_NEW, edges_to_judge


@click.command()
@click.option("-o", "--output", default="report.html", show_default=True, help="File to write.")
@click.option("--title", help="Heading of the page.")
@click.option("--learning-curve", is_flag=True, help="Train on growing parts of DATA (slower).")
@click.option("--relevant", type=float, help="MAP: items of this score and above are relevant.")
@JUDGE_NEW
@applies_model(judges=True)
@click.pass_context
def report(
    ctx: click.Context,
    task: ModelAndData,
    output: str,
    title: str | None,
    learning_curve: bool,
    relevant: float | None,
    new: str | None,
) -> None:
    """Judge MODEL on DATA and write one HTML page that needs no network.

    \b
    Examples:
      rankwise report model.rw test.letor -o report.html
      rankwise report model.rw test.csv --learning-curve --title "Spring catalogue"
      rankwise report model.rw test.csv --baseline bm25
      rankwise report model.rw patients.csv --time days --event died
      rankwise report model.rw edges.csv --nodes proteins.csv --new both

    The page opens with one sentence: is the model better than chance, or, with --baseline, than an
    existing ranking. It shows how the model was trained, the cross-validation path with intervals,
    score distributions or the ROC curve, the error of each query and the worst queries, the most
    important features or items, scores to check, and the commands that reproduce it. For censored
    outcomes it shows survival curves by predicted tercile with the log-rank test, and the items at
    risk. It follows the reader's choice of a light or dark display, and can be printed.
    """
    from rankwise.report import build_report

    check_writable(output)
    with working("writing the report"):
        told: dict[str, Any] = {}
        if task.is_relational:
            found = edges_to_judge(task, new)
            items = found.items
            told = {"scores": found.scores, "on_training_data": found.on_training_data}
            told["interval"] = found.interval
        elif new is not None:
            raise Mistake("--new is for models of relations.")
        else:
            items, _ = task.scored()
        past = task.model.training.get("command")
        this = words_of_the_command(ctx)
        page = build_report(
            task.model,
            items,
            title=title,
            relevant=relevant,
            with_learning_curve=learning_curve,
            commands=[past, this] if past else [this],
            **told,
        )
    write_text(output, page)
    if output != "-":
        say(f"Wrote {output}.")
