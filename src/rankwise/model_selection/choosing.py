"""The choice of alpha from the scores of a grid."""

from __future__ import annotations

import numpy as np

EQUAL = 1e-12
"""Scores that differ by no more than this are equal."""


def largest_of_best(alphas: np.ndarray, scores: np.ndarray) -> int:
    """The index of the largest alpha among those whose score equals the best one."""
    best = np.flatnonzero(scores >= scores.max() - EQUAL)
    return int(best[np.argmax(alphas[best])])
