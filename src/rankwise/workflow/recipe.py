"""Which learner, with what: a recipe in words that fit a command line, and what it leaves open.

The table LEARNERS is the single truth for the command's options, their help and their errors.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.learners.item_scaler import MISSING, SCALES
from rankwise.learners.mprank import MPRank
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.rank_rls import RankRLS
from rankwise.learners.rank_svm import RankSVM
from rankwise.learners.svrank import SVRank
from rankwise.spaces.kernels import check_kernel
from rankwise.validation import check_choice, check_positive

KERNEL_OPTIONS = ("kernel", "gamma", "degree", "coef0")


@dataclass(frozen=True)
class Learner:
    """A learner of the command: its class, its losses as constructor arguments, its options."""

    make: type
    summary: str
    losses: dict[str, dict[str, Any]]
    options: tuple[str, ...]
    regulariser: str = "alpha"


LEARNERS: dict[str, Learner] = {
    "rank-rls": Learner(
        RankRLS,
        "pairwise least squares; exact cross-validation in closed form",
        {name: {"loss": name} for name in ("magnitude", "unit", "relative")},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "preferences"),
    ),
    "rank-svm": Learner(
        RankSVM,
        "pairwise hinge loss; for grades and noisy scores",
        {name: {"loss": name} for name in ("hinge", "squared_hinge")},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter", "preferences"),
    ),
    "mprank": Learner(
        MPRank,
        "keeps the size of score differences, not only their sign; alpha is 1/C",
        {"squared": {"norm": 2}, "absolute": {"norm": 1}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter"),
        "C",
    ),
    "svrank": Learner(
        SVRank,
        "the same with deviations up to epsilon for free; alpha is 1/C",
        {"absolute": {"norm": 1}, "squared": {"norm": 2}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "epsilon", "tol", "max_iter"),
        "C",
    ),
    "rank-boost": Learner(
        RankBoost,
        "boosted thresholds; takes missing values as they are, needs no scaling",
        {"exponential": {}},
        ("rounds", "cv"),
        "rounds",
    ),
    "conditional": Learner(
        ConditionalRanker,
        "relations between objects: edges or ratings, with features of the objects",
        {name: {"objective": name} for name in ("ranking", "regression")},
        ("alpha", *KERNEL_OPTIONS, "cv", "relation", "condition", "new", "max_iter"),
    ),
}
ALWAYS = ("learner", "loss", "scale", "missing", "seed")


@dataclass(frozen=True)
class Recipe:
    """Everything that `train` may be told. "auto" is found from the data."""

    learner: str = "rank-rls"
    alpha: str | float | tuple[float, ...] = "auto"
    loss: str | None = None
    kernel: str = "linear"
    gamma: str | float = "auto"
    degree: float = 3
    coef0: float = 1.0
    basis: str | int | None = "auto"
    scale: str = "none"
    missing: str = "refuse"
    epsilon: float = 0.1
    rounds: str | int = "auto"
    cv: str | int = "auto"
    tol: float | None = None
    max_iter: int | None = None
    relation: str = "general"
    condition: str = "row"
    new: str | None = None
    seed: int = 0

    def __post_init__(self):
        check_choice("learner", self.learner, LEARNERS)
        check_choice("scale", self.scale, SCALES)
        check_choice("missing", self.missing, MISSING)
        if self.loss is not None and self.loss not in self.table.losses:
            raise ValueError(
                f"loss {self.loss!r} is not one of {self.learner}'s: "
                f"{', '.join(self.table.losses)}."
            )
        if not isinstance(self.alpha, str):
            for value in self.alpha if isinstance(self.alpha, tuple) else (self.alpha,):
                check_positive("alpha", value)
        gamma = None if isinstance(self.gamma, str) else self.gamma
        check_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)

    @property
    def table(self) -> Learner:
        return LEARNERS[self.learner]

    @property
    def chosen_loss(self) -> str:
        return self.loss or next(iter(self.table.losses))

    def refuse_unused(self, given: set[str]) -> None:
        """An error for an option that the learner has no use for."""
        known = {field.name for field in fields(self)} | {"preferences"}
        unused = sorted((given & known) - set(self.table.options) - set(ALWAYS))
        if unused:
            name = unused[0].replace("_", "-")
            takers = [name for name, table in LEARNERS.items() if unused[0] in table.options]
            hint = " (its complexity is --rounds)" if unused[0] == "alpha" else ""
            raise ValueError(
                f"{self.learner} has no --{name}{hint}; {', '.join(takers)} "
                f"{'has' if len(takers) == 1 else 'have'} it."
            )

    def record(self) -> dict:
        """The recipe as plain values, only what its learner uses."""
        used = {*self.table.options, *ALWAYS}
        values = {name: value for name, value in asdict(self).items() if name in used}
        values["loss"] = self.chosen_loss
        if isinstance(values.get("alpha"), tuple):
            values["alpha"] = list(values["alpha"])
        return values

    @classmethod
    def from_record(cls, record: dict) -> Recipe:
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        if isinstance(values.get("alpha"), list):
            values["alpha"] = tuple(values["alpha"])
        return cls(**values)
