"""A pipeline of scikit-learn that matches the columns of a frame by name."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from rankwise.numerics.frame_columns import matched_columns


class NamedPipeline(Pipeline):
    """What `rankwise.load` returns for a Pipeline that was fitted to a frame.

    `predict` and `score` put the columns of a frame into the order of training by their names and
    ignore other columns, where a Pipeline refuses them. All else is as in Pipeline.
    """

    @classmethod
    def of(cls, pipeline: Pipeline) -> NamedPipeline:
        """The same fitted pipeline, with its columns matched by name."""
        named = cls.__new__(cls)
        named.__dict__.update(vars(pipeline))
        return named

    def predict(self, X: Any, **params: Any) -> Any:
        return super().predict(self._matched(X), **params)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        return super().score(self._matched(X), y, sample_weight, **params)

    def _matched(self, X: Any) -> Any:
        return matched_columns(X, getattr(self, "feature_names_in_", None))
