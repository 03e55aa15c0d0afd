"""A relation as a matrix whose unobserved cells are filled in by a stated rule."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.supervision.relation import Labels

RULES = ("mean", "row", "column", "model")
SWAPPED = {"row": "column", "column": "row"}
Fill = str | float | None


def check_fill(fill: object) -> Fill:
    """None, one of RULES, or a finite number; a ValueError otherwise."""
    if fill is None or (isinstance(fill, str) and fill in RULES):
        return fill
    if isinstance(fill, numbers.Real) and not isinstance(fill, bool) and np.isfinite(float(fill)):
        return float(fill)
    raise ValueError(
        f"fill must be None, a finite number or one of {', '.join(map(repr, RULES))}; got {fill!r}."
    )


@dataclass(eq=False)
class FilledRelation:
    """One relation: `known` holds the observed values, and 0 where `missing` is 1.

    sign = ±1 says that the matrix is its own transpose, up to the sign. The rules:

    * None refuses missing cells;
    * a number is put into every missing cell;
    * "mean" is the mean of all observed cells;
    * "row" and "column" are the mean of the observed cells of the row or column; in a symmetric or
      reciprocal relation both are the mirrored part of that matrix;
    * "model" is left to the caller: each missing cell takes the value that the model predicts.
    """

    known: np.ndarray
    missing: np.ndarray
    fill: Fill
    sign: int = 0

    @classmethod
    def of_labels(cls, labels: Labels, fill: Fill, sign: int) -> FilledRelation:
        """The matrix of complete or incomplete labels; repeated edges are refused."""
        Y = _matrix(labels)
        if sign:
            Y = _mirrored(Y, sign)
        missing = np.isnan(Y)
        relation = cls(np.where(missing, 0.0, Y), missing.astype(float), fill, sign)
        relation._check()
        return relation

    @cached_property
    def n_missing(self) -> int:
        return int(self.missing.sum())

    @property
    def is_complete(self) -> bool:
        return self.n_missing == 0

    def _check(self) -> None:
        if self.n_missing == self.missing.size:
            raise ValueError("no edge is observed: all labels are nan.")
        first = tuple(int(i) for i in np.argwhere(self.missing)[0]) if self.n_missing else ()
        if self.n_missing and self.fill is None:
            raise ValueError(
                f"Y is incomplete: {self.n_missing} of {self.missing.size} cells are not observed, "
                f"the first at row {first[0]}, column {first[1]}. Say how to fill them: "
                'fill="mean", "row", "column", "model" (each cell takes the value that the model '
                "itself predicts) or a number; or use ConditionalRanker, which needs no complete Y."
            )
        if self.sign == -1 and isinstance(self.fill, float) and self.fill != 0.0 and first:
            raise ValueError(
                f"a reciprocal relation cannot be filled with {self.fill:g}, because the values of "
                "an edge and its reverse add up to 0: use fill=0.0."
            )
        if first:
            self._refuse_empty()

    def _refuse_empty(self) -> None:
        for axis, name in ((1, "row"), (0, "column")):
            empty = self.missing.all(axis=axis)
            if self.fill == name and empty.any():
                raise ValueError(
                    f"fill={name!r} needs an observed value in every {name}, but {name} "
                    f'{int(np.argmax(empty))} has none: use fill="mean", or leave that node out.'
                )

    @property
    def observed(self) -> np.ndarray:
        return 1.0 - self.missing

    @cached_property
    def values(self) -> np.ndarray:
        """The filled matrix; missing cells of fill="model" are still 0."""
        if self.is_complete or self.fill == "model":
            return self.known
        if isinstance(self.fill, float):
            return self.known + self.fill * self.missing
        if self.fill == "mean":
            return self.known + self.mean * self.missing
        axis = 1 if self.fill == "row" else 0
        means = self.known.sum(axis=axis) / self.observed.sum(axis=axis)
        means = np.expand_dims(means, axis) * np.ones_like(self.known)
        return self.known + (_mirrored(means, self.sign) if self.sign else means) * self.missing

    @cached_property
    def mean(self) -> float:
        return float(self.known.sum() / self.observed.sum())

    def transposed(self) -> FilledRelation:
        fill = SWAPPED.get(self.fill, self.fill) if isinstance(self.fill, str) else self.fill
        return FilledRelation(self.known.T, self.missing.T, fill, self.sign)


def _matrix(labels: Labels) -> np.ndarray:
    if labels.is_complete:
        return labels.Y
    flat = labels.rows * labels.shape[1] + labels.columns
    _, first, counts = np.unique(flat, return_index=True, return_counts=True)
    if (counts > 1).any():
        edge = int(first[np.argmax(counts > 1)])
        raise ValueError(
            f"the edge from row {labels.rows[edge]} to column {labels.columns[edge]} occurs "
            f"{counts.max()} times, and {int((counts > 1).sum())} edges are repeated: the two-step "
            "model needs one value per edge. Average the values of repeated edges first."
        )
    Y = np.full(labels.shape, np.nan)
    Y[labels.rows, labels.columns] = labels.y
    return Y


def _mirrored(Y: np.ndarray, sign: int) -> np.ndarray:
    """(Y ± Yᵀ)/2; a cell that is observed in one direction only gives both directions."""
    other = sign * Y.T
    mirrored = np.where(np.isnan(Y), other, np.where(np.isnan(other), Y, Y / 2 + other / 2))
    if sign == -1:
        np.fill_diagonal(mirrored, 0.0)
    return mirrored
