"""Losses by name: the one place that compares names of losses."""

from __future__ import annotations

import numpy as np

from rankwise.losses.hinge import (
    PreferenceHinge,
    PreferenceRisk,
    PreferenceSquaredHinge,
    ScoreHinge,
    ScoreRisk,
    ScoreSquaredHinge,
)
from rankwise.losses.pair_losses import (
    MagnitudeLoss,
    OwnLoss,
    PairCost,
    PairLoss,
    RelativeLoss,
    UnitLoss,
)
from rankwise.losses.query_weights import QUERIES, QUERY_WEIGHTS, QueryWeighting
from rankwise.losses.risk import NoPreference, Risk
from rankwise.supervision.censored import CensoredItems
from rankwise.supervision.supervision import ComparedItems, ScoredItems, Supervision
from rankwise.validation import check_choice

QUADRATIC_LOSSES: dict[str, type[PairLoss]] = {
    "magnitude": MagnitudeLoss,
    "unit": UnitLoss,
    "relative": RelativeLoss,
}
HINGE_LOSSES: dict[str, tuple[type[ScoreRisk], type[PreferenceRisk]]] = {
    "hinge": (ScoreHinge, PreferenceHinge),
    "squared_hinge": (ScoreSquaredHinge, PreferenceSquaredHinge),
}
TIES = ("keep", "drop")


def quadratic_loss(loss: str | PairCost, ties: str, query_weight: str) -> PairLoss:
    """The loss of a name, or of an object with `pairs(difference) -> (z, w)`.

    `ties` concerns the magnitude loss alone: the other losses never have tied pairs.
    """
    check_choice("ties", ties, TIES)
    weighting = query_weighting(query_weight)
    kind = QUADRATIC_LOSSES.get(loss) if isinstance(loss, str) else None
    if isinstance(loss, PairLoss) and type(loss) in QUADRATIC_LOSSES.values():
        kind = type(loss)
    if kind is MagnitudeLoss:
        return MagnitudeLoss(keep_ties=ties == "keep", weighting=weighting)
    if kind is not None:
        return kind(weighting=weighting)
    if isinstance(loss, str) or not callable(getattr(loss, "pairs", None)):
        names = ", ".join(repr(name) for name in QUADRATIC_LOSSES)
        raise ValueError(
            f"loss must be one of {names}, or an object with a method pairs(difference) that "
            f"returns the target z and the weight w of each pair; got {loss!r}."
        )
    return OwnLoss(loss, weighting=weighting)


def query_weighting(query_weight: str) -> QueryWeighting:
    """The weighting of a name, see rankwise.losses.query_weights."""
    check_choice("query_weight", query_weight, QUERY_WEIGHTS)
    return QUERY_WEIGHTS[query_weight]


def hinge_risks(
    loss: str, supervision: Supervision, query_weight: str = QUERIES.name
) -> list[Risk]:
    """One risk for each output; NoPreference names the output that has no pair to learn from."""
    check_choice("loss", loss, HINGE_LOSSES)
    weighting = query_weighting(query_weight)
    of_scores, of_preferences = HINGE_LOSSES[loss]
    if isinstance(supervision, ComparedItems):
        return [of_preferences(supervision, weighting)]
    queries = supervision.queries
    weight = None if np.all(supervision.weight == 1.0) else supervision.weight
    if isinstance(supervision, CensoredItems):
        event = supervision.outcome.event
        return [of_scores(supervision.level, queries, weight, weighting, event)]
    assert isinstance(supervision, ScoredItems)
    risks: list[Risk] = []
    for j, y in enumerate(supervision.Y.T):
        try:
            risks.append(of_scores(np.ascontiguousarray(y), queries, weight, weighting))
        except NoPreference as error:
            if supervision.n_outputs == 1:
                raise
            raise NoPreference(f"output {j}: {error}") from None
    return risks


def is_smooth(loss: str) -> bool:
    """Whether a loss of this name has a curvature, so that Newton's method applies."""
    return "curvature" in HINGE_LOSSES[loss][0].offers
