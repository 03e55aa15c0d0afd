"""Whether the digits of a kernel matrix suffice for the model that was learnt from it.

Losses over pairs see differences of kernel values. If all values are nearly equal (features far
from zero, a large coef0, a tiny gamma), the differences have lost digits before any solver starts,
and no certificate of a solver can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EPS = float(np.finfo(float).eps)
TOLERATED = 0.01
"""Rounding errors may change scores by this share of their range, or of the margin of a pair."""
NEARLY_EQUAL = 1e-4
"""Kernel values are nearly equal if their differences are below this share of the largest value."""


@dataclass(frozen=True)
class KernelDigits:
    """What a kernel matrix K, before it is factorised, says about its rounding errors; O(m).

    `norms` (m,) are the square roots of its diagonal, `basis` the items of the expansion among
    them. `hides_terms` says that parts of the kernel
    are known to be lost in its rounding, `nearly_equal` that this is likely, and `tells_apart` that
    some values differ at all.
    """

    norms: np.ndarray
    basis: np.ndarray
    hides_terms: bool
    nearly_equal: bool
    tells_apart: bool

    @classmethod
    def of(
        cls, K: np.ndarray, hides_terms: bool = False, items_differ: bool = True
    ) -> KernelDigits:
        """If the items do not differ, neither do their values, whatever rounding says."""
        diagonal = np.maximum(np.diagonal(K), 0.0)
        largest = float(diagonal.max(initial=0.0))
        distance = float((diagonal - 2 * K[0] + diagonal[0]).max(initial=0.0))
        tells_apart = items_differ and distance > 8 * EPS * largest
        nearly_equal = tells_apart and distance < NEARLY_EQUAL * largest
        items = np.arange(len(K))
        return cls(np.sqrt(diagonal), items, hides_terms, nearly_equal, tells_apart)

    @property
    def rounding(self) -> float:
        """The rounding error of a typical value."""
        return EPS * float(np.median(self.norms)) ** 2

    def decide(self, b: np.ndarray, size: float) -> bool:
        """Whether rounding decides about scores Σ b_i k(x, x_i) of this size, i in the basis."""
        error = EPS * float(np.median(self.norms)) * float(np.abs(b) @ self.norms[self.basis])
        return self.tells_apart and error > TOLERATED * size

    def may_miss_terms(self, pull: float) -> bool:
        """Whether what K has lost in its rounding may change scores that the pairs pull at.

        `pull` is about Σ|a| for the dual coefficients a of the minimiser, in units of the margin:
        a part δK of the kernel changes scores by δK a.
        """
        return self.rounding * pull > TOLERATED
