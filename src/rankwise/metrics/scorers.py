"""Measures as scikit-learn scorers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics import list_measures, pair_measures
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import check_scored_queries

# name -> the measure and its sign. Searches maximise, so errors and costs are negated.
MEASURES: dict[str, tuple[Callable[..., float], int]] = {
    "concordance": (pair_measures.concordance, 1),
    "auc": (pair_measures.auc, 1),
    "kendall_tau_b": (pair_measures.kendall_tau_b, 1),
    "ndcg": (list_measures.ndcg, 1),
    "average_precision": (list_measures.average_precision, 1),
    "expected_reciprocal_rank": (list_measures.expected_reciprocal_rank, 1),
    "ranking_error": (pair_measures.ranking_error, -1),
    "misranking": (pair_measures.misranking, -1),
    "mean_squared_difference": (pair_measures.mean_squared_difference, -1),
    "mean_absolute_difference": (pair_measures.mean_absolute_difference, -1),
    "pair_cost": (pair_measures.pair_cost, -1),
}


ALIASES = {
    "map": "average_precision",
    "tau": "kendall_tau_b",
    "tau_b": "kendall_tau_b",
    "err": "expected_reciprocal_rank",
}
TITLES = {
    "concordance": "share of pairs in the right order",
    "auc": "AUC",
    "kendall_tau_b": "Kendall's τ_b",
    "ndcg": "NDCG",
    "average_precision": "MAP",
    "expected_reciprocal_rank": "ERR",
}
"""How results call a measure; the others go by their name."""
RANGES: dict[str, tuple[float, float]] = {
    "kendall_tau_b": (-1.0, 1.0),
    "ranking_error": (-1.0, 0.0),
    "misranking": (-1.0, 0.0),
    "mean_squared_difference": (-np.inf, 0.0),
    "mean_absolute_difference": (-np.inf, 0.0),
    "pair_cost": (-np.inf, 0.0),
}
"""The least and the greatest value of a scorer, if they are not 0 and 1."""


def scorer(name: str, **options: object) -> Scorer:
    """A measure as the `scoring` of a search: `scorer("ndcg@10")`, or `scorer("ndcg", k=10)`.

    Greater is better, so errors and costs are negated. If the measure takes `qid`, the scorer
    requests it: with `sklearn.set_config(enable_metadata_routing=True)` the call
    `search.fit(X, y, qid=qid)` passes the labels of each fold to the scorer. Without routing no
    queries can be passed, and a model that was fitted with queries is refused. Scores are
    `decision_function` if the estimator has that method, else `predict`.

    Parameters
    ----------
    name : str
        One of the names of rankwise.metrics, or "map", "tau" and "err" for short; "@10" after a
        name says that only the first 10 ranks count (`k=10`).
    **options
        Arguments of the measure. `qid=labels` fixes the queries of the items that will be scored,
        for functions that cannot pass them on:
        `permutation_importance(model, X, y, scoring=scorer("ndcg@10", qid=qid))`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from rankwise import RankRLS
    >>> from rankwise.metrics import scorer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> cross_val_score(RankRLS(), X, y, scoring=scorer("tau"), cv=3).round(2)
    array([0.46, 0.5 , 0.51])
    """
    return Scorer(name, **options)


class Scorer:
    """A callable scorer(estimator, X, y, qid=None); `rankwise.metrics.scorer` makes it."""

    def __init__(self, name: str, **options: object):
        name, options = _parsed(name, options)
        self.qid: Any = options.pop("qid", None)
        measure, _ = MEASURES[name]
        known = [p for p in inspect.signature(measure).parameters if p not in ("y", "s", "qid")]
        for option in options:
            if option not in known:
                raise ValueError(f"{name} has no option {option!r}; it has {known or 'none'}.")
        if name == "pair_cost" and "cost" not in options:
            raise ValueError(f"pair_cost needs cost=, one of {pair_measures.COSTS}.")
        # A search turns the errors of its scorer into nan, so bad options must fail here.
        with suppress(UndefinedMetric):
            measure(np.arange(2.0), np.arange(2.0), **options)
        self.name = name
        self.options = options
        if self.qid is not None and not self.takes_qid:
            raise ValueError(f"{name} is not defined by query: leave qid out.")

    @property
    def takes_qid(self) -> bool:
        """Whether the measure has a value for each query."""
        return "qid" in inspect.signature(MEASURES[self.name][0]).parameters

    @property
    def sign(self) -> int:
        """−1 for errors and costs, which the scorer negates."""
        return MEASURES[self.name][1]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value that the scorer can take."""
        return RANGES.get(self.name, (0.0, 1.0))

    @property
    def title(self) -> str:
        """The measure in the words of a table: "NDCG@10"."""
        k = self.options.get("k")
        title = TITLES.get(self.name, self.name.replace("_", " "))
        return title if k is None else f"{title}@{k}"

    @property
    def judges_order(self) -> bool:
        """Whether only the order of the scores counts, not their differences."""
        return "difference" not in self.name and self.name != "pair_cost"

    @property
    def judges_pairs(self) -> bool:
        """Whether the value is the share of pairs in the right order."""
        return self.name in ("concordance", "auc")

    def bound(self, y: np.ndarray | Censored) -> Scorer:
        """The scorer for parts of the scores y, with what all of y say about a part.

        ERR takes the best grade of the scale from all of y, and a third value of y is refused
        wherever it lies if the measure needs two. Censored outcomes are judged by their pairs only.
        """
        if isinstance(y, Censored) and self.name not in ("concordance", "ranking_error"):
            raise ValueError(
                f"censored outcomes are judged by concordance, not by {self.title}: leave scoring "
                "out, or give a callable(y, s) that takes a rankwise.Censored."
            )
        if self.name in ("auc", "average_precision"):
            with suppress(UndefinedMetric):
                self.measure(y, np.zeros(len(y)))
        if not self.needs_highest_grade:
            return self
        known = copy(self)
        known.options = {**self.options, "highest": float(np.max(y))}
        return known

    @property
    def needs_highest_grade(self) -> bool:
        """Whether the best grade of the scale must be taken from the scores."""
        return self.name == "expected_reciprocal_rank" and self.options.get("highest") is None

    def measure(self, y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
        """The measure of given scores s, negated if smaller is better."""
        measure, sign = MEASURES[self.name]
        if qid is None:
            return sign * measure(y, s, **self.options)
        if not self.takes_qid:
            raise ValueError(f"{self.name} is not defined by query: leave qid out.")
        return sign * measure(y, s, qid=qid, **self.options)

    def __call__(
        self, estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None
    ) -> float:
        respond = getattr(estimator, "decision_function", None) or estimator.predict
        s = respond(X)
        if self.qid is not None and qid is None:
            qid = self.qid
            if len(self.qid) != len(s):
                raise ValueError(
                    f"the scorer knows the queries of {len(self.qid)} items, and is asked to score "
                    f"{len(s)}: leave max_samples out, and in a search pass qid to its fit."
                )
        if self.takes_qid:
            check_scored_queries(_fitted_with_queries(estimator), qid, len(s))
        return self.measure(y, s, qid)

    def get_metadata_routing(self) -> MetadataRequest:
        """Request qid for `score`: without it, a search would compare items across queries."""
        request = MetadataRequest(owner=type(self).__name__)
        if self.takes_qid:
            request.score.add_request(param="qid", alias=True)
        return request

    def _accept_sample_weight(self) -> bool:
        """scikit-learn asks scorers this before it passes sample weights to them."""
        return False

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"scorer({self.name!r}{options})"


class OwnMeasure:
    """A user's callable(y, s), greater is better, with the interface of Scorer that folds need."""

    title = "own measure"
    range = (-np.inf, np.inf)
    judges_order = judges_pairs = False

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], float]):
        self._function = function

    def bound(self, y: np.ndarray | Censored) -> OwnMeasure:
        return self

    def measure(self, y: Any, s: np.ndarray) -> float:
        value = self._function(y, s)
        if not np.isfinite(value):
            raise ValueError(f"scoring returned {value} for {len(y)} held-out items.")
        return value


Scoring = str | Scorer | OwnMeasure | Callable[[np.ndarray, np.ndarray], float] | None
"""None is 1 − ranking error; else a measure's name, a scorer, or a callable(y, s) to maximise."""


def read_scoring(scoring: Scoring) -> Scorer | OwnMeasure:
    """The measure that an argument `scoring` names."""
    if scoring is None:
        return Scorer("concordance")
    if isinstance(scoring, str):
        return Scorer(scoring)
    if isinstance(scoring, Scorer | OwnMeasure):
        return scoring
    if not callable(scoring):
        raise ValueError(
            f"scoring must be None, a measure's name or a callable(y, s); got {scoring!r}."
        )
    return OwnMeasure(scoring)


def _parsed(name: str, options: dict[str, object]) -> tuple[str, dict[str, object]]:
    """The full name of the measure, and the options with the K of a name such as "ndcg@K"."""
    if not isinstance(name, str):
        raise ValueError(f"name must be a string such as 'ndcg@10'; got {name!r}.")
    base, at, ranks = name.partition("@")
    base = ALIASES.get(base, base)
    if base not in MEASURES:
        known = ", ".join([*MEASURES, *ALIASES])
        raise ValueError(f"name {name!r} is no measure; the names are {known}, and ndcg@K, err@K.")
    if not at:
        return base, options
    if "k" not in inspect.signature(MEASURES[base][0]).parameters:
        raise ValueError(f"{base} has no @K: ndcg@K and err@K have one.")
    if not (ranks.isascii() and ranks.isdigit() and int(ranks) > 0):
        raise ValueError(f"{name!r}: after @ comes a positive number of ranks, as in {base}@10.")
    if "k" in options:
        raise ValueError(f"{name!r} says k already: leave k={options['k']!r} out.")
    return base, {"k": int(ranks), **options}


def _fitted_with_queries(estimator: BaseEstimator) -> bool:
    """Also for pipelines and searches, whose last step or best estimator is the model."""
    for part in ("best_estimator_", "_final_estimator"):
        estimator = getattr(estimator, part, estimator)
    return getattr(estimator, "fitted_with_queries", False)
