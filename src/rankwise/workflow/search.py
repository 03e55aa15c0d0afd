"""A learner with its regulariser chosen by cross-validation, and how every candidate fared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from rankwise.evaluation import regularisation_curve
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.exceptions import UndefinedMetric
from rankwise.learners.conditional_ranker_cv import ConditionalRankerCV
from rankwise.learners.mprank_cv import MPRankCV
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.rank_rls import RankRLS
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS, RankRLSCV
from rankwise.learners.rank_svm_cv import DEFAULT_ALPHAS as SVM_ALPHAS
from rankwise.learners.rank_svm_cv import RankSVMCV
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics import preference_error
from rankwise.model_selection.folds import Folds
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.recipe import Recipe

CONCORDANCE = "share of held-out pairs in the right order"
COST = "held-out squared error of differences"
MOST_ROUNDS = 300
REFITTED_FOLDS = 5


@dataclass
class Path:
    """Candidates of one parameter, each with its held-out score and standard error."""

    parameter: str
    value: np.ndarray
    score: np.ndarray
    score_se: np.ndarray | None
    chosen: float
    by: str
    judged: str = CONCORDANCE

    @property
    def lower_is_better(self) -> bool:
        return self.judged == COST

    @property
    def at_chosen(self) -> tuple[float, float | None]:
        place = int(np.argmin(np.abs(self.value - self.chosen)))
        error = None if self.score_se is None else float(self.score_se[place])
        return float(self.score[place]), error

    @property
    def at_edge(self) -> bool:
        """Whether the best value is the first or the last of several that were tried."""
        outermost = self.chosen in (self.value.min(), self.value.max())
        return len(self.value) > 2 and outermost and np.ptp(self.score) > 1e-9

    def record(self) -> dict:
        values = {name: getattr(self, name) for name in ("parameter", "chosen", "by", "judged")}
        for name in ("value", "score", "score_se"):
            array = getattr(self, name)
            values[name] = None if array is None else [float(x) for x in array]
        return values

    @classmethod
    def from_record(cls, record: dict) -> Path:
        arrays = {
            name: None if record[name] is None else np.asarray(record[name], dtype=float)
            for name in ("value", "score", "score_se")
        }
        return cls(**{**record, **arrays})


def choose_scores(recipe: Recipe, options: dict, X, y, qid) -> tuple[Any, Path]:
    """Fit a learner of scores; `options` are its constructor's, but for the regulariser."""
    return _SEARCHES[recipe.learner](recipe, options, X, y, qid)


def _rank_rls(recipe, options, X, y, qid):
    alphas = _grid(recipe, DEFAULT_ALPHAS)
    cv = _folds_or_name(recipe, y, qid, auto="auto")
    model = RankRLSCV(alphas, cv=cv, **options).fit(X, y, qid=qid)
    found = model.cv_results_
    by = _by(cv, X, y, qid)
    path = Path("alpha", found["alpha"], found["score"], found["score_se"], model.alpha_, by)
    return model, path


def _rank_svm(recipe, options, X, y, qid):
    cv = _folds_or_name(recipe, y, qid, auto=REFITTED_FOLDS)
    model = RankSVMCV(_grid(recipe, SVM_ALPHAS), cv=cv, **options).fit(X, y, qid=qid)
    found = model.cv_results_
    by = _by(cv, X, y, qid)
    path = Path("alpha", found["alpha"], found["score"], found["score_se"], model.alpha_, by)
    return model, path


def _mprank(recipe, options, X, y, qid):
    if options["norm"] != 2 or recipe.cv != "auto":
        return _refitted(recipe, options, X, y, qid)
    Cs = None if recipe.alpha == "auto" else 1 / _grid(recipe, ())
    shared = {k: v for k, v in options.items() if k not in ("norm", "tol", "max_iter")}
    model = MPRankCV(Cs, **shared).fit(X, y, qid=qid)
    found = model.cv_results_
    alphas = 1 / found["C"]
    by = "leaving every pair out, in closed form"
    return model, Path("alpha", alphas, found["cost"], None, 1 / model.C_, by, COST)


def _refitted(recipe, options, X, y, qid):
    """Folds with a refit for every C."""
    default = 10.0 ** np.arange(-4, 3) / _spread(y, qid, options["norm"])
    alphas = np.sort(_grid(recipe, default))
    cv = _folds_or_name(recipe, y, qid, auto=REFITTED_FOLDS)
    make = recipe.table.make
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        curve = regularisation_curve(
            make(**options), X, y, qid, alphas=1 / alphas, parameter="C", cv=cv
        )
    best = int(np.argmax(curve.score[::-1]))
    chosen = float(alphas[::-1][best])
    model = make(C=1 / chosen, **options).fit(X, y, qid=qid)
    by = _by(cv, X, y, qid)
    return model, Path("alpha", alphas, curve.score, curve.score_se, chosen, by)


def _spread(y, qid, norm: int) -> float:
    """The unit of a good C: none for squares, the deviation of y within queries for norm 1."""
    queries = Queries.from_labels(qid, len(y))
    centred = y - (np.bincount(queries.codes, y) / queries.sizes)[queries.codes]
    deviation = float(np.sqrt(np.mean(centred**2)))
    return deviation if norm == 1 and deviation > 0 else 1.0


def _rank_boost(recipe, options, X, y, qid):
    """Rounds by folds: one boosting run a fold judges every number of rounds."""
    y, queries = checked_scores(y, qid)
    cv = _folds_or_name(recipe, y, qid, auto=REFITTED_FOLDS)
    units = []
    for out, test in refitting_folds(cv, y, queries, recipe.seed).splits:
        train = np.setdiff1d(np.arange(len(y)), out)
        model = RankBoost(MOST_ROUNDS, **options)
        model.fit(X[train], y[train], qid=None if qid is None else queries.codes[train])
        staged = np.column_stack(list(model.staged_predict(X[test])) or [np.zeros(len(test))])
        last = np.repeat(staged[:, -1:], MOST_ROUNDS - staged.shape[1], axis=1)
        scores = np.ascontiguousarray(np.hstack([staged, last]))
        pairs, right = concordant_pairs(y[test], scores, queries.take(test))
        units.append(right[pairs > 0] / pairs[pairs > 0, None])
    values = np.concatenate(units)
    if not len(values):
        raise UndefinedMetric(
            "cross-validation found nothing to judge: no held-out query or fold has a pair of "
            "items with different scores. Give --rounds a number, or --cv fewer folds."
        )
    score = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    rounds = int(np.argmax(score > score.max() - 1e-12)) + 1
    model = RankBoost(rounds, **options).fit(X, y, qid=qid)
    grid = np.arange(1.0, MOST_ROUNDS + 1)
    return model, Path("rounds", grid, score, error, float(rounds), _by(cv, X, y, qid))


_SEARCHES = {
    "rank-rls": _rank_rls,
    "rank-svm": _rank_svm,
    "mprank": _mprank,
    "svrank": _refitted,
    "rank-boost": _rank_boost,
}


def choose_preferences(recipe: Recipe, options: dict, X, preferences: Preferences):
    """Alpha by 5 folds over the preferences: each judged by models that never saw it."""
    alphas = np.sort(_grid(recipe, DEFAULT_ALPHAS if recipe.learner == "rank-rls" else SVM_ALPHAS))
    count = recipe.cv if isinstance(recipe.cv, int) else REFITTED_FOLDS
    count = min(count, len(preferences))
    if count < 2:
        raise ValueError("choosing alpha needs two preferences or more: give --alpha a value.")
    make, m = recipe.table.make, X.shape[0]
    values = []
    for train, test in KFold(count, shuffle=True, random_state=recipe.seed).split(
        preferences.winner
    ):
        learn, judge = (_some(preferences, rows, m) for rows in (train, test))
        predictions = _preference_path(make, options, X, learn, alphas)
        values.append([1 - preference_error(judge, s) for s in predictions])
    scores = np.array(values)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(count)
    chosen = float(alphas[mean >= mean.max() - 1e-12].max())
    model = make(chosen, **options).fit(X, preferences=preferences)
    by = f"{count} folds of the preferences"
    judged = "share of held-out preferences in the right order"
    return model, Path("alpha", alphas, mean, error, chosen, by, judged)


def _some(preferences: Preferences, rows, m: int) -> Preferences:
    names = ("winner", "loser", "magnitude", "weight")
    return Preferences(**{name: getattr(preferences, name)[rows] for name in names}, n_items=m)


def _preference_path(make, options, X, preferences, alphas):
    if make is not RankRLS:
        return [make(a, **options).fit(X, preferences=preferences).predict(X) for a in alphas]
    model = make(1.0, **options).fit(X, preferences=preferences)
    name = "coef_" if model.kernel == "linear" else "dual_coef_"
    found = []
    for coefficients in model.path(alphas):
        setattr(model, name, coefficients)
        found.append(model.predict(X))
    return found


def choose_relation(recipe: Recipe, options: dict, nodes, y, edges):
    """Alpha by folds (or the closed form) over what will be new: rows, columns, both, or edges."""
    from rankwise.learners.conditional_ranker import ConditionalRanker

    setting = recipe.new or f"{recipe.condition}s"
    grid = None if recipe.alpha == "auto" else _grid(recipe, ())
    search = ConditionalRankerCV(
        ConditionalRanker(**options),
        alphas=grid,
        setting=setting,
        cv=recipe.cv,
        random_state=recipe.seed,
    ).fit(nodes, y, edges=edges)
    found = search.cv_results_
    order = np.argsort(found["alpha"])
    what = {"edges": "edges", "rows": "rows", "columns": "columns", "both": "rows and columns"}
    by = f"folds of {what[setting]} held out"
    alphas, score, error = (found[name][order] for name in ("alpha", "score", "score_se"))
    return search.best_estimator_, Path("alpha", alphas, score, error, search.alpha_, by)


def _grid(recipe: Recipe, default) -> np.ndarray:
    given = recipe.alpha
    return np.asarray(default if given == "auto" else given, dtype=float)


def _folds_or_name(recipe: Recipe, y, qid, auto):
    """The cv that a search is given; a default number of folds gives way to small data."""
    if recipe.cv != "auto":
        return recipe.cv
    if auto == "auto":
        return auto
    queries = Queries.from_labels(qid, len(y))
    return max(2, min(auto, len(queries) if len(queries) > 1 else len(y) // 2))


def _by(cv, X, y, qid) -> str:
    """In words, what was held out."""
    queries = Queries.from_labels(qid, len(y))
    if isinstance(cv, str):
        return str(Folds(cv, queries, y))
    return f"{cv} folds of whole queries" if len(queries) > 1 else f"{cv} folds"
