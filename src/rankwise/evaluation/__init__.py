"""How well will it rank? Estimates of performance on unseen data, with their uncertainty."""

from rankwise.evaluation.auc import cross_val_auc
from rankwise.evaluation.intervals import confidence_interval

__all__ = ["confidence_interval", "cross_val_auc"]
