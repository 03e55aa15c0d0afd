"""Measures of a ranking, all in O(m log m): y are true scores, s predicted ones, higher is better.

With `qid` a measure is computed inside each query and averaged over the queries. A measure that has
nothing to judge raises `UndefinedMetric`, a ValueError; no measure returns nan.
"""

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.list_measures import (
    average_precision,
    expected_reciprocal_rank,
    ndcg,
)
from rankwise.metrics.pair_measures import (
    auc,
    concordance,
    conditional_error,
    kendall_tau_b,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
    pair_cost,
    preference_error,
    ranking_error,
)
from rankwise.metrics.scorers import scorer
from rankwise.metrics.survival_measures import (
    censoring_curve,
    censoring_weights,
    cumulative_dynamic_auc,
    log_rank_test,
    survival_curve,
    uno_concordance,
)
from rankwise.metrics.trec_measures import TrecValues, trec_measures

__all__ = [
    "TrecValues",
    "UndefinedMetric",
    "auc",
    "average_precision",
    "censoring_curve",
    "censoring_weights",
    "concordance",
    "conditional_error",
    "cumulative_dynamic_auc",
    "expected_reciprocal_rank",
    "kendall_tau_b",
    "log_rank_test",
    "mean_absolute_difference",
    "mean_squared_difference",
    "misranking",
    "ndcg",
    "pair_cost",
    "preference_error",
    "ranking_error",
    "scorer",
    "survival_curve",
    "trec_measures",
    "uno_concordance",
]
