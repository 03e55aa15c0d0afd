"""Several recipes at once: which learner, kernel and width, chosen by their held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankwise.workflow.recipe import KERNEL_OPTIONS, LEARNERS, SETTINGS, USED_BY_ALL, Recipe

AUTO_LEARNERS = ("rank-rls", "rank-svm", "rank-boost")
"""What --learner auto chooses from."""
AUTO_KERNELS = ("linear", "rbf")
"""What --kernel auto chooses from."""
WITHOUT_WIDTH = ("linear", "cosine")


@dataclass(frozen=True)
class Sided:
    """An option with one value for the rows of a relation and another for its columns."""

    rows: Any
    columns: Any

    def __str__(self) -> str:
        return f"{self.rows}:{self.columns}"


def recipes_of(learners: Sequence[str], options: dict[str, Any]) -> list[Recipe]:
    """Every combination of the learners with the kernels and widths of the options.

    The options are fields of Recipe; `kernel` may be "auto" or a tuple of names, and `gamma` a
    tuple of numbers; each may be Sided. A learner uses only the options that it knows, if there are
    several.
    """
    recipes: list[Recipe] = []
    for learner in learners:
        own = dict(options)
        if len(learners) > 1:
            used = {*LEARNERS[learner].options, *USED_BY_ALL}
            own = {name: value for name, value in options.items() if name in used}
        for kernel in _kernels(learner, own):
            for gamma in _widths(kernel, own):
                values = {**own, "learner": learner, **kernel, **gamma}
                recipes.append(Recipe(**_by_side(values)))
    for recipe in recipes:
        _refuse_kernels_of_relations(recipe)
    return list(dict.fromkeys(recipes))


def _by_side(options: dict[str, Any]) -> dict[str, Any]:
    """The options with each Sided value as one of the rows and one of the columns."""
    values = dict(options)
    for name in KERNEL_OPTIONS:
        if isinstance(value := values.get(name), Sided):
            values |= {name: value.rows, f"column_{name}": value.columns}
    return values


def _refuse_kernels_of_relations(recipe: Recipe) -> None:
    from rankwise.spaces.kernels import Kernel

    if recipe.method.learns_relations:
        return
    if len(set(recipe.kernels)) > 1:
        raise ValueError(f"{recipe.learner} has one kernel: rows:columns is for relations.")
    if Kernel(recipe.kernel).is_precomputed:
        raise ValueError("precomputed kernels are for relations: --learner conditional.")


def in_settings(recipes: Sequence[Recipe], settings: Sequence[str] = SETTINGS) -> list[Recipe]:
    """Every recipe for a relation in each of the settings."""
    return [replace(recipe, new=setting) for recipe in recipes for setting in settings]


def _kernels(learner: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    kernel = options.get("kernel")
    if kernel is None:
        return [{}]
    names = AUTO_KERNELS if kernel == "auto" else kernel if isinstance(kernel, tuple) else (kernel,)
    known = "kernel" in LEARNERS[learner].options
    return [{"kernel": name} for name in (names if known else names[:1])]


def _widths(kernel: dict[str, str], options: dict[str, Any]) -> list[dict[str, Any]]:
    gamma = options.get("gamma")
    if not isinstance(gamma, tuple):
        return [{}]
    if kernel.get("kernel", "linear") in WITHOUT_WIDTH:  # of a Sided one a side may have a width
        return [{"gamma": "auto"}]
    return [{"gamma": value} for value in gamma]


def label_of(recipe: Recipe, among: Sequence[Recipe] = ()) -> str:
    """The learner, with what distinguishes it from the other recipes."""
    words = [recipe.learner]
    if len({one.kernel_name for one in among if "kernel" in one.method.options}) > 1 and (
        "kernel" in recipe.method.options
    ):
        words.append(recipe.kernel_name)
    if len({one.gamma for one in among}) > 1 and recipe.gamma != "auto":
        words.append(f"gamma {recipe.gamma:g}")
    if len({one.new for one in among}) > 1 and recipe.new is not None:
        words.append(f"new {recipe.new}")
    return " ".join(words)
