"""Symmetric and reciprocal complete graphs without one node: all nodes at once, O(p³) per step.

Let s = ±1 be the sign, Y_m and Y_o the mirrored part of Y and the rest, and
𝓡 = (I + K ⊗ K / alpha)⁻¹, which multiplies the coordinates (k, l) along the eigenvectors of K by
keep_kl = alpha / (σ_k σ_l + alpha). The dual variables of the model without node v are

    A = 𝓡 [Y_m + e_v xᵀ + s x e_vᵀ + 1 cᵀ + s c 1ᵀ]

with the x that makes row v of A vanish. Regression has c = 0. For the ranking loss −2s c holds the
intercepts of the rows, c_v = 0, and the row sums of the kept nodes give

    (1ᵀ A)_i + n c_i − s 1ᵀc = −s (Y_o 1_kept)_i,    n = p − 1.

For each v this is one symmetric semi-definite system. In coordinates along the eigenvectors it is
made of products with `keep` and of diagonals. Conjugate gradients solve the systems of all v
together, preconditioned by the diagonal: `keep` is a Cauchy matrix, whose singular values decrease
so fast that a few dozen steps reach rounding errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from rankwise.solvers.complete_graph import mirror
from rankwise.solvers.conjugate_gradients import NormalEquations, conjugate_steps
from rankwise.spaces.nodes import Nodes

TOLERANCE, MAX_ITER = 1e-15, 400
SMALL_ALPHA = 1e-7
"""For smaller alphas, in units of the largest squared eigenvalue, the ranking loss is refitted."""


class Spectral(NamedTuple):
    """A complete orthonormal basis Q of the p nodes, and σ of each of its directions."""

    Q: np.ndarray
    sigma: np.ndarray

    @classmethod
    def of(cls, nodes: Nodes) -> Spectral:
        spectrum = nodes.spectrum()
        Q, sigma = spectrum.Q, spectrum.s**2
        if not spectrum.is_full:
            Q = np.hstack([Q, scipy.linalg.qr(Q)[0][:, Q.shape[1] :]])
            sigma = np.concatenate([sigma, np.zeros(len(Q) - len(sigma))])
        return cls(Q, sigma)


class WithoutNode(NamedTuple):
    """For some nodes v: x and c along Q, one column for each v."""

    nodes: np.ndarray
    x: np.ndarray
    c: np.ndarray


class MirroredNodes:
    """One relation of sign ±1 on a complete graph, with or without the ranking loss."""

    def __init__(self, basis: Spectral, Y: np.ndarray, sign: int, ranking: bool):
        self._Q, self._sigma, self._sign, self._ranking = *basis, sign, ranking
        self.mirrored = mirror(Y, sign)
        self._rest = Y - self.mirrored
        self._targets = self._Q.T @ self.mirrored @ self._Q
        self._ones = self._Q.sum(axis=0)

    def keep(self, alpha: float) -> np.ndarray:
        with np.errstate(over="ignore"):
            return 1 / (1 + np.outer(self._sigma, self._sigma / alpha))

    def without(self, alpha: float, nodes: np.ndarray) -> WithoutNode | None:
        """The models without each of the nodes; None if conjugate gradients are not for alpha."""
        keep, p, q = self.keep(alpha), len(self._Q), self._Q[nodes].T
        if self._ranking and not alpha >= SMALL_ALPHA * self._sigma.max(initial=0.0) ** 2:
            return None
        scale = keep.max()
        system = _System(q, self._ones, keep / scale, self._sign, self._ranking, scale)
        filtered = keep / scale * self._targets
        right = [system.balanced(-(self._Q[nodes] @ filtered).T)]
        if self._ranking:
            of_kept = self._rest.sum(axis=1)[:, None] - self._rest[:, nodes]
            sums = -self._sign * (self._Q.T @ of_kept) / scale
            right.append(system.project(sums - (self._ones @ filtered)[:, None]))
        solution = system.solve(np.concatenate(right))
        if solution is None:
            return None
        c = solution[p:] if self._ranking else np.zeros_like(q)
        return WithoutNode(nodes, solution[:p], c)

    def rows(self, alpha: float, found: WithoutNode) -> np.ndarray:
        """(v, p) scores of the row of each node by the model without it."""
        Q, sign, nodes = self._Q, self._sign, found.nodes
        if alpha <= self._sigma.max(initial=0.0) ** 2:
            scores = self.mirrored[nodes] + (Q @ (found.x + found.c)).T
            own = np.einsum("vk,kv->v", Q[nodes], found.x)
            at = np.arange(len(nodes)), nodes
            scores[at] = self.mirrored[nodes, nodes] + (1 + sign) * own
            return scores
        over_alpha, q = self.keep(alpha) / alpha, Q[nodes].T
        g = q * self._sigma[:, None]
        along = (g.T @ (over_alpha * self._targets)).T
        for a, z in ((q, found.x), (self._ones[:, None], found.c)):
            along += (over_alpha.T @ (g * a)) * z + sign * (over_alpha.T @ (g * z)) * a
        return (Q @ (self._sigma[:, None] * along)).T

    def at_new_node(self, alpha: float, found: WithoutNode, kernel: np.ndarray) -> np.ndarray:
        """(v,) the score of (u, v) by the model without v, for a node u outside this graph.

        `kernel` (p,) holds the kernel values of u to the nodes.
        """
        sign, q, one = self._sign, self._Q[found.nodes].T, self._ones
        g = np.where(self._sigma > 0, self._Q.T @ kernel, 0.0)
        over_alpha = self.keep(alpha) / alpha
        image = q * self._sigma[:, None]
        out = ((over_alpha * g[:, None]) * self._targets).sum(axis=0) @ image
        for a, z in ((q, found.x), (one[:, None], found.c)):
            # Σ_kl g_k over_kl (a_k z_l + s z_k a_l) image_l
            out += np.einsum("lv,lv,lv->v", over_alpha.T @ (g[:, None] * a), z, image)
            out += sign * np.einsum("kv,kv,k->v", over_alpha @ (a * image), z, g)
        return out


class _System:
    """The systems of all nodes v as one: columns of X, or of (x, c) with the ranking loss."""

    def __init__(
        self,
        nodes: np.ndarray,
        ones: np.ndarray,
        keep: np.ndarray,
        sign: int,
        ranking: bool,
        scale: float,
    ):
        self._q, self._one, self._keep = nodes, ones[:, None], keep
        self._sign, self._ranking, self._p, self._scale = sign, ranking, len(ones), scale
        self._qq = keep @ nodes**2
        self._q1 = keep @ (nodes * self._one) if ranking else self._qq
        self._11 = keep @ self._one**2 if ranking else self._qq
        n = len(ones) - 1
        own = [self._qq + sign * np.diag(keep)[:, None] * nodes**2]
        if ranking:
            both = self._11 + sign * np.diag(keep)[:, None] * self._one**2 + n / scale
            own.append(np.broadcast_to(both, nodes.shape))
        self._diagonal = np.maximum(np.concatenate(own), 1e-3 * np.concatenate(own).max(axis=0))

    def project(self, c: np.ndarray) -> np.ndarray:
        """c with c_v = 0, for each column v."""
        return c - self._q * np.einsum("kv,kv->v", self._q, c)

    def balanced(self, x: np.ndarray) -> np.ndarray:
        """x without x_v in a reciprocal relation, where e_v eᵀ_v − e_v eᵀ_v is nothing."""
        return self.project(x) if self._sign == -1 else x

    def _apply(self, X: np.ndarray) -> np.ndarray:
        p, s, q, one, keep = self._p, self._sign, self._q, self._one, self._keep
        x = X[:p]
        top = self._qq * x + s * q * (keep @ (q * x))
        if not self._ranking:
            return self.balanced(top)
        c = self.project(X[p:])
        top += self._q1 * c + s * one * (keep @ (q * c))
        bottom = self._q1 * x + s * q * (keep @ (one * x))
        bottom += self._11 * c + s * one * (keep @ (one * c))
        bottom += ((p - 1) * c - s * one * (one[:, 0] @ c)) / self._scale
        return np.concatenate([self.balanced(top), self.project(bottom)])

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        z = r / self._diagonal
        z[: self._p] = self.balanced(z[: self._p])
        if self._ranking:
            z[self._p :] = self.project(z[self._p :])
        return z

    def solve(self, right: np.ndarray) -> np.ndarray | None:
        shape = right.shape
        system = NormalEquations(
            lambda x: x,
            lambda x, _: self._apply(x.reshape(shape)).ravel(),
            right.ravel(),
            None,
            lambda r: self._precondition(r.reshape(shape)).ravel(),
        )
        enough = TOLERANCE**2 * system.energy
        for n_iter, _ in enumerate(conjugate_steps(system)):
            if system.energy <= enough:
                break
            if n_iter >= MAX_ITER:
                break
        if system.energy > 1e6 * enough:
            return None
        x = system.x.reshape(shape)
        if self._ranking:
            x[self._p :] = self.project(x[self._p :])
        return x
