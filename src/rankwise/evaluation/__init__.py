"""How well will it rank? Estimates of performance on unseen data, with their uncertainty."""

from rankwise.evaluation.auc import cross_val_auc
from rankwise.evaluation.comparison import Comparison, Difference, compare
from rankwise.evaluation.curves import Curve, learning_curve, regularisation_curve
from rankwise.evaluation.intervals import confidence_interval
from rankwise.evaluation.nested import NestedScore, nested_score
from rankwise.evaluation.pairs import leave_pair_out_interval
from rankwise.evaluation.permutation import permutation_test
from rankwise.evaluation.tournament import Tournament, lpo_roc, tournament

__all__ = [
    "Comparison",
    "Curve",
    "Difference",
    "NestedScore",
    "Tournament",
    "compare",
    "confidence_interval",
    "cross_val_auc",
    "learning_curve",
    "leave_pair_out_interval",
    "lpo_roc",
    "nested_score",
    "permutation_test",
    "regularisation_curve",
    "tournament",
]
