import pytest

pytest.register_assert_rewrite("tests.solvers.risk_minimisers")
