"""rankwise train"""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np

from rankwise.cli.cluster_training import train_on_cluster
from rankwise.cli.console import check_writable, say, working
from rankwise.cli.data_files import training_data
from rankwise.cli.data_options import DataOptions, data_options
from rankwise.cli.failures import Mistake
from rankwise.cli.model_files import write_model
from rankwise.cli.recipe_options import (
    given_options,
    learners_help,
    recipe_option,
    recipe_options,
    taken_recipe,
)
from rankwise.learners.item_scaler import _mean_and_deviation
from rankwise.workflow.learning_methods import LEARNERS
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.search import SearchPath
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import train as train_model

UNEVEN = 1000.0
"""If the deviations of two features differ by more than this factor, --scale is suggested."""


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
    help="The learner (see below).",
)
@recipe_options
@data_options()
@recipe_option(
    "--relation",
    "conditional: the property that the relation is known to have.",
    click.Choice(["general", "symmetric", "reciprocal"]),
)
@recipe_option(
    "--condition",
    "conditional: rank columns for each row, or rows for each column.",
    click.Choice(["row", "column"]),
)
@recipe_option(
    "--new",
    "conditional: what will be new when predicting; the default is new conditions.",
    click.Choice(["edges", "rows", "columns", "both"]),
)
@click.option("--scheduler", metavar="ADDRESS", help="Train on this Dask cluster (docs/dask.md).")
@click.option(
    "--workers", type=click.IntRange(1), help="Train on this many Dask workers on this machine."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def train(
    ctx: click.Context,
    data: str,
    output: str,
    learner: str,
    files: DataOptions,
    quiet: bool,
    scheduler: str | None,
    workers: int | None,
    **options: Any,
) -> None:
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
    An existing MODEL is replaced only when the new one is complete.
    """
    recipe = taken_recipe(options, learner, given_options(ctx))
    check_writable(output)
    if output == "-" and sys.stdout.isatty():
        raise Mistake("a model cannot be shown on a terminal: give -o a file, or use a pipe.")
    found: DataOptions | None
    if scheduler is not None or workers is not None:
        if scheduler is not None and workers is not None:
            raise Mistake("--scheduler names a cluster, --workers starts one: give one of them.")
        if files.names_files:
            raise Mistake("a cluster learns from DATA with scores: leave the other files out.")
        model, found = train_on_cluster(data, recipe, files, scheduler, workers, quiet)
    else:
        with working("reading"):
            told, found = training_data(data, recipe, files)
        if not quiet:
            say(f"{told.source}: {told.describe()}.")
            hint_at_scaling(told, recipe)
        with working(f"training {learner}"):
            model = train_model(recipe, told)
    model.record["reading"] = None if found is None else found.record()
    model.record["command"] = ["rankwise", *_words_of_the_command(ctx)]
    write_model(model, output)
    if not quiet:
        say(summary(model))
        say(f"Wrote {output}." if output != "-" else "Wrote the model to standard output.")


def hint_at_scaling(data: Any, recipe: Recipe) -> None:
    """Suggest --scale if features of very different scale are used as they are."""
    if not recipe.method.depends_on_scale or recipe.scale != "none" or not isinstance(data, Items):
        return
    _, deviation = _mean_and_deviation(data.X)
    positive = deviation[(deviation > 0) & np.isfinite(deviation)]
    if len(positive) > 1 and positive.max() > UNEVEN * positive.min():
        widest = data.features[int(np.argmax(np.where(np.isfinite(deviation), deviation, 0)))]
        say(
            f"Hint: features differ in scale by {positive.max() / positive.min():.1g} "
            f"({widest!r} has the largest); --scale standard gives all the same."
        )


def summary(model: TrainedModel) -> str:
    """What was chosen and its held-out score, in one or two lines."""
    record = model.training
    path = SearchPath.from_record(record["path"])
    found = "".join(f", {name} {value:.4g}" for name, value in record["found"].items())
    name, seconds = f"{record['recipe']['learner']}{found}", f"{record['seconds']:.1f} s"
    if path is None:
        return f"{name}: trained in {seconds}."
    score, error = path.at_chosen
    spread = "" if error is None or not np.isfinite(error) else f" ± {error:.4f}"
    lines = [
        f"{name}: {path.parameter} {path.chosen:.6g} of {len(path.value)} candidates by "
        f"{path.by} in {seconds}.",
        f"{path.judged[0].upper() + path.judged[1:]}: {score:.4f}{spread}.",
    ]
    if path.needs_wider_grid:
        lines.append(
            "Hint: the smallest or largest candidate won; --alpha takes a list of others, as in "
            "--alpha 1e-3,1,1e3."
        )
    return "\n".join(lines)


def _words_of_the_command(ctx: click.Context) -> list[str]:
    """The command as it was given, with long names of the options."""
    words: list[str] = []
    for parameter in ctx.command.params:
        value = ctx.params.get(str(parameter.name))
        source = ctx.get_parameter_source(str(parameter.name))
        if source != click.core.ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Argument):
            words.insert(0, str(value))
        elif isinstance(value, bool):
            words.append(parameter.opts[-1])
        else:
            repeated = list(value or ()) if getattr(parameter, "multiple", False) else [value]
            for one in repeated:
                text = ",".join(f"{v:g}" for v in one) if isinstance(one, tuple) else str(one)
                words += [parameter.opts[-1], text]
    return [str(ctx.info_name), *words]
