"""The learners that a recipe can name, one object each.

A method knows its estimator and how to build it, its losses, the options of a recipe that it uses,
and how its parameter is chosen. The options of the command, their help and their errors are derived
from the table LEARNERS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.learners.mprank import MPRank
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.rank_rls import RankRLS
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS, RankRLSCV
from rankwise.learners.rank_svm import RankSVM
from rankwise.learners.rank_svm_cv import DEFAULT_ALPHAS as SVM_ALPHAS
from rankwise.learners.rank_svm_cv import RankSVMCV
from rankwise.learners.svrank import SVRank
from rankwise.workflow import search

KERNEL_OPTIONS = ("kernel", "gamma", "degree", "coef0")


@dataclass(frozen=True)
class LearningMethod:
    """One learner of the command.

    Parameters
    ----------
    losses : for each loss the constructor arguments that select it; the first loss is the default
    options : the fields of Recipe that this learner uses, besides those that every learner uses
    choose : chooses the parameter by cross-validation, one of the functions in `search`
    alphas : the candidates, if the recipe names none
    parameter : the field of Recipe that is chosen: "alpha" or "rounds"
    to_argument : from the parameter to the first argument of the constructor, such as C = 1/alpha
    takes_missing_values : nan is a value like others, and no filling is needed
    depends_on_scale : features of larger scale have more influence on the model
    learns_relations : learns from a Relation; the others learn from Items
    """

    estimator: type
    summary: str
    losses: dict[str, dict[str, Any]]
    options: tuple[str, ...]
    choose: Callable[..., search.Choice]
    alphas: np.ndarray | None = None
    parameter: str = "alpha"
    to_argument: Callable[[Any], float] = float
    takes_missing_values: bool = False
    depends_on_scale: bool = True
    learns_relations: bool = False

    def build(self, value: float, options: dict[str, Any]) -> Any:
        """The unfitted estimator with this value of the parameter."""
        return self.estimator(self.to_argument(value), **options)


def _inverse(alpha: float) -> float:
    return 1 / alpha


LEARNERS: dict[str, LearningMethod] = {
    "rank-rls": LearningMethod(
        RankRLS,
        "pairwise least squares; exact cross-validation in closed form",
        {name: {"loss": name} for name in ("magnitude", "unit", "relative")},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "preferences"),
        partial(search.by_own_search, RankRLSCV, "auto"),
        DEFAULT_ALPHAS,
    ),
    "rank-svm": LearningMethod(
        RankSVM,
        "pairwise hinge loss; for grades and noisy scores",
        {name: {"loss": name} for name in ("hinge", "squared_hinge")},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter", "preferences"),
        partial(search.by_own_search, RankSVMCV, search.REFITTED_FOLDS),
        SVM_ALPHAS,
    ),
    "mprank": LearningMethod(
        MPRank,
        "keeps the size of score differences, not only their sign; alpha is 1/C",
        {"squared": {"norm": 2}, "absolute": {"norm": 1}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "tol", "max_iter"),
        search.by_pairwise_loo,
        to_argument=_inverse,
    ),
    "svrank": LearningMethod(
        SVRank,
        "as mprank, but deviations up to epsilon cost nothing; alpha is 1/C",
        {"absolute": {"norm": 1}, "squared": {"norm": 2}},
        ("alpha", *KERNEL_OPTIONS, "basis", "cv", "epsilon", "tol", "max_iter"),
        search.by_refitting,
        to_argument=_inverse,
    ),
    "rank-boost": LearningMethod(
        RankBoost,
        "boosted thresholds; takes missing values as they are, needs no scaling",
        {"exponential": {}},
        ("rounds", "cv"),
        search.boosting_rounds,
        parameter="rounds",
        to_argument=int,
        takes_missing_values=True,
        depends_on_scale=False,
    ),
    "conditional": LearningMethod(
        ConditionalRanker,
        "relations between objects: edges or ratings, with features of the objects",
        {name: {"objective": name} for name in ("ranking", "regression")},
        ("alpha", *KERNEL_OPTIONS, "cv", "relation", "condition", "new", "max_iter"),
        search.over_relation,
        learns_relations=True,
    ),
}
