"""The seam of losses that are not quadratic: value, gradient and curvature of the predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.supervision.queries import Queries


class NoPreference(ValueError):
    """The scores hold no pair to learn from."""


@dataclass(frozen=True)
class Evaluation:
    """R(p) ≥ 0, a subgradient dR/dp, and v ↦ ∇²R(p) v where the risk is smooth.

    `diagonal` computes the diagonal of ∇²R(p), from which solvers make preconditioners; None if
    it would be expensive.
    """

    value: float
    gradient: np.ndarray
    curvature: Callable[[np.ndarray], np.ndarray] | None = None
    diagonal: Callable[[], np.ndarray] | None = None


class Risk(ABC):
    """A convex function R(p) ≥ 0 of the predictions p = Φ w of m items.

    `offers` names what solvers may require: "gradient", and "curvature" if the risk is smooth.
    `queries` says which items are compared with each other: a shift of all p of a query changes
    nothing. None if this is unknown. Over scores an evaluation should cost O(m log m) however many
    pairs there are, and over l explicit preferences O(l + m).
    """

    name: ClassVar[str] = "this risk"
    offers: ClassVar[frozenset[str]] = frozenset({"gradient"})
    n_items: int
    queries: Queries | None = None

    @abstractmethod
    def at(self, p: np.ndarray) -> Evaluation:
        """Value, gradient and, where the risk offers it, curvature at the predictions p (m,)."""


SMOOTH = frozenset({"gradient", "curvature"})
