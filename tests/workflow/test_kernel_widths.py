"""Widths of kernels by the median heuristic."""

import numpy as np
import pytest

from rankwise.workflow.kernel_widths import median_gamma


def test_the_median_heuristic():
    X = np.array([[0.0], [1.0], [3.0]])
    assert median_gamma(X, "rbf") == pytest.approx(0.5 / 2**2)
    assert median_gamma(X, "laplacian") == pytest.approx(0.5 / 2)
    assert median_gamma(np.ones((4, 2)), "rbf") == 1.0
