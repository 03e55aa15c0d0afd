"""Options that several commands share."""

from __future__ import annotations

from functools import reduce

import click

from rankwise.cli.inputs import Reading
from rankwise.workflow.recipe import LEARNERS, Recipe

KERNELS = ("linear", "rbf", "poly", "laplacian", "cosine", "chi2", "sigmoid")


class NumberOrWord(click.ParamType):
    """A number, a word that stands for one, or (`several`) a list of numbers with commas."""

    def __init__(self, *words: str, kind: type = float, several: bool = False):
        self.words, self.kind, self.several = words, kind, several
        self.name = "|".join((*words, "number"))

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        if value in self.words:
            return value
        try:
            numbers = tuple(self.kind(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if not numbers or (len(numbers) > 1 and not self.several):
            expected = " or ".join((*map(repr, self.words), f"a number ({self.kind.__name__})"))
            self.fail(f"{value!r} is not {expected}.", param, ctx)
        return numbers if len(numbers) > 1 else numbers[0]


def _stacked(*options):
    return lambda command: reduce(lambda f, option: option(f), reversed(options), command)


_format_option = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(["auto", "letor", "table"]),
        default="auto",
        help="What the data file is; auto looks at its name and content.",
    ),
)
_QUERY_HELP = "Tables: the column of queries."
_other_columns = (
    click.option("--target", metavar="COLUMN", help="Tables: the column of scores."),
    click.option("--id", "name", metavar="COLUMN", help="Tables: the column of item names."),
    click.option(
        "--ignore", metavar="COLUMN", multiple=True, help="Tables: leave a column out (repeat)."
    ),
)
reading_options = _stacked(
    *_format_option,
    click.option("--query", metavar="COLUMN", help=_QUERY_HELP),
    *_other_columns,
)
reading_options_beside_a_query = _stacked(
    *_format_option,
    click.option("--query-column", "query", metavar="COLUMN", help=_QUERY_HELP),
    *_other_columns,
)
"""For a command whose --query names a query."""


def taken_reading(options: dict) -> Reading:
    """The reading that the options describe, taken out of them."""
    given = {key: options.pop(key) for key in ("target", "query", "name", "ignore")}
    return Reading(options.pop("format_"), **given)


recipe_options = _stacked(
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
        help="How candidates are judged: exactly, or by this many folds.",
    ),
    click.option("--epsilon", type=float, default=0.1, help="svrank: deviations that are free."),
    click.option(
        "--rounds",
        type=NumberOrWord("auto", kind=int),
        default="auto",
        help="rank-boost: number of rounds; auto by cross-validation.",
    ),
    click.option("--tol", type=float, help="Accuracy of iterative solvers."),
    click.option("--max-iter", type=click.IntRange(1), help="Most iterations of such a solver."),
    click.option("--seed", type=int, default=0, help="Of every random choice."),
)

relation_options = _stacked(
    click.option(
        "--preferences",
        metavar="FILE",
        help="winner,loser[,magnitude[,weight]] lines in place of scores: ids, or rows from 0.",
    ),
    click.option(
        "--items",
        "objects",
        metavar="FILE",
        help="DATA are user,item,rating lines; FILE holds item,feature,... lines.",
    ),
    click.option(
        "--nodes", metavar="FILE", help="conditional: name,feature,... lines of one domain."
    ),
    click.option("--row-nodes", metavar="FILE", help="conditional: the row nodes of two domains."),
    click.option("--column-nodes", metavar="FILE", help="conditional: the column nodes."),
)


def taken_recipe(options: dict, learner: str, given: set[str]) -> Recipe:
    """The recipe of the options; one that the learner has no use for is a mistake if `given`."""
    fields = set(Recipe.__dataclass_fields__)
    values = {key: options.pop(key) for key in list(options) if key in fields}
    if values.get("basis") == "all":
        values["basis"] = None
    recipe = Recipe(learner=learner, **values)
    recipe.refuse_unused(given)
    return recipe


def given_options(ctx: click.Context) -> set[str]:
    """Names of the options that were written on the command line."""
    source = click.core.ParameterSource.COMMANDLINE
    return {name for name in ctx.params if ctx.get_parameter_source(name) == source}


def learners_help() -> str:
    """The table of learners and their losses, for --help."""
    lines = ["\b", "Learners:"]
    for name, table in LEARNERS.items():
        lines.append(f"  {name:<12} {table.summary}")
        lines.append(f"  {'':<12} loss: {', '.join(table.losses)}")
    return "\n".join(lines)
