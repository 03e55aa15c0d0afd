"""The public path of the folds for relations; the code is in rankwise.model_selection."""

from rankwise.model_selection.relational_splits import (
    ColumnSplit,
    EdgeSplit,
    RowColumnSplit,
    RowSplit,
)

__all__ = ["ColumnSplit", "EdgeSplit", "RowColumnSplit", "RowSplit"]
