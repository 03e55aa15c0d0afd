"""RankSVM and SVRank: the objective by enumerating pairs, the minimum bounded by the dual."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import piqp
from sklearn.exceptions import ConvergenceWarning

from rankwise import Preferences, RankSVM, SVRank

from .draws import Drawn, draw
from .extended import from_first_item, kernel, pairs_of_scores
from .outcome import Outcome

HINGE_KERNELS = ("linear", "rbf", "laplacian", "poly", "precomputed")


@dataclass
class PairProblem:
    """Σ_p weight_p · cost(z_p − (f_h − f_j)) + λ‖f‖² in units in which the kernel is about 1.

    The cost of the slack s is max(0, s)^power, or max(0, |s| − ε)^power if two-sided.
    """

    K: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    weight: np.ndarray
    target: np.ndarray
    alpha: float
    power: int
    epsilon: float | None = None
    raw: np.ndarray | None = None
    """The values of the kernel itself in extended precision, if K is seen from the first item."""

    def slack(self, f: np.ndarray) -> np.ndarray:
        return self.target - (f[self.winner] - f[self.loser])

    def cost(self, slack: np.ndarray) -> np.ndarray:
        if self.epsilon is not None:
            slack = np.abs(slack) - self.epsilon
        return np.maximum(0.0, slack) ** self.power

    def objective(self, f: np.ndarray, norm_squared: float) -> float:
        return float(self.weight @ self.cost(self.slack(f)) + self.alpha * norm_squared)

    def lower_bound(self) -> float:
        """The dual objective at the best point that a quadratic programme finds.

        Every feasible point of the dual is a lower bound: Σ β z − conjugate(β) − βᵀDKDᵀβ/(4λ). The
        programme has the shares t of β = weight · t as variables, in units of the objective at 0.
        """
        D = np.zeros((len(self.winner), len(self.K)))
        D[np.arange(len(D)), self.winner] += 1.0
        D[np.arange(len(D)), self.loser] -= 1.0
        D *= self.weight[:, None]
        slope = self.weight * self.target
        curvature = self.weight
        if self.epsilon is not None:  # one variable for each side of the tube
            D, slope = np.vstack([D, -D]), np.concatenate([slope, -slope])
            curvature = np.tile(self.weight, 2)
            slope = slope - self.epsilon * curvature
        Q = D @ self.K @ D.T / (2 * self.alpha)
        if self.power == 2:
            Q += np.diag(curvature / 2)
        unit = self.objective(np.zeros(len(self.K)), 0.0) or 1.0
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        upper = np.full(len(Q), np.inf if self.power == 2 else 1.0)
        solver.setup(np.asfortranarray(Q / unit), -slope / unit, x_l=np.zeros(len(Q)), x_u=upper)
        solver.solve()
        t = np.clip(solver.result.x, 0.0, upper)
        return float(slope @ t - 0.5 * t @ Q @ t)


def kernel_and_input(data: Drawn) -> tuple[np.ndarray, object, np.ndarray | None]:
    if data.kernel["kernel"] == "precomputed":
        K = data.X @ data.X.T
        return K, K, None
    values = kernel(data.kernel["kernel"], data.X, data.X, *list(data.kernel.values())[1:])
    if data.kernel["kernel"] == "linear" or (data.kernel["kernel"] == "poly" and data.is_far):
        return from_first_item(values).astype(float), data.give(data.X), values
    return values.astype(float), data.give(data.X), None


def squared_norm(model, K: np.ndarray) -> float:
    """Of the model as it is: rounding may have left a sum of its dual coefficients that is not 0,
    which a kernel that is seen from the first item would not count."""
    if hasattr(model, "coef_"):
        return float(model.coef_ @ model.coef_)
    index = model.basis_index_
    return float(model.dual_coef_ @ K[np.ix_(index, index)] @ model.dual_coef_)


def check_hinge(rng: np.random.Generator) -> Outcome:
    data = draw(rng, kernels=HINGE_KERNELS, extreme=False)
    K, X, raw = kernel_and_input(data)
    query_weight = str(rng.choice(["pairs", "queries", "size"]))
    loss = str(rng.choice(["hinge", "squared_hinge"]))
    pairs = pairs_of_scores(data.y, data.codes, data.v, "unit", "drop", query_weight)
    pairs = [pair for pair in pairs if pair[3] > 0]
    size = float(np.ptp(np.sqrt(np.diag(K)))) ** 2 + float(np.trace(K - K.mean(axis=0))) / data.m
    alpha = 10.0 ** rng.uniform(-4, 3) * (size or 1.0)
    model = RankSVM(alpha, loss=loss, query_weight=query_weight, tol=1e-6, **data.kernel)
    told: dict[str, object] = {"y": data.y}
    if rng.random() < 0.3:
        told = {"preferences": Preferences.from_scores(data.y, data.qid)}
    outcome = Outcome(f"{model!r} of {next(iter(told))} on {data}", not pairs)
    if not pairs:
        return outcome.undecided("no pair has a weight")
    h, l, _, weight = (np.array(part) for part in zip(*pairs))
    weight = weight.astype(float) / float(weight.sum())
    power = 1 if loss == "hinge" else 2
    problem = PairProblem(K, h, l, weight, np.ones(len(h)), alpha, power, raw=raw)
    return check_minimum(model, X, data, problem, outcome, told)


def check_residuals(rng: np.random.Generator) -> Outcome:
    data = draw(rng, kernels=HINGE_KERNELS, extreme=False)
    data.y = (data.y - data.y.mean()) / np.ptp(data.y)
    K, X, raw = kernel_and_input(data)
    norm = int(rng.integers(1, 3))
    epsilon = float(rng.choice([0.0, 0.05, 0.3]))
    C = 10.0 ** rng.uniform(-2, 3) / (float(np.trace(K - K.mean(axis=0))) / data.m or 1.0)
    model = SVRank(C, epsilon, norm=norm, tol=1e-6, **data.kernel)
    outcome = Outcome(f"{model!r} on {data}", not np.any(data.v))
    pairs = pairs_of_scores(data.y, data.codes, data.v, "magnitude", "keep", "pairs")
    pairs = [pair for pair in pairs if pair[3] > 0]
    if not pairs:
        return outcome.undecided("no pair has a weight")
    h, l, z, weight = (np.array(part) for part in zip(*pairs))
    outcome.may_refuse = not np.any(z)
    total = sum(data.v[data.codes == query].sum() ** 2 for query in np.unique(data.codes))
    weight = 2 * C * weight.astype(float) / total
    problem = PairProblem(K, h, l, weight, z.astype(float), 1.0, norm, epsilon, raw)
    return check_minimum(model, X, data, problem, outcome, {"y": data.y})


def check_minimum(
    model, X, data: Drawn, problem: PairProblem, outcome: Outcome, told: dict[str, object]
) -> Outcome:
    """The objective reached is what the model says, near the minimum, and its gap is honest."""
    with outcome.refusing(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, **told, qid=data.qid, sample_weight=data.weight)
        converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        given = problem.K if data.kernel["kernel"] == "precomputed" else X
        values = problem.K if problem.raw is None else problem.raw
        reached = problem.objective(model.predict(given), squared_norm(model, values))
        at_zero = problem.objective(np.zeros(data.m), 0.0)
        bound = problem.lower_bound()
        rounding = 1e-8 * (at_zero or 1.0) + far_from_zero(data)
        if abs(reached - model.objective_) > rounding:
            outcome.differences.append(f"objective_ {model.objective_} but {reached} by pairs")
        if model.objective_ - model.gap_ > reached + rounding:
            outcome.differences.append(f"gap_ {model.gap_} is too small")
        gained = max(at_zero - bound, 0.0) if at_zero > 0 else 0.0
        if converged and reached - bound > 1e-5 * gained + 2e-6 * at_zero + rounding:
            outcome.differences.append(f"objective {reached}, the minimum is near {bound}")
        coefficients = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
        if gained > 1e-8 * at_zero and not np.any(coefficients):
            outcome.differences.append("the model is all zero")
    return outcome


def far_from_zero(data: Drawn) -> float:
    """What an offset of the features costs the objective in double precision."""
    spread = np.ptp(data.X, axis=0).max() or 1.0
    return 1e2 * np.finfo(float).eps * (np.abs(data.X).max() / spread) ** 2
