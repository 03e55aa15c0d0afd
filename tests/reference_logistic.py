"""RankLogistic from its objective alone: sums over statements, minimised by brute force."""

from __future__ import annotations

import numpy as np
from scipy import linalg


def loss(d, outcome, log_nu=None):
    """−ln of the probability of one statement: outcome 1 first won, 0 second won, 0.5 a tie."""
    if log_nu is None:
        halves = outcome * np.log(1 + np.exp(-d)) + (1 - outcome) * np.log(1 + np.exp(d))
        return halves
    first, second, tie = np.exp(d / 2), np.exp(-d / 2), np.exp(log_nu)
    chosen = {1: first, 0: second, 0.5: tie}[outcome]
    return -np.log(chosen / (first + second + tie))


class Problem:
    """K (m, m) is the whole kernel of the items, with the own strengths of the items."""

    def __init__(self, K, votes, alpha, *, order=False, davidson=False):
        """`votes` are (first, second, outcome, weight)."""
        self.K, self.votes, self.alpha = K, votes, alpha
        self.order, self.davidson = order, davidson
        values, vectors = np.linalg.eigh(K)
        used = values > 1e-12 * values.max()
        self.Z = vectors[:, used] * np.sqrt(values[used])

    def unpack(self, x):
        d = self.Z.shape[1]
        eta = x[d] if self.order else 0.0
        log_nu = x[-1] if self.davidson else None
        return x[:d], eta, log_nu

    def value(self, x):
        w, eta, log_nu = self.unpack(x)
        f = self.Z @ w
        total = self.alpha * (w @ w)
        for i, j, outcome, weight in self.votes:
            total = total + weight * loss(f[i] - f[j] + eta, outcome, log_nu)
        return total

    def gradient(self, x):
        """By complex steps, exact to rounding."""
        steps = 1e-30j * np.eye(len(x))
        return np.array([self.value(x + step).imag for step in steps]) / 1e-30

    def hessian(self, x, h=1e-5):
        rows = [(self.gradient(x + e) - self.gradient(x - e)) / (2 * h) for e in h * np.eye(len(x))]
        H = np.array(rows)
        return (H + H.T) / 2

    def solve(self):
        x = np.zeros(self.Z.shape[1] + self.order + self.davidson)
        for _ in range(100):
            g = self.gradient(x)
            step = -np.linalg.solve(self.hessian(x), g)
            size = 1.0
            while self.value(x + size * step) > self.value(x) + 1e-13 and size > 1e-8:
                size /= 2
            x = x + size * step
            if np.abs(step).max() < 1e-11:
                break
        self.x = x
        self.w, self.eta, self.log_nu = self.unpack(x)
        self.f = self.Z @ self.w
        return self

    def covariance(self):
        """Of the scores: the block of the inverse Hessian of all parameters."""
        d = self.Z.shape[1]
        return self.Z @ np.linalg.inv(self.hessian(self.x))[:d, :d] @ self.Z.T

    def expansion(self):
        """Dual coefficients a with f = K a."""
        return linalg.lstsq(self.K, self.f)[0]
