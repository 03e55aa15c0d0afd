"""Small problems as the rooms of the package see them: supervision, risks and quadratics."""

import numpy as np

from rankwise.losses.losses_by_name import hinge_risks, quadratic_loss
from rankwise.supervision.censored import Censored, CensoredItems
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, ScoredItems


def scored(y, qid=None, weight=None) -> ScoredItems:
    y = np.asarray(y, dtype=float)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return ScoredItems(y.reshape(len(y), -1), Queries.from_labels(qid, len(y)), weight)


def compared(preferences, m, qid=None, weight=None) -> ComparedItems:
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    return ComparedItems(preferences, Queries.from_labels(qid, m), weight)


def censored(event, time, qid=None, weight=None) -> CensoredItems:
    m = len(time)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    return CensoredItems(Censored(event, time), Queries.from_labels(qid, m), weight)


def quadratic_of(supervision, loss="magnitude", ties="keep", query_weight="pairs"):
    return quadratic_loss(loss, ties, query_weight).quadratic(supervision)


def risk_of_scores(y, qid, loss):
    return hinge_risks(loss, scored(y, qid))[0]


def risk_of_preferences(preferences, m, loss):
    return hinge_risks(loss, compared(preferences, m))[0]
