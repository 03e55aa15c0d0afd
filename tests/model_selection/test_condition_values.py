import numpy as np

from rankwise.metrics import concordance, ndcg
from rankwise.metrics.scorers import read_scoring
from rankwise.model_selection.condition_values import condition_values
from rankwise.supervision.queries import Queries


def test_each_condition_is_judged_alone():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 3, 40).astype(float), rng.normal(size=40)
    codes = np.repeat(np.arange(8), 5)
    y[:5] = 1.0
    conditions = Queries.from_labels(codes, 40)
    for scoring, measure in ((None, concordance), ("ndcg", ndcg), (concordance, concordance)):
        found = condition_values(read_scoring(scoring), y, s, conditions)
        assert np.isnan(found[0])
        expected = [measure(y[codes == c], s[codes == c]) for c in range(1, 8)]
        np.testing.assert_allclose(found[1:], expected)
