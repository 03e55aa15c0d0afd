"""The options of training that `train` and `crossval` share, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from rankwise.learners.item_scaler import SCALES
from rankwise.workflow.learning_methods import LEARNERS
from rankwise.workflow.recipe import Recipe

KERNELS = ("linear", "rbf", "poly", "laplacian", "cosine", "chi2", "sigmoid")


class NumberOrWord(click.ParamType):
    """A number, one of the given words, or (if `several`) a list of numbers with commas."""

    def __init__(self, *words: str, kind: type = float, several: bool = False):
        self.words, self.kind, self.several = words, kind, several
        self.name = "|".join((*words, "number"))

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value in self.words:
            return value
        try:
            numbers = tuple(self.kind(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if not numbers or (len(numbers) > 1 and not self.several):
            expected = " or ".join((*map(repr, self.words), f"a number ({self.kind.__name__})"))
            self.fail(f"{value!r} is not {expected}.", param, ctx)
        return numbers if len(numbers) > 1 else numbers[0]


def stacked(*options: Callable) -> Callable:
    """One decorator for several options; the help lists them in this order."""
    return lambda command: reduce(lambda f, option: option(f), reversed(options), command)


def recipe_option(name: str, help: str, type: Any = None) -> Callable:
    """The option of a field of Recipe, with the default of that field."""
    field = Recipe.__dataclass_fields__[name.removeprefix("--").replace("-", "_")]
    return click.option(name, type=type, default=field.default, help=help)


_HOLD_OUTS = ("leave-pair-out", "leave-query-out", "leave-one-out")
recipe_options = stacked(
    recipe_option(
        "--alpha",
        "Regularisation: auto by cross-validation, a value, or candidates 0.1,1,10.",
        NumberOrWord("auto", several=True),
    ),
    recipe_option("--loss", "One of the learner's losses (see below)."),
    recipe_option("--kernel", "Kernel.", click.Choice(KERNELS)),
    recipe_option(
        "--gamma",
        "Kernel width; auto is the median heuristic for rbf and laplacian.",
        NumberOrWord("auto"),
    ),
    recipe_option("--degree", "Degree of the poly kernel.", float),
    recipe_option("--coef0", "Constant of poly and sigmoid.", float),
    recipe_option(
        "--basis",
        "Kernels: this many random basis items; auto is all up to 4000 items, else 500.",
        NumberOrWord("auto", "all", kind=int),
    ),
    recipe_option(
        "--scale",
        "Scale features: over all items, or within each query (also when predicting).",
        click.Choice(SCALES),
    ),
    recipe_option(
        "--missing",
        "Missing values: an error, or the feature's median (rank-boost takes them as is).",
        click.Choice(["refuse", "median"]),
    ),
    recipe_option(
        "--cv",
        "How candidates are judged: by an exact hold-out, or by this many folds.",
        NumberOrWord("auto", *_HOLD_OUTS, kind=int),
    ),
    recipe_option("--epsilon", "svrank: deviations up to this cost nothing.", float),
    recipe_option(
        "--rounds",
        "rank-boost: number of rounds; auto by cross-validation.",
        NumberOrWord("auto", kind=int),
    ),
    recipe_option("--tol", "Accuracy of iterative solvers.", float),
    recipe_option("--max-iter", "Most iterations of such a solver.", click.IntRange(1)),
    recipe_option("--seed", "Seed of every random choice.", int),
)


def taken_recipe(options: dict[str, Any], learner: str, given: set[str]) -> Recipe:
    """The recipe of the options, which are removed from `options`.

    It is a mistake if an option was `given` that means nothing to the learner.
    """
    fields = set(Recipe.__dataclass_fields__)
    values = {key: options.pop(key) for key in list(options) if key in fields}
    if values.get("basis") == "all":
        values["basis"] = None
    recipe = Recipe(learner=learner, **values)
    recipe.refuse_unused(given)
    return recipe


def given_options(ctx: click.Context) -> set[str]:
    """The names of the options that were written on the command line."""
    source = click.core.ParameterSource.COMMANDLINE
    return {name for name in ctx.params if ctx.get_parameter_source(name) == source}


def learners_help() -> str:
    """The table of learners and their losses, for --help."""
    lines = ["\b", "Learners:"]
    for name, method in LEARNERS.items():
        lines.append(f"  {name:<12} {method.summary}")
        lines.append(f"  {'':<12} loss: {', '.join(method.losses)}")
    return "\n".join(lines)
