"""The leave-one-out error over pairs of MPRank: equation 17 of Cortes, Mohri, Rastogi (2007).

The model without items i and j minimises ‖w‖² + 2C/m Σ_k [(h_k − y_k) − (h̄ − ȳ)]² over the other
items, the factor 2C/m of the full sample kept (equation 25): ridge regression with an intercept at
m/(2C) both before and after. In terms of RankRLS, which keeps alpha = m²/(2C) itself, the m − 2
items that stay are trained at m(m − 2)/(2C).
"""

from __future__ import annotations

import numpy as np

from rankwise.holdout.quadratic_holdouts import QuadraticFit
from rankwise.holdout.small_holdouts import PAIRS_AT_ONCE, SmallHoldouts
from rankwise.losses.least_squares import PairwiseScores


def exact_costs(fit: QuadraticFit, alpha: float) -> np.ndarray:
    """(k,) mean of c(h_ij, x_i, x_j) over the pairs of the same query; O(1) a pair after one
    m × m matrix for a single query, one matrix a query else."""
    queries = fit.supervision.queries
    if len(queries) == 1:
        totals, pairs = _total_cost(fit, alpha)
        return totals / pairs
    totals, pairs = np.zeros(fit.n_outputs), 0
    for query in np.flatnonzero(queries.sizes > 1):
        items = np.sort(queries.members(int(query)))
        total, count = _total_cost(fit.posterior(items, alpha), 1.0)
        totals, pairs = totals + total, pairs + count
    return totals / pairs


def _total_cost(fit: QuadraticFit, alpha: float) -> tuple[np.ndarray, int]:
    """Costs summed over the unordered pairs of a single query, and their number."""
    m, Y = fit.n_items, _scores(fit)
    holdouts = SmallHoldouts(fit, alpha * max(m - 2, 1) / m)
    totals, pairs = np.zeros(fit.n_outputs), m * (m - 1) // 2
    first, second = np.triu_indices(m, 1)
    for start in range(0, pairs, PAIRS_AT_ONCE):
        chunk = slice(start, start + PAIRS_AT_ONCE)
        i, j = first[chunk], second[chunk]
        h = holdouts.leave_out(np.column_stack((i, j)))
        totals += (((h[:, 1] - h[:, 0]) - (Y[j] - Y[i])) ** 2).sum(axis=0)
    return totals, pairs


def approximate_costs(fit: QuadraticFit, alpha: float) -> np.ndarray:
    """(k,) the same by Proposition 2 with h̄ in place of h̄′, the mean of the model without i, j."""
    return proposition2(fit, alpha).sum(axis=(0, 1)) / (fit.n_items * (fit.n_items - 1))


def proposition2(fit: QuadraticFit, alpha: float, mean=None) -> np.ndarray:
    """(m, m, k) c(h_ij, x_i, x_j) by equation 24, given h̄′ for every pair (default h̄); O(m²).

    With g = (h′ − y) − (h̄′ − ȳ) at i and j, the two equations of its proof read
    (1 − V_ii) g_i − V_ij g_j = (h_i − y_i) − (h̄′ − ȳ) and the same with i and j exchanged, where
    V_ii and V_ij are U_ii and U_ij plus (U_ii + U_ij)/(m − 2) (equation 27).
    """
    spectrum, Y, m = fit.spectrum, _scores(fit), fit.n_items
    D = 1.0 / (spectrum.eigenvalues + alpha)
    U = spectrum.row_scale() * (spectrum.P @ (spectrum.B * D).T)  # equation 23
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


def _scores(fit: QuadraticFit) -> np.ndarray:
    assert isinstance(fit.supervision, PairwiseScores)
    return fit.supervision.Y
