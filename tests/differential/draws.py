"""Random data as users have them: other scales, offsets, ties, types and query labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

FORMS = ("array", "fortran", "strided", "float32", "sparse", "frame", "list")
KERNELS = ("linear", "linear", "rbf", "laplacian", "poly", "precomputed")
FARTHEST = {"linear": 6.0, "rbf": 6.0, "laplacian": 6.0, "poly": 2.0}
"""The largest power of 10 by which features may be far from zero. Values of a polynomial kernel
grow with a power of it, which leaves the truth itself, in extended precision, enough digits."""


@dataclass
class Drawn:
    """One training set with new items. `X` and `X_new` are plain; `give` dresses them up."""

    X: np.ndarray
    X_new: np.ndarray
    y: np.ndarray
    codes: np.ndarray
    qid: object
    weight: np.ndarray | None
    kernel: dict
    form: str
    scale: float

    @property
    def m(self) -> int:
        return len(self.X)

    @property
    def is_far(self) -> bool:
        """Whether an offset of X exceeds its spread so far that a reduced set loses digits."""
        farthest = 3 if self.kernel["kernel"] == "poly" else 100
        return bool(np.abs(self.X).max() > farthest * np.ptp(self.X, axis=0).max())

    @property
    def v(self) -> np.ndarray:
        return np.ones(self.m) if self.weight is None else self.weight

    def give(self, X: np.ndarray):
        match self.form:
            case "fortran":
                return np.asfortranarray(X)
            case "strided":
                wide = np.full((2 * len(X), 2 * X.shape[1]), np.pi)
                wide[::2, ::2] = X
                return wide[::2, ::2]
            case "float32":
                return X.astype(np.float32)
            case "sparse":
                return sparse.csr_array(X)
            case "frame":
                return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
            case "list":
                return X.tolist()
        return X

    def __str__(self) -> str:
        queries = "no queries" if self.qid is None else f"{len(set(self.codes))} queries"
        weights = "" if self.weight is None else ", weights"
        return (
            f"{self.m} x {self.X.shape[1]} {self.form}, scale {self.scale:.1e}, {queries}"
            f"{weights}, {self.kernel}"
        )


def draw(rng: np.random.Generator, *, kernels=KERNELS, largest=14, extreme=True) -> Drawn:
    m, n = int(rng.integers(2, largest + 1)), int(rng.integers(1, 7))
    name = str(rng.choice(kernels))
    form = str(rng.choice(FORMS)) if rng.random() < 0.5 else "array"
    scale = 10.0 ** rng.uniform(-140, 140) if extreme and rng.random() < 0.2 else 1.0
    if name in ("poly", "precomputed") or form == "float32":
        scale = 1.0
    farthest = FARTHEST.get(name, 0.0) if form != "float32" else 0.0
    X = _features(rng, m + 3, n, farthest)
    X = X * scale
    if form == "float32":
        X = X.astype(np.float32).astype(float)
    codes, qid = _queries(rng, m)
    gamma = 10.0 ** rng.uniform(-2, 1) / (scale if name == "laplacian" else scale**2 or 1.0)
    kernel = {"kernel": name, "gamma": gamma, "degree": int(rng.integers(1, 4)), "coef0": 1.0}
    weight = _weights(rng, m) if rng.random() < 0.3 else None
    return Drawn(X[:m], X[m:], _scores(rng, m), codes, qid, weight, kernel, form, scale)


def _features(rng, rows: int, n: int, farthest: float) -> np.ndarray:
    X = rng.normal(size=(rows, n))
    kind = rng.random()
    if kind < 0.2:
        X = np.round(X)
    elif kind < 0.3:
        X[rng.integers(0, rows, size=2)] = X[0]
    elif kind < 0.45 and farthest:
        X = X + 10.0 ** rng.uniform(farthest - 4 if farthest > 4 else 1, farthest)
    if rng.random() < 0.1:
        X[:, 0] = 1.0
    return X


def _scores(rng, m: int) -> np.ndarray:
    y = rng.normal(size=m)
    kind = rng.random()
    if kind < 0.35:
        y = rng.integers(0, int(rng.integers(2, 5)), size=m).astype(float)
    elif kind < 0.45:
        y = 1000.0 + 1e-6 * rng.integers(0, 50, size=m)
    elif kind < 0.6:
        y = y * 10.0 ** rng.uniform(-9, 9)
    if len(set(y)) == 1:
        y[0] += 1.0
    return y


def _queries(rng, m: int):
    if rng.random() < 0.45:
        return np.zeros(m, dtype=int), None
    codes = rng.integers(0, int(rng.integers(1, 5)), size=m)
    codes[0] = codes[-1]
    labels = [
        [3, 1, 2, 0],
        ["b", "a", "a ", "é"],
        [2**53, 2**53 + 1, -1, 7],
        [0.5, -0.5, 1.5, 0.0],
        ["[/b]", "x", "1", ""],
    ][int(rng.integers(5))]
    return codes, [labels[code] for code in codes]


def _weights(rng, m: int) -> np.ndarray:
    kind = rng.random()
    if kind < 0.4:
        return rng.integers(1, 4, size=m).astype(float)
    weight = rng.uniform(0.1, 3.0, size=m)
    if kind < 0.6:
        weight[rng.integers(0, m)] = 0.0
    return weight
