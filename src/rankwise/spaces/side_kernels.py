"""The kernels of the two sides of a relation: each argument is one value, or a pair of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rankwise.spaces.kernels import Kernel

ARGUMENTS = ("kernel", "gamma", "degree", "coef0")


class HasSideKernels(Protocol):
    """An estimator whose kernel arguments may be pairs (rows, columns)."""

    kernel: str | Callable | tuple
    gamma: float | tuple | None
    degree: float | tuple
    coef0: float | tuple


def pair_of(value: Any, name: str) -> tuple[Any, Any]:
    """(rows, columns) from one value for both sides, or from a pair; a ValueError otherwise."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ValueError(f"{name} must be one value, or a pair (rows, columns); got {value!r}.")
    return value[0], value[1]


def side_kernels(estimator: HasSideKernels) -> tuple[Kernel, Kernel]:
    """The checked kernels of the row nodes and of the column nodes."""
    pairs = [pair_of(getattr(estimator, name), name) for name in ARGUMENTS]
    rows, columns = (Kernel(*(pair[side] for pair in pairs)) for side in (0, 1))
    for kernel in (rows, columns):
        kernel.check()
    return rows, columns
