"""RankSVM: pairwise hinge losses for any real scores, with a certificate of optimality."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from rankwise.learners.risk_ranker import Pull, RiskRanker
from rankwise.losses.losses_by_name import HINGE_LOSSES, hinge_risks, is_smooth, query_weighting
from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.spaces.kernels import Kernel
from rankwise.supervision.censored import CensoredItems
from rankwise.supervision.preferences import check_preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, Supervision
from rankwise.validation import (
    check_choice,
    check_count,
    check_items,
    check_positive,
    check_weights,
)

SOLVERS: dict[str, type[BundleSolver] | type[NewtonSolver] | None] = {
    "auto": None,
    "bundle": BundleSolver,
    "newton": NewtonSolver,
}
"""auto: truncated Newton if the loss is smooth (the squared hinge), else the bundle method."""


@dataclass(eq=False, repr=False, kw_only=True)
class HingeRanker(RiskRanker):
    """Learners with a hinge loss over pairs, for one alpha or many."""

    loss: str = "hinge"
    query_weight: str = "queries"
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    verbose: int = 0

    def _check_parameters(self) -> None:
        """All but alpha."""
        check_choice("loss", self.loss, HINGE_LOSSES)
        query_weighting(self.query_weight)
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        Kernel.of(self)

    def _supervise(
        self, m: int, y, qid, sample_weight, preferences=None
    ) -> tuple[Supervision, bool]:
        """Only ratios of weights matter in a mean: they are divided by the largest."""
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, m)
            sample_weight = sample_weight / sample_weight.max()
        if preferences is None:
            supervision, single = self._told_items(m, y, qid, sample_weight)
            if isinstance(supervision, CensoredItems):
                supervision.check()
            return supervision, single
        preferences = check_preferences(preferences, y, m)
        weight = np.ones(m) if sample_weight is None else sample_weight
        compared = ComparedItems(preferences, Queries.from_labels(qid, m), weight)
        compared.check()
        return compared, True

    def _risks(self, supervision: Supervision) -> list[Risk]:
        return hinge_risks(self.loss, supervision, self.query_weight)

    def _solver_class(self) -> type[BundleSolver] | type[NewtonSolver]:
        automatic = NewtonSolver if is_smooth(self.loss) else BundleSolver
        return SOLVERS[self.solver] or automatic

    def precisions(self, kernel: Kernel) -> Any:
        """Linear models use X in single precision as it is."""
        return [np.float64, np.float32] if kernel.is_linear else np.float64

    def _scores(self, represented: Matrix) -> np.ndarray:
        """Products in double precision, on all cores, without a copy of a linear model's X."""
        as_it_is = isinstance(represented, np.ndarray) and represented.dtype == np.float64
        if as_it_is or not hasattr(self, "coef_"):
            return super()._scores(represented)
        products = Products(represented)
        if self.coef_.ndim == 1:
            return products.scores(self.coef_)
        return np.column_stack([products.scores(w) for w in self.coef_])


@dataclass(eq=False, repr=False)
class RankSVM(HingeRanker):
    """Minimises mean over queries of (mean over pairs y_h > y_j of loss) + alpha‖w‖².

    The loss of a pair is max(0, 1 − (f_h − f_j)), or its square; queries without a pair do not
    count. `query_weight` and sample_weight make it another weighted mean over all pairs, the same
    for scores and for preferences. Airola, Pahikkala, Salakoski (2011): an iteration costs
    O(nnz + m log m) for any real scores, however many pairs there are; O(nnz + l) with l explicit
    preferences.

    Parameters
    ----------
    alpha : float > 0
        Strength of regularisation (the paper's λ; 1/(2 C) for SVMrank's C with -l 2).
    loss : {"hinge", "squared_hinge"}
    query_weight
        "queries" (default) each query weighs the same, whatever its number of pairs; "size" a pair
        of a query of m_q items weighs 1/m_q; "pairs" every pair weighs the same.
    kernel
        "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable of two
        matrices (or of two rows).
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None exact; int that many random basis items (reduced set); or an array of their rows.
    solver
        "bundle" (cutting planes, with Newton steps where these are slow; any loss), "newton"
        (squared hinge) or "auto".
    tol
        A fit stops when the duality gap, which bounds objective − minimum, is at most tol; the
        squared hinge stops when also the gradient norm is at most tol of that at w = 0. A fit that
        stops before warns, whatever the reason. If alpha is so large that the objective falls by
        less than a tenth of its value at w = 0, the gap must fall to 10·tol of that decrease, so
        that a large alpha shortens the weights and never empties the model.
    max_iter
        Most iterations; a fit that needs more warns with the gap it reached.
    warm_start
        Start from the last solution, for instance along decreasing alpha.
    random_state
        Draws the basis.
    verbose
        1 prints objective, gap and time left for every iteration.

    Attributes
    ----------
    coef_
        (n,) or (k, n), for the linear kernel.
    dual_coef_
        (r,) or (r, k), for other kernels.
    basis_index_
        (r,) the items that `dual_coef_` belongs to.
    objective_
        The value reached; `objective_` − `gap_` is a lower bound of the minimum.
    gap_, n_iter_
        Of the last fit.
    history_
        {"objective", "gap", "seconds"}, one entry per iteration (and, with Newton's method, one for
        the start).
    n_features_in_, feature_names_in_
        Of X.

    Notes
    -----
    With k outputs `objective_`, `gap_` and `n_iter_` are arrays (k,), `history_` a list.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> model = RankSVM(alpha=0.01).fit(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"])
    >>> float(model.score(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"]))
    1.0
    """

    alpha: float = 1e-3
    _: KW_ONLY
    warm_start: bool = False

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given, or from
        `preferences` (a rankwise.Preferences) in place of y: their weights count, the margin is 1
        whatever their magnitudes. A pair weighs v_i v_j with sample_weight v: 2 is the item twice.
        y may also be a rankwise.Censored, whose comparable pairs are counted in the same time;
        qid then labels strata.

        X in single precision is used as it is. Ctrl-C ends the fit with the best model so far.
        """
        self._check_parameters()
        alpha = check_positive("alpha", self.alpha)
        X = check_items(self, X, reset=True, dtype=self.precisions(Kernel.of(self)))
        supervision, single = self._supervise(X.shape[0], y, qid, sample_weight, preferences)
        risks = self._risks(supervision)
        self._has_queries = qid is not None
        space = self._feature_space(X)
        starts = self._starts(space.features.shape[1], len(risks))
        limits = {"tol": self.tol, "max_iter": self.max_iter, "verbose": self.verbose}
        solutions = self._minimise(
            self._solver_class(), space.features, risks, alpha, starts=starts, **limits
        )
        self._last = np.array([found.w for found in solutions]) if self.warm_start else None
        pulls = [Pull.of(found.objective, alpha) for found in solutions]
        self._set_solutions(space, solutions, single, pulls)
        return self

    def _starts(self, n: int, k: int) -> list[np.ndarray | None]:
        last = getattr(self, "_last", None)
        if self.warm_start and last is not None and last.shape == (k, n):
            return list(last)
        return [None] * k
