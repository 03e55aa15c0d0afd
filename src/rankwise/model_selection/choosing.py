"""The choice among alphas by their scores."""

from __future__ import annotations

import numpy as np

TIE = 1e-12
"""Scores that differ by no more than this are equal: their difference is rounding error."""


def largest_of_best(alphas: np.ndarray, scores: np.ndarray) -> int:
    """The index of the largest alpha among those whose score equals the best one; O(number)."""
    scores = np.asarray(scores)
    best = np.flatnonzero(scores >= scores.max() - TIE)
    return int(best[np.argmax(np.asarray(alphas)[best])])
