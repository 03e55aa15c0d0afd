"""Votes about items with features: what a feature is worth, and what to expect of a newcomer.

The strength of item i is x_i·w + u_i, a part that its features explain and a part of its own with
variance τ². τ² is the maximum of the restricted likelihood (REML) of the strengths that votes alone
give, with their covariance: s ~ N(1μ + Xw, Σ + τ²I).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from sklearn.base import clone

from rankwise.learners.rank_logistic import RankLogistic
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.ranking_data import Items

OWN_VARIANCES = 10.0 ** np.linspace(-2, 1.5, 36)
"""The candidates for τ²: own strengths with standard deviations of 0.1 to 5.6."""


@dataclass(frozen=True)
class Covariate:
    """What a feature is worth: the change of strength for one unit, and for one deviation of it.

    `chance` is the probability to beat a competitor that has one deviation less and is equal
    otherwise.
    """

    name: str
    deviation: float
    worth: float
    low: float
    high: float
    per_unit: float
    chance: float


@dataclass
class FeatureModel:
    """A fitted model of standardised features, with a strength of its own for each known item."""

    model: RankLogistic
    own_variance: float
    names: list[str]
    X: np.ndarray  # (all items, n) standardised features
    deviations: np.ndarray
    judges: float = np.inf  # infinity if they are not known
    filled: dict[str, int] = field(default_factory=dict)  # missing values, by feature

    @property
    def quantile(self) -> float:
        """Standard errors on each side of a 95% interval."""
        return float(stats.t.ppf(0.975, self.judges - 1))

    def worth(self) -> list[Covariate]:
        """The features, from the largest effect to the smallest."""
        n = len(self.names)
        w = np.asarray(self.model.coef_)
        # Two newcomers with the same features share x·w but not their own strengths, so that their
        # covariance is the variance of x·w.
        covariance = self._covariances(np.vstack((np.eye(n), np.eye(n))))
        error = np.sqrt(covariance[:, np.arange(n), n + np.arange(n)].max(axis=0).clip(0.0))
        found = []
        for j in np.argsort(-np.abs(w), kind="stable"):
            reach, deviation = self.quantile * error[j], float(self.deviations[j])
            found.append(
                Covariate(
                    self.names[j],
                    deviation,
                    float(w[j]),
                    float(w[j] - reach),
                    float(w[j] + reach),
                    float(w[j] / deviation),
                    float(1 / (1 + np.exp(-w[j]))),
                )
            )
        return found

    def predict(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strengths of items without votes around the mean of the known ones, and their errors."""
        x = self.X[rows]
        centre = float(self.model.strengths_.mean())
        variance = self._covariances(x).diagonal(axis1=1, axis2=2).max(axis=0)
        return np.asarray(x @ self.model.coef_) - centre, np.sqrt(variance.clip(0.0))

    def _covariances(self, X: np.ndarray) -> np.ndarray:
        """(1 or 2, n, n) covariances of the scores of newcomers X.

        That of Laplace knows that items differ by more than their features, and the sandwich knows
        that the votes of a judge belong together: users take the larger variance.
        """
        ways = [False] if np.isinf(self.judges) else [False, True]
        return np.stack([self.model.score_covariance(X, robust=robust) for robust in ways])


def fit_with_features(
    model: RankLogistic, items: Items, known: np.ndarray, votes: Preferences
) -> FeatureModel:
    """Fit the model to the features of the `known` items, those that votes are about.

    Features are standardised over the known items, and missing ones are their median. A feature
    that does not vary among them is left out.
    """
    X = np.array(items.X, dtype=float)
    middle = np.array([_median(column) for column in X[known].T])
    missing = np.isnan(X)
    X = np.where(missing, middle, X)
    mean, deviation = X[known].mean(axis=0), X[known].std(axis=0)
    varies = deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    if not varies.any():
        raise ValueError(f"{items.source}: no feature differs between the items that have votes.")
    X = (X[:, varies] - mean[varies]) / deviation[varies]
    names = [name for name, kept in zip(items.features, varies) if kept]
    plain = clone(model).fit(None, preferences=votes, groups=votes.judge)
    own = own_variance(plain.strengths_, plain.score_covariance(), X[known])
    fitted = clone(model).set_params(item_effect=2 * model.alpha * own)
    fitted.fit(np.ascontiguousarray(X[known]), preferences=votes, groups=votes.judge)
    judges = np.inf
    if votes.judge is not None:
        judges = len(Queries.from_labels(votes.judge, len(votes)))
    counts = zip(names, missing[:, varies].sum(axis=0).tolist())
    filled = {name: count for name, count in counts if count}
    return FeatureModel(fitted, own, names, X, deviation[varies], judges, filled)


def _median(column: np.ndarray) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if len(known) else 0.0


def own_variance(s: np.ndarray, covariance: np.ndarray, X: np.ndarray) -> float:
    """τ² among OWN_VARIANCES by restricted maximum likelihood; O(36 m³)."""
    A = np.column_stack((np.ones(len(s)), X))
    if np.linalg.matrix_rank(A) >= len(s):
        return 1.0  # the features explain any strengths, so the votes say nothing about τ²
    return float(max(OWN_VARIANCES, key=lambda own: restricted_likelihood(s, covariance, A, own)))


def restricted_likelihood(
    s: np.ndarray, covariance: np.ndarray, A: np.ndarray, own: float
) -> float:
    """The logarithm of the likelihood of what A cannot explain of s, up to a constant."""
    V = covariance + own * np.eye(len(s))
    try:
        C = np.linalg.cholesky(V)
    except np.linalg.LinAlgError:
        return -np.inf
    b, r = np.linalg.solve(C, A), np.linalg.solve(C, s)
    solution, *_ = np.linalg.lstsq(b, r, rcond=None)
    residual = r - b @ solution
    singular = np.linalg.svd(b, compute_uv=False)
    singular = singular[singular > 1e-12 * singular[0]]
    logs = np.log(C.diagonal()).sum() + np.log(singular).sum()
    return float(-logs - residual @ residual / 2)
