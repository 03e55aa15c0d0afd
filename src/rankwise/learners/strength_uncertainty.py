"""What a fitted model of preferences knows about its own uncertainty."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import PreferenceWarning
from rankwise.learners.informative_pairs import most_informative
from rankwise.learners.score_posterior import Items, ScorePosterior, judge_gradients
from rankwise.learners.simultaneous_ranks import (
    critical_value,
    inverse_deviations,
    rank_bounds,
)
from rankwise.losses.logistic import LogisticRisk
from rankwise.numerics.arrays import Matrix
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.vote_counts import VoteCounts
from rankwise.validation import check_count, check_items, check_pairs

MOVED = 0.5
"""Shrinkage of a score that intervals warn about, in standard errors."""


class StrengthUncertainty:
    """Covariances, intervals and probabilities of the scores of a fitted model.

    X=None asks about the training items. Scores of different items are compared, so a shift of all
    scores does not count. `robust` asks for the sandwich estimate clustered by the groups of fit;
    None means that it is used if fit was given groups.
    """

    _X: Matrix | None
    _counts: VoteCounts | None
    _judged: sparse.csr_array | None
    _posterior: ScorePosterior | None
    strengths_: np.ndarray

    def _keep_for_uncertainty(
        self, X: Matrix | None, given: Any, risk: LogisticRisk, told: tuple[Preferences, Any]
    ) -> None:
        """What the posterior is computed from, when first asked for."""
        preferences, groups = told
        self._X, self._counts, self._posterior = X, risk.counts, None
        self._without_features = True if X is None else None
        if X is not None:
            self._guard(X, given)  # type: ignore[attr-defined]
        self._judged = None
        if groups is not None:
            judges = Queries.from_labels(groups, len(preferences), "groups", "preference")
            if len(judges) < 2:
                raise ValueError("groups must name two judges or more, to see how they differ.")
            self._judged = judge_gradients(preferences, judges, risk, self.strengths_)

    def _uncertainty(self, robust: bool | None) -> tuple[ScorePosterior, bool]:
        check_is_fitted(self)
        if self._posterior is None:
            if self._counts is None:
                raise ValueError(
                    "this model was saved without its training data, which tell how uncertain it "
                    "is: rankwise.save(model, path, training_data=True) keeps them."
                )
            if self._X is not None:
                self._refuse_edited(self._X)  # type: ignore[attr-defined]
            self._posterior = self._new_posterior(self._counts)
        has_judges = self._posterior.n_judges is not None
        if robust and not has_judges:
            raise ValueError(
                "robust=True needs fit(..., groups=) with the judge of each statement."
            )
        return self._posterior, has_judges if robust is None else bool(robust)

    def _new_posterior(self, counts: VoteCounts) -> ScorePosterior:
        risk = LogisticRisk(counts, davidson=self._models_ties)  # type: ignore[attr-defined]
        fitted = self.fitted_parameters  # type: ignore[attr-defined]
        alpha = self.alpha_ if hasattr(self, "alpha_") else float(fitted.alpha)
        return ScorePosterior(self._fitted_space(), risk, self.strengths_, alpha, self._judged)

    def _fitted_space(self) -> StrengthSpace:
        raise NotImplementedError

    def _items(self, X: Any, posterior: ScorePosterior) -> Items:
        """Φ of the items; X with exactly the rows of the training items means these items."""
        if X is None:
            return posterior.items(None)
        self._refuse_features()  # type: ignore[attr-defined]
        X = check_items(self, X, reset=False)
        return posterior.items(None if self._are_training_items(X) else X)  # type: ignore[attr-defined]

    def score_covariance(self, X=None, *, robust: bool | None = None) -> np.ndarray:
        """(n, n) covariance of the scores of items X: Laplace's approximation, or a sandwich.

        O(m d² + d³) when first asked for, with d features (m items for kernels), then O(n d²).
        Of items that were not in training it includes what their features cannot tell: the part
        of a kernel that no training item spans, and the strength of their own (item_effect).
        """
        posterior, robust = self._uncertainty(robust)
        return posterior.covariance(self._items(X, posterior), robust)

    def _centred_covariance(
        self, X: Any, robust: bool | None
    ) -> tuple[np.ndarray, ScorePosterior, bool]:
        """The covariance of scores minus their mean, which has the same differences."""
        posterior, robust = self._uncertainty(robust)
        if X is None:
            return posterior.training_covariance(robust), posterior, robust
        return posterior.covariance(self._items(X, posterior).centred(), robust), posterior, robust

    def score_intervals(
        self, X=None, level: float = 0.95, *, robust: bool | None = None
    ) -> np.ndarray:
        """(n, 2) intervals of the scores relative to the mean score of the items, each on its own.

        They lie around predict(X). A large alpha moves scores towards each other, which intervals
        do not allow for. Without features a PreferenceWarning says so if some score has moved by
        more than half a standard error.
        """
        check_level(level)
        covariance, posterior, robust = self._centred_covariance(X, robust)
        deviation = np.sqrt(covariance.diagonal())
        f = self.predict(X)  # type: ignore[attr-defined]
        if self._X is None:
            moved = np.abs(posterior.shrinkage())
            if (moved > MOVED * deviation).any():
                worst = float((moved / deviation).max())
                warnings.warn(
                    f"alpha has moved a score by about {worst:.2g} standard errors towards the "
                    "others, so that intervals cover less often than their level says: use a "
                    "smaller alpha.",
                    PreferenceWarning,
                    stacklevel=2,
                )
        width = posterior.quantile((1 + level) / 2, robust) * deviation
        return np.column_stack((f - width, f + width))

    def order_proba(self, X, pairs, *, robust: bool | None = None) -> np.ndarray:
        """(p,) the probability that the score of the first item of a pair is the higher one.

        This is about the scores, which more statements make certain. `preference_proba` is about
        the next statement, which stays a matter of chance.
        """
        f = self.predict(X)  # type: ignore[attr-defined]
        pairs = check_pairs(pairs, len(f))
        covariance, posterior, robust = self._centred_covariance(X, robust)
        i, j = pairs.T
        z = (f[i] - f[j]) * inverse_deviations(covariance)[i, j]
        if robust and posterior.n_judges is not None:
            return np.asarray(stats.t.cdf(z, posterior.n_judges - 1))
        return np.asarray(stats.norm.cdf(z))

    def rank_intervals(
        self, X=None, level: float = 0.95, *, robust: bool | None = None, random_state=None
    ) -> np.ndarray:
        """(n, 2) first and last plausible rank of each item, 1 being the best.

        With probability `level` all true ranks lie in their intervals together (Klein, Wright and
        Wieczorek 2020; max-t of Mogstad et al. 2024): rankwise.learners.simultaneous_ranks says
        how. `random_state` is the seed of 5,000 simulations, which is fixed by default; more than
        1,000 items use Bonferroni's bound instead.
        """
        check_level(level)
        covariance, posterior, robust = self._centred_covariance(X, robust)
        degrees = posterior.n_judges - 1 if robust and posterior.n_judges else None
        c = critical_value(covariance, level, degrees, random_state)
        return rank_bounds(self.predict(X), covariance, c)  # type: ignore[attr-defined]

    def next_pairs(self, X=None, n: int = 10, candidates=None, *, top: int | None = None):
        """(n, 2) the pairs of items whose comparison would say most, the best first.

        Each pair is the one that lowers the summed variance of all differences of scores most, on
        average over what its scores may be, given that those before it are asked too. `top`
        counts only the differences between the `top` best items and all others. `candidates`
        (c, 2) are the pairs that may be asked, default all pairs of X, or of the training items.
        No pair is named twice unless n exceeds the number of candidates. O(n_items k² + n k²) for
        candidates about k items, after the covariance.
        """
        n, top = check_count("n", n), check_count("top", top, none=True)
        f = self.predict(X)  # type: ignore[attr-defined]
        if candidates is None:
            if self.fitted_with_queries:  # type: ignore[attr-defined]
                raise ValueError(
                    "items of different queries are not compared: give candidates=, the pairs of "
                    "items that may be asked."
                )
            if len(f) < 2:
                raise ValueError("there is no pair to ask: X has a single item.")
            pairs = np.column_stack(np.triu_indices(len(f), 1))
        else:
            pairs = check_pairs(candidates, len(f))
            if not len(pairs):
                raise ValueError("candidates must hold a pair.")
            _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
            pairs = pairs[np.sort(first)]
        covariance, _, _ = self._centred_covariance(X, robust=False)
        return pairs[most_informative(f, covariance, top, pairs, int(n))]


def check_level(level: float) -> None:
    if not (isinstance(level, float | int) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
