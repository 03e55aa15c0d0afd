"""RankBoost: a weighted sum of threshold rankers."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.learners.ranker import Ranker
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.numerics.frame_columns import matched_columns
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.boosting import PairDistribution, Threshold, boost, staged_scores
from rankwise.supervision.queries import Queries
from rankwise.validation import (
    check_count,
    check_positive,
    check_scores,
    check_weights,
    naming_text,
    refuse_non_finite,
    refuse_unreal,
)


class RankBoost(Ranker):
    """Minimises Σ exp(f(x₀) − f(x₁)) over the pairs y₁ > y₀ of a query, one ranker per round.

    Freund, Iyer, Schapire, Singer (2003). A round takes the ranker h(x) = [x_j > θ] with the
    largest `|r|`, r = Σ D(x₀, x₁)(h(x₁) − h(x₀)), and adds ½ ln((1 + r)/(1 − r)) h to f. (r is
    smoothed by the share of one pair, so that a perfect ranker has a finite weight.) The weights D
    are products of one factor per item, for any number of score levels. So a round costs O(m) for
    the weights and O(m n) for the search, after O(m n log m) once; pairs are never enumerated.

    Parameters
    ----------
    n_rounds : int ≥ 1
    learning_rate : float in (0, 1]
        Multiplies every weight.
    validation_fraction
        None, or the share of queries (of items, if there are no queries) that is held out to choose
        the number of rounds; the model is then trained on everything.
    random_state
        Draws the queries or items to hold out.

    Attributes
    ----------
    rankers_
        Structured array (t,) with "feature", "threshold" and "missing", the value (0 or 1) of items
        whose feature is nan; a threshold of −inf separates missing values from all others.
    weights_
        (t,) their weights, negative if the feature should be small.
    n_rounds_
        T, fewer than n_rounds if validation chose so or if no threshold helped any more.
    validation_scores_
        (t,) 1 − ranking error on the held-out part, after every round.
    feature_importances_
        (n,) sums of the absolute weights of the thresholds of a feature, as shares of all.
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
        self,
        n_rounds: int = 100,
        *,
        learning_rate: float = 1.0,
        validation_fraction: float | None = None,
        random_state: Any = None,
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> RankBoost:
        """Learn from scores y (m,) with any number of levels, within queries if qid is given.

        nan in X is a missing value. A sparse X is made dense, its gaps are zeros. With
        sample_weight v a pair weighs v_i v_j.
        """
        self._check_parameters()
        X = self._check_features(X, reset=True)
        m = X.shape[0]
        y = check_scores(y, m)
        y = column_or_1d(y, warn=True)
        queries = Queries.from_labels(qid, m)
        weight = check_weights(sample_weight, m)
        self._has_queries = qid is not None
        weight = np.ones(m) if weight is None else weight / min(weight.max(), 1.0)
        if not weight.all():
            kept = np.flatnonzero(weight)
            X, y, queries, weight = X[kept], y[kept], queries.take(kept), weight[kept]
        rounds = self.n_rounds
        if self.validation_fraction is not None:
            rounds = self._choose_rounds(self.validation_fraction, X, y, queries, weight)
        if not _has_pair(y, queries):
            raise ValueError(
                "y holds no single preference: within every query all items (n_samples = "
                f"{len(y)}, {len(queries)} queries) have the same score, so there is nothing to "
                "learn an order from."
            )
        pairs = PairDistribution(y, queries, weight)
        self.rankers_, self.weights_ = boost(X, pairs, rounds, self.learning_rate)
        self.n_rounds_ = len(self.weights_)
        self._remember_parameters()
        return self

    def _check_parameters(self) -> None:
        check_count("n_rounds", self.n_rounds)
        if check_positive("learning_rate", self.learning_rate) > 1:
            raise ValueError(f"learning_rate must be at most 1; got {self.learning_rate!r}.")
        share = self.validation_fraction
        if share is not None and not (isinstance(share, Real) and 0 < float(share) < 1):
            raise ValueError(
                f"validation_fraction must be None or lie strictly between 0 and 1; got {share!r}."
            )

    def _check_features(self, X: Any, *, reset: bool) -> np.ndarray:
        options = {"dtype": np.float64, "ensure_all_finite": False, "accept_sparse": "csr"}
        if not reset:
            X = matched_columns(X, getattr(self, "feature_names_in_", None))
        refuse_unreal(X, "X")
        with naming_text(X, "X"):
            X = validate_data(self, X, reset=reset, **options)
        refuse_non_finite(X, "X", allow_nan=True)
        if sparse.issparse(X):
            m, n = X.shape
            refuse_too_large(m, n, "X without its gaps", "select features", copies=3)
            X = X.toarray()
        return X

    def _choose_rounds(
        self, share: float, X: np.ndarray, y: np.ndarray, queries: Queries, weight: np.ndarray
    ) -> int:
        """The number of rounds with the smallest ranking error on the held-out part; the smallest
        number of several."""
        units = queries.codes if len(queries) > 1 else np.arange(len(y))
        n_units = int(units.max()) + 1
        n_held = max(1, round(share * n_units))
        held = check_random_state(self.random_state).permutation(n_units)[:n_held]
        out = np.isin(units, held)
        test, train = np.flatnonzero(out), np.flatnonzero(~out)
        if not all(len(part) and _has_pair(y[part], queries.take(part)) for part in (train, test)):
            raise ValueError(
                f"validation_fraction={share} leaves no pair to train or to "
                f"validate on, with n_samples = {len(y)} items in {len(queries)} queries."
            )
        pairs = PairDistribution(y[train], queries.take(train), weight[train])
        rankers, weights = boost(X[train], pairs, self.n_rounds, self.learning_rate)
        staged = list(staged_scores(X[test], rankers, weights)) or [np.zeros(len(test))]
        counted, right = concordant_pairs(y[test], np.column_stack(staged), queries.take(test))
        self.validation_scores_ = (right[counted > 0] / counted[counted > 0, None]).mean(axis=0)
        return int(np.argmax(self.validation_scores_)) + 1

    @property
    def feature_importances_(self) -> np.ndarray:
        """(n,) sums of the absolute weights of the thresholds of each feature, divided by all."""
        check_is_fitted(self, "weights_")
        sums = np.zeros(self.n_features_in_)
        np.add.at(sums, self.rankers_["feature"], np.abs(self.weights_))
        return sums / max(float(sums.sum()), np.finfo(float).tiny)

    def predict(self, X: Any) -> np.ndarray:
        """Scores (n,) of the items X, O(n) per ranker; higher is better."""
        check_is_fitted(self)
        X = self._check_features(X, reset=False)
        scores = np.zeros(X.shape[0])
        for ranker, weight in zip(self.rankers_, self.weights_):
            scores += weight * Threshold(*ranker).ranks(X)
        return scores

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Scores (n,) after one round, after two, and so on, as a generator."""
        check_is_fitted(self)
        return staged_scores(self._check_features(X, reset=False), self.rankers_, self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _has_pair(y: np.ndarray, queries: Queries) -> bool:
    return any(np.ptp(y[members]) > 0 for members in queries)
