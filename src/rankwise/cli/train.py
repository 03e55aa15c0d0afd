"""rankwise train"""

from __future__ import annotations

import sys

import click
import numpy as np

from rankwise.cli.cluster import train_on_cluster
from rankwise.cli.console import check_writable, say, working
from rankwise.cli.failures import Mistake
from rankwise.cli.inputs import read_items, read_nodes, read_preferences, read_ratings
from rankwise.cli.models import read_relation_files, taken_files
from rankwise.cli.options import (
    given_options,
    learners_help,
    reading_options,
    recipe_options,
    relation_options,
    taken_reading,
    taken_recipe,
)
from rankwise.learners.item_scaler import _mean_and_deviation
from rankwise.workflow.items import Items
from rankwise.workflow.recipe import LEARNERS, Recipe
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import path_of
from rankwise.workflow.training import train as train_model

UNEVEN = 1000.0
"""Features whose deviations differ by more than this get a hint at --scale."""


@click.command(
    epilog=learners_help(),
    short_help="Learn a model from DATA, alpha by exact cross-validation.",
)
@click.argument("data")
@click.option("-o", "--output", required=True, metavar="MODEL", help="Model file to write.")
@click.option(
    "--learner",
    type=click.Choice(list(LEARNERS)),
    default="rank-rls",
    show_default=True,
    help="What learns (see below).",
)
@recipe_options
@reading_options
@relation_options
@click.option(
    "--relation",
    type=click.Choice(["general", "symmetric", "reciprocal"]),
    default="general",
    help="conditional: what is known of the relation.",
)
@click.option(
    "--condition",
    type=click.Choice(["row", "column"]),
    default="row",
    help="conditional: rank columns for each row, or the reverse.",
)
@click.option(
    "--new",
    type=click.Choice(["edges", "rows", "columns", "both"]),
    help="conditional: what will be new when predicting; the default is new conditions.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Train on this Dask cluster (docs/dask.md).")
@click.option(
    "--workers", type=click.IntRange(1), help="Train on so many Dask workers of this machine."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.pass_context
def train(ctx, data, output, learner, quiet, scheduler, workers, **options):
    """Learn to rank the items of DATA and write the model to MODEL.

    \b
    Examples:
      rankwise train train.letor -o model.rw
      rankwise train patients.csv --target risk --kernel rbf --scale standard -o model.rw
      rankwise train clicks.csv --query session --learner rank-svm --scale query -o model.rw
      rankwise train items.csv --id name --preferences wins.csv -o model.rw
      rankwise train ratings.csv --items films.csv -o model.rw
      rankwise train edges.csv --learner conditional --nodes proteins.csv -o model.rw
      rankwise train parts/ --scheduler tcp://127.0.0.1:8786 -o model.rw

    DATA is LETOR/SVMlight, CSV, TSV or Parquet, compressed or not, or "-". In tables the score
    column is --target (or called score, label, target, ...), queries are --query (or qid, query).
    The old MODEL stays as it is until the new one is complete.
    """
    given = given_options(ctx)
    reading, files = taken_reading(options), taken_files(options)
    recipe = taken_recipe(options, learner, given)
    check_writable(output)
    if output == "-" and sys.stdout.isatty():
        raise Mistake("a model is not for a terminal: give -o a file, or pipe it on.")
    if scheduler is not None or workers is not None:
        if scheduler is not None and workers is not None:
            raise Mistake("--scheduler names a cluster, --workers makes one: give one of them.")
        if any(files.values()):
            raise Mistake("a cluster learns from DATA with scores: leave the other files out.")
        model, reading = train_on_cluster(data, recipe, reading, scheduler, workers, quiet)
        return finish(model, reading, output, quiet)
    with working("reading"):
        told, reading = training_data(data, recipe, reading, files)
    if not quiet:
        say(f"{told.source}: {told.describe()}.")
        hint_at_scaling(told, recipe)
    with working(f"training {learner}"):
        model = train_model(recipe, told)
    if recipe.learner == "conditional":
        sides = (told.rows, told.column_items)
        model.record["node_features"] = [list(side.features) for side in sides]
        model.record["node_names"] = [[str(name) for name in side.names] for side in sides]
    return finish(model, reading, output, quiet)


def finish(model: TrainedModel, reading, output: str, quiet: bool) -> None:
    """Complete the record, write the model, say how it fared."""
    model.record["reading"] = None if reading is None else reading.record()
    model.record["command"] = ["rankwise", *_arguments()]
    write_model(model, output)
    if not quiet:
        say(summary(model))
        say(f"Wrote {output}." if output != "-" else "Wrote the model to standard output.")


def training_data(path: str, recipe: Recipe, reading, files: dict):
    """Items or a relation, from whichever files were named; and the columns that were found."""
    if recipe.learner == "conditional":
        return read_relation_files(path, files, need_values=True), None
    if any(files[name] for name in ("nodes", "row_nodes", "column_nodes")):
        raise Mistake("nodes are for --learner conditional; for ratings give --items.")
    if files["objects"]:
        return read_ratings(path, read_nodes(files["objects"])), None
    if files["preferences"]:
        if "preferences" not in recipe.table.options:
            raise Mistake(f"{recipe.learner} learns from scores: rank-rls takes preferences.")
        items, reading = read_items(path, reading, scores=False)
        return read_preferences(files["preferences"], items), reading
    items, reading = read_items(path, reading)
    if items.y is None:
        raise Mistake(f"{items.source} holds no scores to learn from: give --target.")
    return items, reading


def hint_at_scaling(told, recipe: Recipe) -> None:
    uses_size = recipe.learner not in ("rank-boost", "conditional") and recipe.scale == "none"
    if not uses_size or not isinstance(told, Items):
        return
    _, deviation = _mean_and_deviation(told.X)
    positive = deviation[(deviation > 0) & np.isfinite(deviation)]
    if len(positive) > 1 and positive.max() > UNEVEN * positive.min():
        widest = told.features[int(np.argmax(np.where(np.isfinite(deviation), deviation, 0)))]
        say(
            f"Hint: features differ in scale by {positive.max() / positive.min():.1g} "
            f"({widest!r} is the widest); --scale standard puts them on one footing."
        )


def write_model(model: TrainedModel, output: str) -> None:
    from rankwise import save

    if output != "-":
        save(model, output)
        return
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "model.rw"
        save(model, scratch)
        sys.stdout.buffer.write(scratch.read_bytes())
        sys.stdout.buffer.flush()


def summary(model: TrainedModel) -> str:
    """What was chosen and how it fared, in one or two lines."""
    record, path = model.record, path_of(model)
    found = "".join(f", {name} {value:.4g}" for name, value in record["found"].items())
    seconds = f"{record['seconds']:.1f} s"
    if path is None:
        return f"{record['recipe']['learner']}{found}: trained in {seconds}."
    score, error = path.at_chosen
    spread = "" if error is None or not np.isfinite(error) else f" ± {error:.4f}"
    lines = [
        f"{record['recipe']['learner']}{found}: {path.parameter} {path.chosen:.6g} of "
        f"{len(path.value)} candidates by {path.by} in {seconds}.",
        f"{path.judged[0].upper() + path.judged[1:]}: {score:.4f}{spread}.",
    ]
    if path.at_edge and path.parameter == "alpha":
        lines.append(
            "Hint: the outermost candidate won; --alpha takes a list of others, as in "
            "--alpha 1e-3,1,1e3."
        )
    return "\n".join(lines)


def _arguments() -> list[str]:
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name)
        source = context.get_parameter_source(parameter.name)
        if source != click.core.ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Argument):
            words.insert(0, str(value))
        elif isinstance(value, bool):
            words.append(parameter.opts[-1])
        else:
            many: list = list(value or ()) if parameter.multiple else [value]
            for one in many:
                text = ",".join(f"{v:g}" for v in one) if isinstance(one, tuple) else str(one)
                words += [parameter.opts[-1], text]
    return [str(context.info_name), *words]
