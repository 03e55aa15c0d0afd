"""RankBoost: a weighted sum of threshold rankers, boosted on pairs that are never enumerated."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.learners.ranker import Ranker
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.boosting import PairDistribution, ThresholdRankers
from rankwise.supervision.queries import Queries
from rankwise.validation import check_positive, check_scores, check_weights

RANKER = np.dtype([("feature", np.int64), ("threshold", np.float64), ("missing", np.float64)])
USELESS = 1e-12
"""Boosting ends where no threshold has a larger advantage over chance than this."""


class RankBoost(Ranker):
    """Minimises Σ exp(f(x₀) − f(x₁)) over the pairs y₁ > y₀ of a query, a threshold ranker a round.

    Freund, Iyer, Schapire, Singer (2003). A round takes the ranker h(x) = [x_j > θ] of the
    largest |r|, r = Σ D(x₀, x₁)(h(x₁) − h(x₀)), and adds ½ ln((1 + r)/(1 − r)) of it to f (r
    smoothed by one pair's share, so that a perfect ranker has a finite weight). The weights D
    are products over items whatever the number of score levels, so a round costs O(m) for them
    and O(m n) for the search, after O(m n log m) once; pairs are never enumerated.

    Parameters
    ----------
    n_rounds : int ≥ 1
    learning_rate : float in (0, 1], multiplies every weight
    validation_fraction : None, or the share of queries (of items, where there are no queries) held
        out to choose the number of rounds; the model is then trained on everything
    random_state : draws what is held out

    Attributes
    ----------
    rankers_ : structured array (t,) with "feature", "threshold" and "missing", the value (0 or 1)
        of items whose feature is nan; a threshold of −inf tells missing values from all others
    weights_ : (t,) their weights, negative where the feature should be small
    n_rounds_ : t, fewer than n_rounds where validation chose so or no threshold was of any use
    validation_scores_ : (t,) 1 − ranking error on what was held out, after every round
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.learners.rank_boost import RankBoost
    >>> X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 5.0], [4.0, 6.0]])
    >>> model = RankBoost(n_rounds=3).fit(X, [0, 1, 1, 2])
    >>> float(model.score(X, [0, 1, 1, 2]))
    1.0
    """

    kernel = None

    def __init__(
        self, n_rounds=100, *, learning_rate=1.0, validation_fraction=None, random_state=None
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Learn from scores y (m,), any number of levels, within queries where qid is given.

        nan in X is a missing value; a sparse X is taken as dense, its gaps as zeros. A pair weighs
        v_i v_j with sample_weight v.
        """
        self._check_parameters()
        X = self._check_features(X, reset=True)
        m = X.shape[0]
        y = check_scores(y if y is None else column_or_1d(y, warn=True), m)
        queries = Queries.from_labels(qid, m)
        weight = check_weights(sample_weight, m)
        self._has_queries = qid is not None
        weight = np.ones(m) if weight is None else weight / min(weight.max(), 1.0)
        if not weight.all():
            kept = np.flatnonzero(weight)
            X, y, queries, weight = X[kept], y[kept], queries.take(kept), weight[kept]
        rounds = self.n_rounds
        if self.validation_fraction is not None:
            rounds = self._choose_rounds(X, y, queries, weight)
        self.rankers_, self.weights_ = self._boost(X, y, queries, weight, rounds)
        self.n_rounds_ = len(self.weights_)
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.n_rounds, Integral) or self.n_rounds < 1:
            raise ValueError(f"n_rounds must be an integer of at least 1; got {self.n_rounds!r}.")
        if check_positive("learning_rate", self.learning_rate) > 1:
            raise ValueError(f"learning_rate must be at most 1; got {self.learning_rate!r}.")
        share = self.validation_fraction
        if share is not None and not (isinstance(share, Real) and 0 < float(share) < 1):
            raise ValueError(
                f"validation_fraction must be None or lie strictly between 0 and 1; got {share!r}."
            )

    def _check_features(self, X, *, reset: bool) -> np.ndarray:
        options = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "accept_sparse": "csr"}
        X = validate_data(self, X, reset=reset, **options)
        if sparse.issparse(X):
            m, n = X.shape
            refuse_too_large(m, n, "X without its gaps", "select features", copies=3)
            X = X.toarray()
        return X

    def _boost(self, X, y, queries, weight, rounds) -> tuple[np.ndarray, np.ndarray]:
        pairs, thresholds = PairDistribution(y, queries, weight), ThresholdRankers(X)
        H, rankers, weights = np.zeros(len(y)), [], []
        potential, log_total = pairs.potentials(H)
        if log_total == -np.inf:
            raise ValueError(
                "y holds no single preference: within every query all items (n_samples = "
                f"{len(y)}, {len(queries)} queries) have the same score, so there is nothing to "
                "learn an order from."
            )
        smoothing = max(np.exp(-log_total), np.finfo(float).eps)
        for _ in range(rounds):
            found = thresholds.best(potential)
            if abs(found.advantage) <= USELESS:
                break
            odds = (1 + found.advantage + smoothing) / (1 - found.advantage + smoothing)
            rankers.append((found.feature, found.threshold, found.missing))
            weights.append(self.learning_rate * 0.5 * np.log(odds))
            H += weights[-1] * _ranks(X, rankers[-1])
            potential, _ = pairs.potentials(H)
        return np.array(rankers, dtype=RANKER), np.array(weights)

    def _choose_rounds(self, X, y, queries, weight) -> int:
        """The first number of rounds of the least ranking error on what is held out."""
        units = queries.codes if len(queries) > 1 else np.arange(len(y))
        n_units = int(units.max()) + 1
        n_held = max(1, round(self.validation_fraction * n_units))
        held = check_random_state(self.random_state).permutation(n_units)[:n_held]
        out = np.isin(units, held)
        test, train = np.flatnonzero(out), np.flatnonzero(~out)
        if not all(len(part) and _has_pair(y[part], queries.take(part)) for part in (train, test)):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves no pair to train or to "
                f"validate on, with n_samples = {len(y)} items in {len(queries)} queries."
            )
        rankers, weights = self._boost(
            X[train], y[train], queries.take(train), weight[train], self.n_rounds
        )
        staged = list(_staged(X[test], rankers, weights)) or [np.zeros(len(test))]
        S = np.column_stack(staged)
        pairs, right = concordant_pairs(y[test], S, queries.take(test))
        self.validation_scores_ = (right[pairs > 0] / pairs[pairs > 0, None]).mean(axis=0)
        return int(np.argmax(self.validation_scores_)) + 1

    def predict(self, X):
        """Scores (n,) of the items X, O(n) a ranker; higher is better."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        scores = np.zeros(X.shape[0])
        for ranker, weight in zip(self.rankers_, self.weights_):
            scores += weight * _ranks(X, ranker)
        return scores

    def staged_predict(self, X):
        """Scores (n,) after one round, after two, and so on, as a generator."""
        check_is_fitted(self)
        return _staged(self._check_features(X, reset=False), self.rankers_, self.weights_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _staged(X, rankers, weights):
    scores = np.zeros(X.shape[0])
    for ranker, weight in zip(rankers, weights):
        scores = scores + weight * _ranks(X, ranker)
        yield scores


def _ranks(X, ranker) -> np.ndarray:
    feature, threshold, missing = ranker
    x = X[:, feature]
    return np.where(np.isnan(x), missing, x > threshold)


def _has_pair(y, queries: Queries) -> bool:
    return any(np.ptp(y[members]) > 0 for members in queries)
