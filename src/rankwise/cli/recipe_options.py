"""The options of training that `train` and `crossval` share, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import click

from rankwise.workflow.recipe import (
    EFFECTS,
    FILTERS,
    KERNELS,
    PAIRWISE,
    QUERY_WEIGHTS,
    REPAIRS,
    SCALES,
    SELECTING,
    SETTINGS,
    Recipe,
)
from rankwise.workflow.recipe_choice import Sided, recipes_of

OF_RELATIONS = "precomputed"
"""A kernel that only the learners of relations take: their nodes are a matrix of similarities."""


class NumberOrWord(click.ParamType):
    """A number, one of the given words, or (if `several`) a list of numbers with commas.

    If `sided`, each may be a pair rows:columns, for relations.
    """

    def __init__(self, *words: str, kind: type = float, several: bool = False, sided: bool = False):
        self.words, self.kind, self.several, self.sided = words, kind, several, sided
        self.name = "|".join((*words, "number"))

    def _one(self, text: str) -> Any:
        if self.sided and text.count(":") == 1:
            return Sided(*map(self._one, text.split(":")))
        return text if text in self.words and self.sided else self.kind(text)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value in self.words:
            return value
        try:
            numbers = tuple(map(self._one, value.split(",")))
        except ValueError:
            numbers = ()
        if not numbers or (len(numbers) > 1 and not self.several):
            expected = " or ".join((*map(repr, self.words), f"a number ({self.kind.__name__})"))
            self.fail(f"{value!r} is not {expected}.", param, ctx)
        return numbers if len(numbers) > 1 else numbers[0]


class Names(click.ParamType):
    """One of the names, "auto", or several names with commas; for relations rows:columns."""

    name = "name"

    def __init__(self, names: Iterable[str]):
        self.names = tuple(names)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "auto":
            return value
        chosen = tuple(dict.fromkeys(self._one(part, param, ctx) for part in value.split(",")))
        return chosen[0] if len(chosen) == 1 else chosen

    def _one(self, text: str, param: Any, ctx: Any) -> Any:
        sides = text.split(":")
        for name in sides:
            if name not in (*self.names, OF_RELATIONS) or len(sides) > 2:
                listed = ", ".join(map(repr, ("auto", *self.names)))
                self.fail(f"{text!r} is not one of {listed}.", param, ctx)
        return text if len(sides) == 1 else Sided(*sides)

    def get_metavar(self, *args: Any, **kwargs: Any) -> str:
        return f"[auto|{'|'.join(self.names)}]"


def stacked(*options: Callable) -> Callable:
    """One decorator for several options; the help lists them in this order."""
    return lambda command: reduce(lambda f, option: option(f), reversed(options), command)


def recipe_option(name: str, help: str, *choices: str, type: Any = None) -> Callable:
    """The option of a field of Recipe, with the default of that field."""
    field = Recipe.__dataclass_fields__[name.removeprefix("--").replace("-", "_")]
    kind = click.Choice(choices) if choices else type
    return click.option(name, type=kind, default=field.default, help=help)


COUNT = NumberOrWord("auto", kind=int)
NUMBERS = NumberOrWord("auto", several=True)
WIDTHS = NumberOrWord("auto", several=True, sided=True)
NUMBER = NumberOrWord(sided=True)
BASIS = NumberOrWord("auto", "all", kind=int)
HOLD_OUT = NumberOrWord(
    *("auto", "leave-pair-out", "leave-query-out", "leave-one-out"),
    *("leave-preference-out", "leave-item-out"),
    kind=int,
)
recipe_options = stacked(
    recipe_option(
        "--alpha",
        "Regularisation: auto by cross-validation, a value, or candidates 0.1,1,10.",
        type=NUMBERS,
    ),
    recipe_option("--loss", "One of the learner's losses (see below)."),
    recipe_option(
        "--query-weight",
        "Every pair counts equally (pairs; default of rank-rls), every query does (queries; default"
        " of rank-svm), or a query counts by its number of items (size).",
        *QUERY_WEIGHTS,
    ),
    recipe_option(
        "--kernel",
        "Kernel; the best of several with commas, auto: linear or rbf. Relations: rows:columns, or "
        "precomputed for nodes given as a matrix of similarities.",
        type=Names(KERNELS),
    ),
    recipe_option(
        "--gamma",
        "Kernel width; auto: median heuristic for rbf and laplacian; the best of 0.01,0.1,1.",
        type=WIDTHS,
    ),
    recipe_option("--degree", "Degree of the poly kernel.", type=NUMBER),
    recipe_option("--coef0", "Constant of poly and sigmoid.", type=NUMBER),
    recipe_option(
        "--basis",
        "Kernels: this many random basis items; auto is all up to 4000 items, else 500.",
        type=BASIS,
    ),
    recipe_option(
        "--select",
        "Use only this many features, added one by one by their held-out error (greedy-rank-rls).",
        type=click.IntRange(1),
    ),
    recipe_option("--scale", "Scale features over all items, or within each query.", *SCALES),
    recipe_option(
        "--missing",
        "Missing values: an error, or the feature's mean or median (rank-boost takes them as they "
        "are).",
        *("refuse", "mean", "median"),
    ),
    recipe_option("--cv", "Judge candidates by a hold-out or this many folds.", type=HOLD_OUT),
    recipe_option(
        "--scoring",
        "Choose by this measure: concordance, ndcg@K, map, tau, auc, err@K; default: the share of "
        "pairs in the right order (mprank: squared error of differences).",
        type=str,
    ),
    recipe_option(
        "--relevant",
        "--scoring map: items of this score and above are relevant.",
        type=float,
    ),
    recipe_option(
        "--item-effect",
        "rank-logistic: adds a strength of its own to every item, besides its features; "
        "conditional: lets known nodes be remembered.",
        type=click.FloatRange(min=0),
    ),
    click.option(
        "--order-effect",
        is_flag=True,
        help="rank-logistic: the item of --a may have an advantage.",
    ),
    recipe_option("--epsilon", "svrank: deviations up to this cost nothing.", type=float),
    recipe_option("--rounds", "rank-boost: rounds; auto by cross-validation.", type=COUNT),
    recipe_option("--tol", "Accuracy of iterative solvers.", type=float),
    recipe_option("--max-iter", "Most iterations of such a solver.", type=click.IntRange(1)),
    recipe_option("--seed", "Seed of every random choice.", type=int),
)


def relation_options(new: Callable) -> Callable:
    """The options of learners of relations; `new` is the option --new of the command."""
    return stacked(
        recipe_option(
            "--relation",
            "Relations: the property that the relation is known to have.",
            *("general", "symmetric", "reciprocal"),
        ),
        recipe_option(
            "--repair",
            "Relations: make similarities semi-definite; negative eigenvalues become 0 (clip).",
            *REPAIRS,
        ),
        recipe_option(
            "--pairwise", "conditional: the kernel of pairs of nodes (docs/pairwise.md).", *PAIRWISE
        ),
        recipe_option(
            "--effects",
            "conditional with --loss regression: unpenalised constants beside the kernel.",
            *EFFECTS,
        ),
        recipe_option(
            "--filter",
            "kernel-filter: smooth the known values, or rank by the similarity of two nodes.",
            *FILTERS,
        ),
        recipe_option(
            "--neighbours", "nearest: the number of nearest nodes.", type=click.IntRange(1)
        ),
        recipe_option(
            "--condition", "Relations: rank columns per row, or rows per column.", "row", "column"
        ),
        new,
    )


NEW = recipe_option(
    "--new",
    "Relations: what will be new when predicting; default: new conditions.",
    *SETTINGS,
)


def taken_recipes(
    options: dict[str, Any], learners: tuple[str, ...], given: set[str]
) -> list[Recipe]:
    """The recipes to choose from, made of the options, which are removed from `options`.

    With one learner it is a mistake if an option was `given` that means nothing to it; of several
    learners, each uses the options that it knows.
    """
    fields = set(Recipe.__dataclass_fields__)
    values = {key: options.pop(key) for key in list(options) if key in fields}
    if values.get("basis") == "all":
        values["basis"] = None
    if values.get("select") is not None and learners == ("rank-rls",):
        learners = (SELECTING,)
    recipes = recipes_of(learners, values)
    if len(learners) == 1:
        recipes[0].refuse_unused(given)
    return recipes


def given_options(ctx: click.Context) -> set[str]:
    """The names of the options that were written on the command line."""
    source = click.core.ParameterSource.COMMANDLINE
    return {name for name in ctx.params if ctx.get_parameter_source(name) == source}


def words_of_the_command(ctx: click.Context) -> list[str]:
    """The command as it was given, with the arguments first and long names of the options."""
    names = given_options(ctx)
    given: list[Any] = [one for one in ctx.command.params if one.name in names]
    arguments = [str(ctx.params[one.name]) for one in given if isinstance(one, click.Argument)]
    options: list[str] = []
    for option in (one for one in given if isinstance(one, click.Option)):
        value = ctx.params[option.name]
        for each in value if option.multiple else (value,):
            text = ",".join(map(_exactly, each)) if isinstance(each, tuple) else str(each)
            options += [option.opts[-1]] if option.is_flag else [option.opts[-1], text]
    command = ["rankwise", str(ctx.info_name)]
    if any(word.startswith("-") and word != "-" for word in arguments):
        return [*command, *options, "--", *arguments]
    return [*command, *arguments, *options]


def _exactly(value: float | str | Sided) -> str:
    if isinstance(value, Sided):
        return f"{_exactly(value.rows)}:{_exactly(value.columns)}"
    if isinstance(value, str):
        return value
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
