import numpy as np
import pytest

from rankwise.model_selection.choosing import largest_of_best


@pytest.mark.parametrize(
    ("alphas", "scores", "best"),
    [
        ([1.0, 2.0, 3.0], [0.5, 0.7, 0.6], 1),
        ([1.0, 3.0, 2.0], [0.7, 0.7, 0.7], 1),
        ([3.0, 1.0, 2.0], [0.7, 0.7, 0.7 + 1e-13], 0),
        ([3.0, 1.0, 2.0], [0.7, 0.7, 0.7 + 1e-9], 2),
    ],
)
def test_largest_of_equal_scores(alphas, scores, best):
    assert largest_of_best(np.array(alphas), np.array(scores)) == best
