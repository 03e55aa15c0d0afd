"""rankwise crossval"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.console import (
    Mistake,
    check_writable,
    say,
    say_json,
    stdout,
    table,
    working,
    write_text,
)
from rankwise.cli.data_options import DataOptions, data_options
from rankwise.cli.recipe_options import (
    given_options,
    recipe_option,
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
from rankwise.io.plain_text import plain
from rankwise.workflow.recipe import LEARNERS, SELECTING, SETTINGS
from rankwise.workflow.recipe_choice import in_settings, label_of

if TYPE_CHECKING:
    from rich.table import Table

    from rankwise.workflow.judging import Judgement
    from rankwise.workflow.nested_judging import NestedJudgement
    from rankwise.workflow.recipe import Recipe
    from rankwise.workflow.search_path import SearchPath

    Rows = list[tuple[str, SearchPath | None, NestedJudgement | None]]


DEFAULT = ("rank-rls", "rank-svm", "rank-boost")
OF_OUTCOMES = tuple(
    name for name, one in LEARNERS.items() if "outcomes" in one.options and name != SELECTING
)
OF_RELATIONS = tuple(
    name for name, one in LEARNERS.items() if one.learns_relations and one.parameter == "alpha"
)
OF_PREFERENCES = tuple(name for name, one in LEARNERS.items() if "preferences" in one.options)


ALL_SETTINGS = recipe_option(
    "--new", "Relations: what will be new; default: all four settings, side by side.", *SETTINGS
)


@click.command()
@click.argument("data")
@click.option(
    "--learner",
    "learners",
    type=click.Choice([*LEARNERS]),
    multiple=True,
    help="Repeat to compare; default rank-rls, rank-svm and rank-boost (for preferences and "
    "relations all that learn from them; baselines of relations are named).",
)
@recipe_options
@data_options()
@relation_options(ALL_SETTINGS)
@click.option(
    "--nested",
    "folds",
    type=click.IntRange(2),
    metavar="FOLDS",
    help="Also judge on outer folds that were not used for any choice.",
)
@click.option("--path", "whole_path", is_flag=True, help="Print every candidate.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", "page", metavar="FILE", help="Also write the results as one HTML page.")
@click.pass_context
def crossval(
    ctx: click.Context,
    data: str,
    learners: tuple[str, ...],
    files: DataOptions,
    folds: int | None,
    whole_path: bool,
    as_json: bool,
    page: str | None,
    **options: Any,
) -> None:
    """Cross-validate learners on DATA: what each one chooses, and how well it ranks unseen data.

    \b
    Examples:
      rankwise crossval train.letor
      rankwise crossval patients.csv --learner rank-rls --kernel rbf --scale standard --path
      rankwise crossval train.letor --learner rank-svm --learner rank-boost --nested 5
      rankwise crossval train.letor --scoring ndcg@5
      rankwise crossval search.csv --query q --baseline bm25 --kernel linear,rbf
      rankwise crossval patients.csv --time days --event died --scale standard
      rankwise crossval train.letor --nested 5 --html crossval.html
      rankwise crossval edges.csv --row-nodes drugs.csv --column-nodes targets.csv --kernel rbf

    rank-rls is judged exactly (leave-query-out, or leave-pair-out without queries), the others by
    folds of whole queries. With --preferences rank-rls leaves out all statements about two items
    together, and the others folds of such pairs; with --judge all leave out folds of judges. The
    best of many candidates looks a little better than it is; --nested repeats the choice without
    each outer fold and judges on that fold. --baseline compares each learner on 5 such folds with
    an existing ranking. Relations are judged in each of four settings: new edges of known nodes,
    new rows, new columns, or both new; an estimate for one says little about another.
    """
    from rankwise.cli.data_files import training_data

    if files.preferences and not learners:
        learners = OF_PREFERENCES
    if files.relational and not learners:
        learners = OF_RELATIONS
    given = given_options(ctx)
    default = OF_OUTCOMES if files.columns.get("time") else DEFAULT
    default = (SELECTING, *default) if "select" in given else default
    recipes = taken_recipes(options, learners or default, given)
    if len({recipe.method.learns_relations for recipe in recipes}) > 1:
        raise Mistake("learners of relations and learners of items cannot be compared on one file.")
    if recipes[0].method.learns_relations and recipes[0].new is None:
        recipes = in_settings(recipes)
    if page is not None:
        check_writable(page)
    with working("reading"):
        items: Any = training_data(data, recipes[0], files)[0]
    folds = outer_folds(folds, items)
    note_dependent_rows(items)
    rows, seconds = _judged(recipes, items, folds, quiet=as_json)
    if page is not None:
        from rankwise.report import Candidate, build_crossval_page

        candidates = [
            Candidate(
                name,
                path,
                outer.judgement if outer else None,
                spent,
                outer.verdict if outer else None,
            )
            for (name, path, outer), spent in zip(rows, seconds)
        ]
        command = words_of_the_command(ctx)
        write_text(page, build_crossval_page(candidates, items, folds=folds, command=command))
    if as_json:
        say_json({"data": items.describe(), "learners": [_record(*row) for row in rows]})
        return
    _print_results(items, rows, folds, whole_path)
    if page is not None and page != "-":
        say(f"Wrote {page}.")


def _judged(
    recipes: list[Recipe], items: Any, folds: int | None, quiet: bool
) -> tuple[Rows, list[float]]:
    """What each recipe chose, its nested judgement, and the seconds that it took."""
    from rankwise.workflow.search_path import SearchPath
    from rankwise.workflow.training import train as train_model

    rows: Rows = []
    seconds: list[float] = []
    for number, recipe in enumerate(recipes, 1):
        started, label = time.perf_counter(), label_of(recipe, recipes)
        of_all = f" ({number} of {len(recipes)})" if len(recipes) > 1 else ""
        with working(f"cross-validating {label}{of_all}"):
            try:
                model = train_model(recipe, items)
            except ValueError as error:
                _pass_over(recipe, len(recipes), label, error)
                continue
        path, outer = SearchPath.from_record(model.training["path"]), None
        if folds is not None:
            spent = model.record["seconds"]
            try:
                outer = judged_by_nesting(label, [recipe], items, folds, spent, quiet)
            except ValueError as error:
                _pass_over(recipe, len(recipes), label, error)
        rows.append((label, path, outer))
        seconds.append(time.perf_counter() - started)
    if not rows:
        raise Mistake("no setting could be judged.")
    return rows, seconds


def _pass_over(recipe: Recipe, of_all: int, label: str, error: ValueError) -> None:
    """Say why one of several settings of a relation cannot be judged; else raise the error."""
    if not recipe.method.learns_relations or of_all == 1:
        raise error
    say(f"Note: {label} cannot be judged here: {error}")


def _print_results(items: Any, rows: Rows, folds: int | None, whole_path: bool) -> None:
    console = stdout()
    say(f"{items.source}: {items.describe()}.")
    shown = table("learner", "chosen", "held out", "95% interval", "judged by", right=(2,))
    for name, path, _ in rows:
        shown.add_row(name, *_cells(path))
    console.print(shown)
    for name, path, _ in rows:
        if path is not None and path.needs_wider_grid:
            say(f"Hint: {name}: {path.wider_grid_hint}")
    if folds:
        console.print(f"\nNested, {folds} outer folds; no choice used the fold that is judged:")
        judged = [(name, outer) for name, _, outer in rows if outer is not None]
        if not judged:
            raise Mistake("no setting could be judged in outer folds.")
        console.print(_nested([(name, outer.judgement) for name, outer in judged]))
        for _, outer in judged:
            for line in verdict_lines(outer.verdict):
                console.print(plain(line), soft_wrap=True)
    for name, path, _ in rows if whole_path else ():
        console.print()
        if path is not None:
            console.print(_candidates(name, path))


def _record(name: str, path: SearchPath | None, outer: NestedJudgement | None) -> dict[str, Any]:
    record: dict[str, Any] = {"learner": name, "path": path and path.record(), "nested": None}
    if outer is not None:
        record["nested"] = outer.record()
        record["baseline"] = outer.verdict and outer.verdict.record()
    return record


def _cells(path: SearchPath | None) -> list[str]:
    if path is None:
        return ["as given", "–", "use --nested", "–"]
    from rankwise.evaluation.intervals import TOO_FEW

    interval = "–"
    if path.interval is not None:
        low, high = path.interval
        interval = f"{low:.4f} to {high:.4f}"
        if path.units is not None and path.units < TOO_FEW:
            interval += f" ({path.units} queries or folds are too few)"
    by = path.by + (" (squared error)" if path.lower_is_better else "")
    return [f"{path.parameter} {path.chosen:.5g}", f"{path.at_chosen[0]:.4f}", interval, by]


def _nested(rows: list[tuple[str, Judgement]]) -> Table:
    """The measures by nested cross-validation; the measure that was asked for with its interval."""
    measures = rows[0][1].measures
    asked = measures[1] if len(measures) == 2 else measures[0]
    others = [one for one in measures if one is not asked and one.key != "map"]
    names = (asked.name, "95% interval", *(one.name for one in others))
    shown = table("learner", *names, right=(1, *range(3, 3 + len(others))))
    for name, outer in rows:
        shown.add_row(
            name, *outer[asked.key].cells(), *(outer[one.key].cells()[0] for one in others)
        )
    return shown


def _candidates(name: str, path: SearchPath) -> Table:
    shown = table(f"{name}: {path.parameter}", "held out", "standard error", right=(0, 1, 2))
    for i, value in enumerate(path.value):
        error = "–" if path.score_se is None else f"{path.score_se[i]:.4f}"
        mark = " *" if value == path.chosen else ""
        shown.add_row(f"{value:.6g}", f"{path.score[i]:.4f}{mark}", error)
    return shown
