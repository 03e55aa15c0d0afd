"""From a recipe to the arguments of a learner of relations: a kernel for each side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.spaces.kernels import Kernel
from rankwise.workflow.kernel_widths import median_gamma
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe, SideKernel

PASSED_ON = ("tol", "max_iter", "pairwise", "item_effect", "effects")
"""Options that are arguments of ConditionalRanker, with the same names."""


def is_precomputed(recipe: Recipe) -> tuple[bool, bool]:
    """Whether the objects of each side are given by their similarities."""
    rows, columns = (Kernel(kernel.name).is_precomputed for kernel in recipe.kernels)
    return rows, columns


def relation_arguments(recipe: Recipe, relation: Relation) -> tuple[dict[str, Any], dict[str, Any]]:
    """The constructor arguments except the parameter, and the widths found for "auto".

    Where the kernels of rows and columns differ, an argument is a pair of values.
    """
    sides, found = recipe.kernels, {}
    if relation.columns is None and sides[0] != sides[1]:
        raise ValueError("rows and columns are the same nodes: give one kernel, not rows:columns.")
    if recipe.effects is not None and recipe.chosen_loss != "regression":
        raise ValueError(
            "--effects needs --loss regression: the ranking loss compares edges of one condition, "
            "where an intercept and the effect of the condition cancel."
        )
    own: list[SideKernel] = []
    for name, kernel, objects in zip(("gamma", "column_gamma"), sides, relation.domains):
        gamma = None if kernel.gamma == "auto" else kernel.gamma
        if kernel.guesses_gamma:
            gamma = median_gamma(objects.X, kernel.name, recipe.seed)
            if relation.columns is not None or name == "gamma":
                found[name] = gamma
        own.append(kernel._replace(gamma=gamma))  # type: ignore[arg-type]
    arguments = dict(recipe.method.losses[recipe.chosen_loss])
    for name, *values in zip(("kernel", "gamma", "degree", "coef0"), *own):
        arguments[name] = values[0] if values[0] == values[1] else tuple(values)
    if "column_alpha" in recipe.method.options:
        arguments["fill"] = "model"  # what was not observed is never invented
    for name in (*PASSED_ON, "relation", "condition", "repair"):
        if name in recipe.method.options and getattr(recipe, name) is not None:
            arguments[name] = getattr(recipe, name)
    return arguments, found


def built(recipe: Recipe, value: Any, options: dict[str, Any]) -> Any:
    """The unfitted learner with this alpha, and that of the columns if the recipe has one."""
    ranker = recipe.method.build(value, options)
    if recipe.column_alpha is not None:
        ranker.set_params(alpha=(float(value), recipe.column_alpha))
    return ranker


def without_lone_objects(
    relation: Relation, precomputed: tuple[bool, bool]
) -> tuple[Relation, tuple[list[str], list[str]]]:
    """The relation between the objects that have an edge, and the names of the others by side.

    An object without an edge says nothing: its coefficients would be zero.
    """
    if relation.columns is None:
        kept = [np.unique(relation.edges)] * 2
    else:
        kept = [np.unique(relation.edges[:, side]) for side in (0, 1)]
    objects: list[Items] = []
    left: list[list[str]] = []
    for side, index, is_kernel in zip(relation.domains, kept, precomputed):
        left.append([str(name) for name in np.delete(side.names, index)])
        objects.append(_taken(side, index, is_kernel) if left[-1] else side)
    if relation.columns is None:
        left[1] = []
    edges = np.column_stack(
        [np.searchsorted(index, relation.edges[:, side]) for side, index in enumerate(kept)]
    )
    columns = None if relation.columns is None else objects[1]
    lone = left[0], left[1]
    return replace(relation, rows=objects[0], columns=columns, edges=edges), lone


def _taken(objects: Items, index: np.ndarray, is_kernel: bool) -> Items:
    taken = objects.take(index)
    if is_kernel:
        features = [objects.features[j] for j in index]
        taken = replace(taken, X=taken.X[:, index], features=features)
    taken.named = objects.named
    return taken
