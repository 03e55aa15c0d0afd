"""An outer estimate that is independent of the choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.intervals import TRAINING, score_interval, student_interval
from rankwise.evaluation.judged_folds import checked_scores, judge, refitting_folds, several
from rankwise.evaluation.unseen_scores import RefittedScores
from rankwise.model_selection.folds import RandomState, Splits, group_labels


@dataclass
class NestedScore:
    """`score` ± `score_se` on data that neither training nor selection saw, and its `interval`.

    `selected_score` is the cross-validated score by which the estimator chose, which is too good by
    the `optimism`; it is None if the estimator has no `best_score_`. `chosen` lists the choice of
    each outer fold.
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


def nested_score(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> NestedScore:
    """Concordance by an outer cross-validation around an estimator that chooses its parameters.

    Each outer fold is scored by a model whose parameters were chosen without the fold. The
    estimator may be RankRLSCV, RankSVMCV, a GridSearchCV, or any other. `cv` is as in RankRLSCV,
    except that "auto" is leave-query-out up to 10 queries, else 10 folds (by query; stratified if y
    has two values). With queries the score is the mean over queries, else the share over the pairs
    that folds hold out together. Items of one group always leave together, in the outer folds and
    in those of an estimator whose `fit` takes groups.
    """
    check_estimator(est)
    y, queries = checked_scores(y, qid)
    by_query = len(queries) > 1
    together = group_labels(groups, len(y))
    folds = refitting_folds(cv, y, queries, random_state, together)
    model = RefittedScores(est, X, y, several(queries), together)
    judged = judge(model, folds, "outer folds")
    score, influence = judged.mean_and_influence(by_query, together)
    variance = float(influence @ influence) * (1.0 if by_query else TRAINING)
    if by_query:
        interval = student_interval(score, variance, 0.95, len(influence))
    else:
        units = len(influence)
        interval = score_interval(score, variance, 0.95, disjoint=units // 2, freedom=units - 1)
    selected = getattr(model.model, "best_score_", None)
    return NestedScore(score, float(np.sqrt(variance)), interval, selected, model.chosen)
