"""An outer estimate that is independent of the choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwise.evaluation.estimators import check_estimator
from rankwise.evaluation.held_out_statements import (
    RefittedStatements,
    Statements,
    check_learns_preferences,
    fitted_to,
    judged_share,
)
from rankwise.evaluation.intervals import (
    TRAINING,
    freedom_of_units,
    interval_of_share,
    score_interval,
    student_interval,
    warn_of_few,
)
from rankwise.evaluation.judged_folds import checked_scores, judge, refitting_folds, several
from rankwise.evaluation.unseen_scores import RefittedScores
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.model_selection.folds import RandomState, Splits, group_labels
from rankwise.supervision.preferences import Preferences


@dataclass
class NestedScore:
    """The score on data that neither training nor selection saw.

    Attributes
    ----------
    score, score_se : float
        The score and its standard error.
    interval : (low, high)
        95% interval.
    selected_score : float or None
        The cross-validated score by which the estimator chose, which is too good by the
        `optimism`; None if the estimator has no `best_score_`, or one of another measure than
        the one that was asked for.
    chosen : list
        The choice of each outer fold.
    how : str
        For preferences: what the outer folds hold out, and over what the interval is taken.

    Examples
    --------
    >>> from rankwise import RankRLSCV
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import nested_score
    >>> data = make_ranking(n_queries=12, n_items=10, random_state=0)
    >>> print(nested_score(RankRLSCV(), data.X, data.y, data.qid))
    0.837 ± 0.016 (95% 0.802 to 0.872); the selection itself saw 0.841
    """

    score: float
    score_se: float
    interval: tuple[float, float]
    selected_score: float | None
    chosen: list = field(default_factory=list)
    how: str = ""

    @property
    def optimism(self) -> float | None:
        return None if self.selected_score is None else self.selected_score - self.score

    def __str__(self) -> str:
        low, high = self.interval
        spread = f" ± {self.score_se:.3f}" if np.isfinite(self.score_se) else ""
        text = f"{self.score:.3f}{spread} (95% {low:.3f} to {high:.3f})"
        if self.selected_score is not None:
            text += f"; the selection itself saw {self.selected_score:.3f}"
        return text


def nested_score(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> NestedScore:
    """The score by an outer cross-validation around an estimator that chooses its parameters.

    Each outer fold is scored by a model whose parameters were chosen without the fold. With queries
    the score is the mean over queries, else the share over the pairs
    that folds hold out together (for a measure of lists: the mean over folds).

    The interval of a mean over queries or folds is Student's. If all of them have the same value it
    is Wilson's for as many trials, and `score_se` is nan: equal values do not show an error. Fewer
    than 4 raise an EstimateWarning.

    Parameters
    ----------
    est
        RankRLSCV, RankSVMCV, a GridSearchCV, or any other estimator.
    X, y, qid
        As in `fit`.
    preferences : Preferences, optional
        Statements in place of y; the score is the share of held-out statements in the
        right order. Outer folds ("auto": 10) hold out all statements about two items together, or
        those of one group: `groups` then labels the statements, for example by their judge. The
        interval is over pairs of items, or over groups; `how` says which.
    cv
        As in RankRLSCV, except that "auto" is leave-query-out up to 10 queries, else 10 folds (by
        query; stratified if y has two values, or holds censored outcomes: folds then share the
        events evenly).
    groups : (m,) array, optional
        Items of one group always leave together, in the outer folds and in those of an estimator
        whose `fit` takes groups; queries that share a group count as one unit.
    scoring
        None for concordance; `"ndcg@10"`, "map", "tau", "auc", `"err@10"` or another name of a
        measure, a rankwise.metrics.scorer, or a callable(y, s) to maximise. It judges; what the
        estimator chooses by is its own `scoring`.
    random_state
        Draws the folds.

    Returns
    -------
    NestedScore

    Examples
    --------
    >>> from rankwise import RankRLSCV
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import nested_score
    >>> data = make_ranking(n_queries=12, n_items=10, random_state=0)
    >>> found = nested_score(RankRLSCV(), data.X, data.y, data.qid, scoring="ndcg@5")
    >>> round(found.score, 3), len(found.chosen)
    (0.773, 10)
    """
    check_estimator(est)
    if preferences is not None:
        data = Statements.checked(X, y, qid, preferences, groups, scoring)
        return _of_statements(est, data, cv, random_state)
    y, queries = checked_scores(y, qid)
    measure = read_scoring(scoring)
    by_query = len(queries) > 1
    together = group_labels(groups, len(y))
    folds = refitting_folds(cv, y, queries, random_state, together)
    model = RefittedScores(est, X, y, several(queries), together)
    judged = judge(model, folds, "outer folds")
    score, influence = judged.mean_and_influence(queries, together, scoring)
    variance = float(influence @ influence) * (1.0 if by_query else TRAINING)
    units = len(influence)
    if by_query or not measure.judges_pairs:
        warn_of_few(units, "queries" if by_query else "folds")
        variance = variance if np.isfinite(variance) else 0.0
        interval = student_interval(score, variance, 0.95, units, measure.range)
        variance = variance if variance > 1e-24 else np.nan
    else:
        interval = score_interval(score, variance, 0.95, **freedom_of_units(y, units))
    own = est.get_params(deep=False).get("scoring")
    same = scoring is None or (own is not None and repr(read_scoring(own)) == repr(measure))
    selected = getattr(model.model, "best_score_", None) if same else None
    return NestedScore(score, float(np.sqrt(variance)), interval, selected, model.chosen)


def _of_statements(
    est: BaseEstimator, data: Statements, cv: Splits, random_state: RandomState
) -> NestedScore:
    """The nested score of preferences: every outer fold is refitted, with a choice of its own."""
    check_learns_preferences(est)
    folds = data.folds(cv, random_state=random_state)
    outer = RefittedStatements(est, data)
    score, influence = judged_share(outer, folds)
    units = len(influence)
    warn_of_few(units, folds.what)
    interval = interval_of_share(score, TRAINING * float(influence @ influence), 0.95, units)
    everything = np.arange(len(data.preferences))
    selected = getattr(fitted_to(est, data, data.preferences, everything), "best_score_", None)
    error = float(np.sqrt(TRAINING * influence @ influence)) or np.nan
    how = f"{folds}; interval over {units} {folds.what}"
    return NestedScore(score, error, interval, selected, outer.chosen, how)
