"""Explanations sum to differences of scores."""

import pytest
from scipy import sparse

from rankwise import RankBoost, RankRLS
from rankwise.workflow.explaining import explain, importance
from rankwise.workflow.trained_model import TrainedModel
from tests.cli_files import made_items


@pytest.mark.parametrize("is_sparse", [False, True])
def test_explanations_sum_to_the_difference_of_scores(is_sparse):
    X, y, qid = made_items()
    data = sparse.csr_matrix(X) if is_sparse else X
    for ranker in (RankRLS(2.0), RankRLS(kernel="rbf", basis=[3, 9, 30]), RankBoost(20)):
        if isinstance(ranker, RankBoost):
            data = X
        model = TrainedModel(ranker.fit(data, y, qid=qid))
        found = explain(model, data, 3, 17)
        scores = ranker.predict(data)
        assert found.difference == pytest.approx(scores[3] - scores[17])
        assert sum(part.amount for part in found.parts) == pytest.approx(found.difference)
        assert len(importance(model, data)[1]) == len(importance(model, data)[2])
