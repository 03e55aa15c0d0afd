"""What commands say about a model beside an existing ranking, and about nested estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwise.cli.console import say, working

if TYPE_CHECKING:
    from rankwise.evaluation.baseline_verdict import BaselineVerdict
    from rankwise.workflow.nested_judging import NestedJudgement
    from rankwise.workflow.ranking_data import Items
    from rankwise.workflow.recipe import Recipe

SHOWN = 5
"""The number of queries that are named, of those on which the model is worse."""


def outer_folds(folds: int | None, data: Any) -> int | None:
    """The outer folds that were asked for, or that a comparison with a baseline needs."""
    from rankwise.workflow.nested_judging import FOLDS
    from rankwise.workflow.ranking_data import Items

    if folds is None and isinstance(data, Items) and data.baseline is not None:
        return FOLDS
    return folds


def judged_by_nesting(
    name: str, recipes: list[Recipe], items: Items, folds: int, seconds: float, quiet: bool = False
) -> NestedJudgement:
    """The recipes inside outer folds; what that will cost is said beforehand."""
    from rankwise.workflow.nested_judging import judge_recipes, price

    if not quiet:
        say(f"{name}: all choices again in {folds} outer folds, {price(seconds, folds)}.")
    with working(f"{name}: {folds} outer folds"):
        return judge_recipes(recipes, items, folds, name)


def verdict_lines(verdict: BaselineVerdict | None) -> list[str]:
    """The verdict in one sentence, and the queries on which the model is worst beside it."""
    if verdict is None:
        return []
    lines = [str(verdict)]
    if verdict.worse:
        named = [
            f"{one.query} ({one.model:.3f} against {one.baseline:.3f})"
            for one in verdict.worse[:SHOWN]
        ]
        rest = len(verdict.worse) - len(named)
        lines.append(f"Worse on {', '.join(named)}{f' and {rest} more' if rest else ''}.")
    if verdict.baseline_is_reversed:
        lines.append(
            f"{verdict.baseline} orders worse than chance: if its smaller values are better, give "
            "a column with the opposite sign."
        )
    return lines


def note_dependent_rows(data: Any) -> None:
    """Point out rows that seem to belong together, if no column of queries or groups says so."""
    from rankwise.model_selection.dependent_rows import (
        TIGHT_GROUPS,
        name_like,
        nearly_repeated_rows,
        repeated_rows,
    )
    from rankwise.workflow.ranking_data import Items

    if not isinstance(data, Items) or data.y is None:
        return
    if data.qid is not None or data.groups is not None:
        return
    found = name_like(data.X, data.y, data.features)
    if found is not None:
        say(
            f"Note: {found}. Then held-out scores are too good: --groups {found.column!r} holds "
            "such rows out together."
        )
        return
    repeated = repeated_rows(data.X)
    if repeated:
        say(
            f"Note: {repeated} of {len(data)} rows occur more than once. If they are samples of "
            "the same thing, held-out scores are too good: --groups COLUMN holds them out together."
        )
    elif nearly_repeated_rows(data.X, data.y):
        say(
            f"Note: {TIGHT_GROUPS} If the rows of a group are samples of the same thing, held-out "
            "scores are too good: --groups COLUMN holds them out together."
        )
