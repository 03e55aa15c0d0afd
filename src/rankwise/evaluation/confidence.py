"""The interval of a concordance, an AUC or a share of statements, by the method that suits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from rankwise.evaluation.intervals import (
    FEW_PAIRS,
    Interval,
    check_level,
    delong,
    freedom_of_units,
    interval_of_share,
    interval_over_queries,
    jackknife_of_shares,
    normal_interval,
    score_interval,
    warn_of_few,
)
from rankwise.evaluation.truths import Truth
from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import item_concordance, query_concordance
from rankwise.metrics.score_vectors import finite_vector, no_pair_to_order, outcome_and_predicted
from rankwise.model_selection.folds import RandomState
from rankwise.model_selection.preference_folds import Counted, share_of_statements
from rankwise.supervision.censored import Censored
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

METHODS = {
    "auto": "bootstrap with queries, else delong for two values of y, else jackknife",
    "delong": "AUC: DeLong's variance, O(m log m)",
    "jackknife": "concordance of real scores: items are left out one by one, O(m log m)",
    "bootstrap": "mean over queries: queries are resampled",
}


FEWER_RESAMPLES = 2_000
MANY_UNITS = 2000
"""With more pairs of items, or groups, resampling changes nothing: Student's interval is used."""


class ResampledInterval(Interval):
    """An interval that says what was `resampled`: "pairs of items" or "groups"."""

    resampled: str = "pairs of items"


def confidence_interval(
    y: ArrayLike | Preferences | None,
    s: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    method: str = "auto",
    random_state: RandomState = None,
) -> tuple[float, float]:
    """Lower and upper limit for the concordance of s with y, which is the AUC if y is binary.

    The scores s must be predictions of one model for data that it has not seen: items (with qid:
    queries) are assumed to be independent. For leave-pair-out see `leave_pair_out_interval`.

    If there are few items, or if the estimate A is within three standard errors of 0
    or 1, the normal interval is too short and is replaced by Wilson's interval for
    A(1 − A)/variance independent pairs. With fewer than 8 queries Student's interval replaces the
    bootstrap. Simulated coverage is in docs/papers/evaluation.md. O(m log m).

    Parameters
    ----------
    y, s, qid
        As in `metrics.concordance`.
    preferences : Preferences, optional
        Statements in place of y (None). The limits are those of the weighted share of
        statements in the right order, where ties count ½, by a bootstrap over pairs of items, or
        over groups; the attribute `resampled` of the result says which.
    groups : (l,) array, optional
        Labels of the statements, such as their judges.
    level : float
        Of the interval.
    method : {"auto", "delong", "jackknife", "bootstrap"}
        "auto" is the bootstrap over queries of the mean over queries if there are queries.
        Otherwise it is DeLong's variance if y has two values, and the jackknife over items if y has
        more or holds censored outcomes (Harrell's concordance; see `uno_interval` for Uno's).
        "delong" is always the plain normal interval, cut at 0 and 1.
    random_state
        Draws the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.evaluation import confidence_interval
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> low, high = confidence_interval(y, y + rng.normal(size=200))
    >>> f"{low:.2f} to {high:.2f}"
    '0.69 to 0.83'
    """
    check_choice("method", method, METHODS)
    check_level(level)
    if isinstance(y, Preferences):
        y, preferences = None, y
    if preferences is not None:
        if method not in ("auto", "bootstrap"):
            raise ValueError(f"method={method!r} is for scores y: preferences are resampled.")
        if y is not None or qid is not None:
            raise ValueError("with preferences leave y and qid out.")
        return _over_statements(preferences, s, groups, level, random_state)
    if groups is not None:
        raise ValueError("groups label statements: give preferences, or qid for scores y.")
    if y is None:
        raise ValueError("give the scores y of the items, or preferences= in their place.")
    truth, s = outcome_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(truth))
    if method == "auto" and len(queries) > 1:
        method = "bootstrap"
    if method == "bootstrap":
        return _over_queries(truth, s, queries, level, random_state)
    if len(queries) > 1:
        raise ValueError(
            f"method={method!r} judges a single query: leave qid out, or use 'bootstrap'."
        )
    if not query_concordance(truth, s[:, None], queries)[0].any():
        raise no_pair_to_order(False, truth)
    if not np.any(s != s[0]):
        raise UndefinedMetric("s is constant: scores that order nothing have no interval.")
    return _over_items(truth, s, queries, level, method)


def _over_items(
    y: Truth, s: np.ndarray, queries: Queries, level: float, method: str
) -> tuple[float, float]:
    low, high, is_binary = 0.0, 0.0, False
    if not isinstance(y, Censored):
        low, high = y.min(), y.max()
        is_binary = bool(np.all((y == low) | (y == high)))
    if method == "delong" and not is_binary:
        raise ValueError('method="delong" needs two values of y: use "jackknife".')
    if method == "jackknife" or not is_binary:
        estimate, variance = _jackknife_over_items(y, s, queries)
        return score_interval(estimate, variance, level, **freedom_of_units(y, len(y)))
    estimate, variance, fewer, freedom = delong(s[y == low], s[y == high])
    if method == "delong":
        if fewer < 2:
            raise UndefinedMetric('method="delong" needs two items of each class.')
        low, high = normal_interval(estimate, variance, level)
        return max(low, 0.0), min(high, 1.0)
    return score_interval(estimate, variance, level, disjoint=fewer, freedom=freedom)


def _jackknife_over_items(y: Truth, s: np.ndarray, queries: Queries) -> tuple[float, float]:
    """The concordance, and the jackknife variance over single items in O(m log m)."""
    return jackknife_of_shares(*item_concordance(y, s, queries))


def _over_queries(
    y: Truth,
    s: np.ndarray,
    queries: Queries,
    level: float,
    random_state: RandomState,
) -> tuple[float, float]:
    pairs, right = query_concordance(y, s[:, None], queries)
    judged = pairs > 0
    values = right[judged, 0] / pairs[judged]
    q = len(values)
    if q == 0:
        raise no_pair_to_order(True, y)
    if q == 1:
        raise UndefinedMetric(
            "only one query has a pair: a bootstrap over queries needs two. Leave qid out to "
            "judge the items of that query."
        )
    order, starts = queries.order, queries.starts[:-1]
    if np.all(np.maximum.reduceat(s[order], starts) == np.minimum.reduceat(s[order], starts)):
        raise UndefinedMetric(
            "s is constant within every query: scores that order nothing have no interval."
        )
    return interval_over_queries(values, level, random_state)


def _over_statements(
    preferences: Preferences,
    s: ArrayLike,
    groups: ArrayLike | None,
    level: float,
    random_state: RandomState,
) -> ResampledInterval:
    """Percentiles of the share over resampled units, widened as in `bootstrap_interval`."""
    s = finite_vector(s, "s")
    preferences = check_preferences(preferences, None, len(s))
    if groups is None:
        pair_of, pairs = preferences.unordered_pairs(len(s))
        units, what = Queries(pair_of, np.arange(len(pairs))), "pairs of items"
    else:
        units = Queries.from_labels(groups, len(preferences), "groups", "preference")
        what = "groups"
    differences = s[preferences.winner] - s[preferences.loser]
    judged = [(np.arange(len(preferences)), differences[None])]
    counted_units = Counted((units.codes,), len(units))
    shares, influence = share_of_statements(preferences, counted_units, judged, 1)
    share, own = float(shares[0, 0]), np.nan_to_num(influence[0, :, 0])
    weight = np.bincount(units.codes, preferences.weight, minlength=len(units))
    counted = weight > 0
    n, error = int(counted.sum()), float(np.sqrt(own @ own))
    warn_of_few(n, what)
    if not FEW_PAIRS <= n <= MANY_UNITS or not 1e-12 < error <= min(share, 1 - share) / 3:
        limits = interval_of_share(share, error**2, level, n)
    else:
        hits = own[counted] * weight.sum() * np.sqrt((n - 1) / n) + share * weight[counted]
        rng = check_random_state(0 if random_state is None else random_state)
        limits = _resampled_share(hits, weight[counted], level, rng)
    interval = ResampledInterval(*limits)
    interval.resampled = what
    return interval


def _resampled_share(
    hits: np.ndarray, weight: np.ndarray, level: float, random_state: np.random.RandomState
) -> tuple[float, float]:
    n = len(hits)
    drawn = random_state.multinomial(n, np.full(n, 1 / n), size=FEWER_RESAMPLES)
    shares = (drawn @ hits) / (drawn @ weight)
    outer = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf(0.5 + level / 2, n - 1))
    low, high = np.quantile(shares[np.isfinite(shares)], [outer, 1 - outer])
    return float(low), float(high)
