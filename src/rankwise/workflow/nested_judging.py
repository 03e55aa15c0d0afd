"""A whole recipe inside outer folds: what it scores on data that none of its choices saw."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.evaluation.baseline_verdict import BaselineVerdict
from rankwise.evaluation.comparison import compare_out_of_fold
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.metrics.scorers import Scorer
from rankwise.model_selection.folds import group_labels, kept_together
from rankwise.numerics.progress import track
from rankwise.supervision.censored import Censored
from rankwise.workflow.judged_outcomes import judge_recipes_on_outcomes
from rankwise.workflow.judged_statements import judge_recipes_on_statements
from rankwise.workflow.judging import MEASURED, Judgement, Measure, judge
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.recipe_choice import label_of
from rankwise.workflow.relation_judging import nested_relation
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.suited_measures import suited
from rankwise.workflow.training import train_best

FOLDS = 5
"""The number of outer folds if none is given."""


@dataclass
class NestedJudgement:
    """The measures on outer folds, what each fold chose, and the verdict about a baseline.

    `scores` are those of each item by the model that was trained without its fold. `asked` is the
    measure by which the recipe chooses.
    """

    judgement: Judgement
    asked: Measure
    chosen: list[str]
    scores: np.ndarray
    folds: int
    seconds: float
    verdict: BaselineVerdict | None = None

    def record(self) -> dict[str, Any]:
        """Plain values for the training record and for JSON."""
        return {
            **self.judgement.record(),
            "folds": self.folds,
            "measure": self.asked.name,
            **self.asked.record(),
            "chosen": dict(Counter(self.chosen).most_common()),
            "seconds": self.seconds,
        }


def judge_recipes(
    recipes: Sequence[Recipe],
    items: Items | Relation,
    folds: int = FOLDS,
    name: str | None = None,
) -> NestedJudgement:
    """The recipes by nested cross-validation: every choice is repeated without the judged fold.

    Scaling, the width of the kernel, the parameter and the choice among several recipes see only
    the other folds. Without queries, each fold is judged as a list of its own; with preferences a
    fold holds out all statements about some pairs of items, or of some judges. `name` is what the
    verdict about a baseline calls the model. Costs about as much as `folds` trainings.
    """
    started = time.perf_counter()
    if isinstance(items, Relation):
        return _judge_relation(recipes, items, folds, started)
    if items.preferences is not None:
        told = judge_recipes_on_statements(recipes, items, folds)
        seconds = time.perf_counter() - started
        return NestedJudgement(told, told.measures[0], [], np.zeros(0), folds, seconds)
    name = name or _name(recipes)
    if isinstance(items.y, Censored):
        found = judge_recipes_on_outcomes(recipes, items, folds)
        verdict = _against_baseline(name, items, found.scores, found.units, None)
        judged, seconds = found.judgement, time.perf_counter() - started
        asked = judged.measures[0]
        return NestedJudgement(judged, asked, [], found.scores, found.folds, seconds, verdict)
    y, queries = checked_scores(items.y, items.qid)
    assert isinstance(y, np.ndarray)
    several = len(queries) > 1
    groups = group_labels(items.groups, len(y))
    kept = kept_together(queries, groups)
    folds = min(folds, len(y) if kept is None else int(kept.max()) + 1)
    parts = list(refitting_folds(folds, y, queries, recipes[0].seed, groups).splits)
    scores, fold_of_item, chosen = np.zeros(len(y)), np.zeros(len(y), dtype=int), []
    for number, (held_out, test) in track(enumerate(parts), len(parts), "outer folds"):
        staying = np.setdiff1d(np.arange(len(y)), held_out)
        model = train_best(recipes, items.take(staying))
        tested = items.take(test)
        scores[test] = model.predict(tested.X, tested.qid)
        fold_of_item[test] = number
        chosen.append(_chosen(model.training, recipes))
    units = queries.labels[queries.codes] if several else fold_of_item
    scoring = recipes[0].scoring
    relevant = recipes[0].relevant
    judgement = judge(y, scores, units, relevant=relevant, scoring=_measures(scoring))
    measure = suited(scoring or "concordance", y, relevant)
    verdict = _against_baseline(name, items, scores, units, measure)
    seconds = time.perf_counter() - started
    asked = _asked(judgement, scoring)
    return NestedJudgement(judgement, asked, chosen, scores, len(parts), seconds, verdict)


def _against_baseline(
    name: str, items: Items, scores: np.ndarray, units: np.ndarray, scoring: Any
) -> BaselineVerdict | None:
    """Out-of-fold scores of the model `name` beside the existing ranking of the items, if any.

    `units` are the queries, or the folds if there are none.
    """
    if items.baseline is None:
        return None
    comparison = compare_out_of_fold(
        (name, scores),
        (items.baseline_name, items.baseline),
        items.y,
        units,
        by_query=len(items.queries) > 1,
        groups=items.groups,
        scoring=scoring,
    )
    return comparison.against(items.baseline_name)


def _judge_relation(
    recipes: Sequence[Recipe], relation: Relation, folds: int, started: float
) -> NestedJudgement:
    if len(recipes) > 1:
        raise ValueError("outer folds of a relation judge one recipe: name one kernel and width.")
    found = nested_relation(recipes[0], relation, folds)
    asked = _asked(found.judgement, None)
    if recipes[0].scoring is not None:
        low, high = found.score.interval
        asked = Measure(recipes[0].scoring, found.score.score, low, high, title=found.score.measure)
    seconds = time.perf_counter() - started
    return NestedJudgement(found.judgement, asked, found.chosen(), found.held_out, folds, seconds)


def price(seconds: float, folds: int) -> str:
    """What `folds` outer folds will cost after a training that took so many seconds, in words."""
    expected = max(seconds * (folds - 1), 0.1)
    if expected < 90:
        return f"about {expected:.1f} s" if expected < 10 else f"about {expected:.0f} s"
    if expected < 5400:
        return f"about {expected / 60:.0f} min"
    return f"about {expected / 3600:.1f} h"


def beside(path: SearchPath | None, nested: dict[str, Any]) -> str:
    """The nested score of a record, and beside it the one that the choice itself saw, in words."""
    value, name = nested["value"], nested["measure"]
    line = f"Nested, {nested['folds']} outer folds: {name} "
    line += "–" if value is None else f"{value:.4f}"
    if nested["low"] is not None:
        line += f", 95% interval {nested['low']:.4f} to {nested['high']:.4f}"
    line += f" ({nested['reason']})" if nested["reason"] else ""
    if path is None or path.lower_is_better or value is None:
        return f"{line}."
    seen = path.at_chosen[0]
    by = f", too good by {seen - value:.4f}" if seen > value else ""
    return f"{line}; the choice itself saw {seen:.4f}{by}."


def _name(recipes: Sequence[Recipe]) -> str:
    return recipes[0].learner if len({one.learner for one in recipes}) == 1 else "the best learner"


def _measures(scoring: str | None) -> tuple[str, ...]:
    return MEASURED if scoring is None else ("ranking_error", scoring)


def _asked(judgement: Judgement, scoring: str | None) -> Measure:
    """The measure of the recipe; the ranking error as the share of pairs in the right order."""
    if scoring is not None:
        return judgement[scoring]
    error = judgement["ranking_error"]
    value, low, high = (
        None if end is None else 1.0 - end for end in (error.value, error.high, error.low)
    )
    return Measure(Scorer("concordance").name, value, low, high, error.reason)


def _chosen(record: Any, recipes: Sequence[Recipe]) -> str:
    """The choices of one fold in words."""
    words = [label_of(Recipe.from_record(record["recipe"]), recipes)] if len(recipes) > 1 else []
    path = SearchPath.from_record(record["path"])
    if path is not None:
        words.append(f"{path.parameter} {path.chosen:.5g}")
    words += [f"{name} {value:.4g}" for name, value in record["found"].items()]
    return ", ".join(words) or "as given"
