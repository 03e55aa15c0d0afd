"""Scores of items by models that were trained without them: in closed form, or by refitting."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from rankwise.evaluation.estimators import (
    ExistingRanking,
    as_items,
    check_estimator,
    fitted,
    gives_probabilities,
    has_closed_form,
    scores_of,
)
from rankwise.evaluation.truths import Truth, supervision_of
from rankwise.exceptions import EstimateWarning
from rankwise.holdout.protocol import HeldOut
from rankwise.losses.item_concordance import item_concordance
from rankwise.metrics.ties import TieRule
from rankwise.model_selection.dependent_rows import warn_of_dependent_rows
from rankwise.numerics.progress import track
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import Queries

PAIRS_AT_ONCE = 2_000_000


class UnseenScores(ABC):
    """Held-out scores of one estimator on one data set, and the rule that says which are tied.

    `trained` counts the training sets so far. `untaught` counts those from which nothing could be
    learnt, because they held no pair of items in a known order; the predictions are then 0.
    """

    def __init__(
        self,
        est: BaseEstimator,
        X: ArrayLike,
        y: Truth,
        queries: Queries | None,
        groups: Queries | None = None,
    ):
        self.estimator, self.X, self.y, self.queries = est, as_items(est, X), y, queries
        self.groups = groups
        self.n_items = len(y)
        self.trained = self.untaught = 0
        self.ties = TieRule.for_items(self.X, self._prepare(), gives_probabilities(est))
        if queries is None and groups is None and not get_tags(est).input_tags.pairwise:
            warn_of_dependent_rows(self.X, y, stacklevel=4)

    @abstractmethod
    def _prepare(self) -> np.ndarray:
        """Fit on all items, and return term sizes, or scores, by which ties are recognised."""

    @abstractmethod
    def without(self, held: np.ndarray, test: np.ndarray | None = None) -> np.ndarray:
        """(t,) scores of `test`, by default of `held`, by the model trained without `held`."""

    def each(self) -> np.ndarray:
        """(m,) the score of each item by the model trained without it."""
        items = np.arange(self.n_items)[:, None]
        return np.concatenate([self.without(i) for i in track(items, len(items), "leave-one-out")])

    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        """(p, 2) scores of both items of each pair by the model trained without both.

        With groups the model is trained without all items of the groups of both.
        """
        return self._single_pairs(pairs) if self.groups is None else self._group_pairs(pairs)

    @abstractmethod
    def _single_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """The same if each item is a group of its own."""

    def _group_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """One hold-out for every pair of groups, from which all pairs between them are read."""
        assert self.groups is not None
        codes = np.sort(self.groups.codes[pairs], axis=1)
        keys, which = np.unique(codes[:, 0] * len(self.groups) + codes[:, 1], return_inverse=True)
        rows_of = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        scores = np.empty(pairs.shape)
        for rows in track(rows_of, len(keys), "pairs of groups"):
            both = np.unique(codes[rows[0]])
            held = np.sort(np.concatenate([self.groups.members(group) for group in both]))
            scores[rows] = self.without(held)[np.searchsorted(held, pairs[rows])]
        return scores

    def teaches(self, train: np.ndarray) -> bool:
        """Whether the order of two of these items, of the same query, is known."""
        if not len(train):
            return False
        queries = None if self.queries is None else self.queries.take(train)
        return bool(supervision_of(self.y[train], queries).prefers().any())

    def refuse_untaught(self, way_out: str) -> None:
        """Raise an error if nothing could be learnt from any training set."""
        if self.trained and self.trained == self.untaught:
            lacking = "two different values of y"
            if isinstance(self.y, Censored):
                lacking, way_out = "a comparable pair", "more items with the event are needed"
            raise ValueError(f"no training set holds {lacking}, so nothing was learnt: {way_out}.")

    def report_untaught(self) -> None:
        """The same for two classes, with a warning if some training sets held only one class."""
        self.refuse_untaught("each class needs two items or more")
        if self.untaught:
            lack = "no comparable pair" if isinstance(self.y, Censored) else "only one class"
            warnings.warn(
                f"{self.untaught} of {self.trained} training sets hold {lack}; the items that they "
                "leave out are scored 0.",
                EstimateWarning,
                stacklevel=4,
            )

    def _count(self, taught: np.ndarray | bool) -> None:
        self.trained += np.size(taught)
        self.untaught += int(np.size(taught) - np.count_nonzero(taught))

    def _hold_outs(self, y: Truth) -> HeldOut:
        qid = None if self.queries is None else self.queries.codes
        return self.estimator.hold_outs(self.X, y, qid=qid)


class ClosedFormScores(UnseenScores):
    """An estimator with closed-form hold-outs: one decomposition, and no refits."""

    def _prepare(self) -> np.ndarray:
        self._alphas = [self.estimator.alpha]
        self._problem = self._hold_outs(self.y)
        self._learns_from_equal_scores = self._accepts_equal_scores()
        return self._problem.term_sizes(self.estimator.alpha)

    def _accepts_equal_scores(self) -> bool:
        """Pointwise losses learn from items with equal scores; pairwise ones refuse them."""
        if isinstance(self.y, Censored):
            return False
        try:
            self._hold_outs(np.zeros(self.n_items))
        except ValueError:
            return False
        return True

    def without(self, held: np.ndarray, test: np.ndarray | None = None) -> np.ndarray:
        test = held if test is None else test
        staying = np.setdiff1d(np.arange(self.n_items), held)
        taught = self._learns_from_equal_scores or self.teaches(staying)
        self._count(taught)
        if not taught:
            return np.zeros(len(test))
        held = np.sort(held)
        return self._problem.without(held, self._alphas)[0][np.searchsorted(held, test), 0]

    def _single_pairs(self, pairs: np.ndarray) -> np.ndarray:
        scores = np.zeros(pairs.shape)
        taught = np.flatnonzero(self._taught(pairs))
        for start in range(0, len(taught), PAIRS_AT_ONCE):
            chosen = taught[start : start + PAIRS_AT_ONCE]
            scores[chosen] = self._problem.leave_pairs_out(pairs[chosen], self._alphas)[0, ..., 0]
        return scores

    def each(self) -> np.ndarray:
        taught = self._taught(np.arange(self.n_items)[:, None])
        return np.where(taught, self._problem.leave_each_out(self._alphas)[0, :, 0], 0.0)

    def _taught(self, held: np.ndarray) -> np.ndarray:
        """(p,) whether the items without row i of `held` (p, u ≤ 2) still have a pair to order."""
        taught = np.ones(len(held), dtype=bool)
        if not self._learns_from_equal_scores:
            told = supervision_of(self.y, self.queries)
            counted, _ = item_concordance(self.y, np.zeros(self.n_items), told.queries)
            left = counted.sum() / 2 - counted[held].sum(axis=1)
            if held.shape[1] == 2:  # the pair of the two was subtracted twice
                left += told.differences(held)[:, 0] != 0
            taught = left > 0
        self._count(taught)
        return taught


class RefittedScores(UnseenScores):
    """Any estimator, refitted for each hold-out.

    `model` is trained on all items. `chosen` lists what the estimator chose in each hold-out: the
    alpha, the C or the best parameters of a search. It is None for an estimator without such a
    choice, and if there was nothing to learn from.
    """

    def _prepare(self) -> np.ndarray:
        est, everything = self.estimator, np.arange(self.n_items)
        self.chosen: list = []
        self.model = self.fitted(everything)
        if has_closed_form(est):
            return self._hold_outs(self.y).term_sizes(est.alpha)
        return scores_of(est, self.model, self.X, everything, everything)

    def fitted(self, train: np.ndarray) -> BaseEstimator:
        return fitted(self.estimator, self.X, self.y, train, self.queries, self.groups)

    def without(self, held: np.ndarray, test: np.ndarray | None = None) -> np.ndarray:
        test = held if test is None else test
        train = np.setdiff1d(np.arange(self.n_items), held)
        try:
            if not len(train):
                raise ValueError("a fold holds out every item: nothing is left to learn from.")
            model = self.fitted(train)
        except ValueError:
            if self.teaches(train):
                raise
            self._count(False)
            self.chosen.append(None)
            return np.zeros(len(test))
        self._count(True)
        names = ("alpha_", "C_", "best_params_")
        self.chosen.append(next((getattr(model, n) for n in names if hasattr(model, n)), None))
        return scores_of(self.estimator, model, self.X, test, train)

    def _single_pairs(self, pairs: np.ndarray) -> np.ndarray:
        scores = np.empty(pairs.shape)
        for row, pair in track(enumerate(pairs), len(pairs), "leave-pair-out"):
            scores[row] = self.without(pair)
        return scores


class GivenScores(UnseenScores):
    """Existing scores of all items, which are the same whatever is held out."""

    def __init__(
        self,
        ranking: ExistingRanking,
        y: Truth,
        queries: Queries | None,
        groups: Queries | None = None,
    ):
        ranking.check_length(len(y))
        self.scores, self.y, self.queries, self.groups = ranking.scores, y, queries, groups
        self.n_items = len(y)
        self.trained = self.untaught = 0
        self.ties = TieRule(twins=None)  # equal rows of X may well have different existing scores

    def _prepare(self) -> np.ndarray:
        return self.scores

    def without(self, held: np.ndarray, test: np.ndarray | None = None) -> np.ndarray:
        return self.scores[held if test is None else test]

    def _single_pairs(self, pairs: np.ndarray) -> np.ndarray:
        return self.scores[pairs]

    def pairs(self, pairs: np.ndarray) -> np.ndarray:
        return self.scores[pairs]


def unseen_scores(
    estimator: BaseEstimator | ExistingRanking,
    X: ArrayLike | None,
    y: Truth,
    queries: Queries | None = None,
    groups: Queries | None = None,
) -> UnseenScores:
    """The cheapest exact way to hold items out of the training of this estimator."""
    if isinstance(estimator, ExistingRanking):
        return GivenScores(estimator, y, queries, groups)
    check_estimator(estimator)
    if X is None:
        raise ValueError("X is None: only a comparison of existing scores needs no items.")
    if _num_samples(X) != len(y):
        raise ValueError(f"X and y must have as many rows: X has {_num_samples(X)}, y {len(y)}.")
    scores = ClosedFormScores if has_closed_form(estimator) else RefittedScores
    return scores(estimator, X, y, queries, groups)
