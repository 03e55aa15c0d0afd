"""Precision, recall and F of candidates above a threshold, and the threshold of the best F."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.exceptions import UndefinedMetric


class Decision(NamedTuple):
    """Precision, recall and F; a ratio of nothing to nothing counts 0."""

    precision: float
    recall: float
    f: float


def judge(y, positive) -> Decision:
    """Of a decision `positive` where y (bool) is the truth."""
    y, positive = np.asarray(y, dtype=bool), np.asarray(positive, dtype=bool)
    hits, called, true = (int(np.count_nonzero(a)) for a in (y & positive, positive, y))
    f = 2 * hits / max(1, true + called)
    return Decision(hits / max(1, called), hits / max(1, true), f)


def best_threshold(y, scores) -> float:
    """The threshold with the largest F: candidates with a score above it are positive.

    Midway between two scores, below all of them where everything is best called positive; of
    equally good ones the highest. O(m log m).
    """
    y, scores = np.asarray(y, dtype=bool), np.asarray(scores, dtype=float)
    if not y.any():
        raise UndefinedMetric("a threshold needs at least one positive candidate to be chosen on.")
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(y[order])
    called = np.arange(1, len(y) + 1)
    f = 2 * hits / (called + hits[-1])
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    last = int(np.argmax(f))
    if last + 1 == len(ranked):
        return float(ranked[-1] - 1.0 - abs(ranked[-1]))
    return float(ranked[last + 1] + (ranked[last] - ranked[last + 1]) / 2)
