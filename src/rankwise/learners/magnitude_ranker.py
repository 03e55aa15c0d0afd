"""What MPRank and SVRank share: C, pairs of a query, risks on residuals, the stability bound.

The bound is that of section 3 of Cortes, Mohri, Rastogi (2007).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.risk_ranker import Pull, RiskRanker
from rankwise.losses.epsilon_insensitive import pair_normaliser, residual_risk
from rankwise.losses.risk import Risk
from rankwise.metrics import pair_cost
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.solver import CONVERGED, MAX_ITER, STALLED, Solution
from rankwise.spaces.kernels import Kernel
from rankwise.supervision.supervision import ScoredItems
from rankwise.validation import check_count, check_positive

BLOCK = 256
"""Items whose kernel matrix is formed at once when only its diagonal is wanted."""
ROUNDING = 1e-12
"""A gap below this share of the objective is none, whatever the gradient's norm."""


class MagnitudeSupervision(RiskRanker):
    """Learners that are told all pairs of a query, ties included."""

    def _supervise(self, m: int, y, qid, sample_weight) -> tuple[ScoredItems, bool]:
        """The checked scores, and whether there is a single output.

        Only the ratios of weights count, so they are scaled to a largest weight of 1.
        """
        supervision, single = self._scored_items(m, y, qid, sample_weight)
        supervision.weight = supervision.weight / supervision.weight.max()
        supervision.check()
        return supervision, single

    def _keep(self, X, supervision: ScoredItems | None, single: bool, has_queries: bool) -> None:
        self._X, self._supervision = X, supervision
        self._single_output, self._has_queries = single, has_queries

    def _items_seen(self) -> ScoredItems:
        if self._supervision is None:
            raise ValueError(
                "this model holds no training items, which hold-outs and bounds need: partial_fit "
                "keeps sums only, and rankwise.save keeps items with training_data=True only."
            )
        return self._supervision

    def _training_items(self):
        """X of the fit, unedited."""
        self._refuse_edited(self._X)
        return self._X

    @property
    def _normaliser(self) -> float:
        told = self._items_seen()
        return pair_normaliser(told.queries, told.weight)


@dataclass(eq=False, repr=False)
class MagnitudeRanker(MagnitudeSupervision):
    """‖h‖² + C/N Σ_ij cost((h_j − h_i) − (y_j − y_i)) over ordered pairs, N = Σ_q m_q²."""

    C: float = 1.0
    _: KW_ONLY
    norm: int = 2
    tol: float = 1e-4
    max_iter: int = 1000

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        if not isinstance(self.norm, Integral) or self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2; got {self.norm!r}.")
        check_count("max_iter", self.max_iter)
        Kernel.of(self)

    def _fit_residuals(self, epsilon: float) -> None:
        """Minimise R(Φw) + ‖w‖²/C for each output, R being the mean cost over ordered pairs.

        O(nnz + m log m) per step: the bundle method for norm 1, truncated Newton for norm 2.
        """
        told, space = self._items_seen(), self._feature_space(self._X)
        solver = BundleSolver if self.norm == 1 else NewtonSolver
        solutions = []
        for column, y in enumerate(told.Y.T):
            risk = residual_risk(
                np.ascontiguousarray(y), told.queries, told.weight, epsilon, self.norm
            )
            solution = solver(space.features, risk).solve(
                1.0 / self.C, tol=self._tolerance(risk), max_iter=self.max_iter
            )
            last = column == told.n_outputs - 1
            solutions.append(self._checked(self._in_units_of_C(solution), last))
        # ‖h‖² has the weight 1 in the objective of the class.
        pulls = [Pull.of(found.objective, 1.0, np.ptp(y)) for found, y in zip(solutions, told.Y.T)]
        self._set_solutions(space, solutions, self._single_output, pulls)

    def _tolerance(self, risk: Risk) -> float:
        """tol, for norm 1 as a share of the risk at h = 0."""
        start = risk.at(np.zeros(risk.n_items)).value if self.norm == 1 else 1.0
        return self.tol * (start if start > 0 else 1.0)

    def _in_units_of_C(self, solution: Solution) -> Solution:
        """The objective of the class in place of the solver's, which is divided by C."""
        assert solution.objective is not None
        if solution.status in (MAX_ITER, STALLED) and solution.gap <= ROUNDING * solution.objective:
            solution.status = CONVERGED
        solution.objective *= self.C
        solution.gap *= self.C
        for name in solution.history.keys() - {"seconds"}:
            solution.history[name] *= self.C
        return solution

    def stability_bound(self, delta=0.05, *, kappa=None, M=None) -> dict:
        """The generalisation bound of Corollary 1 (equations 65 and 66), O(m log m) after predict.

        kappa bounds √K(x, x) and M bounds `|h(x) − y|`, for all items and hypotheses. If they are
        not given, the largest values on the training items are taken, which the theorem does not
        allow for. Returns "empirical", the mean cost over the m² ordered pairs; "stability", β of
        Proposition 3; "bound", which the expected cost of a new pair exceeds with probability
        delta at most; and "assumptions", in words, with whether the bound says anything: it says
        nothing if it exceeds (2M)^norm, as it will unless C is well below √m.
        """
        check_is_fitted(self)
        delta = check_delta(delta)
        fitted = self.fitted_parameters
        supervision = self._items_seen()
        if len(supervision.queries) > 1 or supervision.Y.shape[1] > 1:
            raise ValueError("stability_bound is for one output and a model fitted without qid.")
        if np.ptp(supervision.weight) > 0:
            raise ValueError("stability_bound is for items of equal sample_weight.")
        X = self._training_items()
        y, h = supervision.Y[:, 0], self.predict(X).ravel()
        largest = (float(np.sqrt(self._kernel_diagonal(X).max())), float(np.abs(h - y).max()))
        kappa, M, origin = given_or_measured(kappa, M, *largest)
        epsilon = getattr(fitted, "epsilon", 0.0)
        cost = pair_cost(y, h, "SVR", power=fitted.norm, epsilon=epsilon)
        given = {"C": fitted.C, "norm": fitted.norm, "m": len(y), "delta": delta}
        return stability_bound(empirical=cost, kappa=kappa, M=M, origin=origin, **given)

    def _kernel_diagonal(self, X) -> np.ndarray:
        kernel = self.representation.kernel
        if kernel.is_precomputed:
            return np.asarray(X.diagonal())
        blocks = [X[start : start + BLOCK] for start in range(0, X.shape[0], BLOCK)]
        return np.concatenate([np.diagonal(kernel.matrix(rows, rows)) for rows in blocks])


def stability_bound(*, empirical, C, norm, m, kappa, M, delta, origin: str) -> dict:
    """R(h) ≤ bound with probability 1 − delta over samples of m items.

    Proposition 3 gives the stability β = 4Cσ²κ²/m with σ = 1 (norm 1) or 4M (norm 2, Lemma 1),
    Theorem 1 the bound R̂ + 2β + (βm + (2M)^norm) √(2 log(2/delta)/m), which Corollary 1 writes
    out as equations 65 and 66.
    """
    admissibility = 1.0 if norm == 1 else 4.0 * M
    beta = 4.0 * C * admissibility**2 * kappa**2 / m
    trivial = (2.0 * M) ** norm
    deviation = (beta * m + trivial) * np.sqrt(2.0 * np.log(2.0 / delta) / m)
    bound = empirical + 2.0 * beta + deviation
    if bound >= trivial:
        verdict = (
            f"The bound says nothing: no cost exceeds (2M)^{norm} = {trivial:.4g} anyway. It "
            f"speaks only for C well below √m = {np.sqrt(m):.4g}: take a smaller C or more items."
        )
    else:
        verdict = (
            f"The bound says something: it is below the largest possible cost (2M)^{norm} = "
            f"{trivial:.4g}."
        )
    assumptions = (
        f"The {m} items are drawn independently from one distribution, C was fixed beforehand, "
        f"K(x, x) ≤ κ² with κ = {kappa:.4g} for every item, and |h(x) − y| ≤ M = {M:.4g} for every "
        f"hypothesis and item. {origin}{verdict}"
    )
    return {
        "empirical": float(empirical),
        "stability": float(beta),
        "bound": float(bound),
        "assumptions": assumptions,
    }


def check_delta(delta) -> float:
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0 < float(delta) < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta!r}.")
    return float(delta)


def given_or_measured(kappa, M, measured_kappa: float, measured_M: float):
    """κ and M, and a sentence on where those not given come from."""
    measured = [name for name, value in (("κ", kappa), ("M", M)) if value is None]
    kappa = measured_kappa if kappa is None else check_positive("kappa", kappa)
    M = measured_M if M is None else check_positive("M", M, zero=True)
    if measured_kappa * (1 - 1e-9) > kappa:
        raise ValueError(f"kappa={kappa:g} is too small: a training item has {measured_kappa:g}.")
    if measured_M * (1 - 1e-9) > M:
        raise ValueError(f"M={M:g} is too small: a training item has |h(x) − y| = {measured_M:g}.")
    if not measured:
        return kappa, M, ""
    names = " and ".join(measured)
    verb = "is" if len(measured) == 1 else "are"
    return kappa, M, f"{names} {verb} the largest on the training items, so taken on trust. "
