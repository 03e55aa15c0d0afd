"""The leave-one-out error over pairs of MPRank: equation 17 of Cortes, Mohri, Rastogi (2007).

The model without items i and j minimises ‖w‖² + 2C/m Σ_k [(h_k − y_k) − (h̄ − ȳ)]² over the other
items. The factor 2C/m of the full sample is kept (equation 25): ridge regression with an intercept
at m/(2C) before and after. In terms of RankRLS, which keeps alpha = m²/(2C) itself, the m − 2
remaining items are trained at m(m − 2)/(2C).

With `retrain` the model is instead the one that a new fit on the m − 2 items would give, with the
factor 2C/(m − 2): RankRLS at (m − 2)²/(2C). With queries the normaliser Σ m_q² loses
m_q² − (m_q − 2)².
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dger

from rankwise.holdout.pair_systems import pair_costs
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from rankwise.holdout.quadratic_problem import QuadraticProblem
from rankwise.holdout.small_holdouts import LEVERAGE, PAIRS_AT_ONCE, SmallHoldouts
from rankwise.losses.epsilon_insensitive import pair_normaliser
from rankwise.losses.laplacian import ScoreLaplacian
from rankwise.losses.quadratic_loss import FreeRows
from rankwise.numerics.block_cholesky import WHOLE, inverse_in_place, largest_eigenvalue
from rankwise.solvers.rounding_errors import blur_of
from rankwise.spaces.space import Gram
from rankwise.supervision.supervision import ScoredItems


def pairwise_loo_costs(
    problem: QuadraticProblem,
    Cs: Sequence[float] | np.ndarray,
    exact: bool,
    retrain: bool = False,
) -> np.ndarray:
    """(c, k) leave-one-out errors over pairs for every C, from one decomposition."""
    queries, weight = problem.supervision.queries, problem.supervision.weight
    if np.ptp(weight) > 0:
        raise ValueError("pairwise_loo is for items of equal sample_weight.")
    if not exact and (len(queries) > 1 or queries.n_items < 3):
        raise ValueError(
            "pairwise_loo(exact=False) approximates one query of three or more items: use "
            "exact=True, which costs no more."
        )
    if retrain and not exact:
        raise ValueError("pairwise_loo(exact=False) keeps the factor 2C/m: leave retrain out.")
    N = pair_normaliser(queries, weight)
    alphas = [N / (2 * C) for C in Cs]
    if exact:
        costs = [_costs_by_inverse(problem, alpha, retrain) for alpha in alphas]
        if all(cost is not None for cost in costs):
            return np.array(costs)
    compute = partial(exact_costs, retrain=retrain) if exact else approximate_costs
    return np.stack([problem.by_output(partial(compute, alpha=alpha)) for alpha in alphas])


def _costs_by_inverse(problem: QuadraticProblem, alpha: float, retrain: bool) -> np.ndarray | None:
    """(k,) as `exact_costs` for one query with a kernel matrix, by one inverse, O(m³).

    The model without i and j is ridge regression with an intercept on the other items at some μ.
    Its errors at U = {i, j} are (N_UU)⁻¹ (N y)_U with G = (K + μI)⁻¹ and N = G − G11ᵀG/(1ᵀG1). None
    if there are queries or features, or if μ is too small for the inverse.
    """
    supervision = problem.supervision
    assert isinstance(supervision, ScoredItems)
    m, Y = supervision.n_items, supervision.shifted
    if len(supervision.queries) > 1 or not 4 <= m <= WHOLE or not problem.space.has_kernel_matrix:
        return None
    mu = alpha / m
    if retrain:
        mu *= (m - 2) / m
    assert isinstance(problem.space.matrix, Gram)
    A = np.array(problem.space.matrix.K, order="C")
    if mu < blur_of(largest_eigenvalue(A)):
        return None
    A.flat[:: m + 1] += mu
    try:
        G = inverse_in_place(A)
    except LinAlgError:
        return None
    sums = G.sum(axis=1)
    dger(-1.0 / sums.sum(), sums, sums, a=G.T, overwrite_a=True)
    totals = pair_costs(G, G @ (Y - Y.mean(axis=0)))
    return None if totals is None else totals / (m * (m - 1) // 2)


def exact_costs(problem: QuadraticHoldouts, alpha: float, retrain: bool = False) -> np.ndarray:
    """(k,) mean of c(h_ij, x_i, x_j) over the pairs of the same query.

    O(1) per pair after one m × m matrix for a single query, or one matrix for each query.
    """
    queries = problem.supervision.queries
    N = float(np.sum(queries.sizes**2))
    totals, pairs = np.zeros(problem.n_outputs), 0
    for query in np.flatnonzero(queries.sizes > 1):
        m = int(queries.sizes[query])
        given, own = alpha, max(m - 2, 1) / m
        if retrain:
            given, own = alpha * max(N - m**2 + (m - 2) ** 2, 1.0) / N, 1.0
        if len(queries) == 1:
            total, count = _total_cost(problem, given * own)
        else:
            items = np.sort(queries.members(int(query)))
            total, count = _total_cost(problem.posterior(items, given), own)
        totals, pairs = totals + total, pairs + count
    return totals / pairs


def _total_cost(problem: QuadraticHoldouts, alpha: float) -> tuple[np.ndarray, int]:
    """Costs summed over the unordered pairs of a single query, and their number.

    If one matrix serves all pairs, O(1) for each of them; else by one hold-out after another.
    """
    m = problem.n_items
    rule, spectrum, everyone = problem.rule, problem.spectrum, slice(None)
    if isinstance(rule, FreeRows) and m >= 4 and not problem.matrix.in_basis.any():
        given = alpha * rule.alpha_factor(np.arange(2))
        M = spectrum.residual_operator(everyone, spectrum.resolvent(given), given)
        e = spectrum.residuals(everyone, spectrum.solutions([given])[0], given)
        laplacian = problem.quadratic.laplacian
        assert isinstance(laplacian, ScoreLaplacian)
        smallest = LEVERAGE if spectrum.cancels_at(given) else 0.0
        totals = pair_costs(M, e / laplacian.row_scale, smallest)
        if totals is not None:
            return totals, m * (m - 1) // 2
    return _cost_of_hold_outs(problem, alpha)


def _cost_of_hold_outs(problem: QuadraticHoldouts, alpha: float) -> tuple[np.ndarray, int]:
    m, Y = problem.n_items, _scores(problem)
    holdouts = SmallHoldouts(problem, [alpha])
    totals, pairs = np.zeros(problem.n_outputs), m * (m - 1) // 2
    first, second = np.triu_indices(m, 1)
    for start in range(0, pairs, PAIRS_AT_ONCE):
        chunk = slice(start, start + PAIRS_AT_ONCE)
        i, j = first[chunk], second[chunk]
        h = holdouts.leave_out(np.column_stack((i, j)))[0]
        totals += (((h[:, 1] - h[:, 0]) - (Y[j] - Y[i])) ** 2).sum(axis=0)
    return totals, pairs


def approximate_costs(problem: QuadraticHoldouts, alpha: float) -> np.ndarray:
    """(k,) the same by Proposition 2 with h̄ in place of h̄′, the mean of the model without i, j."""
    return proposition2(problem, alpha).sum(axis=(0, 1)) / (problem.n_items * (problem.n_items - 1))


def proposition2(
    problem: QuadraticHoldouts, alpha: float, mean: np.ndarray | None = None
) -> np.ndarray:
    """(m, m, k) c(h_ij, x_i, x_j) by equation 24, given h̄′ for every pair (default h̄); O(m²).

    With g = (h′ − y) − (h̄′ − ȳ) at i and j, the two equations of its proof read
    (1 − V_ii) g_i − V_ij g_j = (h_i − y_i) − (h̄′ − ȳ) and the same with i and j exchanged, where
    V_ii and V_ij are U_ii and U_ij plus (U_ii + U_ij)/(m − 2) (equation 27).
    """
    spectrum, Y, m = problem.spectrum, _scores(problem), problem.n_items
    laplacian = problem.quadratic.laplacian
    assert isinstance(laplacian, ScoreLaplacian)
    D = 1.0 / (spectrum.eigenvalues + alpha)
    U = laplacian.row_scale * (spectrum.P @ (spectrum.B * D).T)  # equation 23
    h = U @ (Y - Y.mean(axis=0))
    own = np.diagonal(U)[:, None]
    shared = (own + U) / (m - 2)
    V_ii, V_ij = own + shared, U + shared  # equation 27
    V_jj, V_ji = V_ii.T, V_ij.T
    determinant = (1 - V_jj) * (1 - V_ii) - V_ij * V_ji
    np.fill_diagonal(determinant, 1.0)
    costs = np.empty((m, m, Y.shape[1]))
    for output, y in enumerate(Y.T):
        centre = (h[:, output].mean() if mean is None else mean) - y.mean()
        residual = h[:, output] - y
        difference = (1 - V_ii - V_ij) * (residual[None, :] - centre)
        difference -= (1 - V_ji - V_jj) * (residual[:, None] - centre)
        costs[..., output] = (difference / determinant) ** 2
        np.fill_diagonal(costs[..., output], 0.0)
    return costs


def _scores(problem: QuadraticHoldouts) -> np.ndarray:
    assert isinstance(problem.supervision, ScoredItems)
    return problem.supervision.shifted
