"""Greedy forward selection for quadratic losses over pairs: which features, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankwise.holdout.candidate_columns import CandidateColumns
from rankwise.holdout.greedy_any import AnyHoldouts
from rankwise.holdout.greedy_holdouts import GreedyCriterion, QueryHoldouts
from rankwise.holdout.greedy_pairs import PairCriterion
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from rankwise.losses.pair_losses import PairLoss
from rankwise.losses.quadratic_loss import FreeRows
from rankwise.metrics.ties import TIE
from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.progress import track
from rankwise.spaces.space import Features
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems, Supervision, pairs_within

Fold = tuple[np.ndarray, np.ndarray]


class Selection(NamedTuple):
    """`features` in the order of their selection, and the held-out error after each of them.

    Row k of `coefficients` (K, K) is the model of the first k + 1 features, trained on all items;
    `error_of_zero` is the error without any feature.
    """

    features: np.ndarray
    errors: np.ndarray
    error_of_zero: float
    coefficients: np.ndarray


class SelectionProblem:
    """Items X with scores or censored outcomes, a quadratic loss, and features to select from.

    `holdouts` are (held, tested) items of each hold-out, or None for leave-pair-out within queries.
    """

    def __init__(
        self,
        X: Matrix,
        supervision: Supervision,
        loss: PairLoss,
        alpha: float,
        holdouts: Sequence[Fold] | None,
    ):
        self.X, self.supervision, self.loss = X, supervision, loss
        self.alpha, self.holdouts = alpha, holdouts
        self._selected: list[int] = []
        beta = loss.quadratic(supervision).target.beta
        self._shrink = int(np.frexp(np.abs(beta).max(initial=0.0))[1])
        """Targets are divided by 2^shrink, so that their squares stay within range."""

    @property
    def holds_pairs_in_closed_form(self) -> bool:
        """Whether leave-pair-out costs O(m²) per candidate, not O(m³)."""
        rule = self.loss.holdout_rule(self.supervision)
        if not isinstance(rule, FreeRows) or self.supervision.n_items < 4:
            return False
        return bool(np.ptp(rule.weight) == 0)

    def select(self, n_features: int) -> Selection:
        """Take the candidate with the smallest held-out error, `n_features` times.

        Of candidates that differ by no more than rounding errors the first column wins.
        """
        criterion = self._criterion(n_features)
        zero = criterion.error_of_zero
        errors = np.empty(n_features)
        for step in track(range(n_features), n_features, "selecting features", least=5):
            judged = criterion.judge()
            judged[self._selected] = np.inf
            best = judged.min()
            rounding = TIE * best + 1e-14 * np.sqrt(max(best, 0.0) * zero) + 1e-28 * zero
            feature = int(np.argmax(judged <= best + rounding))
            errors[step] = judged[feature]
            self._selected.append(feature)
            if step + 1 < n_features:
                criterion.take(feature)
        with np.errstate(over="ignore"):
            errors, zero = np.ldexp(errors, 2 * self._shrink), np.ldexp(zero, 2 * self._shrink)
        if not np.isfinite(errors).all():
            raise ValueError(
                "y is so large that its squared differences overflow: divide y by its largest "
                "absolute value, and alpha stays as it is."
            )
        features = np.array(self._selected)
        return Selection(features, errors, float(zero), self._coefficients(features))

    def _criterion(self, n_features: int) -> GreedyCriterion:
        everything = np.arange(self.supervision.n_items)
        if self.holdouts is None:
            if self.holds_pairs_in_closed_form:
                return self._pairs(CandidateColumns(self.X, everything))
            held = [(pair, pair) for pair in pairs_within(self.supervision.queries)]
            return self._any_holdouts(held, n_features)
        if _leave_whole_queries(self.holdouts, self.supervision.queries):
            return self._query_holdouts(n_features)
        return self._any_holdouts(self.holdouts, n_features)

    def _any_holdouts(self, holdouts: Sequence[Fold], n_features: int) -> AnyHoldouts:
        columns = CandidateColumns(self.X, np.arange(self.supervision.n_items))
        told = (columns, self.supervision, self.loss, holdouts)
        return AnyHoldouts(*told, self.alpha, n_features, self._shrink)

    def _query_holdouts(self, n_features: int) -> QueryHoldouts:
        assert self.holdouts is not None
        order = np.concatenate([held for held, _ in self.holdouts])
        bounds = np.cumsum([len(held) for held, _ in self.holdouts])
        blocks = np.split(np.arange(len(order)), bounds[:-1])
        supervision = self.supervision.take(order)
        quadratic = self.loss.quadratic(supervision)
        beta = np.ldexp(quadratic.target.beta[:, 0], -self._shrink)
        columns = CandidateColumns(self.X, order)
        error = float(np.ldexp(self.loss.error_of_zero(supervision), -2 * self._shrink))
        told = (columns, quadratic.laplacian, beta, error, blocks)
        return QueryHoldouts(*told, self.alpha, n_features)

    def _pairs(self, columns: CandidateColumns) -> PairCriterion:
        assert isinstance(self.supervision, ScoredItems)
        m, v = self.supervision.n_items, float(self.supervision.weight[0])
        left = self.loss.weighting.scale((m - 2) * v, v * v * (m - 2) * (m - 3) / 2)
        alpha = self.alpha / (float(left) * v * v * (m - 2))
        scale = float(self.loss.query_scales(self.supervision)[0]) * v * v
        y = np.ldexp(self.supervision.shifted[:, 0], -self._shrink)
        return PairCriterion(columns, y, alpha, scale, self._refitted_pairs)

    def _refitted_pairs(self, feature: int) -> float:
        """Leave-pair-out with one more feature, by the hold-outs of RankRLS."""
        assert isinstance(self.supervision, ScoredItems)
        chosen = Features(dense(self.X[:, [*self._selected, feature]]))
        problem = QuadraticHoldouts(chosen, self.supervision, self.loss)
        pairs = pairs_within(self.supervision.queries)
        scores = problem.leave_pairs_out(pairs, [self.alpha])[0, :, :, 0]
        y, v = self.supervision.shifted[:, 0], self.supervision.weight
        left = (y[pairs[:, 0]] - y[pairs[:, 1]]) - (scores[:, 0] - scores[:, 1])
        scale = float(self.loss.query_scales(self.supervision)[0]) * v[0] * v[0]
        return float(scale * np.ldexp(left, -self._shrink) @ np.ldexp(left, -self._shrink))

    def _coefficients(self, features: np.ndarray) -> np.ndarray:
        """(K, K) models of the first features, trained on everything: one QR each, O(m k²)."""
        columns = CandidateColumns(self.X[:, features], np.arange(self.supervision.n_items))
        quadratic = self.loss.quadratic(self.supervision)
        Z = quadratic.laplacian.factor_t(columns.chosen(np.arange(len(features))))
        beta = np.ldexp(quadratic.target.beta[:, 0], -self._shrink)
        K = len(features)
        with np.errstate(over="ignore", under="ignore"):
            root = np.ldexp(np.sqrt(self.alpha), -columns.exponent)
        usable = np.isfinite(root)
        stacked = np.vstack([np.where(usable, Z, 0.0), np.diag(np.where(usable, root, 1.0))])
        norms = np.linalg.norm(stacked, axis=0)
        stacked /= norms
        target = np.concatenate([beta, np.zeros(K)])
        out = np.zeros((K, K))
        for k in range(1, K + 1):
            rows = np.r_[: len(beta), len(beta) : len(beta) + k]
            w = np.linalg.lstsq(stacked[rows, :k], target[rows], rcond=None)[0] / norms[:k]
            with np.errstate(over="ignore", under="ignore"):
                out[k - 1, :k] = np.ldexp(np.where(usable[:k], w, 0.0), -columns.exponent[:k])
        return np.ldexp(out, self._shrink)


def _leave_whole_queries(holdouts: Sequence[Fold], queries: Queries) -> bool:
    """Whether each query is held out once, with all its items, all of which are tested."""
    held = np.concatenate([held for held, _ in holdouts])
    if len(held) != queries.n_items or len(np.unique(held)) != queries.n_items:
        return False
    number = np.empty(queries.n_items, dtype=int)
    for h, (items, tested) in enumerate(holdouts):
        if len(items) != len(tested):
            return False
        number[items] = h
    return all(np.ptp(number[items]) == 0 for items in queries)
