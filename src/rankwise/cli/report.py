"""rankwise report"""

from __future__ import annotations

import click

from rankwise.cli.console import check_writable, say, working, write_text
from rankwise.cli.models import is_relational, load_model, scored_data, taken_files
from rankwise.cli.options import reading_options, relation_options, taken_reading
from rankwise.report import build_report


@click.command(short_help="Write a report as one HTML file.")
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", default="report.html", show_default=True, help="File to write.")
@click.option("--title", help="Heading of the page.")
@click.option("--learning-curve", is_flag=True, help="Train on growing parts of DATA (slower).")
@click.option("--relevant", type=float, help="MAP: items of this score and above are relevant.")
@reading_options
@relation_options
def report(model, data, output, title, learning_curve, relevant, **options):
    """Judge MODEL on DATA and write one HTML page that needs no network.

    \b
    Examples:
      rankwise report model.rw test.letor -o report.html
      rankwise report model.rw test.csv --learning-curve --title "Spring catalogue"

    It shows what was trained on what, the cross-validation path with intervals, score
    distributions or ROC, errors by query with the worst listed, what counts most, and the commands
    to make it again. Light or dark as the reader prefers; prints well.
    """
    check_writable(output)
    reading, files = taken_reading(options), taken_files(options)
    with working("writing the report"):
        trained = load_model(model)
        items, scores = scored_data(trained, data, reading, files)
        past = (trained.record or {}).get("command")
        mine = ["rankwise", "report", model, data, "-o", output]
        mine += ["--learning-curve"] if learning_curve else []
        page = build_report(
            trained,
            items,
            title=title,
            relevant=relevant,
            with_learning_curve=learning_curve,
            scores=scores if is_relational(trained) else None,
            commands=([past] if past else []) + [mine],
        )
    write_text(output, page)
    if output != "-":
        say(f"Wrote {output}.")
