"""Measures of a ranking, all in O(m log m): y are true scores, s predicted ones, higher is better.

With `qid` a measure is taken inside each query and averaged over the queries. A measure that has
nothing to judge raises `UndefinedMetric`, a ValueError; none ever returns nan.
"""

from rankwise.metrics.costs import mean_absolute_difference, mean_squared_difference, pair_cost
from rankwise.metrics.lists import average_precision, ndcg
from rankwise.metrics.pairs import (
    auc,
    concordance,
    conditional_error,
    kendall_tau_b,
    misranking,
    preference_error,
    ranking_error,
)
from rankwise.metrics.scorers import scorer

__all__ = [
    "auc",
    "average_precision",
    "concordance",
    "conditional_error",
    "kendall_tau_b",
    "mean_absolute_difference",
    "mean_squared_difference",
    "misranking",
    "ndcg",
    "pair_cost",
    "preference_error",
    "ranking_error",
    "scorer",
]
