"""(AᵀA + λI)⁻¹ along the eigenvectors of a quadratic problem, with or without constraints."""

from __future__ import annotations

import numpy as np


class Resolvent:
    """D = diag 1/(Λ + λ), or the same under constraints Nᵀw = −values (N along eigenvectors).

    The constraints remove held-out basis items from a reduced set: D − E Eᵀ with
    E = D N (NᵀDN)^(−½), an update of rank |H|, by QR of √D N, so that nothing is squared.
    """

    def __init__(
        self,
        D: np.ndarray,
        normals: np.ndarray | None = None,
        values: np.ndarray | float = 0.0,
    ):
        self.D = D[:, None]
        self.normals = normals
        self.values = values
        self.leaves_nothing = normals is not None and normals.shape[1] >= normals.shape[0]
        if normals is not None:
            root = np.sqrt(self.D)
            orthonormal, upper = np.linalg.qr(root * normals)
            self.E = root * orthonormal
            self.half = upper.T

    def apply(self, Y: np.ndarray) -> np.ndarray:
        if self.leaves_nothing:
            return np.zeros_like(Y)
        if self.normals is None:
            return self.D * Y
        return self.D * Y - self.E @ (self.E.T @ Y)

    def sandwich(self, B: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """scale · B D Bᵀ; without constraints by one symmetric product."""
        if self.normals is not None:
            return scale * (B @ self.apply(B.T))
        half = B * np.sqrt(scale * self.D[:, 0])
        return half @ half.T

    def solve(self, moments: np.ndarray) -> np.ndarray:
        """The coordinates of the constrained minimiser for moments c."""
        solution = self.apply(moments)
        if self.normals is not None and np.any(self.values):
            solution = solution - self.E @ np.linalg.solve(self.half, self.values)
        return solution
