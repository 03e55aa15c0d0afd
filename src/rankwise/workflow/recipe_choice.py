"""Several recipes at once: which learner, kernel and width, chosen by their held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.workflow.recipe import LEARNERS, USED_BY_ALL, Recipe

AUTO_LEARNERS = ("rank-rls", "rank-svm", "rank-boost")
"""What --learner auto chooses from."""
AUTO_KERNELS = ("linear", "rbf")
"""What --kernel auto chooses from."""
WITHOUT_WIDTH = ("linear", "cosine")


def recipes_of(learners: Sequence[str], options: dict[str, Any]) -> list[Recipe]:
    """Every combination of the learners with the kernels and widths of the options.

    The options are fields of Recipe; `kernel` may be "auto" or a tuple of names, and `gamma` a
    tuple of numbers. A learner uses only the options that it knows, if there are several.
    """
    recipes: list[Recipe] = []
    for learner in learners:
        own = dict(options)
        if len(learners) > 1:
            used = {*LEARNERS[learner].options, *USED_BY_ALL}
            own = {name: value for name, value in options.items() if name in used}
        for kernel in _kernels(learner, own):
            for gamma in _widths(kernel, own):
                recipes.append(Recipe(**{**own, "learner": learner, **kernel, **gamma}))
    return list(dict.fromkeys(recipes))


def _kernels(learner: str, options: dict[str, Any]) -> list[dict[str, str]]:
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
    if kernel.get("kernel", "linear") in WITHOUT_WIDTH:
        return [{"gamma": "auto"}]
    return [{"gamma": value} for value in gamma]


def label_of(recipe: Recipe, among: Sequence[Recipe] = ()) -> str:
    """The learner, with what distinguishes it from the other recipes."""
    words = [recipe.learner]
    if len({one.kernel for one in among if "kernel" in one.method.options}) > 1 and (
        "kernel" in recipe.method.options
    ):
        words.append(recipe.kernel)
    if len({one.gamma for one in among}) > 1 and recipe.gamma != "auto":
        words.append(f"gamma {recipe.gamma:g}")
    return " ".join(words)
