"""How the candidates of a parameter did: the path of a search, for records, tables and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.evaluation.intervals import TOO_FEW, student_interval
from rankwise.metrics.scorers import read_scoring
from rankwise.model_selection.choosing import EQUAL

CONCORDANCE = "share of held-out pairs in the right order"
COMPARABLE = "share of held-out comparable pairs in the right order"
PREFERENCES = "share of held-out preferences in the right order"
COST = "held-out squared error of differences"
LEFT = "share of the held-out squared error left (too good: the features were chosen by it)"


@dataclass
class SearchPath:
    """The candidates of one parameter, each with its held-out score and standard error.

    `by` says in words what was held out, and `judged` what the score measures; `scoring` is the
    name of that measure, or None. The score is a mean over `units` queries or folds (or over as
    many pairs without a common item), if that is known.
    """

    parameter: str
    value: np.ndarray
    score: np.ndarray
    score_se: np.ndarray | None
    chosen: float
    by: str
    judged: str = CONCORDANCE
    scoring: str | None = None
    units: int | None = None

    def __post_init__(self) -> None:
        for name in ("value", "score", "score_se"):
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name), dtype=float))

    @property
    def lower_is_better(self) -> bool:
        return self.judged in (COST, LEFT)

    @property
    def at_chosen(self) -> tuple[float, float | None]:
        """The score of the chosen candidate and its standard error."""
        nearest = int(np.argmin(np.abs(self.value - self.chosen)))
        error = None if self.score_se is None else float(self.score_se[nearest])
        return float(self.score[nearest]), error

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of the score of the chosen candidate, if it has a standard error."""
        score, error = self.at_chosen
        return None if error is None else self._interval(score, error)

    @property
    def band(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The ends of the 95% intervals of all candidates; the score itself if it has none."""
        if self.score_se is None:
            return None
        pairs = zip(self.score.tolist(), self.score_se.tolist())
        ends = [self._interval(score, error) or (score, score) for score, error in pairs]
        low, high = np.array(ends).T
        return low, high

    def _interval(self, score: float, error: float) -> tuple[float, float] | None:
        limits = read_scoring(self.scoring).range
        if self.units is None:
            if not np.isfinite(error) or error < EQUAL:
                return None
            return max(score - 1.96 * error, limits[0]), min(score + 1.96 * error, limits[1])
        variance = error**2 if np.isfinite(error) else 0.0
        low, high = student_interval(score, variance, 0.95, self.units, limits)
        return (low, high) if np.isfinite(high - low) else None

    @property
    def spread(self) -> str:
        """The standard error in words, or the interval where the error would look too certain."""
        _, error = self.at_chosen
        few = self.units is not None and self.units < TOO_FEW
        if error is not None and error > EQUAL and not few:
            return f" ± {error:.4f}"
        if self.interval is None:
            return ""
        low, high = self.interval
        why = "all held-out parts have the same score"
        if few:
            why = f"{self.units} queries or folds are too few"
        return f", 95% interval {low:.4f} to {high:.4f} (no standard error, because {why})"

    @property
    def needs_wider_grid(self) -> bool:
        """Whether the smallest or the largest alpha won, and its neighbour in the grid lost.

        A grid that was extended as far as scores change ends in candidates with equal scores.
        """
        order = np.argsort(self.value)
        values, scores = self.value[order], self.score[order]
        if self.parameter != "alpha" or len(values) < 2:
            return False
        gain = scores - np.append(scores[1:], scores[-2])
        gain[1:-1] = 0.0
        if self.lower_is_better:
            gain = -gain
        return bool((gain[values == self.chosen] > EQUAL).any())

    @property
    def wider_grid_hint(self) -> str:
        """What to do if `needs_wider_grid`."""
        end, beyond = ("smallest", "smaller")
        if self.chosen == self.value.max():
            end, beyond = ("largest", "larger")
        return (
            f"the {end} candidate won, alpha {self.chosen:.5g}: --alpha takes a list with {beyond} "
            "ones, as in --alpha 1e-3,1,1e3, and --alpha auto searches as far as needed."
        )

    def record(self) -> dict[str, Any]:
        """The path as plain values for the training record."""
        plain = ("parameter", "chosen", "by", "judged", "scoring", "units")
        values = {name: getattr(self, name) for name in plain}
        for name in ("value", "score", "score_se"):
            array = getattr(self, name)
            values[name] = None if array is None else [float(x) for x in array]
        return values

    @classmethod
    def from_record(cls, record: dict[str, Any] | None) -> SearchPath | None:
        """The path in a training record; None if the parameter was given, so nothing was chosen."""
        return cls(**record) if record else None
