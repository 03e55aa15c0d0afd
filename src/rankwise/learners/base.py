"""What all rankers share: kernel parameters, predict, score, tags, routing of qid."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise.spaces.kernels import kernel_matrix
from rankwise.validation import check_items, check_scored_queries, check_scores


class Ranker(RegressorMixin, BaseEstimator):
    """Base of learners with f(x) = ⟨w, x⟩ (`coef_`) or f(x) = Σ_R b_i k(x, x_i) (`dual_coef_`).

    Subclasses have the constructor arguments kernel, gamma, degree, coef0 and set in fit:
    `coef_` (n,) or (k, n) for the linear kernel; `dual_coef_` (r,) or (r, k), `basis_index_` and
    `_X_basis` for others; `_has_queries`.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def _kernel_parameters(self) -> dict:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def predict(self, X):
        """Scores of the items X, (n,) or (n, k); higher is better."""
        check_is_fitted(self)
        X = check_items(self, X, reset=False)
        if self.kernel == "linear":
            return X @ self.coef_.T
        if self.kernel == "precomputed":
            return X[:, self.basis_index_] @ self.dual_coef_
        K = kernel_matrix(X, self._X_basis, self.kernel, **self._kernel_parameters())
        return K @ self.dual_coef_

    def score(self, X, y, qid=None, sample_weight=None) -> float:
        """1 − ranking error, averaged over queries (and over outputs); 1 is a perfect order.

        Weights have no meaning here and are refused; pipelines pass the argument on as None.
        """
        check_is_fitted(self)
        if sample_weight is not None:
            raise ValueError("score takes no sample_weight: the measure counts pairs equally.")
        S = self.predict(X)
        y = check_scores(y, len(S))
        check_scored_queries(self._has_queries, qid, len(S))
        if y.ndim == 1 and S.ndim == 1:
            return metrics.concordance(y, S, qid)
        y, S = y.reshape(len(y), -1), S.reshape(len(S), -1)
        if y.shape != S.shape:
            raise ValueError(f"the model predicts {S.shape[1]} outputs, y has {y.shape[1]}.")
        return float(
            np.mean([metrics.concordance(y[:, j], S[:, j], qid) for j in range(y.shape[1])])
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
