"""Scores of items by models that were trained without them: in closed form, or by refitting."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from rankwise.evaluation.estimators import (
    as_items,
    check_estimator,
    fitted,
    gives_probabilities,
    scores_of,
)
from rankwise.evaluation.ties import TieRule
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries

PAIRS_AT_ONCE = 2_000_000


class HeldOut(ABC):
    """Held-out scores of one estimator on one data set, and which of them count as tied.

    `untaught` counts the trainings from which nothing could be learnt, because all items that
    stayed had the same score, out of `trained`; their predictions are 0.
    """

    ties: TieRule

    def __init__(self, estimator, X, y: np.ndarray, queries: Queries | None):
        self.estimator, self.y, self.queries = estimator, y, queries
        self.X = as_items(estimator, X)
        self.n_items = len(y)
        self.trained = self.untaught = 0

    @abstractmethod
    def without(self, index: np.ndarray, test: np.ndarray | None = None) -> np.ndarray:
        """(t,) scores of the items `test`, by default all of `index`, trained without `index`."""

    def each(self) -> np.ndarray:
        """(m,) scores of every item, trained without it."""
        items = np.arange(self.n_items)[:, None]
        return np.concatenate([self.without(i) for i in track(items, len(items), "leave-one-out")])

    @abstractmethod
    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        """(p, 2) scores of both items of each pair, trained without them."""

    def _count(self, taught) -> None:
        taught = np.atleast_1d(taught)
        self.trained += len(taught)
        self.untaught += int(len(taught) - np.count_nonzero(taught))

    def _teaches(self, train: np.ndarray) -> bool:
        y = self.y[train]
        if not len(y):
            return False
        if self.queries is None:
            return bool(np.any(y != y[0]))
        first = np.full(len(self.queries), y[0], dtype=y.dtype)
        codes = self.queries.codes[train]
        first[codes] = y
        return bool(np.any(first[codes] != y))

    def check_taught(self, way_out: str) -> None:
        if self.trained and self.trained == self.untaught:
            raise ValueError(
                "no training set holds two different values of y, so nothing was learnt: "
                f"{way_out}."
            )


class ClosedForm(HeldOut):
    """RLS and RankRLS, reduced sets included: one fit, every hold-out exact."""

    def __init__(self, estimator, X, y, queries):
        super().__init__(estimator, X, y, queries)
        qid = None if queries is None else queries.codes
        self.model = clone(estimator).fit(self.X, np.asarray(y, dtype=float), qid=qid)
        everything = np.arange(self.n_items)
        scores = scores_of(estimator, self.model, self.X, everything, everything)
        self.ties = TieRule.for_model(self.model, self.X, scores)

    def without(self, index, test=None):
        staying = np.setdiff1d(np.arange(self.n_items), index)
        test = index if test is None else test
        taught = isinstance(self.model, RLS) or self._teaches(staying)
        self._count(taught)
        if not taught:
            return np.zeros(len(test))
        index = np.sort(index)
        return self.model.holdout(index)[np.searchsorted(index, test)]

    def pairs(self, pairs):
        taught = self._taught(pairs)
        scores = np.zeros(pairs.shape)
        learnt = np.flatnonzero(taught)
        for chosen in np.split(learnt, range(PAIRS_AT_ONCE, len(learnt), PAIRS_AT_ONCE)):
            if len(chosen):
                scores[chosen] = self.model.leave_pair_out(pairs[chosen])
        return scores

    def each(self):
        taught = self._taught(np.arange(self.n_items)[:, None])
        return np.where(taught, self.model.leave_one_out(), 0.0)

    def _taught(self, held: np.ndarray) -> np.ndarray:
        """Which rows of `held` leave something to learn from: two values of y, unless pointwise."""
        taught = np.ones(len(held), dtype=bool)
        if isinstance(self.model, RankRLS):
            _, codes = np.unique(self.y, return_inverse=True)
            others = self.n_items - np.bincount(codes)
            for level in np.flatnonzero(others <= held.shape[1]):
                taught &= (codes[held] != level).sum(axis=1) < others[level]
        self._count(taught)
        return taught


class Refitting(HeldOut):
    """Any estimator, trained anew for every hold-out.

    `model` is trained on everything, `latest` was for the last hold-out; None if it learnt nothing.
    """

    latest = None

    def __init__(self, estimator, X, y, queries):
        super().__init__(estimator, X, y, queries)
        everything = np.arange(self.n_items)
        self.model = model = fitted(estimator, self.X, y, everything, queries)
        scores = scores_of(estimator, model, self.X, everything, everything)
        self.ties = TieRule.for_model(model, self.X, scores, gives_probabilities(estimator))

    def without(self, index, test=None):
        train = np.setdiff1d(np.arange(self.n_items), index)
        test = index if test is None else test
        try:
            if not len(train):
                raise ValueError("a fold holds out every item: nothing is left to learn from.")
            model = fitted(self.estimator, self.X, self.y, train, self.queries)
        except ValueError:
            if self._teaches(train):
                raise
            self._count(False)
            self.latest = None
            return np.zeros(len(test))
        self._count(True)
        self.latest = model
        return scores_of(self.estimator, model, self.X, test, train)

    def pairs(self, pairs):
        scores = np.empty(pairs.shape)
        for row, pair in track(enumerate(pairs), len(pairs), "leave-pair-out"):
            scores[row] = self.without(pair)
        return scores


def held_out(estimator, X, y, queries: Queries | None = None) -> HeldOut:
    """The cheapest exact way to hold items out of this estimator's training."""
    check_estimator(estimator)
    if _num_samples(X) != len(y):
        raise ValueError(f"X and y must have as many rows: X has {_num_samples(X)}, y {len(y)}.")
    closed = type(estimator) in (RLS, RankRLS)
    return (ClosedForm if closed else Refitting)(estimator, X, y, queries)
