"""Measures as scikit-learn scorers."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.metrics import list_measures, pair_measures
from rankwise.supervision.queries import check_scored_queries
from rankwise.validation import check_choice

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


def scorer(name: str, **options: object) -> Scorer:
    """A measure as the `scoring` of a scikit-learn search: `scorer("ndcg", k=10)`.

    Greater is better, so errors and costs are negated. If the measure takes `qid`, the scorer
    requests it: with `sklearn.set_config(enable_metadata_routing=True)` the call
    `search.fit(X, y, qid=qid)` passes the labels of each fold to the scorer. Without routing no
    queries can be passed, and a model that was fitted with queries is refused. Scores are
    `decision_function` if the estimator has that method, else `predict`.
    """
    return Scorer(name, **options)


class Scorer:
    """A callable scorer(estimator, X, y, qid=None); `rankwise.metrics.scorer` makes it."""

    def __init__(self, name: str, **options: object):
        check_choice("name", name, MEASURES)
        measure, _ = MEASURES[name]
        known = [p for p in inspect.signature(measure).parameters if p not in ("y", "s", "qid")]
        for option in options:
            if option not in known:
                raise ValueError(f"{name} has no option {option!r}; it has {known or 'none'}.")
        if name == "pair_cost" and "cost" not in options:
            raise ValueError(f"pair_cost needs cost=, one of {pair_measures.COSTS}.")
        # A search turns the errors of its scorer into nan, so bad options must fail here.
        measure(np.arange(2.0), np.arange(2.0), **options)
        self.name = name
        self.options = options

    @property
    def takes_qid(self) -> bool:
        """Whether the measure has a value for each query."""
        return "qid" in inspect.signature(MEASURES[self.name][0]).parameters

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


def _fitted_with_queries(estimator: BaseEstimator) -> bool:
    """Also for pipelines and searches, whose last step or best estimator is the model."""
    for part in ("best_estimator_", "_final_estimator"):
        estimator = getattr(estimator, part, estimator)
    return getattr(estimator, "fitted_with_queries", False)
