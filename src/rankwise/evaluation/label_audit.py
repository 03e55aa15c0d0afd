"""Which labels are probably wrong: held-out predictions that contradict what was told."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats
from scipy.special import expit
from sklearn.base import BaseEstimator, clone

from rankwise.evaluation.estimators import check_estimator, has_closed_form
from rankwise.evaluation.judged_folds import checked_scores, judge, refitting_folds, several
from rankwise.evaluation.unseen_scores import unseen_scores
from rankwise.exceptions import EstimateWarning
from rankwise.learners.rank_rls import RankRLS
from rankwise.model_selection.folds import RandomState, Splits, group_labels
from rankwise.supervision.censored import Censored
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

REFITTED_UP_TO = 100
"""With more items, an estimator without a closed form is judged by folds, not item by item."""
OUTLYING = 3.5
"""Errors of more standard deviations do not count for the standard deviation."""
TURNED = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
"""Shares of statements that may be turned round."""
CLEARLY = stats.chi2.isf(0.01, 1)
"""By how much twice the logarithm of the likelihood must grow, to believe that some are."""
NO_AGREEMENT = (
    "the held-out predictions do not agree with what was told at all, so that no label can be "
    "called suspicious: the model has not learnt anything."
)


@dataclass
class Suspects:
    """Items or statements, those first that held-out predictions contradict most.

    Attributes
    ----------
    kind : str
        Whether `index` are rows of X or numbers of statements.
    index : (m,) array
        The most contradicted first.
    p_value : (m,) array
        The probability of such a contradiction under the model's own error, if the label is right.
    told, expected : (m,) arrays
        The label, and what the model expects in its place: a score, or for a statement the
        probability that it is right.
    how : str
        What was held out.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import suspects
    >>> X = np.arange(30.0)[:, None]
    >>> y = np.where(X.ravel() == 7, 25.0, X.ravel() + np.sin(X.ravel()))
    >>> suspects(RankRLS(), X, y).flagged()
    array([7])
    """

    kind: str
    index: np.ndarray
    p_value: np.ndarray
    told: np.ndarray
    expected: np.ndarray
    how: str

    def flagged(self, level: float = 0.05) -> np.ndarray:
        """Those that are called wrong, with at most this share of false alarms expected among them.

        Benjamini and Hochberg's procedure over all p-values.
        """
        m = len(self.p_value)
        passed = np.flatnonzero(self.p_value <= level * np.arange(1, m + 1) / m)
        return self.index[: passed[-1] + 1] if len(passed) else self.index[:0]

    def __len__(self) -> int:
        return len(self.index)

    def __str__(self) -> str:
        number = len(self.flagged())
        lines = [
            f"{number} of {len(self)} {self.kind} contradict the model ({self.how})",
            f"{self.kind[:-1]:>9}     told  expected        p",
        ]
        rows = zip(self.index, self.told, self.expected, self.p_value)
        for (index, told, expected, p), _ in zip(rows, range(max(number, 5))):
            lines.append(f"{index:9d} {told:8.4g} {expected:9.4g} {p:8.2g}")
        return "\n".join(lines)


def suspects(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    groups: ArrayLike | None = None,
    cv: Splits = "auto",
    random_state: RandomState = None,
) -> Suspects:
    """The labels that held-out predictions contradict most, each with a p-value.

    Items: each score y is compared with the prediction of a model trained without the item (with
    `groups`: without its group): exact leave-one-out for RLS, RankRLS and RankRLSCV (with the alpha
    that it chooses), refits for others, 10 folds from 101 items on, or the folds of `cv`. Scores
    count relative to the other items of the query, because a ranking has no origin, and predictions
    are brought to the scale of y by one factor. The error of an item is divided by the standard
    deviation of the errors that are not outlying, and p is two-sided in Student's distribution:
    uniform if labels are right and errors are about normal.

    Statements: all statements about two items leave together. The
    probability that a statement is right is a logistic function of the held-out difference of the
    two scores, whose slope is fitted to all of them. p is the share of statements that would be at
    least as improbable if each of them were drawn with these probabilities. Ties are not judged
    (p = 1). RankRLS and RankRLSCV only.

    Costs one decomposition with closed forms. docs/evaluation.md has the measured precision.

    Parameters
    ----------
    est
        The estimator.
    X, y, qid
        As in `fit`.
    preferences : Preferences, optional
        Statements in place of y.
    groups : (m,) array, optional
        Labels of items that leave together.
    cv
        The folds, for estimators that are refitted.
    random_state
        Draws the folds.

    Returns
    -------
    Suspects

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import suspects
    >>> X = np.arange(30.0)[:, None]
    >>> y = np.where(X.ravel() == 7, 25.0, X.ravel() + np.sin(X.ravel()))
    >>> found = suspects(RankRLS(), X, y)
    >>> int(found.index[0]), float(found.told[0])
    (7, 25.0)
    """
    check_estimator(est)
    if preferences is not None:
        if y is not None:
            raise ValueError("give scores y or preferences, not both.")
        return _suspect_statements(est, X, qid, preferences)
    if y is None:
        raise ValueError("give scores y, or statements by preferences=.")
    y, queries = checked_scores(y, qid)
    if isinstance(y, Censored):
        raise ValueError(
            "suspects judges scores or statements: a censored outcome tells no value that a "
            "prediction could contradict."
        )
    together = group_labels(groups, len(y))
    labels = {} if groups is None else {"groups": groups}
    est = _with_chosen_alpha(est, X, {"y": y, "qid": qid, **labels})
    model = unseen_scores(est, X, y, several(queries), together)
    given = not (isinstance(cv, str) and cv == "auto")
    if not given and together is not None:
        scores, how = np.empty(len(y)), "leave-group-out"
        for items in together:
            scores[items] = model.without(items)
    elif not given and (has_closed_form(est) or len(y) <= REFITTED_UP_TO):
        scores, how = model.each(), "leave-one-out"
    else:
        folds = refitting_folds(cv, y, Queries.from_labels(None, len(y)), random_state, together)
        judged = judge(model, folds)
        scores, how = np.full(len(y), np.nan), str(folds)
        scores[judged.items] = judged.scores
        if np.isnan(scores).any():
            raise ValueError(f"no fold of cv tests row {int(np.argmax(np.isnan(scores)))}.")
    model.refuse_untaught("each class needs two items or more")
    return suspects_of_scores(y, scores, queries, how)


def suspects_of_scores(y: np.ndarray, s: np.ndarray, queries: Queries, how: str) -> Suspects:
    """The same for scores s of models that have not seen the items that they score."""
    told, predicted = _beside_others(y, queries), _beside_others(s, queries)
    counts = queries.sizes[queries.codes] > 1
    slope, deviation, freedom = _own_error(told[counts], predicted[counts])
    error = told - slope * predicted
    p = np.ones(len(y))
    if slope > 0.0 and deviation > 0.0:
        p[counts] = 2 * stats.t.sf(np.abs(error[counts]) / deviation, freedom)
    else:
        warnings.warn(NO_AGREEMENT, EstimateWarning, stacklevel=3)
    sizes = queries.sizes[queries.codes]
    expected = y - error * np.sqrt(sizes / np.maximum(sizes - 1, 1))
    order = np.lexsort((-np.abs(error), p))
    return Suspects("items", order, p[order], y[order], expected[order], how)


def _beside_others(values: np.ndarray, queries: Queries) -> np.ndarray:
    """Each value minus the mean of the others of its query, with the variance of a single value."""
    sizes, codes = queries.sizes, queries.codes
    centred = values - (np.bincount(codes, values) / sizes)[codes]
    m = sizes[codes]
    return centred * np.sqrt(m / np.maximum(m - 1, 1))


def _own_error(told: np.ndarray, predicted: np.ndarray) -> tuple[float, float, float]:
    """The factor of the predictions, the standard deviation of the errors, degrees of freedom.

    Least squares; then again without the errors that are outlying beside the median of all.
    """
    kept = np.ones(len(told), dtype=bool)
    for _ in range(5):
        squared = float(predicted[kept] @ predicted[kept])
        slope = float(told[kept] @ predicted[kept]) / squared if squared > 0.0 else 0.0
        slope = max(slope, 0.0)
        error = told - slope * predicted
        freedom = max(int(kept.sum()) - 2, 1)
        deviation = float(np.sqrt(error[kept] @ error[kept] / freedom))
        typical = float(np.median(np.abs(error))) / stats.norm.ppf(0.75)
        now = np.abs(error) <= OUTLYING * (typical or deviation)
        if np.array_equal(now, kept):
            break
        kept = now
    return slope, deviation, float(freedom)


def _suspect_statements(
    est: Any, X: ArrayLike, qid: ArrayLike | None, preferences: Preferences
) -> Suspects:
    if not hasattr(est, "hold_outs"):
        raise ValueError(
            f"{type(est).__name__} has no closed form without single statements: suspects of "
            "preferences are for RankRLS and RankRLSCV."
        )
    told = {"preferences": preferences, "qid": qid}
    est = _with_chosen_alpha(est, X, told)
    problem = est.hold_outs(X, **told)
    differences = problem.leave_preferences_out([est.alpha])[0, :, 0]
    tie = getattr(preferences, "tie", None)
    judged = np.ones(len(differences), dtype=bool) if tie is None else ~np.asarray(tie, dtype=bool)
    d = differences[judged]
    right, p = np.full(len(differences), 0.5), np.ones(len(differences))
    slope = _logistic_slope(d)
    if slope > 0.0:
        right[judged] = expit(slope * d)
        p[judged] = _as_improbable(right[judged])
    else:
        warnings.warn(NO_AGREEMENT, EstimateWarning, stacklevel=3)
    order = np.lexsort((differences, p))
    ones = np.where(judged, 1.0, 0.5)
    how = "leave-preference-out"
    return Suspects("statements", order, p[order], ones[order], right[order], how)


def _logistic_slope(differences: np.ndarray) -> float:
    """The slope b ≥ 0 of the largest likelihood Π σ(b d), σ(x) = 1/(1 + exp(−x)).

    If it is clearly smaller than that of Π (1 − e) σ(b d) + e σ(−b d), a share e of the statements
    is turned round, and would make the slope too small: then it is the b of the latter.
    """
    size = float(np.median(np.abs(differences))) if len(differences) else 0.0
    if size == 0.0 or differences.mean() <= 0.0:
        return 0.0
    scaled = differences / size

    def fitted(turned: float) -> tuple[float, float]:
        def cost(b: float) -> float:
            return -float(np.log((1 - 2 * turned) * expit(b * scaled) + turned + 1e-300).sum())

        found = optimize.minimize_scalar(cost, bounds=(0.0, 1e3), method="bounded")
        return float(found.fun), float(found.x)

    plain, slope = fitted(0.0)
    other, steeper = min(fitted(turned) for turned in TURNED)
    return (steeper if 2 * (plain - other) > CLEARLY else slope) / size


def _as_improbable(right: np.ndarray) -> np.ndarray:
    """P that a statement is at most as probable as each of these, if pairs say what they should.

    The two possible statements about pair j have the probabilities right_j and 1 − right_j.
    """
    either = np.concatenate((right, 1.0 - right))
    order = np.argsort(either, kind="stable")
    below = np.cumsum(either[order]) / len(right)
    position = np.searchsorted(either[order], right, side="right") - 1
    return np.minimum(below[position], 1.0)


def _with_chosen_alpha(est: Any, X: ArrayLike, told: dict[str, Any]) -> Any:
    """For a search with closed-form hold-outs: the learner with the alpha that it chooses."""
    if has_closed_form(est) or not hasattr(est, "hold_outs") or not hasattr(est, "alphas"):
        return est
    names = RankRLS().get_params()
    shared = {name: value for name, value in est.get_params().items() if name in names}
    return RankRLS(**{**shared, "alpha": clone(est).fit(X, **told).alpha_})
