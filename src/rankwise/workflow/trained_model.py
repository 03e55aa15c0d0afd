"""What `rankwise train` writes: a ranker, how its items are scaled, where it came from."""

from __future__ import annotations

from sklearn.base import BaseEstimator


class TrainedModel(BaseEstimator):
    """A fitted ranker behind a fitted scaler, with a record of its training.

    Parameters
    ----------
    ranker : fitted learner of rankwise
    scaler : fitted rankwise.scaling.ItemScaler, or None
    record : dict of plain values: the data and options it was trained with, names of features and
        of supporting items, and how every candidate fared in cross-validation
    """

    def __init__(self, ranker=None, scaler=None, record=None):
        self.ranker = ranker
        self.scaler = scaler
        self.record = record

    def fit(self, X, y, *, qid=None):
        """Scale and learn anew, with the same parameters; the record is of the old training."""
        if self.scaler is not None:
            X = self.scaler.fit_transform(X, qid=qid)
        self.ranker.fit(X, y, qid=qid)
        return self

    @property
    def feature_names(self) -> list[str]:
        return list((self.record or {}).get("features", []))

    def prepared(self, X, qid=None):
        """The items as the ranker sees them."""
        return X if self.scaler is None else self.scaler.transform(X, qid)

    def predict(self, X, qid=None):
        """Scores of the items X, higher is better; qid matters where items are scaled by query."""
        return self.ranker.predict(self.prepared(X, qid))

    def __sklearn_is_fitted__(self) -> bool:
        return self.ranker is not None
