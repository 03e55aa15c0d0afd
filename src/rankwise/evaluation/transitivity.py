"""Is there an order at all? The cyclic part of the votes, and whether it is more than chance.

Votes are a flow on the graph of compared items. Its gradient part f_i − f_j is an order, and the
rest goes round in cycles: a beats b, b beats c, c beats a (the Hodge decomposition of Jiang, Lim,
Yao and Ye, 2011, *Statistical ranking and combinatorial Hodge theory*). Even if there is an order,
the chance of single votes leaves a cyclic part. So it is compared with what the model of Bradley
and Terry leaves: the residuals r of its fit have no gradient part, which is what its equations
say, and their size rᵀV⁻¹r, V being their variances, is compared with that of votes drawn from the
fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from rankwise.exceptions import PreferenceWarning, UndefinedMetric
from rankwise.learners.rank_logistic import RankLogistic
from rankwise.losses.logistic import outcome_probabilities
from rankwise.model_selection.folds import RandomState
from rankwise.numerics.memory import refuse_too_large
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.vote_counts import VoteCounts
from rankwise.validation import check_count

WEAK_PRIOR = 0.05
"""alpha of the fit: so little that residuals hardly have a gradient part, which is removed."""
SMALLEST = 1e-12
"""Variances of outcomes are at least this."""
NUMBERS_AT_ONCE = 4_000_000
FEWEST_GROUPS = 12
"""With fewer groups there are too few choices of signs to tell what chance does."""


@dataclass(frozen=True)
class TransitivityTest:
    """What `transitivity_test` found; it unpacks into cyclic_share and p_value.

    Attributes
    ----------
    cyclic_share
        The share of the votes' flow that goes round in cycles, 0 to 1.
    expected_share
        The share to be expected if there is an order, because single votes vary.
    p_value
        The probability of cycles as strong as these if there is an order (Bradley-Terry); a small
        value says that no single list of strengths explains the votes.
    order_p_value
        The probability of an order as strong as this if every vote is a coin toss; a large value
        says that the votes do not show an order.
    statistic, degrees
        rᵀV⁻¹r, and the number of independent cycles in the graph of comparisons.
    pairs
        (p, 2) the pairs of items.
    residuals
        (p,) share of votes for the first item minus the share that strengths explain, in standard
        errors; large ones show where the cycles are.
    units
        What was drawn anew: "statements" or "groups".

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.evaluation import transitivity_test
    >>> order = Preferences(winner=[0, 1, 0] * 20, loser=[1, 2, 2] * 20)
    >>> cyclic_share, p_value = transitivity_test(order, n_permutations=99, random_state=0)
    >>> p_value > 0.05
    True
    """

    cyclic_share: float
    expected_share: float
    p_value: float
    order_p_value: float
    statistic: float
    degrees: int
    pairs: np.ndarray = field(repr=False)
    residuals: np.ndarray = field(repr=False)
    units: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.cyclic_share, self.p_value))


def transitivity_test(
    preferences: Preferences,
    *,
    groups: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> TransitivityTest:
    """Whether the votes contradict every order, and whether they show one.

    The first p-value is a parametric bootstrap: votes are drawn from the fitted model of Bradley
    and Terry (with Davidson's ties, if there are ties). The second draws votes from coin tosses.
    O(m³ + n_permutations · p) for p pairs of m items.

    Votes that fit another curve than the logistic one can be rejected too, although they are
    transitive, if there are very many of them. If there is no order, conditional ranking with
    `relation="reciprocal"` (rankwise.ConditionalRanker) predicts who beats whom all the same.

    Parameters
    ----------
    preferences : Preferences
        The votes.
    groups : (l,) array, optional
        Labels of statements that depend on each other, such as those of one judge; then
        the residuals of whole groups change sign at random instead (a wild bootstrap), which needs
        a dozen groups or more.
    n_permutations : int
        How often votes are drawn.
    random_state
        Draws them.

    Returns
    -------
    TransitivityTest

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.evaluation import transitivity_test
    >>> circle = Preferences(winner=[0, 1, 2] * 20, loser=[1, 2, 0] * 20)
    >>> found = transitivity_test(circle, n_permutations=99, random_state=0)
    >>> found.cyclic_share, found.p_value
    (1.0, 0.01)
    """
    m = _n_items(preferences)
    preferences = check_preferences(preferences, None, m)
    n_permutations = check_count("n_permutations", n_permutations)
    if (preferences.weight == 0).any():
        raise ValueError("preferences without weight say nothing: leave them out.")
    refuse_too_large(m, m, "the Laplacian", "take fewer items: preferences.take(index)")
    rng = check_random_state(random_state)
    flow = _Flow(preferences, m)
    by_group = None
    if groups is not None:
        by_group = Queries.from_labels(groups, len(preferences), "groups", "preference")
        if len(by_group) < 2:
            raise ValueError("groups must name two groups or more.")
    fitted = flow.model_of_order()
    observed = flow.energies(flow.residuals(fitted)[None], fitted)
    draws = _draws(flow, fitted, by_group, n_permutations, rng)
    scale = 1.0 if by_group is None else flow.small_sample_scale(by_group)
    null = [flow.energies(scale * block, fitted) for block in draws]
    cyclic = np.concatenate([one.cyclic for one in null])
    shares = np.concatenate([one.share for one in null])
    coin = flow.coin_toss()
    order = flow.energies(flow.residuals(coin)[None], coin).gradient[0]
    tosses = _draws(flow, coin, by_group, n_permutations, rng)
    ordered = np.concatenate([flow.energies(block, coin).gradient for block in tosses])
    return TransitivityTest(
        float(observed.share[0]),
        float(shares.mean()),
        _p_value(observed.cyclic[0], cyclic),
        _p_value(order, ordered),
        float(observed.cyclic[0]),
        flow.degrees,
        np.column_stack((flow.first, flow.second)),
        flow.residuals(fitted) / np.sqrt(flow.squared_weight * fitted.variance),
        "statements" if by_group is None else "groups",
    )


def _n_items(preferences: Preferences) -> int:
    if not isinstance(preferences, Preferences):
        check_preferences(preferences, None, 0)
    if preferences.n_items is not None:
        return preferences.n_items
    return 1 + max(int(side.max(initial=-1)) for side in (preferences.winner, preferences.loser))


def _p_value(observed: float, null: np.ndarray) -> float:
    """The share of values at least as large, the observed one among them."""
    return float((1 + np.sum(null >= observed * (1 - 1e-9))) / (1 + len(null)))


@dataclass(frozen=True)
class _Outcomes:
    """For each pair the probabilities of the outcomes 1, 0 and ½, their mean and variance.

    `information` is the summed variance of the pair's statements, and `inverse` the
    pseudo-inverse of the Laplacian of the pairs with these weights.
    """

    probabilities: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    information: np.ndarray
    inverse: np.ndarray


@dataclass(frozen=True)
class _Energies:
    """(b,) sizes of cyclic and gradient parts, and the cyclic share of the flow of votes."""

    cyclic: np.ndarray
    gradient: np.ndarray
    share: np.ndarray


class _Flow:
    """Statements as a flow on pairs: won = 1, lost = 0, tied = ½ for the pair's first item."""

    def __init__(self, preferences: Preferences, m: int):
        counts = VoteCounts.gather(preferences, m)
        self.m, self.preferences, self.counts = m, preferences, counts
        self.first, self.second = counts.first.astype(np.intp), counts.second.astype(np.intp)
        self.weight = counts.total
        self.pair_of, _ = preferences.unordered_pairs(m)
        is_first = preferences.winner < preferences.loser
        self.outcome = np.where(preferences.tie, 0.5, np.where(is_first, 1.0, 0.0))
        self.squared_weight = np.bincount(self.pair_of, preferences.weight**2)
        p = len(counts)
        ends = np.concatenate((self.first, self.second))
        signs = np.repeat([1.0, -1.0], p)
        self._incidence = sparse.coo_array(
            (signs, (np.tile(np.arange(p), 2), ends)), (p, m)
        ).tocsr()
        graph = sparse.coo_array((np.ones(p), (self.first, self.second)), (m, m))
        components = int(connected_components(graph, directed=False)[0])
        self.degrees, self._fitted = p - m + components, m - components
        if self.degrees < 1:
            raise UndefinedMetric(
                "the comparisons hold no cycle of items, such as a with b, b with c and c with a: "
                "any such votes have an order."
            )
        self._plain = self._inverse(self.weight)

    def _inverse(self, weight: np.ndarray) -> np.ndarray:
        """The pseudo-inverse of the Laplacian of the pairs with these weights."""
        B = self._incidence
        L = (B.T @ sparse.diags_array(weight) @ B).toarray()
        return np.linalg.pinv(L, hermitian=True)

    def model_of_order(self) -> _Outcomes:
        """The outcomes that the model of Bradley and Terry, or of Davidson, predicts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreferenceWarning)
            model = RankLogistic(WEAK_PRIOR * float(np.median(self.preferences.weight)))
            model.set_params(ties="davidson" if self._has_both() else "half")
            model.fit(None, preferences=self._numbered())
        f = model.predict(None)
        d = f[self.first] - f[self.second]
        return self._outcomes(*outcome_probabilities(d, model.tie_effect_))

    def _outcomes(self, won: np.ndarray, lost: np.ndarray, tied: np.ndarray) -> _Outcomes:
        mean = won + tied / 2
        variance = np.maximum(won + tied / 4 - mean**2, SMALLEST)
        information = self.weight * variance
        inverse = self._inverse(information)
        return _Outcomes(np.stack((won, lost, tied)), mean, variance, information, inverse)

    def _has_both(self) -> bool:
        return bool(self.preferences.tie.any() and not self.preferences.tie.all())

    def _numbered(self) -> Preferences:
        P = self.preferences
        return Preferences(P.winner, P.loser, None, P.weight, self.m, P.tie)

    def small_sample_scale(self, groups: Queries) -> float:
        """What makes up for residuals that are smaller than the errors, because of the fit.

        What a group says about a pair counts once, however often it is said.
        """
        said = len(np.unique(groups.codes * len(self.first) + self.pair_of))
        return float(np.sqrt(said / max(1, said - self._fitted)))

    def coin_toss(self) -> _Outcomes:
        """Both items win with the same probability; ties as often as they occur."""
        P = self.preferences
        tied = float(P.weight[P.tie].sum() / P.weight.sum())
        tied = min(tied, 1.0 - 1e-9)
        shares = np.full((3, len(self.first)), (1 - tied) / 2)
        shares[2] = tied
        return self._outcomes(*shares)

    def residuals(self, model: _Outcomes) -> np.ndarray:
        """(p,) Σ weight (outcome − mean) of each pair."""
        values = self.preferences.weight * (self.outcome - model.mean[self.pair_of])
        return np.bincount(self.pair_of, values, minlength=len(self.first))

    def energies(self, residuals: np.ndarray, model: _Outcomes) -> _Energies:
        """Of flows (b, p) of residuals: their parts in the metric of the model's information."""
        B = self._incidence
        gradient = _form(model.inverse, (B.T @ residuals.T).T)
        cyclic = np.maximum((residuals**2 / model.information).sum(axis=1) - gradient, 0.0)
        flow = 2 * (self.weight * (model.mean - 0.5) + residuals)  # Σ weight (2 outcome − 1)
        whole = (flow**2 / self.weight).sum(axis=1)
        ordered = _form(self._plain, (B.T @ flow.T).T)
        share = np.clip(1 - ordered / np.where(whole > 0, whole, 1.0), 0.0, 1.0)
        return _Energies(cyclic, gradient, share)


def _form(A: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(b,) xᵀA x of each row x."""
    return np.asarray(((rows @ A) * rows).sum(axis=1))


def _draws(
    flow: _Flow, model: _Outcomes, groups: Queries | None, n: int, rng: np.random.RandomState
) -> Iterator[np.ndarray]:
    """Blocks (b, p) of residual flows, n in all, as they would be if the model were true."""
    at_once = max(1, NUMBERS_AT_ONCE // max(len(flow.first), 1))
    sizes = [min(at_once, n - start) for start in range(0, n, at_once)]
    weight, p = flow.preferences.weight, len(flow.first)
    if groups is not None:
        values = weight * (flow.outcome - model.mean[flow.pair_of])
        parts = sparse.coo_array((values, (groups.codes, flow.pair_of)), (len(groups), p)).tocsr()
        for size in sizes:
            signs = rng.choice([-1.0, 1.0], (size, len(groups)))
            yield np.asarray((parts.T @ signs.T).T)
    elif np.ptp(weight) == 0:
        counts = np.bincount(flow.pair_of, minlength=p)
        won, _, tied = model.probabilities
        rest = np.clip(won / np.maximum(1 - tied, 1e-300), 0.0, 1.0)
        for size in sizes:
            ties = rng.binomial(counts, np.clip(tied, 0.0, 1.0), (size, p))
            wins = rng.binomial(counts - ties, rest)
            yield weight[0] * (wins + ties / 2 - counts * model.mean)
    else:
        won, _, tied = model.probabilities[:, flow.pair_of]
        for size in sizes:
            block = np.empty((size, p))
            for row in block:
                u = rng.uniform(size=len(weight))
                outcome = np.where(u < won, 1.0, np.where(u < won + tied, 0.5, 0.0))
                values = weight * (outcome - model.mean[flow.pair_of])
                row[:] = np.bincount(flow.pair_of, values, minlength=p)
            yield block
