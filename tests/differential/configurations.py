"""From a seed to a configuration, and what became of it."""

from __future__ import annotations

import warnings

import numpy as np

from .hinge import check_hinge, check_residuals
from .least_squares import check_learner, check_search
from .outcome import Outcome
from .relations import check_relation

FAMILIES = (
    check_learner,
    check_learner,
    check_search,
    check_hinge,
    check_residuals,
    check_relation,
)


def run(seed: int) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return FAMILIES[seed % len(FAMILIES)](np.random.default_rng(seed))
