"""A path over many alphas from a few of them, by rational interpolation with a known error.

Whatever a ridge problem predicts is Σ_s g_s/(μ_s + λ) as a function of λ, μ its eigenvalues. Take
r nodes λ_k among the alphas and r poles −μ_k; the function p(λ)/Π(λ + μ_k), deg p < r, that agrees
at the nodes differs from 1/(μ + λ) by the share

    ρ(μ, λ) = Π_k (μ − μ_k)/(μ + λ_k) · (λ − λ_k)/(λ + μ_k)

of it, whichever the g. Nodes and poles are chosen where |ρ| is largest, until it is small on all
of [low, high] × alphas: eigenvalues of a narrow range, or alphas far from them, need few nodes.
"""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-12
POLES_TRIED = 257


def interpolate_alphas(
    alphas: np.ndarray, low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, T): values at all alphas are T @ values at alphas[nodes], to TOLERANCE of Σ|g|/(μ+λ).

    For eigenvalues μ within [low, high], low + min(alphas) > 0; O(a r (r + POLES_TRIED)). Alphas
    so far apart that T overflows stand for themselves.
    """
    first = alphas.min()
    shifted = alphas - first
    eigenvalues = np.geomspace(low + first, high + first, POLES_TRIED)
    share = np.ones((POLES_TRIED, len(alphas)))
    nodes: list[int] = []
    poles: list[float] = []
    while np.abs(share).max() > TOLERANCE and len(nodes) < len(alphas):
        s, i = np.unravel_index(np.argmax(np.abs(share)), share.shape)
        nodes.append(int(i))
        poles.append(eigenvalues[s])
        share *= ((eigenvalues - poles[-1]) / (eigenvalues + shifted[i]))[:, None]
        share *= (shifted - shifted[i]) / (shifted + poles[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        T = _lagrange(shifted, shifted[nodes], np.array(poles))
    if not np.isfinite(T).all():
        return np.arange(len(alphas)), np.eye(len(alphas))
    return np.array(nodes), T


def _lagrange(at: np.ndarray, nodes: np.ndarray, poles: np.ndarray) -> np.ndarray:
    """T_ij = Π_(k≠j) (λ_i − λ_k)/(λ_j − λ_k) · Π_k (λ_j + μ_k)/(λ_i + μ_k)."""
    T = np.empty((len(at), len(nodes)))
    for j, node in enumerate(nodes):
        factors = (node + poles) / (at[:, None] + poles)
        others = np.arange(len(nodes)) != j
        factors[:, others] *= (at[:, None] - nodes[others]) / (node - nodes[others])
        T[:, j] = factors.prod(axis=1)
    return T
