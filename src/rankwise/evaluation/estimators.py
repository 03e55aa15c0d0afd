"""Any estimator, fitted on some of the items and asked for the scores of others."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from rankwise.supervision.queries import Queries


def check_estimator(estimator) -> None:
    """It can be cloned and fitted, and answers with scores; a ValueError says what is missing."""
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


def as_items(estimator, X):
    """X so that rows, and for a precomputed kernel rows and columns, can be taken from it."""
    if sparse.issparse(X):
        return X.tocsr()
    listed = not (hasattr(X, "shape") or hasattr(X, "__dataframe__"))
    return np.asarray(X) if listed or get_tags(estimator).input_tags.pairwise else X


def gives_probabilities(estimator) -> bool:
    return is_classifier(estimator) and not hasattr(estimator, "decision_function")


def fitted(estimator, X, y, train: np.ndarray, queries: Queries | None) -> BaseEstimator:
    """A clone trained on the items `train`, told their queries if it can use them."""
    model = clone(estimator)
    basis = model.get_params(deep=False).get("basis")
    if isinstance(basis, numbers.Integral):
        model.set_params(basis=min(int(basis), len(train)))
    elif basis is not None:
        model.set_params(basis=np.flatnonzero(np.isin(train, basis)))
    X_train, y_train = _safe_split(estimator, X, y, train)
    names = [] if queries is None else _query_parameters(model)
    options = {name: queries.codes[train] for name in names} if queries is not None else {}
    return model.fit(X_train, y_train, **options)


def _query_parameters(model) -> list[str]:
    """What `fit` calls the query labels: qid, and groups for a search whose folds need them."""
    names = [_qid_parameter(model)]
    splitter = model.get_params(deep=False).get("cv")
    if hasattr(model, "estimator") and hasattr(splitter, "get_metadata_routing"):
        needed = splitter.get_metadata_routing().split.requests.get("groups")
        names += ["groups"] if needed is True else []
    return [name for name in names if name is not None]


def _qid_parameter(model) -> str | None:
    """What `fit` calls the query labels; None where it takes none."""
    if has_fit_parameter(model, "qid"):
        return "qid"
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        if last is not None and has_fit_parameter(last, "qid"):
            return "qid" if get_config()["enable_metadata_routing"] else f"{step}__qid"
        return None
    inner = getattr(model, "estimator", None)
    return None if inner is None else _qid_parameter(inner)


def scores_of(estimator, model, X, test: np.ndarray, train: np.ndarray) -> np.ndarray:
    """(t,) scores of the items `test`: decision_function, a probability, or predict."""
    X_test, _ = _safe_split(estimator, X, None, test, train)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X_test)
    elif is_classifier(model):
        scores = model.predict_proba(X_test)
        # a classifier that met one class only has a single column
        scores = scores[:, 1] if scores.shape[1] > 1 else np.zeros(len(test))
    else:
        scores = model.predict(X_test)
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (len(test),):
        raise ValueError(
            f"{type(estimator).__name__} must answer with one score an item, expected shape "
            f"({len(test)},), got {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(estimator).__name__} predicted nan or infinity.")
    return scores
