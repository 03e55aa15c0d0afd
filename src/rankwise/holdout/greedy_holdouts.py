"""Greedy selection of features by held-out error: every candidate tried on every hold-out.

Each hold-out h trains on its own part, with Laplacian L_h and target b_h, and is judged on its
tested rows. Features are taken one after the other. For hold-out h the residual operator of the
features S taken so far is

    M_h = I − Σ_j x̂_j x̂_jᵀ L_h ,      x̂_j = M_h x_j / √(λ + x_jᵀ L_h M_h x_j)       (rank 1 each)

so a candidate x, of which the sums N = xᵀ(b_h − L_h f), S = xᵀ L_h M_h x and the tested rows
x̃ = (M_h x)_tested are known, has the coefficient w = N/(λ + S), and changes the tested residuals
to ρ − w x̃. When feature c is taken, T = x̂_cᵀ L_h x updates all three: S − T², N − T x̂_cᵀb_h,
x̃ − T x̂_c. (Pahikkala, Airola, Naula, Salakoski 2010, Greedy RankRLS; chapter 4.1.3 of the thesis.)
Nothing is subtracted from sums over all items, so a query with all the leverage costs no digits.

`QueryHoldouts` leave whole queries out, O(m) per candidate and step; `AnyHoldouts` leave anything
out, at O(m) for each hold-out, candidate and step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankwise.holdout.candidate_columns import CandidateColumns
from rankwise.losses.laplacian import Laplacian
from rankwise.numerics.compiled import compiled
from rankwise.numerics.memory import available_memory
from rankwise.numerics.threads import one_blas_thread, run

NOTHING = 1e-11
"""A candidate whose λ + S is smaller than this share of xᵀ L_h x adds nothing to the others."""
CONSTANT = 1e-14
"""A column whose differences are smaller, as a share of its values, is constant up to rounding."""
CONCENTRATED = 1e-3
"""If less of a column than this lies outside a query, its sums are not taken as differences."""


class GreedyCriterion(ABC):
    """The held-out error of the features taken so far with each further candidate.

    `error_of_zero` is the error of the same pairs without any feature.
    """

    error_of_zero: float

    @abstractmethod
    def judge(self) -> np.ndarray:
        """(n,) the held-out error with each candidate; the features taken so far are included."""

    @abstractmethod
    def take(self, feature: int) -> None:
        """Add a feature for good."""


@dataclass
class Tile:
    """The candidates low to high: rows of `tested` (width, r); `N`, `S`, `S_0` (width, H).

    `C` (width, K) are the products with the features taken so far, `penalty` is λ in the units of
    the scaled columns, and `unit` (width,) the factor between the columns and their rows in the
    space of the hold-outs. `taken` counts the features that the tile has seen.
    """

    low: int
    high: int
    tested: np.ndarray
    N: np.ndarray
    S: np.ndarray
    S_0: np.ndarray
    C: np.ndarray
    penalty: np.ndarray
    unit: np.ndarray
    concentrated: np.ndarray
    taken: int = 0


class Step(NamedTuple):
    """What tiles need to know of a feature that was taken.

    Its x̂ for each hold-out: `coefficients` (k, H) of the features up to this one, `tested` (r,) its
    tested rows and `pull` (H,) = x̂ᵀ b_h. `whole`, `part` and `separate` are sums for `products`.
    """

    coefficients: np.ndarray
    tested: np.ndarray
    pull: np.ndarray
    whole: np.ndarray
    part: np.ndarray
    separate: np.ndarray | None


class HoldoutCriterion(GreedyCriterion):
    """What both kinds of hold-outs share: tiles of candidates, and the x̂ of features taken.

    `starts` (H + 1,) bound the tested rows of each hold-out. A tile is kept from step to step if
    all fit in memory, otherwise it is made again and goes through all the steps so far.
    """

    def __init__(self, columns: CandidateColumns, alpha: float, n_features: int):
        self.columns, self.alpha, self._n_features = columns, alpha, n_features
        self.starts: np.ndarray
        self.residuals: np.ndarray
        self.selected: list[int] = []
        self._steps: list[Step] = []
        self._tiles: list[Tile | None] = [None] * len(columns.tiles)

    @property
    def n_holdouts(self) -> int:
        return len(self.starts) - 1

    def _begin(self) -> None:
        """After the hold-outs are known: room for the x̂, and whether tiles are kept."""
        # Targets z that no scores have exactly leave an error that no model changes.
        self._constant = self.error_of_zero - float(self.residuals @ self.residuals)
        K, H = self._n_features, self.n_holdouts
        self._coefficients = np.zeros((H, K, K))
        needed = 8.0 * self.columns.n * (self.starts[-1] + 3 * H + K)
        free = available_memory()
        self._keeps = free is None or needed < 0.6 * free

    @abstractmethod
    def _sums(
        self, low: int, high: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`tested`, N, S, `unit` and the mask of `concentrated` sums for new candidates."""

    @abstractmethod
    def _gram(self, feature: int) -> np.ndarray:
        """(H, k): x_jᵀ L_h x_feature for the features j taken so far."""

    @abstractmethod
    def _step(self, coefficients: np.ndarray, pull: np.ndarray) -> Step:
        """The step that takes the last of `selected`."""

    @abstractmethod
    def _products(self, tile: Tile, step: Step) -> np.ndarray:
        """(width, H): T = x̂ᵀ L_h x for each candidate of the tile."""

    def judge(self) -> np.ndarray:
        tasks = [partial(self._judge_tile, t) for t in range(len(self._tiles))]
        with one_blas_thread():
            parts = run(tasks)
        return np.concatenate(parts) + self._constant

    def _judge_tile(self, number: int) -> np.ndarray:
        tile = self._current(number)
        errors = np.empty(tile.high - tile.low)
        columns = (tile.tested, tile.N, tile.S, tile.S_0, tile.penalty)
        held_out_errors(columns, self.starts, self.residuals, errors)
        return errors

    def _current(self, number: int) -> Tile:
        """The tile after all steps."""
        tile = self._tiles[number]
        if tile is None:
            low, high = self.columns.tiles[number]
            tile = self._new_tile(low, high)
        if self._keeps:
            self._tiles[number] = tile
        for step in self._steps[tile.taken :]:
            T = self._products(tile, step)
            take_feature((tile.tested, tile.N, tile.S), T, self.starts, step.tested, step.pull)
            tile.taken += 1
        return tile

    def _new_tile(self, low: int, high: int) -> Tile:
        tested, N, S, unit, concentrated = self._sums(low, high)
        C = np.zeros((high - low, self._n_features))
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            size = np.ldexp(1.0 / unit, self.columns.exponent[low:high])
            penalty = (np.sqrt(self.alpha) / size) ** 2
        return Tile(low, high, tested, N, S.copy(), S, C, penalty, unit, concentrated)

    def take(self, feature: int) -> None:
        """Add a feature: O(m H) for its x̂, and one pass over the tiles when they are next judged.

        Every tile must have been judged after the previous step.
        """
        number = next(t for t, (_, high) in enumerate(self.columns.tiles) if feature < high)
        tile = self._current(number)
        b = feature - tile.low
        k = len(self.selected)
        room = tile.penalty[b] + tile.S[b]
        counted = room > NOTHING * tile.S_0[b]
        with np.errstate(divide="ignore"):
            scale = np.where(counted & (tile.S_0[b] > 0), 1.0 / np.sqrt(room), 0.0)
        earlier = self._coefficients[:, :k, :k]
        along = np.einsum("hji,hi->hj", earlier, self._gram(feature))
        new = np.ones((self.n_holdouts, k + 1))
        new[:, :k] = -np.einsum("hji,hj->hi", earlier, along)
        new *= scale[:, None]
        self._coefficients[:, k, : k + 1] = new
        pull = tile.N[b] * scale
        self.selected.append(feature)
        step = self._step(np.ascontiguousarray(new.T), pull)
        self._steps.append(step)
        sizes = np.diff(self.starts)
        self.residuals = self.residuals - step.tested * np.repeat(pull, sizes)


def without_each(blocks: np.ndarray) -> np.ndarray:
    """(w, H): the sum of all other columns; nothing is subtracted, so no digits are lost."""
    zero = np.zeros((len(blocks), 1))
    before = np.cumsum(np.hstack([zero, blocks[:, :-1]]), axis=1)
    after = np.cumsum(np.hstack([zero, blocks[:, :0:-1]]), axis=1)[:, ::-1]
    return before + after


class QueryHoldouts(HoldoutCriterion):
    """Hold-outs of whole queries (or of several queries together), one after the other.

    Rows of the ridge problem Rᵀx leave in blocks: those of the items starts[h] to starts[h + 1].
    L_h is L without its block, so products with all hold-outs are one product with everything
    less one with the own block: O(nnz + k H) per candidate and step, nnz being at most m.
    """

    def __init__(
        self,
        columns: CandidateColumns,
        laplacian: Laplacian,
        beta: np.ndarray,
        error_of_zero: float,
        blocks: list[np.ndarray],
        alpha: float,
        n_features: int,
    ):
        """`blocks` are consecutive items; `beta` (r,) is the target, b = R β."""
        super().__init__(columns, alpha, n_features)
        self.error_of_zero = error_of_zero
        self._laplacian = laplacian
        rows = [laplacian.rows_of(items) for items in blocks]
        self._order = np.concatenate(rows)
        self.starts = np.concatenate(([0], np.cumsum([len(part) for part in rows])))
        self._item_starts = np.concatenate(([0], np.cumsum([len(items) for items in blocks])))
        self.residuals = self._beta = beta[self._order]
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(columns.m, 1))
        self._typical = float(np.abs(laplacian.factor_t(signs)).max(initial=0.0))
        self._taken_rows = np.zeros((len(self._order), n_features))
        self._concentrates = False
        self._begin()

    def _rows(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(width, r) rows of columns (m, width), scaled so that the largest is near 1; the unit."""
        Z = np.ascontiguousarray(self._laplacian.factor_t(X)[self._order].T)
        largest = np.abs(Z).max(axis=1, initial=0.0)
        Z[largest <= CONSTANT * self._typical] = 0.0
        unit = np.ldexp(1.0, -np.frexp(largest)[1])
        Z *= unit[:, None]
        return Z, unit

    def _blocks(self, values: np.ndarray) -> np.ndarray:
        """(width, H) sums over the rows of each hold-out; hold-outs may have no rows."""
        sums = np.zeros((len(values), self.n_holdouts))
        filled = np.flatnonzero(np.diff(self.starts))
        sums[:, filled] = np.add.reduceat(values, self.starts[filled], axis=1)
        return sums

    def _sums(
        self, low: int, high: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        Z, unit = self._rows(self.columns.rows(low, high))
        S = without_each(self._blocks(Z * Z))
        N = without_each(self._blocks(Z * self._beta))
        total = np.einsum("wr,wr->w", Z, Z)
        concentrated = np.argwhere((CONCENTRATED * total[:, None] > S) & (S > 0))
        self._concentrates |= len(concentrated) > 0
        return Z, N, S, unit, concentrated

    def _gram(self, feature: int) -> np.ndarray:
        k = len(self.selected)
        z = self._rows(self.columns.chosen(np.array([feature])))[0][0]
        self._taken_rows[:, k] = z
        products = self._blocks((self._taken_rows[:, :k] * z[:, None]).T)
        return without_each(products).T if k else np.zeros((self.n_holdouts, 0))

    def _step(self, coefficients: np.ndarray, pull: np.ndarray) -> Step:
        rows = self._taken_rows[:, : len(self.selected)]
        sizes = np.diff(self.starts)
        own = np.einsum("rk,kr->r", rows, np.repeat(coefficients, sizes, axis=1))
        whole, part = np.ascontiguousarray(self._to_items(np.stack([rows[:, -1], own], axis=1)).T)
        separate = None
        if self._concentrates:
            separate = rows @ coefficients
            for h, (low, high) in enumerate(pairwise(self.starts)):
                separate[low:high, h] = 0.0
            separate = self._to_items(separate)
        return Step(coefficients, own, pull, whole, part, separate)

    def _to_items(self, rows: np.ndarray) -> np.ndarray:
        """R times rows in the order of the hold-outs."""
        placed = np.zeros((self._laplacian.rank, rows.shape[1]))
        placed[self._order] = rows
        return self._laplacian.factor(placed)

    def _products(self, tile: Tile, step: Step) -> np.ndarray:
        k = len(step.coefficients)
        low, high, unit = tile.low, tile.high, tile.unit[:, None]
        total, own = self.columns.block_dots(low, high, step.whole, step.part, self._item_starts)
        tile.C[:, k - 1] = total * tile.unit
        T = tile.C[:, :k] @ step.coefficients - own * unit
        if len(tile.concentrated):
            assert step.separate is not None
            b, h = tile.concentrated.T
            T[b, h] = self.columns.pair_dots(low + b, step.separate, h) * tile.unit[b]
        T[tile.S_0 == 0] = 0.0
        return T


@compiled
def held_out_errors(columns, starts, residuals, errors):  # type: ignore[no-untyped-def]
    """errors (w,): Σ (ρ − w x̃)² over all tested rows, with each candidate added."""
    tested, N, S, S_0, penalty = columns
    for b in range(len(errors)):
        total = 0.0
        for h in range(len(starts) - 1):
            room = penalty[b] + S[b, h]
            w = N[b, h] / room if room > NOTHING * S_0[b, h] else 0.0
            mine = 0.0
            for i in range(starts[h], starts[h + 1]):
                left = residuals[i] - w * tested[b, i]
                mine += left * left
            total += mine
        errors[b] = total


@compiled
def take_feature(columns, T, starts, taken, pull):  # type: ignore[no-untyped-def]
    """Update the sums and tested rows of all candidates after a feature was taken."""
    tested, N, S = columns
    for b in range(len(T)):
        for h in range(len(starts) - 1):
            t = T[b, h]
            if t == 0.0:
                continue
            S[b, h] = max(S[b, h] - t * t, 0.0)
            N[b, h] -= t * pull[h]
            for i in range(starts[h], starts[h + 1]):
                tested[b, i] -= t * taken[i]
