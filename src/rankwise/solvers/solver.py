"""The seam of all solvers: what one requires, how it is prepared, and the solution it returns."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rankwise.exceptions import MissingRequirement

CONVERGED, MAX_ITER, INTERRUPTED = "converged", "max_iter", "interrupted"
STALLED = "stalled"
"""Rounding errors hide what further iterations would gain."""


@dataclass
class Solution:
    """The best point found: ``objective − gap`` is a lower bound of the minimum.

    ``w`` holds the coefficients. ``status`` is one of the names above.
    ``history`` holds one objective, one gap and the seconds since the start for each iteration.
    Solvers in closed form do not evaluate the objective: theirs is None, with a gap of 0.
    ``error`` is the estimated norm of the error of ``w`` relative to that of ``w``, where a solver
    estimates it.
    """

    w: np.ndarray
    status: str = CONVERGED
    objective: float | None = None
    gap: float = 0.0
    n_iter: int = 1
    history: dict[str, np.ndarray] = field(default_factory=dict)
    error: float = 0.0


class Solver(ABC):
    """Minimises risk(Φ w) + alpha‖w‖² for one alpha after another.

    The constructor does what serves every alpha (it factorises, or copies nothing). `requires`
    names what the matrix and the risk must offer; both list what they have in `offers`.
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]] = frozenset()
    way_out: ClassVar[str] = "choose another solver"
    """What a user can do about a missing requirement."""

    @classmethod
    def check(cls, *parts: object) -> None:
        """Raise MissingRequirement, which names what is missing, unless the parts offer all."""
        offered: frozenset[str] = frozenset().union(
            *(getattr(part, "offers", frozenset()) for part in parts)
        )
        missing = sorted(cls.requires - offered)
        if missing:
            names = ", ".join(getattr(part, "name", type(part).__name__) for part in parts)
            raise MissingRequirement(
                f"solver={cls.name!r} requires {' and '.join(missing)}, which {names} "
                f"{'do' if len(parts) > 1 else 'does'} not offer: {cls.way_out}."
            )

    @abstractmethod
    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """The minimiser for one alpha, from `start` (zero if None) where the solver iterates."""


@dataclass
class Progress:
    """Records a run and, if verbose, prints a line an iteration with an estimate of time left."""

    name: str
    target: float
    verbose: int = 0
    _started: float = field(default_factory=time.perf_counter)
    _rows: list[tuple[float, float, float]] = field(default_factory=list)

    def record(self, objective: float, gap: float, measure: float) -> None:
        """`measure` is what must fall below the target for the run to converge."""
        elapsed = time.perf_counter() - self._started
        self._rows.append((objective, gap, elapsed))
        if self.verbose:
            left = self._time_left(measure, elapsed)
            print(
                f"[{self.name}] iteration {len(self._rows):4d}  objective {objective:.6g}  "
                f"gap {gap:.3g}  {elapsed:.1f} s, about {left} left",
                flush=True,
            )

    def history(self) -> dict[str, np.ndarray]:
        columns = np.array(self._rows, dtype=float).reshape(-1, 3).T
        return dict(zip(("objective", "gap", "seconds"), columns))

    def _time_left(self, measure: float, elapsed: float) -> str:
        """Extrapolates the geometric decrease of the measure since the first iteration."""
        if measure <= self.target:
            return "0 s"
        if len(self._rows) == 1:
            self._first = measure
        done = np.log(self._first / measure) if self._first > measure else 0.0
        if not done > 0 or self.target <= 0:
            return "? s"
        return f"{elapsed * np.log(measure / self.target) / done:.0f} s"


def refuse_non_finite(*values: float) -> None:
    """Stop a run that has left the floating-point range."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "non-finite values appeared during optimisation: the features of X or the scores y "
            "are too large for the range of floating-point numbers. Scale them, for example with "
            "sklearn.preprocessing.MaxAbsScaler, or regularise more (a larger alpha, a smaller C)."
        )
