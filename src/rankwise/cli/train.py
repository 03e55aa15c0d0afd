"""rankwise train"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import Mistake, check_writable, say, working
from rankwise.cli.data_options import FILES, DataOptions, data_options
from rankwise.cli.model_files import write_model
from rankwise.cli.recipe_options import (
    NEW,
    given_options,
    recipe_options,
    relation_options,
    taken_recipes,
    words_of_the_command,
)
from rankwise.cli.verdicts import (
    judged_by_nesting,
    note_dependent_rows,
    outer_folds,
    verdict_lines,
)
from rankwise.workflow.recipe import LEARNERS, Recipe
from rankwise.workflow.recipe_choice import AUTO_LEARNERS

if TYPE_CHECKING:
    from rankwise.workflow.trained_model import TrainedModel

UNEVEN = 1000.0
"""If the deviations of two features differ by more than this factor, --scale is suggested."""


def _learners_help() -> str:
    """The table of learners and their losses."""
    lines = ["\b", "Learners:"]
    for name, method in LEARNERS.items():
        lines.append(f"  {name:<12} {method.summary}")
        lines.append(f"  {'':<12} loss: {', '.join(method.losses)}")
    return "\n".join(lines)


@click.command(epilog=_learners_help())
@click.argument("data")
@click.option("-o", "--output", required=True, metavar="MODEL", help="Model file to write.")
@click.option(
    "--learner",
    type=click.Choice([*LEARNERS, "auto"]),
    default="rank-rls",
    show_default=True,
    help="The learner (see below); auto: the best of rank-rls, rank-svm and rank-boost.",
)
@recipe_options
@data_options()
@relation_options(NEW)
@click.option(
    "--nested",
    "folds",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Also judge all choices on outer folds that they did not see; the price is said first.",
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
      rankwise train search.csv --query q --baseline bm25 --learner auto --nested 5 -o model.rw
      rankwise train items.csv --id name --preferences wins.csv -o model.rw
      rankwise train patients.csv --time days --event died --scale standard -o model.rw
      rankwise train ratings.csv --items films.csv -o model.rw
      rankwise train edges.csv --learner conditional --nodes proteins.csv -o model.rw
      rankwise train affinities.csv --learner conditional --row-nodes drugs.csv
          --column-nodes proteins.csv --kernel precomputed:rbf --value pKi -o model.rw
      rankwise train parts/ --scheduler tcp://127.0.0.1:8786 -o model.rw

    DATA is LETOR/SVMlight, CSV, TSV or Parquet, compressed or not, or "-". In tables the score
    column is --target (or called score, label, target, ...), queries are --query (or qid, query).
    An existing MODEL is replaced only when the new one is complete.
    """
    folds: int | None = options.pop("folds")
    learners = AUTO_LEARNERS if learner == "auto" else (learner,)
    recipes = taken_recipes(options, learners, given_options(ctx))
    check_writable(output)
    if output == "-" and sys.stdout.isatty():
        raise Mistake("a model cannot be shown on a terminal: give -o a file, or use a pipe.")
    found: DataOptions | None
    if scheduler is not None or workers is not None:
        if scheduler is not None and workers is not None:
            raise Mistake("--scheduler names a cluster, --workers starts one: give one of them.")
        if any(getattr(files, name) for name in FILES):
            raise Mistake("a cluster learns from DATA with scores: leave the other files out.")
        if len(recipes) > 1 or folds is not None:
            raise Mistake("a cluster trains one recipe: name one learner and kernel, no --nested.")
        where: Any = workers if scheduler is None else scheduler
        from rankwise.cli.cluster_training import train_on_cluster

        model, found = train_on_cluster(where, data, recipes[0], files, quiet)
    else:
        from rankwise.cli.data_files import training_data
        from rankwise.workflow.training import train_best

        with working("reading"):
            examples, found = training_data(data, recipes[0], files)
        folds = outer_folds(folds, examples)
        if not quiet:
            say(f"{examples.source}: {examples.describe()}.")
            hint_at_scaling(examples, recipes[0])
            note_dependent_rows(examples)
        with working(f"training {learner}", quiet):
            model = train_best(recipes, examples)
        if folds is not None:
            _judge_by_nesting(model, recipes, examples, folds, quiet)
    model.record["reading"] = None if found is None else found.record()
    model.record["command"] = words_of_the_command(ctx)
    write_model(model, output)
    if not quiet:
        for line in summary(model).splitlines():
            say(line)
        say(f"Wrote {output}." if output != "-" else "Wrote the model to standard output.")


def _judge_by_nesting(
    model: TrainedModel, recipes: list[Recipe], items: Any, folds: int, quiet: bool
) -> None:
    """Add the nested estimate to the record; the model is kept if the user interrupts it."""
    seconds, name = model.record["seconds"], model.record["recipe"]["learner"]
    try:
        nested = judged_by_nesting(name, recipes, items, folds, seconds, quiet)
    except KeyboardInterrupt:
        say("The nested estimate was interrupted: the model is written without it.")
        return
    model.record["nested"] = nested.record()
    if nested.verdict is not None:
        model.record["baseline"] = nested.verdict.record()


def hint_at_scaling(data: Any, recipe: Recipe) -> None:
    """Suggest --scale if features of very different scale are used as they are."""
    from rankwise.learners.item_scaler import ItemScaler
    from rankwise.workflow.ranking_data import Items

    if not recipe.method.depends_on_scale or recipe.scale != "none" or not isinstance(data, Items):
        return
    deviation = ItemScaler(missing="keep").fit(data.X).deviation_
    ratio = deviation.max() / deviation.min()
    if ratio > UNEVEN:
        widest = data.features[int(np.argmax(deviation))]
        say(
            f"Hint: features differ in scale by {ratio:.1g} ({widest!r} has the largest); --scale "
            "standard gives all of them the same."
        )


def summary(model: TrainedModel) -> str:
    """What was chosen and its held-out score, in one or two lines."""
    from rankwise.evaluation import BaselineVerdict
    from rankwise.workflow.nested_judging import beside
    from rankwise.workflow.search_path import SearchPath

    record = model.training
    path = SearchPath.from_record(record["path"])
    verdict = verdict_lines(BaselineVerdict.from_record(record.get("baseline")))
    nested = [beside(path, record["nested"])] if "nested" in record else []
    found = "".join(f", {name} {value:.4g}" for name, value in record["found"].items())
    name, seconds = f"{record['recipe']['learner']}{found}", f"{record['seconds']:.1f} s"
    if path is None:
        return "\n".join([f"{name}: trained in {seconds}.", *_selected(model), *nested, *verdict])
    score, _ = path.at_chosen
    tried = record.get("tried", ())
    lines = [f"Tried {one['recipe']}, {one['chosen']}: {one['score']:.4f}." for one in tried]
    lines += [
        f"{name}: {path.parameter} {path.chosen:.6g} of {len(path.value)} candidates by "
        f"{path.by} in {seconds}.",
        f"{path.judged[0].upper() + path.judged[1:]}: {score:.4f}{path.spread}.",
    ]
    if path.needs_wider_grid:
        lines.append(f"Hint: {path.wider_grid_hint}")
    return "\n".join([*lines, *_selected(model), *nested, *verdict])


def _selected(model: TrainedModel) -> list[str]:
    """The features of a selection, the first of them by name."""
    chosen = getattr(model.ranker, "selected_", None)
    if chosen is None:
        return []
    names = [model.training["features"][j] for j in chosen]
    rest = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return [
        f"Selected {len(names)} of {model.ranker.n_features_in_} features: "
        f"{', '.join(names[:10])}{rest}."
    ]
