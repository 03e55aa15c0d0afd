"""How well will it rank? Estimates of performance on unseen data, with their uncertainty."""

from rankwise.evaluation.auc import cross_val_auc
from rankwise.evaluation.curves import Curve, learning_curve, regularisation_curve
from rankwise.evaluation.intervals import confidence_interval
from rankwise.evaluation.nested import NestedScore, nested_score

__all__ = [
    "Curve",
    "NestedScore",
    "confidence_interval",
    "cross_val_auc",
    "learning_curve",
    "nested_score",
    "regularisation_curve",
]
