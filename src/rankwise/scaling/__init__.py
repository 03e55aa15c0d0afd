"""The public path of `ItemScaler`; the code is in rankwise.learners.item_scaler."""

from rankwise.learners.item_scaler import ItemScaler

__all__ = ["ItemScaler"]
