"""The model that `rankwise train` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    import numpy as np

    from rankwise.workflow.training_record import TrainingRecord


class TrainedModel(BaseEstimator):
    """A fitted ranker behind a fitted scaler, with the record of its training.

    Parameters
    ----------
    ranker : fitted learner of rankwise
    scaler : fitted rankwise.scaling.ItemScaler, or None
    record : dict of plain values, a TrainingRecord
    """

    def __init__(self, ranker=None, scaler=None, record=None):
        self.ranker = ranker
        self.scaler = scaler
        self.record = record

    def fit(self, X, y, *, qid=None) -> TrainedModel:
        """Fit scaler and ranker to other data, with the same parameters; the record stays."""
        if self.scaler is not None:
            X = self.scaler.fit_transform(X, qid=qid)
        self.ranker.fit(X, y, qid=qid)
        return self

    @property
    def training(self) -> TrainingRecord:
        """The record; without fields if there is none."""
        return self.record if self.record is not None else {}

    def prepared(self, X, qid=None) -> Any:
        """The items scaled, as the ranker sees them."""
        return X if self.scaler is None else self.scaler.transform(X, qid)

    def predict(self, X, qid=None) -> np.ndarray:
        """Scores of the items X, higher is better; qid matters if items are scaled by query."""
        return self.ranker.predict(self.prepared(X, qid))

    def __sklearn_is_fitted__(self) -> bool:
        return self.ranker is not None
