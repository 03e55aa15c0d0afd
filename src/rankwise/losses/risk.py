"""The seam of losses that are not quadratic: value, gradient and curvature of the predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from rankwise.supervision.queries import Queries


class NoPreference(ValueError):
    """The scores hold no pair to learn from."""


class CurvatureMatrix(NamedTuple):
    """∇²R(p) = laplacian − low_rank low_rankᵀ, with a sparse (m, m) and a thin (m, r) matrix."""

    laplacian: sparse.csr_array
    low_rank: np.ndarray | None


@dataclass(frozen=True)
class Evaluation:
    """R(p) ≥ 0, a subgradient dR/dp, and v ↦ ∇²R(p) v where the risk is smooth.

    `diagonal` computes the diagonal of ∇²R(p), from which solvers make preconditioners, and
    `matrix` all of ∇²R(p); None if it would be expensive.
    """

    value: float
    gradient: np.ndarray
    curvature: Callable[[np.ndarray], np.ndarray] | None = None
    diagonal: Callable[[], np.ndarray] | None = None
    matrix: Callable[[], CurvatureMatrix] | None = None


@dataclass(frozen=True)
class SmoothedEvaluation(Evaluation):
    """The same of a smooth function below R, with what it says about R itself.

    `exact` is R(p), and R(p') ≥ offset + ⟨gradient, p'⟩ for all p'.
    """

    exact: float = 0.0
    offset: float = 0.0


class Risk(ABC):
    """A convex function R(p) ≥ 0 of the predictions p = Φ w of m items.

    `offers` names what solvers may require: "gradient", "curvature" if the risk is smooth,
    "curvature matrix" if an evaluation can also give it as a matrix, and "smoothing" if the risk
    has a smooth approximation of any accuracy.
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

    def smoothed(self, width: float) -> SmoothedRisk:
        """A smooth risk that differs from R by at most width/2, if the risk offers "smoothing"."""
        raise NotImplementedError

    def sample(self, size: int) -> RiskSample | None:
        """A similar risk of about `size` of the items; None if the risk has none, or no more items.

        Solvers guess with it, and trust only R itself.
        """
        return None


class RiskSample(NamedTuple):
    """Numbers of items, and a risk of their predictions."""

    items: np.ndarray
    risk: Risk


class SmoothedRisk(Risk):
    """A smooth lower bound of another risk."""

    @abstractmethod
    def at(self, p: np.ndarray) -> SmoothedEvaluation:
        """Value, gradient and curvature of the bound, and the other risk at p."""


SMOOTH = frozenset({"gradient", "curvature"})
