"""Honest estimates for relations: which of rows and columns are new at test time decides them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwise.evaluation.curve import current_axes, new_axes
from rankwise.evaluation.intervals import Interval, check_level, warn_of_few
from rankwise.evaluation.node_uncertainty import TRAINING, JudgedEdges, NodeEstimate
from rankwise.evaluation.relational_folds import (
    HeldOutEdges,
    RelationData,
    argument_of,
    check_relational,
    held_out_edges,
    prepared,
    relational_splits,
)
from rankwise.exceptions import EstimateWarning
from rankwise.learners.relation_model_search import SETTINGS
from rankwise.metrics.scorers import OwnMeasure, Scorer, Scoring, read_scoring
from rankwise.model_selection.folds import RandomState
from rankwise.numerics.progress import track
from rankwise.validation import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEW = {
    "edges": "known rows, known columns",
    "rows": "new rows",
    "columns": "new columns",
    "both": "new rows and new columns",
}


class _Result(NamedTuple):
    score: float
    interval: Interval


class RelationalScore(_Result):
    """The score and its interval; `score, interval = relational_score(...)`.

    Attributes
    ----------
    score : float
        The held-out score.
    interval : (low, high)
        Its interval over nodes.
    score_se : float
        Standard error over nodes.
    setting, measure : str
        What was held out, and what the score is.
    chosen : list
        `alpha_` of every fold for an estimator that chooses, else None for each.
    held_out
        The test edges with their labels, scores and folds.
    n_conditions, n_objects : int
        How many nodes of each kind the score rests on.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> from rankwise.evaluation import relational_score
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(20, 15))
    >>> found = relational_score(ConditionalRanker(), (drugs, targets), Y, setting="rows")
    >>> found.setting, found.n_conditions
    ('rows', 20)
    """

    score_se: float
    setting: str
    measure: str
    chosen: list[Any]
    held_out: HeldOutEdges
    n_conditions: int
    n_objects: int

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.setting}: {self.score:.3f} (95% {low:.3f} to {high:.3f})"


def relational_score(
    est: BaseEstimator,
    X: Any,
    Y: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    setting: str = "edges",
    cv: Any = 5,
    nested: bool = True,
    average: str = "conditions",
    scoring: Scoring = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> RelationalScore:
    """The score of a learner of relations on held-out edges, and its interval over nodes.

    The estimator is fitted once per fold, only to edges and nodes that are known in the setting,
    and ranks the test edges of each condition. Test edges of different folds are never compared
    with each other, because their scores come from different models.

    Parameters
    ----------
    est
        ConditionalRanker, TwoStepRanker, one of their searches, KernelFilter, NearestNodes, or any
        estimator with fit(X, y, edges=) and predict_edges(U, V, edges).
    X, Y, edges
        As in the estimator's fit, one relation; nan in Y is not observed. With kernel="precomputed"
        X holds kernel matrices.
    setting
        "edges" (rows and columns known), "rows" (rows are new), "columns", or "both". In one domain
        a new node is new in both roles. Which one is yours: what is new when the model is used.
        Random edges flatter a model that is used for new nodes.
    cv
        Number of folds, or a splitter of rankwise.selection.
    nested
        A search (ConditionalRankerCV, TwoStepRankerCV) chooses inside each training part, in the
        same setting. False chooses once with all edges, which is too good.
    average
        "conditions" is the mean over conditions; "pairs" the share over all pairs of all conditions
        (equation 4 of Pahikkala et al. 2013).
    scoring
        None for the share of pairs in the right order; `"ndcg@10"`, "map", "tau" or another name of
        a measure, a rankwise.metrics.scorer, or a callable(y, s) to maximise.
    level
        Of the interval.
    random_state
        Draws the folds; None always draws the same.

    Notes
    -----
    Edges that share a node are not independent, so the interval comes from the jackknife over
    nodes: rows and columns are left out of the judged edges, one by one. Its variance is multiplied
    by rankwise.evaluation.node_uncertainty.TRAINING, because nodes also train the models that judge
    other nodes. docs/evaluation.md has the simulated coverage.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import TwoStepRanker
    >>> from rankwise.evaluation import relational_score
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(40, 30))
    >>> score, (low, high) = relational_score(TwoStepRanker(), (drugs, targets), Y, setting="both")
    >>> print(f"{score:.2f}, from {low:.2f} to {high:.2f}")
    0.77, from 0.70 to 0.84
    """
    check_relational(est)
    check_level(level)
    data = RelationData.checked(X, Y, edges)
    measure = read_scoring(scoring).bound(data.y)
    model = prepared(est, setting)
    splits = relational_splits(data, est, setting, cv, random_state)
    if not nested:
        model = chosen_once(model, data)
    held_out, chosen = held_out_edges(model, data, splits)
    estimate = judged(est, data, held_out, measure, average)
    warn_of_few(min(estimate.judged), "nodes")
    return _result(estimate, held_out, chosen, (setting, measure, level))


def chosen_once(model: BaseEstimator, data: RelationData) -> BaseEstimator:
    """The best estimator of a search over all edges, which is no longer a search."""
    X = data.X[0] if data.one_domain else data.X
    if not hasattr(model, "best_estimator_") and "alphas" not in model.get_params(deep=False):
        return model
    fitted = model.fit(X, data.y, edges=data.edges)
    return getattr(fitted, "best_estimator_", fitted)


def judged(
    est: BaseEstimator,
    data: RelationData,
    held_out: HeldOutEdges,
    measure: Scorer | OwnMeasure,
    average: str,
) -> NodeEstimate:
    """The estimate with influence values of nodes, for the conditions of the estimator."""
    check_choice("average", average, ("conditions", "pairs"))
    by_row = argument_of(est, "condition", "row") == "row"
    return JudgedEdges(held_out, by_row, data.shape, data.one_domain).estimate(measure, average)


def _result(
    estimate: NodeEstimate,
    held_out: HeldOutEdges,
    chosen: list[Any],
    asked: tuple[str, Scorer | OwnMeasure, float],
) -> RelationalScore:
    setting, measure, level = asked
    result = RelationalScore(estimate.score, estimate.interval(level, measure.range))
    result.score_se = float(np.sqrt(TRAINING * estimate.variance))
    result.setting, result.measure, result.chosen = setting, measure.title, chosen
    result.held_out = held_out
    result.n_conditions, result.n_objects = estimate.judged
    return result


@dataclass(repr=False)
class SettingScores:
    """Scores of one or more models in the settings, side by side.

    Attributes
    ----------
    scores : dict
        {model: {setting: RelationalScore}}.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> from rankwise.evaluation import relational_settings
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(20, 15))
    >>> found = relational_settings(ConditionalRanker(), (drugs, targets), Y, settings=("rows",))
    >>> list(found.scores), found["rows"].setting
    (['ConditionalRanker'], 'rows')
    """

    scores: dict[str, dict[str, RelationalScore]]

    def __getitem__(self, name: str) -> Any:
        """The scores of a model by its name, or of the only model by the name of a setting."""
        if name in self.scores:
            return self.scores[name]
        if len(self.scores) == 1:
            return next(iter(self.scores.values()))[name]
        raise KeyError(name)

    def __str__(self) -> str:
        width = max(map(len, self.scores))
        lines = [f"{'':{width}}  {'setting':8} score  interval"]
        for name, row in self.scores.items():
            for setting, one in row.items():
                low, high = one.interval
                lines.append(
                    f"{name:{width}}  {setting:8} {one.score:.3f}  {low:.3f} to {high:.3f}"
                )
        return "\n".join(lines)

    __repr__ = __str__

    def draw(self, axes: Axes | None = None) -> Axes:
        """Points with intervals, one group for each setting; on a new figure if axes is None."""
        if axes is None:
            axes = new_axes(6.8, 3.8)
        settings = list(next(iter(self.scores.values())))
        step = 0.5 / max(len(self.scores), 1)
        for number, (name, row) in enumerate(self.scores.items()):
            x = np.arange(len(settings)) + (number - (len(self.scores) - 1) / 2) * step
            x = x[[place for place, setting in enumerate(settings) if setting in row]]
            score = np.array([one.score for one in row.values()])
            limits = np.array([one.interval for one in row.values()]).T
            spread = np.abs(limits - score)
            axes.errorbar(x, score, yerr=spread, fmt="o", ms=5, capsize=3, lw=1.4, label=name)
        axes.set_xticks(range(len(settings)), [f"{s}\n({NEW[s]})" for s in settings], fontsize=8)
        first = next(iter(next(iter(self.scores.values())).values()))
        if first.measure == read_scoring(None).title:
            axes.axhline(0.5, color="grey", lw=0.8, ls=":")
        axes.set(ylabel=first.measure, xlim=(-0.6, len(settings) - 0.4))
        axes.grid(axis="y", alpha=0.3)
        if len(self.scores) > 1:
            axes.legend(frameon=False, fontsize=8)
        return axes

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw on `axes`, or on the current axes of pyplot, which notebooks show."""
        return self.draw(current_axes() if axes is None else axes)


def relational_settings(
    models: BaseEstimator | dict[str, BaseEstimator],
    X: Any,
    Y: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    settings: tuple[str, ...] = tuple(SETTINGS),
    **options: Any,
) -> SettingScores:
    """`relational_score` of one model, or of several by name, in several settings side by side.

    The result prints as a table, and `plot` draws all scores with their intervals. It costs what
    the single scores cost. If it is interrupted (Ctrl-C), it returns the scores that are complete,
    with an EstimateWarning that says how many are missing.

    Parameters
    ----------
    models
        An estimator, or a dict of names and estimators.
    X, Y, edges
        As in `relational_score`.
    settings : tuple of str
        Some of "edges", "rows", "columns" and "both".
    **options
        Those of relational_score (cv, nested, average, scoring, level, random_state).

    Returns
    -------
    SettingScores

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> from rankwise.evaluation import relational_settings
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(20, 15))
    >>> settings = ("rows", "both")
    >>> found = relational_settings(ConditionalRanker(), (drugs, targets), Y, settings=settings)
    >>> list(found["rows"].interval) == sorted(found["rows"].interval)
    True
    """
    named = models if isinstance(models, dict) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty: give an estimator, or a dict of them.")
    if not settings:
        raise ValueError(f"settings is empty: give some of {', '.join(SETTINGS)}.")
    for setting in settings:
        check_choice("settings", setting, tuple(SETTINGS))
    work = [(name, setting) for name in named for setting in settings]
    scores: dict[str, dict[str, RelationalScore]] = {str(name): {} for name in named}
    for name, setting in track(work, len(work), "settings", least=2):
        try:
            one = relational_score(named[name], X, Y, edges, setting=setting, **options)
        except KeyboardInterrupt:
            done = sum(map(len, scores.values()))
            if not done:
                raise
            warnings.warn(
                f"relational_settings was interrupted after {done} of {len(work)} scores; the "
                "others are missing.",
                EstimateWarning,
                stacklevel=2,
            )
            break
        scores[str(name)][setting] = one
    return SettingScores({name: row for name, row in scores.items() if row})
