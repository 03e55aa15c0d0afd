"""The form that formats without a graph share: fill, subtract, multiply, then one simple function.

z_j = (x_j − offset_j) · scale_j,    nan filled before
score = Σ w_j z_j,  or  Σ a_i k(z, z_i),  or  Σ weight · [x_j > threshold]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.exports.model_steps import ScoringFunction
from rankwise.exports.scoring_steps import (
    Branches,
    Clip,
    Fill,
    KernelValues,
    MultiplyAndAdd,
    Product,
    Select,
    Standardise,
    Step,
    Thresholds,
)

LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class PlainForm:
    """Exactly one of `weights` (n, k), `expansion` and `thresholds` is set.

    `expansion` is a kernel step whose basis has a column for every feature, with coefficients
    (r, k). `thresholds` compare features as they come, without offset and scale. `fill` is None if
    the model fills no missing values, and nan for a feature that it does not fill.
    """

    offset: np.ndarray
    scale: np.ndarray
    fill: np.ndarray | None
    weights: np.ndarray | None = None
    expansion: tuple[KernelValues, np.ndarray] | None = None
    thresholds: Thresholds | None = None


def plain_form(function: ScoringFunction) -> PlainForm:
    """The steps folded into the form above, or a ValueError that names the step that is not."""
    n = len(function.features)
    *before, last = function.steps
    kernel = before[-1] if before else None
    before = before[:-1] if isinstance(kernel, KernelValues) else before
    affine, columns = _folded(before, n, is_monotone=isinstance(last, Thresholds))
    if isinstance(last, Thresholds):
        return PlainForm(*affine, thresholds=_raw_thresholds(last, before, n, columns))
    assert isinstance(last, Product)
    if not isinstance(kernel, KernelValues):
        weights = np.zeros((n, last.weights.shape[1]))
        weights[columns] = last.weights
        return PlainForm(*affine, weights=weights)
    basis = np.zeros((len(kernel.basis), n))
    basis[:, columns] = kernel.basis
    unused = np.setdiff1d(np.arange(n), columns)
    affine[1][unused] = 0.0  # unused features are 0 in every kernel value
    expansion = KernelValues(kernel.kernel, basis, kernel.source), last.weights
    return PlainForm(*affine, expansion=expansion)


def _folded(
    steps: list[Step], n: int, is_monotone: bool
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]:
    """(offset, scale, fill), each (n,), and the columns that are used, in their new order.

    What follows `is_monotone` if only the order of the values of a feature counts.
    """
    fold = _Fold(np.zeros(n), np.ones(n), np.full(n, np.nan), is_monotone)
    columns = fold.through(steps, np.arange(n))
    if len(np.unique(columns)) < len(columns):
        raise ValueError('a feature is used in two ways, which this format cannot say: use "onnx".')
    fold.fill[np.setdiff1d(np.arange(n), columns)] = 0.0  # an unused feature may be missing
    return (fold.offset, fold.scale, None if np.isnan(fold.fill).all() else fold.fill), columns


@dataclass
class _Fold:
    """Offset, scale and filled value of every feature, nan where it is not filled."""

    offset: np.ndarray
    scale: np.ndarray
    fill: np.ndarray
    is_monotone: bool

    def through(self, steps: list[Step], columns: np.ndarray) -> np.ndarray:
        """Take these columns through the steps; the columns that come out."""
        for step in steps:
            if isinstance(step, Select):
                columns = columns[step.columns]
            elif isinstance(step, Branches):
                parts = [self.through(each, columns[own]) for own, each in step.branches]
                columns = np.concatenate(parts)
            elif isinstance(step, Standardise):
                self.offset[columns] += step.offset / self.scale[columns]
                self.scale[columns] /= step.deviation
            elif isinstance(step, MultiplyAndAdd):
                self.offset[columns] -= step.summand / step.factor / self.scale[columns]
                self.scale[columns] *= step.factor
            elif isinstance(step, Fill):
                raw = step.values / self.scale[columns] + self.offset[columns]
                is_first = np.isnan(self.fill[columns])
                self.fill[columns] = np.where(is_first, raw, self.fill[columns])
            elif not (self.is_monotone and isinstance(step, Clip)):
                raise ValueError(
                    f"{step.source} is more than an offset and a scale for every feature, which "
                    'this format cannot say: format="onnx" can.'
                )
        return columns


def _raw_thresholds(last: Thresholds, steps: list[Step], n: int, columns: np.ndarray) -> Thresholds:
    """The same comparisons on features as they come, to the last bit.

    Scaling never changes the order of two values, so there is a largest float64 x that the scaled
    comparison still calls "not above": bisection over all float64 finds it.
    """
    scaled = [step for step in steps if not isinstance(step, Fill)]
    if not scaled:
        return last
    feature = columns[last.feature]

    def not_above(x: np.ndarray) -> np.ndarray:
        """For one value x per rule; other features are 0."""
        X = np.zeros((len(x), n))
        X[np.arange(len(x)), feature] = x
        with np.errstate(all="ignore"):
            for step in scaled:
                X = step.apply(X)
        return ~(X[np.arange(len(x)), last.feature] > last.threshold)

    threshold = np.where(np.isneginf(last.threshold), -np.inf, _largest(not_above, len(feature)))
    return Thresholds(feature, threshold, last.missing, last.weights, last.source)


def _largest(holds: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """The largest float64 of each entry for which a condition holds that ends once: 64 steps.

    −∞ where it holds nowhere.
    """
    low, high = _ordered(np.full(size, -LARGEST)), _ordered(np.full(size, LARGEST))
    nowhere = ~holds(_floats(low))
    while (low < high).any():
        middle = (low | high) - ((low ^ high) >> 1)  # the mean, rounded up, without an overflow
        kept = holds(_floats(middle))
        low, high = np.where(kept, middle, low), np.where(kept, high, middle - 1)
    return np.where(nowhere, -np.inf, _floats(low))


def _ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats x."""
    bits = x.view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.iinfo(np.int64).max))


def _floats(ordered: np.ndarray) -> np.ndarray:
    """The floats of `_ordered` integers."""
    bits = np.where(ordered >= 0, ordered, -ordered | np.iinfo(np.int64).min)
    return bits.view(np.float64)
