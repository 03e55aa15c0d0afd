import pytest

from rankwise import TwoStepRanker
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.side_kernels import pair_of, side_kernels


def test_each_argument_is_one_value_or_a_pair():
    model = TwoStepRanker(kernel=("rbf", "poly"), gamma=(0.3, None), degree=2, coef0=[0.0, 1.5])
    assert side_kernels(model) == (Kernel("rbf", 0.3, 2, 0.0), Kernel("poly", None, 2, 1.5))
    assert pair_of(3.0, "alpha") == (3.0, 3.0)
    with pytest.raises(ValueError, match="gamma must be one value, or a pair"):
        pair_of((1, 2, 3), "gamma")
    with pytest.raises(ValueError, match="gamma"):
        side_kernels(TwoStepRanker(gamma=(0.3, -1.0)))
