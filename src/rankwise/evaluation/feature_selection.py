"""How many features a greedy selection should take, and how stable its choice is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from rankwise.evaluation.curve import current_axes, new_axes
from rankwise.evaluation.estimators import as_items, fitted, scores_of
from rankwise.evaluation.judged_folds import JudgedFolds, checked_scores, refitting_folds, several
from rankwise.evaluation.truths import Truth, supervision_of
from rankwise.evaluation.unseen_scores import RefittedScores
from rankwise.learners.greedy_rank_rls import GreedyRankRLS
from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.model_selection.folds import RandomState, Splits, group_labels, kept_together
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
class SelectionCurve:
    """Errors after 1, 2, … features, as shares of the error of a model that says 0.

    Attributes
    ----------
    n_features : (k,) array
        1, 2, … k.
    criterion : (k,) array
        The held-out error that chose the features: it is too good, because it was
        chosen as the smallest of many.
    nested, nested_se : (k,) arrays
        The error on outer folds that neither the selection nor the training saw.
    score, score_se : (k,) arrays
        The `measure` on the same folds.
    measure : str
        What the scores are.
    selected : (k,) array
        The features of the selection on all items, in order.
    best, enough : int
        The number of features with the least nested error, and the fewest within one standard error
        of it.

    Examples
    --------
    >>> from rankwise import GreedyRankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import selection_curve
    >>> data = make_ranking(20, 10, 6, n_informative=2, random_state=0)
    >>> curve = selection_curve(GreedyRankRLS(4), data.X, data.y, data.qid)
    >>> curve.n_features, curve.selected[:2]
    (array([1, 2, 3, 4]), array([1, 0]))
    """

    n_features: np.ndarray
    criterion: np.ndarray
    nested: np.ndarray
    nested_se: np.ndarray
    score: np.ndarray
    score_se: np.ndarray
    measure: str
    selected: np.ndarray

    @property
    def best(self) -> int:
        """The number of features with the smallest nested error."""
        return int(self.n_features[np.argmin(self.nested)])

    @property
    def enough(self) -> int:
        """The smallest number of features whose nested error is within one standard error of it."""
        at = int(np.argmin(self.nested))
        return int(self.n_features[np.argmax(self.nested <= self.nested[at] + self.nested_se[at])])

    def __repr__(self) -> str:
        at = self.best - 1
        return (
            f"<SelectionCurve of 1 to {len(self.n_features)} features: least nested error "
            f"{self.nested[at]:.3f} ± {self.nested_se[at]:.3f} at {self.best} features (the "
            f"selection saw {self.criterion[at]:.3f}), {self.measure} {self.score[at]:.3f}; "
            f"{self.enough} are enough>"
        )

    def draw(self, axes: Axes | None = None) -> Axes:
        """Both errors over the number of features, on `axes` or on a new figure."""
        if axes is None:
            axes = new_axes()
        (line,) = axes.plot(self.n_features, self.nested, "o-", ms=3.5, label="unseen folds")
        low, high = self.nested - self.nested_se, self.nested + self.nested_se
        axes.fill_between(self.n_features, low, high, color=line.get_color(), alpha=0.18, lw=0)
        seen = "criterion of the selection (too good)"
        axes.plot(self.n_features, self.criterion, "--", color="grey", label=seen)
        axes.set(xlabel="selected features", ylabel="share of the squared error left")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return axes

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw on `axes`, or on the current axes of pyplot, which notebooks show."""
        return self.draw(current_axes() if axes is None else axes)


def selection_curve(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> SelectionCurve:
    """The held-out error of a greedy selection over its number of features, with an honest one.

    Outer folds are held out from selection and training alike; one
    selection per fold gives all numbers of features, so the price is one fit per fold and one on
    all items. Pairs of items that a fold holds out together count. Standard errors are those of a
    ratio of sums over folds, and of the mean of `scoring` over queries (or over folds). y may hold
    censored outcomes, whose comparable pairs count.

    Parameters
    ----------
    est
        A GreedyRankRLS, or a Pipeline that ends with one.
    X, y, qid
        As in `fit`.
    cv
        As in `nested_score`: at most 10 folds, of whole queries.
    groups : (m,) array, optional
        Items of one group always leave together, in the outer folds and in those of the selection.
    scoring
        As in `nested_score`.
    random_state
        Draws the folds.

    Returns
    -------
    SelectionCurve

    Examples
    --------
    >>> from rankwise import GreedyRankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import selection_curve
    >>> data = make_ranking(20, 10, 6, n_informative=2, random_state=0)
    >>> curve = selection_curve(GreedyRankRLS(4), data.X, data.y, data.qid)
    >>> curve.nested.round(2)
    array([0.37, 0.28, 0.29, 0.29])
    """
    _greedy_part(est)
    y, queries = checked_scores(y, qid)
    together = group_labels(groups, len(y))
    folds = refitting_folds(cv, y, queries, random_state, together)
    measure = read_scoring(scoring).bound(y)
    model = RefittedScores(est, X, y, several(queries), together)
    whole = _greedy_part(model.model)
    K = len(whole.selected_)
    errors, scores, judged = [], [], []
    splits = folds.splits
    for number, (held, test) in track(enumerate(splits), len(splits), "outer folds", least=3):
        train = np.setdiff1d(np.arange(len(y)), held)
        trained = model.fitted(train)
        S = np.stack(
            [scores_of(est, _first(trained, k + 1), model.X, test, train) for k in range(K)]
        )
        errors.append(_pair_errors(whole, y[test], queries.take(test), S))
        scores.append(S)
        judged.append((test, folds.units(number, test)))
    items = np.concatenate([test for test, _ in judged])
    _, codes = np.unique(np.concatenate([units for _, units in judged]), return_inverse=True)
    units = Queries(codes, np.arange(codes.max() + 1))
    both = []
    for S in np.hstack(scores):
        level = np.empty(len(S))
        for unit in units:
            level[unit] = model.ties.levels(items[unit], S[unit])
        found = JudgedFolds(y[items], level, units, items, S)
        score, influence = found.mean_and_influence(queries, together, scoring)
        both.append((score, np.sqrt(influence @ influence)))
    score, score_se = np.array(both).T
    nested, nested_se = _ratio(np.array(errors))
    seen = whole.criterion_ / whole.criterion_of_none_
    about = (score, score_se, measure.title, whole.selected_)
    return SelectionCurve(np.arange(1, K + 1), seen, nested, nested_se, *about)


def _greedy_part(est: Any) -> GreedyRankRLS:
    last = est[-1] if isinstance(est, Pipeline) else est
    if not isinstance(last, GreedyRankRLS):
        raise ValueError(
            f"a selection needs a GreedyRankRLS, or a Pipeline that ends with one; got {est!r:.80}."
        )
    return last


def _first(est: Any, k: int) -> Any:
    """The fitted estimator with the first k features."""
    few = _greedy_part(est).first(k)
    return Pipeline([*est.steps[:-1], ("first", few)]) if isinstance(est, Pipeline) else few


def _pair_errors(model: GreedyRankRLS, y: Truth, queries: Queries, S: np.ndarray) -> np.ndarray:
    """(1 + K,) the squared error of a model that says 0, and of the scores S (K, t)."""
    loss = quadratic_loss(model.loss, model.ties, model.query_weight)
    told = supervision_of(y, queries)
    quadratic, zero = loss.quadratic(told), loss.error_of_zero(told)
    beta = quadratic.target.beta
    left = beta - quadratic.laplacian.factor_t(np.ascontiguousarray(S.T))
    constant = zero - float(np.einsum("rk,rk->", beta, beta))
    return np.append(zero, np.einsum("rk,rk->k", left, left) + constant)


def _ratio(errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ errors / Σ error of zero over folds (f, 1 + K), and its standard error."""
    zero, errors = errors[:, :1], errors[:, 1:]
    share = errors.sum(axis=0) / zero.sum()
    apart = errors - share * zero
    f = len(errors)
    variance = (apart**2).sum(axis=0) * (f / (f - 1) if f > 1 else np.nan)
    return share, np.sqrt(variance) / zero.sum()


@dataclass
class Stability:
    """How far a selection of features depends on the sample.

    Attributes
    ----------
    stability : float
        The measure of Nogueira, Sechidis, Brown (2018). 1: always the same features. 0 is what
        random sets of the same sizes give.
    interval : (low, high)
        95% interval of it.
    frequency : (n,) array
        The share of resamples that selected each feature.
    selections : (M, n) array of bool
        Which resample selected what.

    Examples
    --------
    >>> from rankwise.evaluation import stability_of
    >>> found = stability_of([[True, True, False], [True, False, True], [True, True, False]])
    >>> found.frequency.round(2)
    array([1.  , 0.67, 0.33])
    """

    stability: float
    interval: tuple[float, float]
    frequency: np.ndarray
    selections: np.ndarray

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.stability:.3f} (95% {low:.3f} to {high:.3f})"


def selection_stability(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    n_resamples: int = 30,
    share: float = 0.5,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> Stability:
    """How far a selection depends on the sample: Nogueira, Sechidis, Brown (2018).

    Each resample is a random part of the queries (of the items, if there are no queries; of the
    groups, if there are groups), drawn without replacement, because copies of an item in a sample
    would be left out apart. The price is one fit per resample. The interval is the asymptotic one
    of the paper, and if all resamples agree a binomial one; it says how far the measure depends
    on the resamples that were drawn.

    Parameters
    ----------
    est
        Any estimator with `get_support` after `fit`, or a Pipeline that ends with one.
    X, y, qid
        As in `fit`.
    groups : (m,) array, optional
        Items of one group always stay or leave together.
    n_resamples : int
        How many resamples.
    share : float
        The share of queries or items in each.
    level : float
        Of the interval.
    random_state
        Draws the resamples.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from rankwise import GreedyRankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import selection_stability
    >>> data = make_ranking(20, 10, 6, n_informative=2, random_state=0)
    >>> options = {"n_resamples": 10, "random_state": 0}
    >>> found = selection_stability(GreedyRankRLS(2), data.X, data.y, data.qid, **options)
    >>> found.frequency
    array([1., 1., 0., 0., 0., 0.])
    """
    y, queries = checked_scores(y, qid)
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1; got {share!r}.")
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2; got {n_resamples!r}.")
    rng = check_random_state(0 if random_state is None else random_state)
    X = as_items(est, X)
    together = group_labels(groups, len(y))
    kept = kept_together(queries, together)
    n_units = len(y) if kept is None else int(kept.max()) + 1
    size = max(2, round(share * n_units))
    rows = []
    for _ in track(range(n_resamples), n_resamples, "resamples", least=5):
        drawn = np.sort(rng.permutation(n_units)[:size])
        items = drawn if kept is None else np.flatnonzero(np.isin(kept, drawn))
        rows.append(_support(fitted(est, X, y, items, several(queries), together)))
    return stability_of(np.array(rows), level)


def _support(est: Any) -> np.ndarray:
    last = est[-1] if isinstance(est, Pipeline) else est
    if not hasattr(last, "get_support"):
        raise ValueError(f"{type(last).__name__} selects no features: it has no get_support.")
    return last.get_support()


def stability_of(selections: ArrayLike, level: float = 0.95) -> Stability:
    """The measure for given selections (M, n) of boolean masks, and its interval.

    Parameters
    ----------
    selections : (M, n) array of bool
        Which features each of M samples selected.
    level : float
        Of the interval.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from rankwise.evaluation import stability_of
    >>> masks = [[True, True, False, False], [True, True, False, False], [True, False, True, False]]
    >>> print(stability_of(masks))
    0.333 (95% -0.022 to 0.689)
    """
    Z = np.asarray(selections, dtype=float)
    if Z.ndim != 2 or len(Z) < 2:
        raise ValueError(f"selections must be (M, n) masks with M of 2 or more; got {Z.shape}.")
    M, d = Z.shape
    p, k = Z.mean(axis=0), Z.sum(axis=1)
    mean = k.mean()
    chance = mean / d * (1 - mean / d)
    if not chance:
        raise ValueError(
            "the selections take none or all of the features, so there is no choice to judge."
        )
    stability = 1 - (M / (M - 1) * p * (1 - p)).mean() / chance
    parts = Z @ p / d - k * mean / d**2
    parts += stability / 2 * (2 * mean * k / d**2 - k / d - mean / d + 1)
    parts /= chance
    variance = 4 / M**2 * float(((parts - parts.mean()) ** 2).sum())
    half = float(norm.ppf(0.5 + level / 2) * np.sqrt(variance))
    if (Z[0] == Z).all():
        # With this confidence fewer than 1 − (1 − level)^(1/M) of all resamples select otherwise,
        # and a share s of others lowers the measure by at most 2 s.
        half = 2 * (1 - (1 - level) ** (1 / M))
    interval = (stability - half, min(stability + half, 1.0))
    return Stability(float(stability), interval, p, Z > 0)
