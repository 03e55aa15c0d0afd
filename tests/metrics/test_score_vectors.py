"""What all measures refuse, and the words of their errors."""

import numpy as np
import pytest

from rankwise import metrics
from rankwise.metrics import UndefinedMetric
from rankwise.metrics.scorers import MEASURES
from rankwise.supervision.preferences import Preferences

VECTOR_MEASURES = {
    name: (lambda y, s, m=measure: m(y, s, cost="MP")) if name == "pair_cost" else measure
    for name, (measure, _) in MEASURES.items()
}


class TestBadInput:
    @pytest.mark.parametrize("name", VECTOR_MEASURES)
    @pytest.mark.parametrize(
        ("y", "s", "message"),
        [
            ([0, 1, np.nan], [1, 2, 3], "y contains NaN .*row 2"),
            ([0, 1, 1], [1, np.inf, 3], "s contains infinity .*row 1"),
            ([0, 1, 1], [1, 2], "same length, got 3 and 2"),
            ([[0, 1], [1, 1]], [1, 2], r"y must be one-dimensional.*\(2, 2\)"),
            ([0, 1], ["a", "b"], "s must hold real numbers"),
            ([0, 1], [1j, 2], "s must hold real numbers"),
            ([], [], "empty"),
        ],
    )
    def test_vectors(self, name, y, s, message):
        with pytest.raises(ValueError, match=message):
            VECTOR_MEASURES[name](y, s)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: metrics.auc([0, 1, 2], [1, 2, 3]), "third.*concordance"),
            (lambda: metrics.average_precision([0, 2], [1, 2]), "row 1 holds 2"),
            (lambda: metrics.average_precision([-1, 0, 1], [1, 2, 3]), "row 1 holds 0"),
            (lambda: metrics.ndcg([0, 1], [1, 2], k=0), "k must be None or a positive integer"),
            (lambda: metrics.ndcg([0, 1], [1, 2], k=2.5), "k must be None or a positive integer"),
            (lambda: metrics.ndcg([0, 1], [1, 2], gain="log"), "gain must be one of 'exp2'"),
            (lambda: metrics.ndcg([0, 1], [1, 2], empty="one"), "empty must be one of 'zero'"),
            (lambda: metrics.ndcg([0, 1500], [1, 2]), "y = 1500 at row 1"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "mp"), "cost must be one of 'HR'"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "MP", power=3), "power must be 1 or 2"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "SVR", epsilon=-1), "epsilon"),
            (lambda: metrics.pair_cost([0, 1], [1, 1e200], "MP", power=2), "overflow"),
            (lambda: metrics.pair_cost([-1e308, 0], [1e308, 0], "MP"), "overflow"),
            (lambda: metrics.ranking_error([0, 1], [1, 2], qid=[1]), "qid"),
            (lambda: metrics.conditional_error([[0, 1]], [[1, 2, 3]]), "same shape"),
            (
                lambda: metrics.conditional_error([[0, 1]], [[np.nan, 2]]),
                "S is not finite at row 0",
            ),
            (lambda: metrics.conditional_error([[0, np.inf]], [[1, 2]]), "Y .* row 0, column 1"),
            (lambda: metrics.conditional_error([[0, 1]], [[1, 2]], condition="both"), "condition"),
            (lambda: metrics.preference_error(Preferences([0], [5]), [1, 2]), "name item 5"),
            (
                lambda: metrics.preference_error(Preferences([0], [1], n_items=3), [1, 2]),
                "are about 3 items",
            ),
            (lambda: metrics.scorer("maps"), "'maps' is no measure; the names are concordance"),
            (lambda: metrics.scorer("ndcg", top=3), "no option 'top'; it has .*'k'"),
            (lambda: metrics.scorer("ndcg", gain="log"), "gain must be one of"),
            (lambda: metrics.scorer("pair_cost"), "needs cost="),
        ],
    )
    def test_values(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()

    @pytest.mark.parametrize(
        "call",
        [
            lambda: metrics.concordance([1], [1]),
            lambda: metrics.ranking_error([1, 1], [1, 2]),
            lambda: metrics.ranking_error([1, 2], [1, 2], qid=["a", "b"]),
            lambda: metrics.misranking([1, 1], [1, 2]),
            lambda: metrics.auc([1, 1], [1, 2]),
            lambda: metrics.kendall_tau_b([1, 2], [1, 1]),
            lambda: metrics.preference_error(Preferences([], []), [1, 2]),
            lambda: metrics.conditional_error([[1.0, np.nan]], [[1, 2]]),
            lambda: metrics.conditional_error([[np.nan]], [[1]]),
        ],
    )
    def test_nothing_to_judge(self, call):
        with pytest.raises(UndefinedMetric):
            call()
