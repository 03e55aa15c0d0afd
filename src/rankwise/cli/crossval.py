"""rankwise crossval"""

from __future__ import annotations

import json

import click
import numpy as np

from rankwise.cli.console import say, stdout, table, working
from rankwise.cli.models import taken_files
from rankwise.cli.options import (
    given_options,
    reading_options,
    recipe_options,
    relation_options,
    taken_reading,
    taken_recipe,
)
from rankwise.cli.train import training_data
from rankwise.workflow.nesting import nested
from rankwise.workflow.recipe import LEARNERS
from rankwise.workflow.training import path_of
from rankwise.workflow.training import train as train_model


@click.command(short_help="Compare learners on DATA by cross-validation.")
@click.argument("data")
@click.option(
    "--learner",
    "learners",
    type=click.Choice([name for name in LEARNERS if name != "conditional"]),
    multiple=True,
    help="Repeat to compare; default rank-rls, rank-svm and rank-boost.",
)
@recipe_options
@reading_options
@relation_options
@click.option(
    "--nested",
    "folds",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Also judge on outer folds that no choice ever saw.",
)
@click.option("--path", "whole_path", is_flag=True, help="Print every candidate.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def crossval(ctx, data, learners, folds, whole_path, as_json, **options):
    """Cross-validate learners on DATA: what each would choose, and how it ranks unseen data.

    \b
    Examples:
      rankwise crossval train.letor
      rankwise crossval patients.csv --learner rank-rls --kernel rbf --scale standard --path
      rankwise crossval train.letor --learner rank-svm --learner rank-boost --nested 5

    rank-rls is judged exactly (leave-query-out, or leave-pair-out without queries), others by
    folds of whole queries. The best of many candidates looks a little better than it is; --nested
    chooses anew inside every outer fold and judges on the fold itself.
    """
    given = given_options(ctx)
    reading, files = taken_reading(options), taken_files(options)
    names = learners or ("rank-rls", "rank-svm", "rank-boost")
    several = len(names) > 1
    recipes = []
    for name in names:
        mine = dict(options)
        if several:
            unused = set(mine) - set(LEARNERS[name].options) - {"scale", "missing", "seed", "loss"}
            mine = {key: value for key, value in mine.items() if key not in unused}
        recipes.append(taken_recipe(mine, name, set() if several else given))
    with working("reading"):
        items, _ = training_data(data, recipes[0], reading, files)
    rows = []
    for recipe in recipes:
        with working(f"cross-validating {recipe.learner}"):
            path = path_of(train_model(recipe, items))
            outer = nested(recipe, items, folds) if folds else None
        rows.append((recipe.learner, path, outer))
    if as_json:
        record = [
            {"learner": name, "path": path and path.record(), "nested": outer and outer.record()}
            for name, path, outer in rows
        ]
        click.echo(json.dumps({"data": items.describe(), "learners": record}, indent=2))
        return
    console = stdout()
    say(f"{items.source}: {items.describe()}.")
    made = table("learner", "chosen", "held out", "95% interval", "judged by", right=(2,))
    for name, path, _ in rows:
        made.add_row(name, *_cells(path))
    console.print(made)
    if folds:
        console.print(f"\nNested, {folds} outer folds; every choice made without the fold judged:")
        made = table(
            "learner", "ranking error", "95% interval", "NDCG@10", "tau_b", right=(1, 3, 4)
        )
        for name, _, outer in rows:
            made.add_row(name, *_nested_cells(outer))
        console.print(made)
    if whole_path:
        for name, path, _ in rows:
            console.print()
            _show_path(console, name, path)


def _cells(path) -> list[str]:
    if path is None:
        return ["as given", "–", "use --nested", "–"]
    score, error = path.at_chosen
    interval = "–"
    if error is not None and np.isfinite(error):
        low, high = max(score - 1.96 * error, 0.0), score + 1.96 * error
        interval = f"{low:.4f} to {high if path.lower_is_better else min(high, 1.0):.4f}"
    by = path.by + (" (squared error)" if path.lower_is_better else "")
    return [f"{path.parameter} {path.chosen:.5g}", f"{score:.4f}", interval, by]


def _nested_cells(outer) -> list[str]:
    error = outer["ranking_error"]
    interval = "–" if error.low is None else f"{error.low:.4f} to {error.high:.4f}"
    others = [outer[key].value for key in ("ndcg@10", "tau_b")]
    cells = ["–" if value is None else f"{value:.4f}" for value in others]
    return [f"{error.value:.4f}", interval, *cells]


def _show_path(console, name: str, path) -> None:
    if path is None:
        return
    made = table(f"{name}: {path.parameter}", "held out", "standard error", right=(0, 1, 2))
    for i, value in enumerate(path.value):
        error = "–" if path.score_se is None else f"{path.score_se[i]:.4f}"
        mark = " *" if value == path.chosen else ""
        made.add_row(f"{value:.6g}", f"{path.score[i]:.4f}{mark}", error)
    console.print(made)
