"""Estimates of the performance on unseen data, with their uncertainty."""

from rankwise.evaluation.agreement import JudgeAgreement, judge_agreement
from rankwise.evaluation.auc import cross_val_auc
from rankwise.evaluation.baseline_verdict import BaselineVerdict
from rankwise.evaluation.comparison import compare
from rankwise.evaluation.comparison_result import Comparison, Difference
from rankwise.evaluation.confidence import confidence_interval
from rankwise.evaluation.curve import Curve
from rankwise.evaluation.curves import learning_curve, regularisation_curve
from rankwise.evaluation.feature_selection import (
    SelectionCurve,
    Stability,
    selection_curve,
    selection_stability,
    stability_of,
)
from rankwise.evaluation.label_audit import Suspects, suspects
from rankwise.evaluation.leave_pair_out import (
    Tournament,
    leave_pair_out_interval,
    lpo_roc,
    tournament,
)
from rankwise.evaluation.nested_selection import NestedScore, nested_score
from rankwise.evaluation.permutation import permutation_test
from rankwise.evaluation.relational_estimates import (
    RelationalScore,
    SettingScores,
    relational_score,
    relational_settings,
)
from rankwise.evaluation.relational_tests import (
    relational_compare,
    relational_learning_curve,
    relational_permutation_test,
)
from rankwise.evaluation.reliability import Reliability, reliability_curve
from rankwise.evaluation.run_comparison import RunComparison, RunDifference, compare_runs
from rankwise.evaluation.survival_intervals import dynamic_auc_intervals, uno_interval
from rankwise.evaluation.transitivity import TransitivityTest, transitivity_test

__all__ = [
    "BaselineVerdict",
    "Comparison",
    "Curve",
    "Difference",
    "JudgeAgreement",
    "NestedScore",
    "RelationalScore",
    "Reliability",
    "RunComparison",
    "RunDifference",
    "SelectionCurve",
    "SettingScores",
    "Stability",
    "Suspects",
    "Tournament",
    "TransitivityTest",
    "compare",
    "compare_runs",
    "confidence_interval",
    "cross_val_auc",
    "dynamic_auc_intervals",
    "judge_agreement",
    "learning_curve",
    "leave_pair_out_interval",
    "lpo_roc",
    "nested_score",
    "permutation_test",
    "regularisation_curve",
    "relational_compare",
    "relational_learning_curve",
    "relational_permutation_test",
    "relational_score",
    "relational_settings",
    "reliability_curve",
    "selection_curve",
    "selection_stability",
    "stability_of",
    "suspects",
    "tournament",
    "transitivity_test",
    "uno_interval",
]
