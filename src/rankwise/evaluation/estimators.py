"""Any estimator, fitted on some of the items and asked for the scores of others."""

from __future__ import annotations

import numbers
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from rankwise.evaluation.truths import Truth
from rankwise.metrics.score_vectors import finite_vector
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import Queries
from rankwise.validation import refuse_unreal


def check_estimator(estimator: BaseEstimator) -> None:
    """Refuse what cannot be cloned, fitted and asked for scores; the error says what is missing."""
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise ValueError(f"give an estimator, not its class: {estimator.__name__}().")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"{name} is no scikit-learn estimator: it needs fit, get_params and predict."
        )
    if is_classifier(estimator):
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise ValueError(
                f"{name} only predicts classes, which order nothing: it needs decision_function "
                "or predict_proba."
            )
    elif not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict")):
        raise ValueError(f"{name} cannot rank: it needs decision_function or predict.")


class ExistingRanking:
    """Scores (m,) of all items by something that is not trained here: a baseline."""

    def __init__(self, name: str, scores: ArrayLike):
        self.name, self.scores = name, finite_vector(scores, f"the scores of {name!r}")

    def check_length(self, n_items: int) -> None:
        if len(self.scores) != n_items:
            raise ValueError(
                f"the scores of {self.name!r} must be one for each of the {n_items} items; got "
                f"{len(self.scores)}."
            )


def is_array_of_scores(model: object) -> bool:
    """Whether a model is given as its scores: an array, a list or a column of a frame."""
    if hasattr(model, "fit") or isinstance(model, type):
        return False
    return isinstance(model, list | tuple) or hasattr(model, "__array__")


def has_closed_form(estimator: BaseEstimator | ExistingRanking) -> bool:
    """Whether the estimator can be held out without refits; existing scores need none.

    A search such as RankRLSCV has `hold_outs` too, but no alpha of its own: it has to be refitted,
    because it chooses alpha again in each training set.
    """
    if isinstance(estimator, ExistingRanking):
        return True
    return hasattr(estimator, "hold_outs") and hasattr(estimator, "alpha")


def as_items(estimator: BaseEstimator, X: ArrayLike) -> ArrayLike:
    """X in a form from which rows, and columns of a precomputed kernel, can be selected."""
    refuse_unreal(X, "X")
    if sparse.issparse(X):
        return cast(sparse.spmatrix, X).tocsr()
    is_list = not (hasattr(X, "shape") or hasattr(X, "__dataframe__"))
    return np.asarray(X) if is_list or get_tags(estimator).input_tags.pairwise else X


def gives_probabilities(estimator: BaseEstimator) -> bool:
    return is_classifier(estimator) and not hasattr(estimator, "decision_function")


def fitted(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: Truth,
    train: np.ndarray,
    queries: Queries | None,
    groups: Queries | None = None,
) -> BaseEstimator:
    """A clone trained on the items `train`, with their queries if its `fit` accepts queries.

    A search that accepts groups gets them too, so that its own folds keep them together. Censored
    outcomes are handed on as structured arrays, which estimators of other libraries know as well.
    """
    model = clone(estimator)
    basis = model.get_params(deep=False).get("basis")
    if isinstance(basis, numbers.Integral):
        model.set_params(basis=min(int(basis), len(train)))
    elif basis is not None:
        model.set_params(basis=np.flatnonzero(np.isin(train, basis)))
    told = np.asarray(y) if isinstance(y, Censored) else y
    X_train, y_train = _safe_split(estimator, X, told, train)
    labels = {}
    if queries is not None:
        labels = {name: queries.codes[train] for name in _query_parameters(model)}
    if groups is not None and has_fit_parameter(model, "groups"):
        labels["groups"] = groups.codes[train]
    return model.fit(X_train, y_train, **labels)


def _query_parameters(model: BaseEstimator) -> list[str]:
    """Arguments of `fit` for query labels: qid, and groups for a search whose folds need them."""
    names = [_qid_parameter(model)]
    splitter = model.get_params(deep=False).get("cv")
    if hasattr(model, "estimator") and hasattr(splitter, "get_metadata_routing"):
        needed = splitter.get_metadata_routing().split.requests.get("groups")
        names += ["groups"] if needed is True else []
    return [name for name in names if name is not None]


def _qid_parameter(model: BaseEstimator) -> str | None:
    """The argument of `fit` for query labels; None if it has none."""
    if has_fit_parameter(model, "qid"):
        return "qid"
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        if last is not None and has_fit_parameter(last, "qid"):
            return "qid" if get_config()["enable_metadata_routing"] else f"{step}__qid"
        return None
    inner = getattr(model, "estimator", None)
    return None if inner is None else _qid_parameter(inner)


def scores_of(
    estimator: BaseEstimator,
    model: BaseEstimator,
    X: ArrayLike,
    test: np.ndarray,
    train: np.ndarray,
) -> np.ndarray:
    """(t,) scores of the items `test` by the fitted `model`, a clone of `estimator`.

    Scores are those of decision_function, else probabilities of a classifier, else predictions.
    """
    X_test, _ = _safe_split(estimator, X, None, test, train)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X_test)
    elif is_classifier(model):
        scores = model.predict_proba(X_test)
        # A classifier that was trained on one class only has a single column.
        scores = scores[:, 1] if scores.shape[1] > 1 else np.zeros(len(test))
    else:
        scores = model.predict(X_test)
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (len(test),):
        raise ValueError(
            f"{type(estimator).__name__} must predict one score per item, expected shape "
            f"({len(test)},), got {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(estimator).__name__} predicted nan or infinity.")
    return scores
