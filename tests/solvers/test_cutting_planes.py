import numpy as np

from rankwise.solvers.cutting_planes import CuttingPlanes


def test_planes_bound_from_below_and_idle_ones_are_dropped():
    rng = np.random.default_rng(0)
    planes = CuttingPlanes()
    bounds = []
    for i in range(80):
        slope = rng.standard_normal(4) * (1.0 if i < 40 else 1e-3)
        planes.add(slope, rng.random() - (0.0 if i < 40 else 50.0))
        bounds.append(planes.minimise(0.1)[1])
    assert np.all(np.diff(bounds) >= -1e-8), "more planes never lower the bound"
    assert len(planes) < 75


def test_rounding_never_lifts_the_bound_of_planes_above_their_minimum():
    """Planes of height 1 at w = 0 whose slopes cancel: the minimum of the model is 1."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        planes = CuttingPlanes()
        a, b = 1e6 * rng.standard_normal((2, 3))
        for slope in (a, b, -0.5 * (a + b)):
            planes.add(slope, 1.0)
            assert planes.minimise(1e-8)[1] <= 1.0 + 1e-12
