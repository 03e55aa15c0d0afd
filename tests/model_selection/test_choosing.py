import numpy as np
import pytest

from rankwise.model_selection.choosing import largest_of_best


@pytest.mark.parametrize(
    "alphas, scores, expected",
    [
        ([1.0, 2.0, 4.0], [0.1, 0.3, 0.2], 1),
        ([1.0, 2.0, 4.0], [0.3, 0.3, 0.2], 1),
        ([4.0, 2.0, 1.0], [0.3, 0.3, 0.3], 0),
        ([2.0, 4.0, 1.0], [0.3 + 1e-15, 0.3, 0.3 - 1e-15], 1),
        ([2.0, 4.0, 1.0], [0.3, 0.3 - 1e-9, 0.3], 0),
        ([1.0], [-5.0], 0),
    ],
)
def test_of_equal_scores_the_largest_alpha_wins(alphas, scores, expected):
    assert largest_of_best(np.array(alphas), np.array(scores)) == expected
