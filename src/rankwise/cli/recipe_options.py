"""The options of training that `train` and `crossval` share, and the recipe that they make."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

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


recipe_options = stacked(
    click.option(
        "--alpha",
        type=NumberOrWord("auto", several=True),
        default="auto",
        help="Regularisation: auto by cross-validation, a value, or candidates 0.1,1,10.",
    ),
    click.option("--loss", help="One of the learner's losses (see below)."),
    click.option("--kernel", type=click.Choice(KERNELS), default="linear", help="Kernel."),
    click.option(
        "--gamma",
        type=NumberOrWord("auto"),
        default="auto",
        help="Kernel width; auto is the median heuristic for rbf and laplacian.",
    ),
    click.option("--degree", type=float, default=3, help="Degree of the poly kernel."),
    click.option("--coef0", type=float, default=1.0, help="Constant of poly and sigmoid."),
    click.option(
        "--basis",
        type=NumberOrWord("auto", "all", kind=int),
        default="auto",
        help="Kernels: this many random basis items; auto is all up to 4000 items, else 500.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["none", "standard", "query"]),
        default="none",
        help="Scale features: over all items, or within each query (also when predicting).",
    ),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "median"]),
        default="refuse",
        help="Missing values: an error, or the feature's median (rank-boost takes them as is).",
    ),
    click.option(
        "--cv",
        type=NumberOrWord("auto", "leave-pair-out", "leave-query-out", "leave-one-out", kind=int),
        default="auto",
        help="How candidates are judged: by an exact hold-out, or by this many folds.",
    ),
    click.option(
        "--epsilon", type=float, default=0.1, help="svrank: deviations up to this cost nothing."
    ),
    click.option(
        "--rounds",
        type=NumberOrWord("auto", kind=int),
        default="auto",
        help="rank-boost: number of rounds; auto by cross-validation.",
    ),
    click.option("--tol", type=float, help="Accuracy of iterative solvers."),
    click.option(
        "--max-iter", type=click.IntRange(1), help="Largest number of iterations of such a solver."
    ),
    click.option("--seed", type=int, default=0, help="Seed of every random choice."),
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
