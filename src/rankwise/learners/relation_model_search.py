"""What the searches over models of a relation share: settings, folds, and the chosen model."""

from __future__ import annotations

import numbers
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.model_selection.relational_splits import (
    ColumnSplit,
    EdgeSplit,
    RowColumnSplit,
    RowSplit,
)

SETTINGS = {
    "edges": (EdgeSplit, "edge"),
    "rows": (RowSplit, "row"),
    "columns": (ColumnSplit, "column"),
    "both": (RowColumnSplit, "both"),
}
"""For what is new at test time: folds of any graph, and the hold-outs of a complete graph."""


class RelationModelSearch(BaseEstimator):
    """Scores are those of `best_estimator_`; `setting`, `cv` and `random_state` draw the folds."""

    setting: str
    cv: Any
    random_state: Any

    def _relation_splitter(self, one_domain: bool, mirrored: bool) -> Any:
        """The splitter that cv and setting ask for.

        Nodes of one domain leave in both roles. Edges of a mirrored relation leave in both
        directions.
        """
        if hasattr(self.cv, "split") and not isinstance(self.cv, str):
            return self.cv
        n_splits = 5 if self.cv == "auto" else self.cv
        if not isinstance(n_splits, numbers.Integral):
            raise ValueError(
                "cv must be 'auto', 'leave-one-out', a number of folds or a splitter of "
                f"rankwise.selection; got {self.cv!r}."
            )
        both_roles = mirrored if self.setting == "edges" else one_domain
        split: Any = SETTINGS[self.setting][0]
        return split(int(n_splits), self.random_state, one_domain=both_roles)

    def predict(self, U, V=None):
        check_is_fitted(self)
        return self.best_estimator_.predict(U, V)

    def predict_edges(self, U, V, edges):
        check_is_fitted(self)
        return self.best_estimator_.predict_edges(U, V, edges)

    def rank(self, u, V, k=None):
        check_is_fitted(self)
        return self.best_estimator_.rank(u, V, k)

    def score(self, U, V, Y) -> float:
        check_is_fitted(self)
        return self.best_estimator_.score(U, V, Y)
