"""An outer estimate that never saw the choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.folds import checked_scores, judge, refitting_folds
from rankwise.evaluation.held_out import Refitting
from rankwise.evaluation.intervals import TRAINING, score_interval, student_interval


@dataclass
class NestedScore:
    """`score` ± `score_se` on data that neither training nor selection saw, and its `interval`.

    `selected_score` is the cross-validated score that the choice itself was made by, which is too
    good by the `optimism`; None where the estimator keeps none. `chosen` lists what each outer
    fold chose.
    """

    score: float
    score_se: float
    interval: tuple[float, float]
    selected_score: float | None
    chosen: list = field(default_factory=list)

    @property
    def optimism(self) -> float | None:
        return None if self.selected_score is None else self.selected_score - self.score

    def __str__(self) -> str:
        low, high = self.interval
        text = f"{self.score:.3f} ± {self.score_se:.3f} (95% {low:.3f} to {high:.3f})"
        if self.selected_score is not None:
            text += f"; the selection itself saw {self.selected_score:.3f}"
        return text


def nested_score(est, X, y, qid=None, *, cv="auto", random_state=None) -> NestedScore:
    """Concordance by an outer cross-validation around an estimator that selects for itself.

    Each outer fold is scored by a model whose parameters were chosen without it: RankRLSCV,
    RankSVMCV, a GridSearchCV, or any estimator. `cv` as in RankRLSCV, except that "auto" is
    leave-query-out up to 10 queries, else 10 folds (by query, stratified where y has two values).
    With queries the mean over queries, else over the pairs that folds hold out together.
    """
    check_estimator(est)
    y, queries = checked_scores(y, qid)
    told = queries if len(queries) > 1 else None
    folds = refitting_folds(cv, X, y, queries, random_state)
    model = _Recording(est, X, y, told)
    score, influence = judge(model, folds, "outer folds").mean_and_influence(told is not None)
    variance = float(influence @ influence) * (1.0 if told is not None else TRAINING)
    if told is not None:
        interval = student_interval(score, variance, 0.95, len(influence))
    else:
        interval = score_interval(score, variance, 0.95, apart=len(y) // 2, freedom=len(y) - 1)
    selected = getattr(model.model, "best_score_", None)
    return NestedScore(score, float(np.sqrt(variance)), interval, selected, model.chosen)


class _Recording(Refitting):
    """Keeps what the estimator chose for each hold-out; None where nothing could be learnt."""

    def __init__(self, estimator, X, y, queries):
        super().__init__(estimator, X, y, queries)
        self.chosen = []

    def without(self, index, test=None):
        scores = super().without(index, test)
        self.chosen.append(_choice(self.latest))
        return scores


def _choice(model):
    """What a fitted search settled on: its alpha, or a grid search's best parameters."""
    for name in ("alpha_", "C_", "best_params_"):
        if hasattr(model, name):
            return getattr(model, name)
    return None
