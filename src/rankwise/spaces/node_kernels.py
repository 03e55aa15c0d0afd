"""The kernel of one side of a relation: a weighted sum of kernels, and what known nodes add to it.

A side (rows or columns) has the kernel Σ_j w_j k_j(u, u'). Each k_j is computed from features, or
is a precomputed matrix, or is the Gaussian kernel of the nodes' interaction profiles. For known
nodes an item effect δ adds δ·[u = u'].
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from rankwise.spaces.kernels import Kernel
from rankwise.validation import check_choice, check_count, check_positive

REPAIRS = ("clip", "flip", "shift")
ARGUMENTS = ("kernel", "gamma", "degree", "coef0")


@dataclass(frozen=True)
class InteractionProfile:
    """exp(−gamma ‖y_u − y_u'‖² / mean ‖y‖²), where y_u holds the training labels of node u.

    This is the Gaussian interaction-profile kernel (van Laarhoven, Nabuurs and Marchiori 2011). It
    reads the labels of the training edges only, in each fold those of the fold. A node without a
    training edge has no profile: its kernel values are 0. O(p² (p + p')) for p nodes with p'
    partners.

    Parameters
    ----------
    gamma
        Width relative to the mean squared norm of the profiles, > 0.
    fill
        The value of an edge that was not observed. 0.0 suits 0/1 labels, as in the paper. With
        "mean" a profile holds deviations from the partner's mean label, and 0 where nothing was
        observed, which suits real labels.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> from rankwise.kernels import InteractionProfile, KernelSum
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    >>> Y = (drugs @ targets.T > 1).astype(float)
    >>> kernel = KernelSum(["rbf", InteractionProfile()])
    >>> ConditionalRanker(kernel=kernel).fit((drugs, targets), Y).predict(drugs, targets).shape
    (20, 15)
    """

    gamma: float = 1.0
    fill: float | str = 0.0

    def check(self) -> None:
        check_positive("gamma of InteractionProfile", self.gamma)
        if isinstance(self.fill, str):
            check_choice("fill of InteractionProfile", self.fill, ("mean",))
        elif not isinstance(self.fill, numbers.Real) or not np.isfinite(float(self.fill)):
            raise ValueError(f"fill must be a finite number or 'mean'; got {self.fill!r}.")

    def matrix(self, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """The kernel of the rows of Y (p, p'), whose entries were observed where `seen`."""
        if isinstance(self.fill, str):
            counts = np.maximum(seen.sum(axis=0), 1)
            means = np.where(seen, Y, 0.0).sum(axis=0) / counts
            profiles = np.where(seen, Y - means, 0.0)
        else:
            profiles = np.where(seen, Y, float(self.fill))
        has_edge = seen.any(axis=1)
        largest = np.abs(profiles).max(initial=0.0)
        if largest > 0:
            profiles = profiles / largest  # squares neither overflow nor vanish
        squares = np.einsum("ij,ij->i", profiles, profiles)
        width = squares[has_edge].mean() if has_edge.any() else 0.0
        distances = squares[:, None] + squares - 2 * profiles @ profiles.T
        np.fill_diagonal(distances, 0.0)
        scale = self.gamma / width if width > 0 else 0.0
        K = np.exp(-scale * distances.clip(min=0.0))
        K *= np.outer(has_edge, has_edge)
        return (K + K.T) / 2


PartOfSum = str | Callable | Kernel | InteractionProfile


class KernelSum(BaseEstimator):
    """k(u, u') = Σ_j weights[j] · kernels[j](u, u'), the kernel of one side of a relation.

    Parameters
    ----------
    kernels
        Names, callables, `Kernel(name, gamma=...)` or `InteractionProfile()`. A name takes gamma,
        degree and coef0 of the ranker.
    weights
        One number ≥ 0 for each kernel, not all 0; None means 1 for each.

    Notes
    -----
    The nodes of this side are one matrix that all kernels share, or a list with one matrix for each
    kernel that needs one (all but InteractionProfile): features, or kernel matrices for
    "precomputed". predict takes the nodes in the same form.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRanker
    >>> from rankwise.kernels import Kernel, KernelSum
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    >>> kernel = KernelSum(["linear", Kernel("rbf", gamma=0.5)], weights=[1.0, 0.5])
    >>> model = ConditionalRanker(kernel=(kernel, "linear"))
    >>> model.fit((drugs, targets), drugs @ targets.T).predict(drugs[:2], targets).shape
    (2, 15)
    """

    def __init__(self, kernels: Sequence[PartOfSum] = ("linear",), weights: Any = None):
        self.kernels = kernels
        self.weights = weights

    def checked_weights(self) -> tuple[float, ...]:
        if isinstance(self.kernels, str) or not len(self.kernels):
            raise ValueError(f"KernelSum needs a list of kernels; got {self.kernels!r}.")
        if self.weights is None:
            return (1.0,) * len(self.kernels)
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(self.kernels),):
            raise ValueError(
                f"KernelSum has {len(self.kernels)} kernels, so weights must hold as many numbers; "
                f"got {self.weights!r}."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "weights of KernelSum must be finite, at least 0 and not all 0 (a sum with a "
                f"negative weight is no kernel); got {self.weights!r}."
            )
        return tuple(weights.tolist())

    def weightings(self, steps: int = 4) -> list[KernelSum]:
        """The same sum with every choice of weights 0, 1/steps, ..., 1 that add up to 1.

        For the `grid` of ConditionalRankerCV.
        """
        steps = check_count("steps", steps)
        shares = product(range(steps + 1), repeat=len(self.kernels))
        return [
            KernelSum(self.kernels, [share / steps for share in chosen])
            for chosen in shares
            if sum(chosen) == steps
        ]


@dataclass(frozen=True)
class SideKernel:
    """The checked kernel of one side: kernels of features or precomputed ones, and the rest."""

    parts: tuple[tuple[float, Kernel], ...]
    profiles: tuple[tuple[float, InteractionProfile], ...] = ()
    item_effect: float = 0.0
    repair: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is one kernel and nothing else."""
        one = len(self.parts) == 1 and self.parts[0][0] == 1.0
        return one and not self.profiles and not self.item_effect

    @property
    def n_precomputed(self) -> int:
        return sum(kernel.is_precomputed for _, kernel in self.parts)


def side_kernel(kernel: Any, parameters: dict[str, Any], item_effect: Any, repair: Any) -> Any:
    """The SideKernel of constructor arguments that belong to one side; a ValueError if invalid."""
    _check_repair(repair)
    check_positive("item_effect", item_effect, zero=True)
    weights: tuple[float, ...] = (1.0,)
    given: Sequence[PartOfSum] = (kernel,)
    if isinstance(kernel, KernelSum):
        weights, given = kernel.checked_weights(), kernel.kernels
    elif isinstance(kernel, InteractionProfile):
        raise ValueError(
            "an interaction profile says nothing of new nodes: use it in a sum, for example "
            "KernelSum(['rbf', InteractionProfile()])."
        )
    parts, profiles = [], []
    for weight, part in zip(weights, given):
        if isinstance(part, InteractionProfile):
            part.check()
            profiles.append((weight, part))
            continue
        part = part if isinstance(part, Kernel) else Kernel(part, **parameters)
        part.check()
        parts.append((weight, part))
    if not parts:
        raise ValueError(
            "a KernelSum needs a kernel besides interaction profiles, which say nothing of new "
            "nodes."
        )
    return SideKernel(tuple(parts), tuple(profiles), float(item_effect), repair)


def _check_repair(repair: Any) -> None:
    if repair is not None:
        check_choice("repair", repair, REPAIRS)


def repaired_kernels(estimator: Any) -> tuple[SideKernel, SideKernel]:
    """One kernel for each side with its repair, for learners that take no sums of kernels."""
    sides = []
    for kernel, repair in zip(side_kernels(estimator), pair_of(estimator.repair, "repair")):
        _check_repair(repair)
        sides.append(SideKernel(((1.0, kernel),), repair=repair))
    return sides[0], sides[1]


def relation_kernels(estimator: Any) -> tuple[SideKernel, SideKernel]:
    """The kernels of rows and columns of an estimator's constructor arguments."""
    names = ("kernel", "gamma", "degree", "coef0", "item_effect", "repair")
    values = {name: pair_of(getattr(estimator, name), name) for name in names}
    sides = []
    for side in (0, 1):
        parameters = {name: values[name][side] for name in ("gamma", "degree", "coef0")}
        others = values["item_effect"][side], values["repair"][side]
        sides.append(side_kernel(values["kernel"][side], parameters, *others))
    return sides[0], sides[1]


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
