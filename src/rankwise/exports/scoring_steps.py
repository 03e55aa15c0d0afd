"""The steps from the features of an item to its score, as plain arrays.

A fitted model is a list of steps. Each step takes the matrix of the step before, one row per item.
`apply` computes the step with NumPy: it is what every exported format has to equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rankwise.spaces.kernels import Kernel


class Step(ABC):
    """One step, and the name of the estimator that it comes from."""

    source: str

    @abstractmethod
    def apply(self, X: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Fill(Step):
    """nan becomes the value of its column."""

    values: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(X), self.values, X)


@dataclass(frozen=True)
class Standardise(Step):
    """x ↦ (x − offset) / deviation for every column."""

    offset: np.ndarray
    deviation: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return (X - self.offset) / self.deviation

    def reverse(self, X: np.ndarray) -> np.ndarray:
        return X * self.deviation + self.offset


@dataclass(frozen=True)
class MultiplyAndAdd(Step):
    """x ↦ x · factor + summand for every column, which is how MinMaxScaler rounds."""

    factor: np.ndarray
    summand: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return X * self.factor + self.summand

    def reverse(self, X: np.ndarray) -> np.ndarray:
        return (X - self.summand) / self.factor


@dataclass(frozen=True)
class Clip(Step):
    """Values outside of low to high become low or high."""

    low: float
    high: float
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low, self.high)


@dataclass(frozen=True)
class Select(Step):
    """Some of the columns, in their order."""

    columns: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.columns]


@dataclass(frozen=True)
class DivideByNorm(Step):
    """Rows divided by their norm, "l1", "l2" or "max"; rows of zeros stay."""

    norm: str
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        order = {"l1": 1, "l2": 2, "max": np.inf}[self.norm]
        norms = np.linalg.norm(X, ord=order, axis=1, keepdims=True)
        return X / np.where(norms == 0, 1.0, norms)


@dataclass(frozen=True)
class Monomials(Step):
    """Products of columns: column j is Π x_i^powers[j, i]."""

    powers: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.prod(X[:, None, :] ** self.powers, axis=2)


@dataclass(frozen=True)
class PairProducts(Step):
    """Column j is the product of the columns first[j] and second[j]."""

    first: np.ndarray
    second: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.first] * X[:, self.second]


@dataclass(frozen=True)
class Levels(Step):
    """x ↦ [x = level] for the levels of every column, side by side.

    A column without any of its known levels is nan if `strict` (predict refuses it), else 0.
    `kept` has the levels that become columns, a part of `known`.
    """

    known: list[np.ndarray]
    kept: list[np.ndarray]
    strict: bool
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        blocks = []
        for x, known, kept in zip(X.T[:, :, None], self.known, self.kept):
            seen = (x == known).any(axis=1, keepdims=True) | (not self.strict)
            blocks.append(np.where(seen, (x == kept).astype(float), np.nan))
        return np.hstack(blocks)


@dataclass(frozen=True)
class Branches(Step):
    """Steps for some of the columns each, and their results side by side."""

    branches: list[tuple[np.ndarray, list[Step]]]
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        parts = []
        for columns, steps in self.branches:
            part = X[:, columns]
            for step in steps:
                part = step.apply(part)
            parts.append(part)
        return np.hstack(parts)


@dataclass(frozen=True)
class KernelValues(Step):
    """x ↦ k(x, z) for the rows z of `basis`; gamma is a number."""

    kernel: Kernel
    basis: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return self.kernel.matrix(X, self.basis)


@dataclass(frozen=True)
class Product(Step):
    """x ↦ Wᵀx with W (d, k)."""

    weights: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        return X @ self.weights


@dataclass(frozen=True)
class Thresholds(Step):
    """x ↦ Σ weight · [x_feature > threshold], where `missing` (0 or 1) stands for [·] of nan."""

    feature: np.ndarray
    threshold: np.ndarray
    missing: np.ndarray
    weights: np.ndarray
    source: str

    def apply(self, X: np.ndarray) -> np.ndarray:
        x = X[:, self.feature]
        above = np.where(np.isnan(x), self.missing, x > self.threshold)
        return (above @ self.weights)[:, None]
