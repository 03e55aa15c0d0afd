"""Which held-out scores count as tied.

Scores that are equal in exact arithmetic differ in their last digits, and not alike in a closed
form and in a refit. So two scores by one model are tied where the items are twins (equal rows of
X), or where they differ by less than 1e-12 of the larger one or of the typical score: the size
that 9 of 10 scores stay below when the model is trained on everything. Scores are sums that may
cancel: what is less than 1e-13 of the sizes summed is rounding too. Probabilities, whose small
differences near 0 mean something, are tied where they agree to 1e-15 of the larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from rankwise.learners.quadratic_ranker import QuadraticRanker
from rankwise.learners.ranker import Ranker

NEAR = 1e-12
ROUNDING = 1e-13
NEAR_PROBABILITY = 1e-15


@dataclass
class TieRule:
    """`twins` numbers the distinct rows of X; None where rows cannot be compared.

    Scores closer than `share` of the larger one, or than `near`, are tied.
    """

    twins: np.ndarray | None
    near: float
    share: float = NEAR

    @classmethod
    def for_model(cls, model, X, scores: np.ndarray, probabilities: bool = False) -> TieRule:
        """Of a model trained on all of X that gives it these scores."""
        if probabilities:
            return cls(twins_of(X), 0.0, NEAR_PROBABILITY)
        near = NEAR * np.quantile(np.abs(scores), 0.9)
        for sizes in _summed_sizes(model, X):
            near = max(near, ROUNDING * np.quantile(sizes, 0.9))
        return cls(twins_of(X), float(near))

    def right(self, pairs: np.ndarray, scores: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """(p,) 1 where a pair's scores (p, 2) have the order of its gap, ½ for a tie, else 0."""
        difference = scores[:, 0] - scores[:, 1]
        near = np.maximum(self.share * np.abs(scores).max(axis=1, initial=0.0), self.near)
        tied = np.abs(difference) <= near
        if self.twins is not None:
            tied |= self.twins[pairs[:, 0]] == self.twins[pairs[:, 1]]
        return np.where(tied, 0.5, 0.5 + 0.5 * np.sign(difference) * np.sign(gap))

    def levels(self, items: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Ranks of the scores of one model, tied ones sharing a rank. O(t log t)."""
        if self.twins is not None:
            _, first, codes = np.unique(self.twins[items], return_index=True, return_inverse=True)
            scores = scores[first][codes]
        return self._ranks(scores)

    def pooled_levels(self, scores: np.ndarray) -> np.ndarray:
        """The same for scores of several models, where twins need not agree."""
        return self._ranks(scores)

    def _ranks(self, scores: np.ndarray) -> np.ndarray:
        order = np.argsort(scores, kind="stable")
        ascending = scores[order]
        size = np.maximum(np.abs(ascending[1:]), np.abs(ascending[:-1]))
        apart = np.diff(ascending) > np.maximum(self.share * size, self.near)
        ranks = np.empty(len(scores))
        ranks[order] = np.concatenate(([0], np.cumsum(apart)))
        return ranks


def twins_of(X) -> np.ndarray | None:
    """(m,) equal numbers for equal rows, O(m n); None where X does not hold plain numbers."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        return _numbered(
            X.indices[low:high].tobytes() + X.data[low:high].tobytes()
            for low, high in pairwise(X.indptr)
        )
    try:
        X = np.asarray(X)
    except (TypeError, ValueError):
        return None
    if X.dtype.kind not in "biuf" or X.ndim != 2:
        return None
    # −0.0 and 0.0 are the same number but not the same bytes
    return _numbered(row.tobytes() for row in np.ascontiguousarray(X + 0.0))


def _numbered(rows: Iterable[bytes]) -> np.ndarray:
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in rows])


def _summed_sizes(model, X) -> Iterator[np.ndarray]:
    if isinstance(model, Ranker) and hasattr(model, "dual_coef_"):
        X = X if sparse.issparse(X) else np.asarray(X, dtype=float)
        yield np.abs(model.representation.of(X)) @ np.abs(model.dual_coef_)
    if isinstance(model, QuadraticRanker):
        yield model.training_problem.term_sizes(model.alpha)[:, 0]
