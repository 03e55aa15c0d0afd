"""What a fitted model remembers of its fit: the constructor's arguments, and unedited items.

A method of a fitted model reads `fitted_parameters`, never the arguments themselves: `set_params`
prepares the next fit and leaves the model alone. Only alpha (or C) at which hold-outs are asked
for is the current one.

Items that a kernel expansion needs are copied. Hold-outs of linear models need all items, and a
copy would double the memory of a large fit: the model keeps the caller's array with a checksum,
and refuses a hold-out after the array was edited.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix
from rankwise.numerics.threads import run

PART = 1 << 20
"""Entries of X that one task multiplies."""


class FitMemory:
    """Estimators with `get_params` whose fit ends with `_remember_parameters`."""

    get_params: Callable[..., dict[str, Any]]
    _X_checksum: int | None = None

    def _remember_parameters(self) -> None:
        self._fitted = self.get_params(deep=False)

    @property
    def fitted_parameters(self) -> Any:
        """The constructor's arguments of the last fit, as attributes.

        The current ones if the model was pickled by a version that did not remember them.
        """
        return SimpleNamespace(**(getattr(self, "_fitted", None) or self.get_params(deep=False)))

    def _guard(self, X: Matrix, given: Any) -> None:
        """Remember the items X, made from the caller's `given`; O(nnz) unless X is a copy."""
        self._X_checksum = checksum(X) if shares_memory(X, given) else None

    def _refuse_edited(self, X: Matrix) -> None:
        """Refuse training items that were edited after fit."""
        if self._X_checksum is not None and checksum(X) != self._X_checksum:
            raise ValueError(
                "X was edited after fit, and this method needs the items as they were: fit again, "
                "or give fit a copy, X.copy(). (predict needs no training items of a linear model.)"
            )

    def __getstate__(self) -> dict[str, Any]:
        """A pickled model has items of its own, which nobody else can edit."""
        return {**super().__getstate__(), "_X_checksum": None}  # type: ignore[dict-item]


def shares_memory(X: Matrix, given: Any) -> bool:
    """Whether editing `given` may change the checked items X."""
    if X is given:
        return True
    if sparse.issparse(X):
        values = getattr(given, "data", None)  # a DOK matrix has none
        return isinstance(values, np.ndarray) and np.may_share_memory(X.data, values)
    return not X.flags.owndata


def own(X: Matrix, given: Any) -> Matrix:
    """The checked items X, copied unless the check made a copy already."""
    return X.copy() if shares_memory(X, given) else X


def checksum(X: Matrix) -> int:
    """Of the products X r with fixed weights r; an edit beyond rounding changes it. O(nnz).

    The sums do not depend on the number of threads, as those of BLAS may.
    """
    m, n = X.shape
    r = np.asarray(np.random.default_rng(0).uniform(1.0, 2.0, n))
    if sparse.issparse(X):
        return zlib.crc32(np.asarray(X @ r).tobytes())
    step = max(1, PART // max(n, 1))
    with np.errstate(all="ignore"):
        parts = [partial(_row_sums, X[start : start + step], r) for start in range(0, m, step)]
        return zlib.crc32(b"".join(run(parts)))


def _row_sums(X: np.ndarray, r: np.ndarray) -> bytes:
    return np.einsum("ij,j->i", X, r).tobytes()
