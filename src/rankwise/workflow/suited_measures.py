"""Measures by name for scores as they come in files: grades, two classes, or any numbers."""

from __future__ import annotations

import numpy as np

from rankwise.metrics.scorers import Scorer

LARGEST_GRADE = 30
"""Scores are grades if they are integers from 0 to this number."""


class UnsuitedScores(ValueError):
    """Scores y that a measure cannot judge; the message says why, and what to do."""


def suited(name: str, y: np.ndarray, relevant: float | None = None) -> Scorer:
    """The scorer of this name with the options that the scores y ask for.

    NDCG uses the gains 2^y − 1 for grades 0, 1, ..., 30, and y itself for other numbers that are
    not negative. MAP needs to know which items are relevant: those with at least the score
    `relevant`, by default those with y > 0 for grades and for −1 and 1.
    """
    scorer = Scorer(name)
    if scorer.name in ("ndcg", "expected_reciprocal_rank") and np.any(y < 0):
        raise UnsuitedScores("negative scores cannot be gains")
    if scorer.name == "ndcg" and not _are_grades(y):
        return Scorer("ndcg", **{**scorer.options, "gain": "linear"})
    if scorer.name == "expected_reciprocal_rank" and not _are_grades(y):
        raise UnsuitedScores(f"ERR is for grades, integers from 0 to {LARGEST_GRADE}")
    if scorer.name == "auc" and len(np.unique(y)) > 2:
        raise UnsuitedScores("AUC is for two values of the score: concordance takes more")
    if scorer.name == "average_precision":
        relevant = lowest_relevant(y) if relevant is None else relevant
        if relevant is None:
            raise UnsuitedScores(
                "give --relevant, the lowest relevant score, or choose another measure"
            )
        if not np.any(y >= relevant):
            raise UnsuitedScores(f"no item has a score of {relevant:g} or more")
        if np.all(y >= relevant):
            raise UnsuitedScores(
                f"all scores are {relevant:g} or more, so that every item counts as relevant: "
                "choose a larger --relevant, or another measure"
            )
        return Scorer("map", relevant=relevant)
    return scorer


def lowest_relevant(y: np.ndarray) -> float | None:
    """The least positive score of grades, or of −1 and 1; None for other scores."""
    if not (_are_grades(y) or set(np.unique(y)) <= {-1.0, 1.0}) or not np.any(y > 0):
        return None
    return float(np.min(y[y > 0]))


def _are_grades(y: np.ndarray) -> bool:
    return bool(np.all((y >= 0) & (y <= LARGEST_GRADE) & (y == np.floor(y))))
