"""The leaderboard that votes make, as plain values: strengths, intervals, ranks, questions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rankwise.workflow.covariate_worth import Covariate
from rankwise.workflow.ranking_data import counted

ALPHA = 0.01
"""The default prior: strengths have a standard deviation of 7, so it hardly shrinks them."""
HARDEST = 5
LEVEL = 0.05
"""p-values of at most this contradict what they test."""


@dataclass(frozen=True)
class BoardOptions:
    """How the votes are modelled, and how much is asked next."""

    alpha: float = ALPHA
    order_effect: bool = False
    ties: str = "half"
    n_next: int = 10


@dataclass(frozen=True)
class Standing:
    """One item of the board. Ranks count from 1, the best; strengths are log-odds around 0."""

    name: str
    rank: int
    strength: float
    low: float
    high: float
    first_rank: int
    last_rank: int
    votes: float
    wins: float

    @property
    def ranks(self) -> str:
        """The rank interval in words: "3" or "2 to 5"."""
        first, last = self.first_rank, self.last_rank
        return f"{first}" if first == last else f"{first} to {last}"

    @property
    def width(self) -> int:
        return self.last_rank - self.first_rank


@dataclass(frozen=True)
class Newcomer:
    """An item without votes: what its features let expect."""

    name: str
    strength: float
    low: float
    high: float
    first_rank: int
    last_rank: int


@dataclass(frozen=True)
class Question:
    """A pair to ask next, how often it was asked, and the probability that a would win."""

    a: str
    b: str
    votes: float
    probability: float


@dataclass(frozen=True)
class OrderTest:
    """Whether one list of strengths explains the votes: evaluation.transitivity_test in short.

    `units` says what was drawn anew: statements, or groups (judges).
    """

    cyclic_share: float
    expected_share: float
    p_value: float
    order_p_value: float
    units: str

    def __str__(self) -> str:
        shares = (
            f"{self.cyclic_share:.0%} of the flow of votes goes round in cycles, "
            f"{self.expected_share:.0%} expected by chance, p = {self.p_value:.2g}"
        )
        if self.p_value <= LEVEL:
            return (
                f"One list of strengths does not explain the votes ({shares}): some items beat "
                "each other in a circle, so ranks say little about single pairs."
            )
        if self.order_p_value > LEVEL:
            return (
                f"The votes do not show an order: coin tosses would do as well (p = "
                f"{self.order_p_value:.2g})."
            )
        return f"One list of strengths explains the votes ({shares})."


@dataclass
class Leaderboard:
    """Everything that the command prints, writes as JSON, or puts on the page."""

    standings: list[Standing]
    probabilities: np.ndarray  # (n, n) that the row's item beats the column's, the best n items
    questions: list[Question] = field(default_factory=list)
    newcomers: list[Newcomer] = field(default_factory=list)
    covariates: list[Covariate] = field(default_factory=list)
    categories: dict[str, list[Standing]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    transitivity: OrderTest | None = None

    def hardest(self, most: int = HARDEST) -> list[Standing]:
        """The items with the widest rank intervals; none if every rank is certain."""
        order = sorted(self.standings, key=lambda one: (-one.width, one.rank))
        return [one for one in order[:most] if one.width]

    def summary(self) -> str:
        parts = [counted(self.counts["votes"], "vote"), counted(self.counts["items"], "item")]
        for name, one in (("ties", "tie"), ("judges", "judge")):
            if self.counts.get(name):
                parts.append(counted(self.counts[name], one))
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """The board as plain values."""
        return {
            **self.counts,
            "model": self.model,
            "notes": self.notes,
            "transitivity": None if self.transitivity is None else asdict(self.transitivity),
            "board": [asdict(one) for one in self.standings],
            "probabilities": [[float(p) for p in row] for row in self.probabilities],
            "next": [asdict(one) for one in self.questions],
            "hardest": [one.name for one in self.hardest()],
            "covariates": [asdict(one) for one in self.covariates],
            "without_votes": [asdict(one) for one in self.newcomers],
            "categories": {
                name: [asdict(one) for one in rows] for name, rows in self.categories.items()
            },
        }
