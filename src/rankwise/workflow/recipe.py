"""Recipes: which learner to train and with which options, in the words of the command line.

A LearningMethod is one learner that a recipe can name. It knows its estimator and how to build it,
its losses, the options that it uses, and how its parameter is chosen. The options of the command,
their help and their errors are derived from the table LEARNERS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwise.numerics.import_paths import imported
from rankwise.workflow.kernel_widths import MEDIAN_DISTANCE, median_gamma

if TYPE_CHECKING:
    from rankwise.workflow.search import Fit

SCALES = ("none", "standard", "query")
MISSING = ("refuse", "mean", "median", "keep")
KERNELS = ("linear", "rbf", "poly", "laplacian", "cosine", "chi2", "sigmoid")
"""The kernels that the command offers; a learner takes more of them."""
QUERY_WEIGHTS = ("pairs", "size", "queries")
KERNEL_OPTIONS = ("kernel", "gamma", "degree", "coef0")
COLUMN_OPTIONS = tuple(f"column_{name}" for name in KERNEL_OPTIONS)
"""The kernel of the columns of a relation, where it is not that of the rows."""
SETTINGS = ("edges", "rows", "columns", "both")
"""What can be new when a model of a relation predicts."""
RELATION_OPTIONS = (
    *(*KERNEL_OPTIONS, *COLUMN_OPTIONS),
    *("repair", "relation", "condition", "new"),
)
REPAIRS = ("clip", "flip", "shift")
PAIRWISE = ("kronecker", "cartesian", "linear", "polynomial", "ranking", "mlpk")
EFFECTS = ("intercept", "rows", "columns", "both")
FILTERS = ("smoothing", "similarity")
USED_BY_ALL = ("learner", "loss", "scale", "missing", "seed", "scoring", "relevant")
PLAIN_ARGUMENTS = (
    *("query_weight", "epsilon", "tol", "max_iter", "relation", "condition"),
    *("item_effect", "order_effect"),
)
"""Fields that are arguments of the learners which use them, unless they are None."""
EXACT_KERNEL_UP_TO = 4000
"""With more items than this, basis="auto" becomes a reduced set of BASIS items."""
BASIS = 500
SELECTING = "greedy-rank-rls"
"""The learner that takes the place of rank-rls if features are to be selected."""
SELECTED = 10
"""The number of features that it selects if the recipe does not say."""
REFITTED_FOLDS = 5
"""Number of folds for a learner that must be refitted for every fold."""


@dataclass(frozen=True)
class LearningMethod:
    """One learner of the command.

    Learners and searches are import paths "module:name", which are imported when they are used:
    the help of a command reads this table, and must not wait for the learners.
    """

    learner: str
    summary: str
    losses: dict[str, dict[str, Any]]  # constructor arguments of each loss; the first is default
    options: tuple[str, ...]  # the fields of Recipe that it uses, besides those that all use
    search: str  # the function of rankwise.workflow.search that chooses the parameter
    own_search: str = ""  # the learner that searches, for by_own_search
    default_folds: str | int = "auto"
    default_alphas: str = ""  # the candidates, if the recipe names none
    argument: str | None = None  # the name of the parameter's argument, if it is not the first
    parameter: str = "alpha"  # the field of Recipe that is chosen, or that a baseline is given
    to_argument: Callable[[Any], Any] = float  # from the parameter to the first argument
    takes_missing_values: bool = False  # nan is a value like others, and needs no filling
    depends_on_scale: bool = True  # features of larger scale have more influence
    needs_preferences: bool = False  # learns from explicit preferences only
    learns_relations: bool = False  # learns from a Relation; the others learn from Items

    @property
    def estimator(self) -> type:
        return imported(self.learner)

    @property
    def alphas(self) -> np.ndarray | None:
        return imported(self.default_alphas) if self.default_alphas else None

    def choose(self, recipe: Recipe, options: dict[str, Any], data: Any) -> Fit:
        """The parameter by cross-validation on Items or on a Relation."""
        path = self.search if ":" in self.search else f"rankwise.workflow.search:{self.search}"
        return imported(path)(recipe, options, data)

    def build(self, value: float, options: dict[str, Any]) -> Any:
        """The unfitted estimator with this value of the parameter."""
        if self.argument is not None:
            return self.estimator(**{self.argument: self.to_argument(value)}, **options)
        return self.estimator(self.to_argument(value), **options)


def _inverse(alpha: float) -> float:
    return 1 / alpha


LEARNERS: dict[str, LearningMethod] = {
    "rank-rls": LearningMethod(
        "rankwise:RankRLS",
        "pairwise least squares; exact cross-validation in closed form",
        {name: {"loss": name} for name in ("magnitude", "unit", "relative")},
        ("alpha", "query_weight", *KERNEL_OPTIONS, "basis", "cv", "preferences", "outcomes"),
        "by_own_search",
        "rankwise:RankRLSCV",
        default_alphas="rankwise.learners.rank_rls_cv:DEFAULT_ALPHAS",
    ),
    SELECTING: LearningMethod(
        "rankwise:GreedyRankRLS",
        "rank-rls with few features (--select), added one by one by their held-out error",
        {name: {"loss": name} for name in ("magnitude", "unit", "relative")},
        ("alpha", "select", "query_weight", "cv", "outcomes"),
        "by_greedy_selection",
        argument="alpha",
    ),
    "rank-svm": LearningMethod(
        "rankwise:RankSVM",
        "pairwise hinge loss; for grades and noisy scores",
        {name: {"loss": name} for name in ("hinge", "squared_hinge")},
        (
            *("alpha", "query_weight", *KERNEL_OPTIONS, "basis"),
            *("cv", "tol", "max_iter", "preferences", "outcomes"),
        ),
        "by_own_search",
        "rankwise:RankSVMCV",
        default_folds=REFITTED_FOLDS,
        default_alphas="rankwise.learners.rank_svm_cv:DEFAULT_ALPHAS",
    ),
    "rank-logistic": LearningMethod(
        "rankwise:RankLogistic",
        "probabilities of preferences (Bradley-Terry); learns from --preferences only",
        {"logistic": {}},
        (
            *("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter", "preferences"),
            *("item_effect", "order_effect"),
        ),
        "over_preferences",
        "rankwise:RankLogisticCV",
        needs_preferences=True,
    ),
    "mprank": LearningMethod(
        "rankwise:MPRank",
        "keeps the size of score differences, not only their sign; alpha is 1/C",
        {"squared": {"norm": 2}, "absolute": {"norm": 1}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter"),
        "by_pairwise_loo",
        to_argument=_inverse,
    ),
    "svrank": LearningMethod(
        "rankwise:SVRank",
        "as mprank, but deviations up to epsilon cost nothing; alpha is 1/C",
        {"absolute": {"norm": 1}, "squared": {"norm": 2}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "epsilon", "tol", "max_iter"),
        "by_refitting",
        to_argument=_inverse,
    ),
    "rank-boost": LearningMethod(
        "rankwise:RankBoost",
        "boosted thresholds; takes missing values as they are, needs no scaling",
        {"exponential": {}},
        ("rounds", "cv"),
        "boosting_rounds",
        parameter="rounds",
        to_argument=int,
        takes_missing_values=True,
        depends_on_scale=False,
    ),
    "conditional": LearningMethod(
        "rankwise:ConditionalRanker",
        "relations between objects: edges or ratings, with features of the objects",
        {name: {"objective": name} for name in ("ranking", "regression")},
        ("alpha", *RELATION_OPTIONS, "pairwise", "item_effect", "effects", "cv", "max_iter"),
        "rankwise.workflow.relation_search:over_relation",
        learns_relations=True,
    ),
    "two-step": LearningMethod(
        "rankwise:TwoStepRanker",
        "relations by two ridge regressions; an alpha for each side, exact hold-outs",
        {"squared": {}},
        ("alpha", "column_alpha", *RELATION_OPTIONS, "cv"),
        "rankwise.workflow.relation_search:over_two_steps",
        learns_relations=True,
    ),
    "kernel-filter": LearningMethod(
        "rankwise:KernelFilter",
        "relations, a baseline: known values smoothed by the kernels; learns nothing",
        {"none": {}},
        ("filter", *RELATION_OPTIONS),
        "rankwise.workflow.relation_search:over_relation",
        argument="method",
        parameter="filter",
        to_argument=str,
        learns_relations=True,
    ),
    "nearest": LearningMethod(
        "rankwise:NearestNodes",
        "relations, a baseline: the mean value between the nearest nodes; learns nothing",
        {"none": {}},
        ("neighbours", *RELATION_OPTIONS),
        "rankwise.workflow.relation_search:over_relation",
        parameter="neighbours",
        to_argument=int,
        learns_relations=True,
    ),
}


class SideKernel(NamedTuple):
    """The kernel of the objects on one side of a relation."""

    name: str
    gamma: str | float
    degree: float
    coef0: float

    @property
    def guesses_gamma(self) -> bool:
        """Whether its width is taken from the distances between the objects."""
        return self.gamma == "auto" and self.name in MEDIAN_DISTANCE


@dataclass(frozen=True)
class Recipe:
    """Every option of training. The value "auto" is found from the data."""

    learner: str = "rank-rls"
    alpha: str | float | tuple[float, ...] = "auto"
    loss: str | None = None
    query_weight: str | None = None  # None is the default of the learner
    kernel: str = "linear"
    gamma: str | float = "auto"
    degree: float = 3
    coef0: float = 1.0
    basis: str | int | None = "auto"
    scale: str = "none"
    missing: str = "refuse"
    select: int | None = None  # None is the default of the learner
    epsilon: float = 0.1
    rounds: str | int = "auto"
    cv: str | int = "auto"
    scoring: str | None = None  # None is the share of pairs, for mprank the error of differences
    relevant: float | None = None  # MAP: the lowest relevant score; None where grades tell it
    item_effect: float = 0.0
    order_effect: bool = False
    tol: float | None = None
    max_iter: int | None = None
    relation: str = "general"
    condition: str = "row"
    new: str | None = None
    column_kernel: str | None = None  # None is the kernel of the rows; the same for the next three
    column_gamma: str | float | None = None
    column_degree: float | None = None
    column_coef0: float | None = None
    column_alpha: float | None = None
    repair: str | None = None  # of similarities that are not positive semi-definite
    pairwise: str = "kronecker"
    effects: str | None = None
    filter: str = "smoothing"
    neighbours: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        from rankwise.spaces.kernels import Kernel
        from rankwise.validation import check_choice, check_positive

        check_choice("learner", self.learner, LEARNERS)
        check_choice("scale", self.scale, SCALES)
        check_choice("missing", self.missing, MISSING)
        if self.query_weight is not None:
            check_choice("query_weight", self.query_weight, QUERY_WEIGHTS)
        if self.loss is not None and self.loss not in self.method.losses:
            raise ValueError(
                f"{self.learner} has no loss {self.loss!r}; its losses are "
                f"{', '.join(self.method.losses)}."
            )
        if self.scoring is not None:
            from rankwise.metrics.scorers import Scorer

            Scorer(self.scoring)
        if not isinstance(self.alpha, str):
            for value in self.alpha if isinstance(self.alpha, tuple) else (self.alpha,):
                check_positive("alpha", value)
        for kernel in self.kernels:
            gamma = None if isinstance(kernel.gamma, str) else kernel.gamma
            Kernel(kernel.name, gamma, kernel.degree, kernel.coef0).check()

    @property
    def method(self) -> LearningMethod:
        return LEARNERS[self.learner]

    @property
    def chosen_loss(self) -> str:
        return self.loss or next(iter(self.method.losses))

    @property
    def value(self) -> Any:
        """What is said about the parameter: a number, "auto", or several candidates."""
        return getattr(self, self.method.parameter)

    @property
    def searches(self) -> bool:
        """Whether the parameter must be chosen by cross-validation."""
        return self.value == "auto" or isinstance(self.value, tuple)

    @property
    def kernels(self) -> tuple[SideKernel, SideKernel]:
        """The kernel of the rows of a relation and that of its columns."""
        rows = SideKernel(self.kernel, self.gamma, self.degree, self.coef0)
        own = {name: getattr(self, f"column_{name}") for name in KERNEL_OPTIONS}
        named = own.pop("kernel")
        changed = {name: value for name, value in own.items() if value is not None}
        return rows, rows._replace(name=named or rows.name, **changed)

    @property
    def kernel_name(self) -> str:
        """The name of the kernel; of two different ones `rows:columns`."""
        return ":".join(dict.fromkeys(kernel.name for kernel in self.kernels))

    @property
    def guesses_gamma(self) -> bool:
        """Whether the width of the kernel is taken from the distances between the items."""
        return self.kernels[0].guesses_gamma

    def candidates(self, default: Any) -> np.ndarray:
        """The alphas to try: those of the recipe, or the default ones."""
        return np.asarray(default if self.alpha == "auto" else self.alpha, dtype=float)

    def arguments(self, n_items: int, X: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """The constructor arguments except the parameter, and the values found for "auto".

        The features X are needed only if `guesses_gamma`.
        """
        used = self.method.options
        arguments: dict[str, Any] = dict(self.method.losses[self.chosen_loss])
        found: dict[str, Any] = {}
        if "kernel" in used:
            gamma = None if self.gamma == "auto" else self.gamma
            if self.guesses_gamma:
                gamma = found["gamma"] = median_gamma(X, self.kernel, self.seed)
            arguments |= {"kernel": self.kernel, "gamma": gamma}
            arguments |= {"degree": self.degree, "coef0": self.coef0}
        if "basis" in used:
            arguments["basis"] = self.basis
            if self.basis == "auto":
                from rankwise.spaces.kernels import Kernel

                is_large = not Kernel(self.kernel).is_linear and n_items > EXACT_KERNEL_UP_TO
                arguments["basis"] = BASIS if is_large else None
                found |= {"basis": BASIS} if is_large else {}
        if "select" in used:
            wanted = SELECTED if self.select is None else self.select
            arguments |= {"n_features_to_select": wanted, "cv": self.cv}
        if "basis" in used or "rounds" in used:
            arguments["random_state"] = self.seed
        for name in PLAIN_ARGUMENTS:
            if name in used and getattr(self, name) is not None:
                arguments[name] = getattr(self, name)
        return arguments, found

    def refuse_unused(self, given: set[str]) -> None:
        """Raise an error if one of the given options means nothing to the learner."""
        known = {field.name for field in fields(self)} | {"preferences"}
        unused = sorted((given & known) - {*self.method.options, *USED_BY_ALL})
        if not unused:
            return
        option = unused[0].replace("_", "-")
        takers = [name for name, method in LEARNERS.items() if unused[0] in method.options]
        own = self.method.parameter
        hint = f" (its complexity is --{own})" if unused[0] == "alpha" and own != "filter" else ""
        raise ValueError(
            f"{self.learner} has no --{option}{hint}; {', '.join(takers)} "
            f"{'has' if len(takers) == 1 else 'have'} it."
        )

    def record(self) -> dict[str, Any]:
        """The recipe as plain values, without the options that its learner does not use."""
        used = {*self.method.options, *USED_BY_ALL}
        values = {name: value for name, value in asdict(self).items() if name in used}
        values["loss"] = self.chosen_loss
        if isinstance(values.get("alpha"), tuple):
            values["alpha"] = list(values["alpha"])
        return values

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Recipe:
        """The recipe in a training record."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        if isinstance(values.get("alpha"), list):
            values["alpha"] = tuple(values["alpha"])
        return cls(**values)
