"""Which scores count as tied: the one rule of the package.

Scores that are equal in exact arithmetic differ in their last digits, and a closed form and a
refit differ from each other. A score is a sum, so its rounding error is a small multiple of the
sizes of its terms, however small the score itself is. Therefore:

    two scores of one model are tied if they differ by at most TIE times the summed absolute values
    of all terms of their difference, or if their items are twins (equal rows of X).

If the terms of the scores are not known (any scikit-learn estimator), the terms of a difference
are its two scores, but none counts less than a typical score of the model: the size that 9 of 10
scores do not exceed when the model is trained on all items. Closed forms know their terms
(`HeldOut.term_sizes`) and use the typical sum of absolute terms in the same way. Probabilities near
0 and near 1 carry information in their small differences, so the size of a probability p is
min(p, 1 − p), and there is no typical size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rankwise.numerics.compiled import compiled

TIE = 1e-12


@compiled(plain=True)
def tied(difference: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Whether scores with this difference are tied; `size` sums the absolute values of its terms.

    Works on arrays, and on numbers inside compiled loops.
    """
    return abs(difference) <= TIE * size


@dataclass
class TieRule:
    """The rule for the scores of one estimator on the rows of X.

    `twins` numbers the distinct rows of X, or is None if rows cannot be compared. No score counts
    as smaller than `typical`.
    """

    twins: np.ndarray | None
    typical: float = 0.0
    probabilities: bool = False

    @classmethod
    def for_items(cls, X: ArrayLike, sizes: np.ndarray, probabilities: bool = False) -> TieRule:
        """The rule for a model with these term sizes, or these scores, on the rows of X."""
        typical = 0.0 if probabilities else float(np.quantile(np.abs(sizes), 0.9))
        return cls(twins_of(X), typical, probabilities)

    def right(self, pairs: np.ndarray, scores: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """(p,) 1 if the scores (p, 2) of a pair have the order of its gap, ½ if tied, else 0."""
        difference = scores[:, 0] - scores[:, 1]
        tie = tied(difference, self._sizes(scores).sum(axis=1))
        if self.twins is not None:
            tie |= self.twins[pairs[:, 0]] == self.twins[pairs[:, 1]]
        return np.where(tie, 0.5, 0.5 + 0.5 * np.sign(difference) * np.sign(gap))

    def levels(self, items: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Ranks of the scores that one model gives to `items`; ties share a rank. O(t log t)."""
        if self.twins is not None:
            _, first, codes = np.unique(self.twins[items], return_index=True, return_inverse=True)
            scores = scores[first][codes]
        return self.pooled_levels(scores)

    def pooled_levels(self, scores: np.ndarray) -> np.ndarray:
        """The same for scores of several models, which may give different scores to twins."""
        order = np.argsort(scores, kind="stable")
        ascending = scores[order]
        sizes = self._sizes(ascending)
        apart = ~tied(np.diff(ascending), sizes[1:] + sizes[:-1])
        ranks = np.empty(len(scores))
        ranks[order] = np.concatenate(([0], np.cumsum(apart)))
        return ranks

    def _sizes(self, scores: np.ndarray) -> np.ndarray:
        if self.probabilities:
            return np.minimum(scores, 1.0 - scores)
        return np.maximum(np.abs(scores), self.typical)


def twins_of(X: ArrayLike) -> np.ndarray | None:
    """(m,) equal numbers for equal rows, O(m n); None if X does not hold plain numbers."""
    if sparse.issparse(X):
        matrix = sparse.csr_matrix(X, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return _numbered(
            matrix.indices[low:high].tobytes() + matrix.data[low:high].tobytes()
            for low, high in pairwise(matrix.indptr)
        )
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        return None
    # Adding 0.0 turns −0.0 into 0.0: the numbers are equal, but their bytes are not.
    return _numbered(row.tobytes() for row in np.ascontiguousarray(array + 0.0))


def _numbered(rows: Iterable[bytes]) -> np.ndarray:
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])
