"""Measures as scikit-learn scorers."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.metrics import costs, lists, pairs
from rankwise.supervision.queries import check_scored_queries
from rankwise.validation import check_choice

# name -> the measure and its sign: searches maximise, so errors and costs are negated.
MEASURES: dict[str, tuple[Callable[..., float], int]] = {
    "concordance": (pairs.concordance, 1),
    "auc": (pairs.auc, 1),
    "kendall_tau_b": (pairs.kendall_tau_b, 1),
    "ndcg": (lists.ndcg, 1),
    "average_precision": (lists.average_precision, 1),
    "ranking_error": (pairs.ranking_error, -1),
    "misranking": (pairs.misranking, -1),
    "mean_squared_difference": (costs.mean_squared_difference, -1),
    "mean_absolute_difference": (costs.mean_absolute_difference, -1),
    "pair_cost": (costs.pair_cost, -1),
}


def scorer(name: str, **options) -> Scorer:
    """A measure as the `scoring` of a scikit-learn search: `scorer("ndcg", k=10)`.

    Greater is better, so errors and costs come negated. It asks for `qid` where its measure takes
    one: with `sklearn.set_config(enable_metadata_routing=True)`, `search.fit(X, y, qid=qid)`
    hands every fold its own. Without routing there can be no queries, and a model that was fitted
    with queries is refused. Scores are `decision_function` where there is one, else `predict`.
    """
    return Scorer(name, **options)


class Scorer:
    """Callable as scorer(estimator, X, y, qid=None); made by `rankwise.metrics.scorer`."""

    def __init__(self, name: str, **options):
        check_choice("name", name, MEASURES)
        measure, _ = MEASURES[name]
        known = [p for p in inspect.signature(measure).parameters if p not in ("y", "s", "qid")]
        for option in options:
            if option not in known:
                raise ValueError(f"{name} has no option {option!r}; it has {known or 'none'}.")
        if name == "pair_cost" and "cost" not in options:
            raise ValueError(f"pair_cost needs cost=, one of {costs.COSTS}.")
        # A search turns errors of its scorer into nan, so bad options must fail here.
        measure(np.arange(2.0), np.arange(2.0), **options)
        self.name = name
        self.options = options

    @property
    def takes_qid(self) -> bool:
        return "qid" in inspect.signature(MEASURES[self.name][0]).parameters

    def __call__(self, estimator, X, y, qid=None) -> float:
        measure, sign = MEASURES[self.name]
        respond = getattr(estimator, "decision_function", None) or estimator.predict
        s = respond(X)
        if not self.takes_qid:
            if qid is not None:
                raise ValueError(f"{self.name} is not taken by query: leave qid out.")
            return sign * measure(y, s, **self.options)
        check_scored_queries(_fitted_with_queries(estimator), qid, len(s))
        return sign * measure(y, s, qid=qid, **self.options)

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask for qid in `score`, without which a search would compare items across queries."""
        request = MetadataRequest(owner=type(self).__name__)
        if self.takes_qid:
            request.score.add_request(param="qid", alias=True)
        return request

    def _accept_sample_weight(self) -> bool:
        """scikit-learn asks this of scorers before it hands weights around."""
        return False

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"scorer({self.name!r}{options})"


def _fitted_with_queries(estimator) -> bool:
    """Looks into pipelines and searches, whose last or best part is the model."""
    for part in ("best_estimator_", "_final_estimator"):
        estimator = getattr(estimator, part, estimator)
    return getattr(estimator, "_has_queries", False)
