"""A hundred configurations in every run; `python -m tests.differential` draws more."""

import pytest

from .configurations import run


@pytest.mark.parametrize("seed", range(100))
def test_configuration_agrees_with_brute_force(seed):
    outcome = run(seed)
    assert not outcome.differences, f"{outcome.description}: {outcome.differences}"
