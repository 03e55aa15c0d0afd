"""Features on one footing, over all items or within each query, missing values filled."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.learners.fit_memory import FitMemory
from rankwise.numerics.frame_columns import matched_columns
from rankwise.numerics.memory import refuse_too_large
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, naming_text, refuse_non_finite, refuse_unreal

SCALES = ("none", "standard", "query")
MISSING = ("refuse", "mean", "median", "keep")
FILLED = ("mean", "median")
"""Ways of missing that put a value of the training items in the place of nan."""


class ItemScaler(FitMemory, TransformerMixin, BaseEstimator):
    """x ↦ (x − mean) / standard deviation, over the training items or within each query.

    Scaling by query looks at the items of a query alone, at those of a new query when it is ranked:
    nothing of it is learnt from the training data, so it is the same at any time. A feature that
    is constant (over the items, or within a query) becomes 0. Sparse matrices keep their zeros:
    they are divided, not centred, which a linear model cannot tell from centring. O(m n).

    Parameters
    ----------
    scale
        "standard" over all items, "query" within each query, "none".
    missing
        "refuse" nan with an error, "mean" or "median" puts that of the training items in its place,
        "keep" leaves it, for learners that take it.

    Attributes
    ----------
    has_queries_
        Whether fit was given qid; transform with scale="query" then needs it too.
    centred_
        Whether means are subtracted: not where the training items were sparse.
    mean_, deviation_
        (n,) with scale="standard".
    fill_
        (n,) what stands in for missing values, with missing="mean" or "median".

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.scaling import ItemScaler
    >>> X = np.array([[1.0], [3.0], [10.0], [30.0]])
    >>> ItemScaler("query").fit_transform(X, qid=["a", "a", "b", "b"]).ravel()
    array([-1.,  1., -1.,  1.])
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__transform: ClassVar[dict[str, bool]] = {"qid": True}

    def __init__(self, scale="standard", *, missing="refuse"):
        self.scale = scale
        self.missing = missing

    def fit(self, X, y=None, *, qid=None):
        """Learn means, deviations and what fills, where scale and missing ask for them."""
        check_choice("scale", self.scale, SCALES)
        check_choice("missing", self.missing, MISSING)
        X = self._check(X, self.missing, reset=True)
        self.has_queries_ = qid is not None
        self.centred_ = not sparse.issparse(X)
        if self.missing in FILLED:
            self.fill_ = _fills(X, np.mean if self.missing == "mean" else np.median)
            X = self._filled(X)
        if self.scale == "standard":
            self.mean_, self.deviation_ = _mean_and_deviation(X)
        self._remember_parameters()
        return self

    def transform(self, X, qid=None):
        """The items scaled; with scale="query" by their own queries.

        qid=None is one query, and an error if fit was given several: scores of items that were
        scaled together with those of other queries would be wrong.
        """
        check_is_fitted(self, "centred_")
        fitted = self.fitted_parameters
        X = self._check(X, fitted.missing, reset=False)
        if self.centred_ and sparse.issparse(X):
            refuse_too_large(*X.shape, "the dense items", "train on sparse items too")
            X = X.toarray()
        X = self._filled(X) if fitted.missing in FILLED else X
        if fitted.scale == "none":
            return X
        if fitted.scale == "standard":
            return _scaled(X, self.mean_ if self.centred_ else None, self.deviation_)
        if qid is None and getattr(self, "has_queries_", True) and X.shape[0] > 1:
            raise ValueError(
                "the features are scaled within each query, so qid is required: the query of each "
                "item (for items of a single query, the same label for all of them)."
            )
        return self._scaled_by_query(X, Queries.from_labels(qid, X.shape[0]))

    def fit_transform(self, X, y=None, *, qid=None):
        return self.fit(X, y, qid=qid).transform(X, qid)

    def _check(self, X, missing: str, *, reset: bool):
        if not reset:
            X = matched_columns(X, getattr(self, "feature_names_in_", None))
        refuse_unreal(X, "X")
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False}
        with naming_text(X, "X"):
            X = validate_data(self, X, reset=reset, **options)
        if missing == "refuse":
            refuse_non_finite(X, "X")
        return X

    def _filled(self, X):
        values, columns = (X.data, X.indices) if sparse.issparse(X) else (X, None)
        absent = np.isnan(values)
        if not absent.any():
            return X
        X = X.copy()
        if columns is None:
            X[absent] = self.fill_[np.nonzero(absent)[1]]
        else:
            X.data[absent] = self.fill_[columns[absent]]
        return X

    def _scaled_by_query(self, X, queries: Queries):
        blocks = []
        for items in queries:
            mean, deviation = _mean_and_deviation(X[items])
            blocks.append(_scaled(X[items], mean if self.centred_ else None, deviation))
        stacked = sparse.vstack(blocks, format="csr") if sparse.issparse(X) else np.vstack(blocks)
        return stacked[np.argsort(queries.order)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags


def _mean_and_deviation(X) -> tuple[np.ndarray, np.ndarray]:
    """Of every feature, nan left out; a deviation of 1 where the feature is constant.

    Sums are in units of the largest values, powers of 2, so that no square over- or underflows.
    """
    values = X.data if sparse.issparse(X) else X
    present = ~np.isnan(values)
    values = np.where(present, values, 0.0)
    columns = X.indices if sparse.issparse(X) else None
    sums = partial(_column_sums, columns, X.shape[1])
    if columns is None:
        size = np.abs(values).max(axis=0, initial=0.0)
    else:
        size = np.zeros(X.shape[1])
        np.maximum.at(size, columns, np.abs(values))
    unit = np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0))))
    count = np.maximum(X.shape[0] - sums(~present), 1.0)
    values = values / (unit if columns is None else unit[columns])
    mean = sums(values) / count
    centred = np.where(present, values - (mean if columns is None else mean[columns]), 0.0)
    zeros = count - sums(present)
    deviation = np.sqrt((sums(centred**2) + zeros * mean**2) / count)
    constant = deviation <= 1e-14 * size / unit
    return mean * unit, np.where(constant, 1.0, deviation * unit)


def _column_sums(columns: np.ndarray | None, n: int, values: np.ndarray) -> np.ndarray:
    """(n,) sums of the values of each feature; `columns` says where those of sparse items are."""
    if columns is None:
        return values.sum(axis=0)
    return np.bincount(columns, values, minlength=n)


def _scaled(X, mean, deviation):
    if sparse.issparse(X):
        scaled = sparse.csr_matrix(X, copy=True)
        scaled.data = scaled.data / deviation[scaled.indices]
        return scaled
    return (X if mean is None else X - mean) / deviation


def _fills(X, middle) -> np.ndarray:
    """The middle of every feature's present values (zeros of sparse matrices too), else 0."""
    fills = np.zeros(X.shape[1])
    columns = X.tocsc() if sparse.issparse(X) else X
    for j in range(X.shape[1]):
        x = columns[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        present = x[~np.isnan(x)]
        fills[j] = middle(present) if len(present) else 0.0
    return fills
