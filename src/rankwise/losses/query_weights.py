"""How much a pair weighs: the one meaning of `query_weight`, item weights and preference weights.

A pair h ≻ j of query q weighs c_q u_hj. Here u_hj = v_h v_j is the product of the item weights
(`sample_weight`, 1 by default), times the weight of the statement if it is an explicit preference.
The weighting gives the scale c_q of the query:

    "pairs"      c_q = 1          every pair weighs the same
    "size"       c_q = 1 / V_q    V_q = Σ v over the items of the query: m_q if all weigh 1
    "queries"    c_q = 1 / U_q    U_q = Σ u over the pairs of the query, which share weight 1

Least squares add up the weighted losses of all pairs, and hinge losses take their weighted mean.
V_q counts all items of the query, also those that no pair mentions, so that the same pairs have the
same weights whether they were told as scores or as preferences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.numerics.compiled import compiled
from rankwise.supervision.queries import Queries

Numbers = np.ndarray | float


def inverse_or_zero(values: Numbers) -> np.ndarray:
    """1/values, and 0 where a value is 0."""
    array = np.asarray(values, dtype=float)
    return np.divide(1.0, array, out=np.zeros_like(array), where=array != 0)


def pair_totals(class_weight: np.ndarray, query_classes: np.ndarray) -> np.ndarray:
    """(q,) U of all pairs of different classes: Σ V_k (V_1 + … + V_(k−1)) in each query, O(m).

    The classes of query q are query_classes[q] to query_classes[q + 1]. Nothing is subtracted, so
    light items beside heavy ones keep their digits. If ties are kept, each item is a class.
    """
    class_weight = np.asarray(class_weight, dtype=float)
    if len(query_classes) == 2:
        weight = class_weight[query_classes[0] : query_classes[1]]
        return np.array([weight[1:] @ np.cumsum(weight[:-1])])
    return _pair_totals(class_weight, query_classes)


@compiled
def _pair_totals(class_weight: np.ndarray, query_classes: np.ndarray) -> np.ndarray:
    totals = np.zeros(len(query_classes) - 1)
    for q in range(len(totals)):
        before = 0.0
        for k in range(query_classes[q], query_classes[q + 1]):
            totals[q] += class_weight[k] * before
            before += class_weight[k]
    return totals


def kept_pair_total(weight: np.ndarray) -> float:
    """U of all pairs of one query whose ties are kept."""
    return float(pair_totals(weight, np.array([0, len(weight)]))[0])


@dataclass(frozen=True)
class QueryWeighting:
    """One of the weightings above.

    `scale(V, U)` gives c of queries with item weights V and pair weights U, numbers or arrays.
    `couples_items` says that c_q depends on what is in the query: if an item leaves, all pairs of
    its query change their weights, also those that no chain of pairs connects to the item.
    """

    name: str
    scale: Callable[[Numbers, Numbers], np.ndarray]
    couples_items: bool

    def of_pairs(
        self, queries: Queries, weight: np.ndarray, query: np.ndarray, pair_weight: np.ndarray
    ) -> np.ndarray:
        """(l,) c_q u of listed pairs, from their queries and their u; `weight` holds v."""
        V = np.bincount(queries.codes, weight, minlength=len(queries))
        U = np.bincount(query, pair_weight, minlength=len(queries))
        return pair_weight * self.scale(V, U)[query]


def _one(V: Numbers, U: Numbers) -> np.ndarray:
    return np.ones(np.shape(U))


def _over_items(V: Numbers, U: Numbers) -> np.ndarray:
    return inverse_or_zero(V)


def _over_pairs(V: Numbers, U: Numbers) -> np.ndarray:
    return inverse_or_zero(U)


PAIRS = QueryWeighting("pairs", _one, couples_items=False)
SIZE = QueryWeighting("size", _over_items, couples_items=True)
QUERIES = QueryWeighting("queries", _over_pairs, couples_items=True)

QUERY_WEIGHTS = {weighting.name: weighting for weighting in (PAIRS, SIZE, QUERIES)}
