"""Hinge and squared hinge loss over the pairs of scored items, or over explicit preferences."""

from __future__ import annotations

import numpy as np

from rankwise.losses.margin_window import ScoreRanks, Window
from rankwise.losses.query_weights import QUERIES, QueryWeighting
from rankwise.losses.risk import (
    SMOOTH,
    Evaluation,
    NoPreference,
    Risk,
    RiskSample,
    SmoothedEvaluation,
    SmoothedRisk,
)
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems

SAMPLED_QUERIES = 8
"""A sample of items comes from so many queries at least, if there are so many."""
KINK = 1e-10
"""The hinge loss ignores pairs that miss their margin by less than this.

Minimisers lie on kinks, where many pairs have exactly their margin. Rounding must not decide which
of them count, or the order of the rows would decide which planes a solver sees. A plane without
such a pair still bounds the risk from below, and its value is less by no more than this.
"""


class ScoreRisk(Risk):
    """Weighted mean of the loss over the pairs y_h > y_j of all queries; if `event` is given, over
    those where j had the event (the comparable pairs of censored outcomes with levels y).

    `weighting` and the item weights say how much a pair weighs (rankwise.losses.query_weights). By
    default it is the mean, over the queries that have a pair, of the mean over their pairs. The
    mean divides by `total_weight`, so that the risk of several sets of queries is the mean of
    their risks, weighted by `total_weight`. Without item weights, evaluations count in integers.
    """

    def __init__(
        self,
        y: np.ndarray,
        queries: Queries,
        weight: np.ndarray | None = None,
        weighting: QueryWeighting = QUERIES,
        event: np.ndarray | None = None,
    ):
        self.n_items, self.queries = len(y), queries
        self._scores = ScoreRanks(y, queries, weight, event)
        pairs = self._scores.pairs
        if not pairs.any():
            raise NoPreference(
                "y holds no single preference: within every query all items (n_samples = "
                f"{len(y)}, {len(queries)} queries) have the same score or no weight, so there is "
                "nothing to learn an order from."
            )
        self._weighting = weighting
        scale = weighting.scale(np.bincount(queries.codes, weight), pairs)
        self.total_weight = float(scale @ pairs)
        scale = scale / self.total_weight
        self._weight = scale[0] if len(queries) == 1 else scale[queries.codes]
        if weight is not None:
            self._weight = self._weight * weight

    def sample(self, size: int) -> RiskSample | None:
        """Random items of random queries; of at least SAMPLED_QUERIES of them, if there are more.

        The sample is always the same one, so that fits can be repeated.
        """
        if size >= self.n_items:
            return None
        scores, queries, random = self._scores, self._scores.queries, np.random.default_rng(0)
        most = max(2, size // min(len(queries), SAMPLED_QUERIES))
        chosen: list[np.ndarray] = []
        for query in random.permutation(len(queries)):
            members = queries.members(query)
            chosen.append(random.choice(members, min(most, len(members)), replace=False))
            size -= len(chosen[-1])
            if size <= 0:
                break
        items = np.sort(np.concatenate(chosen))
        weight = None if scores.weight is None else scores.weight[items]
        event = None if scores.event is None else scores.event[items]
        try:
            risk = type(self)(
                scores.ranks[items],
                Queries.from_labels(queries.codes[items], len(items)),
                weight,
                self._weighting,
                event,
            )
        except NoPreference:
            return None
        return RiskSample(items, risk)

    def _weighted_sum(self, counts: np.ndarray) -> float:
        if np.ndim(self._weight):
            return float(self._weight @ counts)
        return float(self._weight * counts.sum(dtype=np.int64))

    def _centred(self, p: np.ndarray) -> np.ndarray:
        """The same differences, with fewer digits lost to a large p."""
        return self._scores.queries.centred(p)


class ScoreHinge(ScoreRisk):
    """Equation 4 of Airola et al. (2011), by query."""

    name = "the hinge loss"
    offers = frozenset({"gradient", "smoothing"})

    def at(self, p: np.ndarray) -> Evaluation:
        p = self._centred(p)
        c, d = self._scores.window(p, 1.0 - KINK).counts()
        gradient = self._weight * (c - d)  # equation 8
        value = gradient @ p + self._weighted_sum(c)  # equation 7
        return Evaluation(max(0.0, float(value)), gradient)

    def smoothed(self, width: float) -> SmoothedScoreHinge:
        return SmoothedScoreHinge(self, width)


class SmoothedScoreHinge(SmoothedRisk):
    """Slacks z below `width` = δ < 1 cost z²/(2δ), larger ones z − δ/2: (z₊² − (z − δ)₊²)/(2δ).

    That is half the difference of two squared hinge losses, of margins 1 and 1 − δ, over δ. The
    slope a ∈ [0, 1] of a pair in z makes R(p') ≥ Σ a (1 − (p'_h − p'_j)), weights omitted.
    """

    name = "the smoothed hinge loss"
    offers = SMOOTH

    def __init__(self, exact: ScoreHinge, width: float):
        self.n_items, self.queries = exact.n_items, exact.queries
        self._exact, self._width = exact, width

    def at(self, p: np.ndarray) -> SmoothedEvaluation:
        margin, width, weight = 1.0 - self._width, self._width, self._exact._weight
        p = self._exact._centred(p)
        wide = self._exact._scores.window(p)
        narrow = wide.with_margin(margin)
        # Vectors as long as the data are changed in place: a fit holds several evaluations.
        degree, tilt, pairs = self._counted(wide)
        inner_degree, inner_tilt, inner_pairs = self._counted(narrow)
        strip = degree
        strip -= inner_degree

        def curvature(v: np.ndarray) -> np.ndarray:
            bent = strip * v
            bent -= wide.sums(v)
            bent += narrow.sums(v)
            bent *= weight / width
            return bent

        exact, inner = p @ tilt + pairs, p @ inner_tilt + margin * inner_pairs  # equation 7
        inner_tilt *= margin
        pull = tilt
        pull -= inner_tilt
        pull /= width
        del inner_degree, inner_tilt
        gradient = curvature(p)
        value = p @ (0.5 * gradient + pull) + 0.5 * (pairs - margin**2 * inner_pairs) / width
        gradient += pull
        return SmoothedEvaluation(
            max(0.0, float(value)),
            gradient,
            curvature,
            lambda: weight * strip / width,
            exact=max(0.0, float(exact)),
            offset=float(exact - inner) / width,
        )

    def _counted(self, window: Window) -> tuple[np.ndarray, np.ndarray, float]:
        """c + d, the weighted c − d, and the weighted sum of c."""
        c, d = window.counts()
        return c + d, self._exact._weight * (c - d), self._exact._weighted_sum(c)


class ScoreSquaredHinge(ScoreRisk):
    """Σ (1 − (p_h − p_j))² over the pairs in the margin = pᵀLp + 2 pᵀ(c − d) + Σ c, by query.

    L is the Laplacian of the graph of those pairs: L v = (c + d) v − sums of v over rivals. With
    item weights, c, d and the sums are weighted, and so is every row.
    """

    name = "the squared hinge loss"
    offers = SMOOTH

    def at(self, p: np.ndarray) -> Evaluation:
        p = self._centred(p)
        window = self._scores.window(p)
        c, d = window.counts()
        degree, tilt, weight = c + d, c - d, self._weight

        def curvature(v: np.ndarray) -> np.ndarray:
            return 2.0 * weight * (degree * v - window.sums(v))

        bent = curvature(p) if p.any() else np.zeros_like(p)
        tilt = 2.0 * weight * tilt
        value = p @ (0.5 * bent + tilt) + self._weighted_sum(c)
        return Evaluation(
            max(0.0, float(value)), bent + tilt, curvature, lambda: 2.0 * weight * degree
        )


class PreferenceRisk(Risk):
    """Weighted mean loss over explicit preferences; the margin is 1 whatever their magnitudes.

    The weights are those of ScoreRisk, times the weight of each preference. A tie is half a win
    for either item.
    """

    def __init__(self, supervision: ComparedItems, weighting: QueryWeighting = QUERIES):
        supervision = supervision.with_halved_ties()
        preferences, queries = supervision.preferences, supervision.queries
        self.n_items, self.queries = supervision.n_items, queries
        self._winner, self._loser = preferences.winner, preferences.loser
        weight = supervision.pair_weights()
        if not weight.any():
            raise NoPreference("preferences hold no single preference with a positive weight.")
        query = queries.codes[self._winner]
        self.total_weight = float(
            weighting.of_pairs(queries, supervision.weight, query, weight).sum()
        )
        weight = weighting.of_pairs(queries, supervision.weight, query, weight / weight.max())
        used = weight > 0
        self._winner, self._loser = self._winner[used], self._loser[used]
        self.weight = weight[used] / weight.sum()

    def differences(self, v: np.ndarray) -> np.ndarray:
        """M v: one difference for each preference, M being the signed incidence matrix (l, m)."""
        return v[self._winner] - v[self._loser]

    def degrees(self, values: np.ndarray) -> np.ndarray:
        """The sum of values over the preferences that an item takes part in."""
        won = np.bincount(self._winner, values, minlength=self.n_items)
        return won + np.bincount(self._loser, values, minlength=self.n_items)

    def to_items(self, values: np.ndarray) -> np.ndarray:
        """Mᵀ values: the winner of a preference gains its value, the loser loses it."""
        gained = np.bincount(self._winner, values, minlength=self.n_items)
        return gained - np.bincount(self._loser, values, minlength=self.n_items)


class PreferenceHinge(PreferenceRisk):
    name = "the hinge loss"
    offers = frozenset({"gradient", "statements"})

    def at(self, p: np.ndarray) -> Evaluation:
        slack = 1.0 - self.differences(p)
        weight = np.where(slack > KINK, self.weight, 0.0)
        return Evaluation(float(weight @ slack), self.to_items(-weight))


class PreferenceSquaredHinge(PreferenceRisk):
    name = "the squared hinge loss"
    offers = SMOOTH

    def at(self, p: np.ndarray) -> Evaluation:
        slack = np.maximum(0.0, 1.0 - self.differences(p))
        active = 2.0 * self.weight * (slack > 0)

        def curvature(v: np.ndarray) -> np.ndarray:
            return self.to_items(active * self.differences(v))

        gradient = self.to_items(-2.0 * self.weight * slack)
        return Evaluation(
            float(self.weight @ slack**2), gradient, curvature, lambda: self.degrees(active)
        )
