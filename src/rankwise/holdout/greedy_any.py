"""Greedy selection by any hold-outs: folds that split queries, pairs of items, any loss."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from rankwise.holdout.candidate_columns import CandidateColumns
from rankwise.holdout.greedy_holdouts import CONSTANT, HoldoutCriterion, Step, Tile
from rankwise.losses.pair_losses import PairLoss
from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.memory import refuse_too_large
from rankwise.supervision.supervision import Supervision


class Holdout:
    """One hold-out: the problem of the items that train, and that of the tested items."""

    def __init__(
        self,
        supervision: Supervision,
        weighted: Supervision,
        loss: PairLoss,
        held: np.ndarray,
        tested: np.ndarray,
    ):
        """`weighted` has item weights with which every pair weighs what it weighs in training."""
        self._supervision, self._loss = supervision, loss
        self.training = np.setdiff1d(np.arange(supervision.n_items), held)
        self.tested = tested
        alone, pairs = weighted.take(tested), loss.counting_pairs()
        self.judged = pairs.quadratic(alone)
        self.error_of_zero = pairs.error_of_zero(alone)

    @cached_property
    def problem(self) -> Quadratic | None:
        """The problem of the training items, None if there are none."""
        if not len(self.training):
            return None
        return self._loss.quadratic(self._supervision.take(self.training))

    @property
    def judges_nothing(self) -> bool:
        """Whether no two tested items form a pair that counts."""
        signs = np.random.default_rng(0).uniform(1, 2, size=(len(self.tested), 1))
        return not self.judged.laplacian.factor_t(signs).any()

    @property
    def target(self) -> np.ndarray:
        return self.judged.target.beta[:, 0]

    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Rᵀ X of the training items."""
        if self.problem is None:
            return np.zeros((0, X.shape[1]))
        return self.problem.laplacian.factor_t(X[self.training])

    def pulled(self, x: np.ndarray, m: int) -> np.ndarray:
        """(m,): L_h x, zero for items that do not train."""
        out = np.zeros(m)
        if self.problem is not None:
            out[self.training] = self.problem.laplacian.apply(x[self.training, None])[:, 0]
        return out

    def tested_rows(self, X: np.ndarray) -> np.ndarray:
        return self.judged.laplacian.factor_t(X[self.tested])


class AnyHoldouts(HoldoutCriterion):
    """Hold-outs of any items, each trained on its own: exact for every loss and weighting.

    O(m) for each hold-out, candidate and step. Leave-pair-out has O(m²) hold-outs: O(m³) per
    candidate and step.
    """

    def __init__(
        self,
        columns: CandidateColumns,
        supervision: Supervision,
        loss: PairLoss,
        holdouts: Sequence[tuple[np.ndarray, np.ndarray]],
        alpha: float,
        n_features: int,
        shrink: int,
    ):
        """`holdouts` are (held, tested) items. Targets are divided by 2^shrink."""
        super().__init__(columns, alpha, n_features)
        way_out = "select from fewer items or features, or give a number of folds as cv"
        refuse_too_large(len(holdouts), columns.n + columns.m, "sums over hold-outs", way_out, 4)
        weighted = copy(supervision)
        scales = loss.query_scales(supervision)
        weighted.weight = supervision.weight * np.sqrt(scales[supervision.queries.codes])
        every = (Holdout(supervision, weighted, loss, *fold) for fold in holdouts)
        self._holdouts = [holdout for holdout in every if not holdout.judges_nothing]
        if not self._holdouts:
            raise ValueError(
                "cv holds out no pair of items that counts: give larger folds, or none."
            )
        targets = [holdout.target for holdout in self._holdouts]
        self.starts = np.concatenate(([0], np.cumsum([len(target) for target in targets])))
        self.residuals = np.ldexp(np.concatenate(targets), -shrink)
        error = sum(holdout.error_of_zero for holdout in self._holdouts)
        self.error_of_zero = float(np.ldexp(error, -2 * shrink))
        self._shrink = shrink
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(columns.m, 1))
        rows = loss.quadratic(supervision).laplacian.factor_t(signs)
        self._unit = float(np.ldexp(1.0, -np.frexp(np.abs(rows).max())[1]))
        self._taken = np.zeros((columns.m, n_features))
        self._begin()

    def _sums(
        self, low: int, high: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        X = self.columns.rows(low, high)
        N, S = np.zeros((2, high - low, self.n_holdouts))
        tested = np.empty((high - low, self.starts[-1]))
        for h, holdout in enumerate(self._holdouts):
            Z = holdout.training_rows(X) * self._unit
            Z[:, np.abs(Z).max(axis=0, initial=0.0) <= CONSTANT] = 0.0
            S[:, h] = np.einsum("rw,rw->w", Z, Z)
            if holdout.problem is not None:
                N[:, h] = Z.T @ np.ldexp(holdout.problem.target.beta[:, 0], -self._shrink)
            rows = holdout.tested_rows(X) * self._unit
            tested[:, self.starts[h] : self.starts[h + 1]] = rows.T
        unit = np.full(high - low, self._unit)
        return tested, N, S, unit, np.zeros((0, 2), dtype=int)

    def _gram(self, feature: int) -> np.ndarray:
        k = len(self.selected)
        self._taken[:, k] = x = self.columns.chosen(np.array([feature]))[:, 0]
        pulled = [holdout.pulled(x, self.columns.m) for holdout in self._holdouts]
        return np.stack(pulled) @ self._taken[:, :k] * self._unit**2

    def _step(self, coefficients: np.ndarray, pull: np.ndarray) -> Step:
        found = self._taken[:, : len(self.selected)] @ coefficients
        separate, tested = np.empty(found.shape), np.empty(self.starts[-1])
        for h, holdout in enumerate(self._holdouts):
            separate[:, h] = holdout.pulled(found[:, h], self.columns.m)
            rows = holdout.tested_rows(found[:, h : h + 1])[:, 0] * self._unit
            tested[self.starts[h] : self.starts[h + 1]] = rows
        nothing = np.zeros(0)
        return Step(coefficients, tested, pull, nothing, nothing, separate * self._unit**2)

    def _products(self, tile: Tile, step: Step) -> np.ndarray:
        assert step.separate is not None
        T = self.columns.dot(tile.low, tile.high, step.separate)
        T[tile.S_0 == 0] = 0.0
        return T
