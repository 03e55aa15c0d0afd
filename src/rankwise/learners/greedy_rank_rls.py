"""GreedyRankRLS: a ranker with few features, chosen by exact cross-validation."""

from __future__ import annotations

import warnings
from copy import copy
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import EstimateWarning
from rankwise.holdout.greedy_selection import SelectionProblem
from rankwise.learners.ranker import LINEAR, Ranker
from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.losses.pair_losses import PairCost
from rankwise.model_selection.folds import DEFAULT_FOLDS, Folds, Splits, group_labels
from rankwise.spaces.representation import Representation
from rankwise.supervision.censored import read_censored
from rankwise.validation import (
    check_count,
    check_items,
    check_positive,
    check_scores,
    refuse_extreme_weights,
)

MOST_WORK = 2e11
"""cv="auto" leaves pairs out if that takes fewer elementary steps: a few minutes on two cores."""
MOST_PAIRS = 20_000
"""The most pairs that cv="auto" leaves out if each of them is trained on its own."""


class GreedyRankRLS(SelectorMixin, Ranker):
    """RankRLS with few features: one is added at a time, the one with the least held-out error.

    Minimises Σ_pairs w² (z − (f_h − f_j))² + alpha‖w‖² over the selected features. The criterion
    is the same sum over pairs with predictions of models that were trained without the pair's
    query (leave-query-out) or without both of its items (leave-pair-out). Pahikkala, Airola,
    Naula, Salakoski (2010). All candidates of a step are judged by rank-1 updates, equal to
    refitting every one of them:

    * leave-query-out, or folds of whole queries, any loss: O(k (m n + k q n)) for k features, q
      queries; a sparse X needs O(nnz) in place of m n for its products
    * leave-pair-out without queries, magnitude loss with equal weights, ties kept or absent:
      O(k m² n), as the sum over pairs has no shorter form
    * other leave-pair-out, folds that split queries: O(m) for each hold-out, candidate and step

    The smallest criterion is too good an estimate of the error, because it was chosen as the
    smallest: see rankwise.evaluation.selection_curve for an honest one beside it.

    Parameters
    ----------
    n_features_to_select : int ≥ 1
        If X has fewer columns, all are taken, with a warning.
    alpha : float > 0
        Strength of regularisation.
    loss, ties, query_weight
        As in RankRLS.
    cv
        "leave-query-out", "leave-pair-out", a number of folds (of whole queries where there are
        queries), a splitter, or folds; pairs of items that are tested together count. "auto":
        leave-query-out with queries, else leave-pair-out; if that would take more than 2e11
        elementary steps (k n m²/2 with the magnitude loss, k n m³/2 with others), 10 folds, and an
        EstimateWarning says so.

    Attributes
    ----------
    selected_
        (k,) column numbers in the order of their selection.
    criterion_
        (k,) the held-out error after each of them.
    criterion_of_none_
        The error without any feature.
    coef_
        (n,) zero for all other columns.
    coef_path_
        (k, k), row i holds the coefficients of the first i + 1 features.
    cv_
        What was held out, in words.
    n_features_in_, feature_names_in_
        Of X.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import GreedyRankRLS
    >>> X = np.random.default_rng(0).normal(size=(40, 30))
    >>> y = 2 * X[:, 7] - X[:, 3]
    >>> model = GreedyRankRLS(2).fit(X, y)
    >>> model.selected_
    array([7, 3])
    >>> model.transform(X).shape
    (40, 2)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}
    kernel = "linear"
    selected_: np.ndarray
    criterion_: np.ndarray
    criterion_of_none_: float
    coef_path_: np.ndarray

    def __init__(
        self,
        n_features_to_select: int = 10,
        alpha: float = 1.0,
        *,
        loss: str | PairCost = "magnitude",
        ties: str = "keep",
        query_weight: str = "pairs",
        cv: Splits = "auto",
    ):
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.loss = loss
        self.ties = ties
        self.query_weight = query_weight
        self.cv = cv

    def fit(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> GreedyRankRLS:
        """Select features and learn from scores y (m,), within queries if qid is given.

        y may also be a rankwise.Censored, whose comparable pairs count. A pair weighs v_i v_j with
        sample_weight v, in training and in the criterion. Items of one group (a patient, a
        document) are always held out together; without queries cv="auto" is then 10 folds of
        groups, and "leave-pair-out" is refused.
        """
        wanted = check_count("n_features_to_select", self.n_features_to_select)
        alpha = check_positive("alpha", self.alpha)
        loss = quadratic_loss(self.loss, self.ties, self.query_weight)
        X = check_items(self, X, reset=True)
        m, n = X.shape
        if read_censored(y) is None:
            y = column_or_1d(check_scores(y, m), warn=True)
        supervision, _ = self._told_items(m, y, qid, sample_weight)
        refuse_extreme_weights(supervision.weight)
        supervision.check()
        if wanted > n:
            warnings.warn(
                f"n_features_to_select={wanted}, but X has {n} columns: all of them are taken, in "
                "the order of their use.",
                UserWarning,
                stacklevel=3,
            )
        problem = SelectionProblem(X, supervision, loss, alpha, [])
        folds = self._folds(problem, min(wanted, n), groups)
        problem.holdouts = None if folds.is_leave_pair_out else folds.splits
        self.cv_ = str(folds)
        found = problem.select(min(int(wanted), n))
        self.criterion_of_none_, self._has_queries = found.error_of_zero, qid is not None
        self._set_selection(found.features, found.errors, found.coefficients)
        return self

    def _set_selection(
        self, features: np.ndarray, errors: np.ndarray, coefficients: np.ndarray
    ) -> None:
        self.selected_, self.criterion_, self.coef_path_ = features, errors, coefficients
        self.coef_ = np.zeros(self.n_features_in_)
        self.coef_[features] = coefficients[-1]
        self._remember_parameters()

    def _folds(self, problem: SelectionProblem, k: int, groups: Any) -> Folds:
        queries, cv = problem.supervision.queries, self.cv
        labels = problem.supervision.for_splitters()
        if isinstance(cv, str) and cv == "leave-one-out":
            raise ValueError(
                "cv='leave-one-out' never holds out both items of a pair: give "
                "'leave-pair-out' or a number of folds."
            )
        if groups is not None:
            if isinstance(cv, str) and cv == "leave-pair-out":
                raise ValueError(
                    "cv='leave-pair-out' with groups is not offered: give a number of folds, which "
                    "keep groups whole."
                )
            if isinstance(cv, str) and cv == "auto" and len(queries) == 1:
                together = group_labels(groups, queries.n_items)
                cv = min(DEFAULT_FOLDS, 0 if together is None else len(together))
            return Folds(cv, queries, labels, groups)
        if isinstance(cv, str) and cv == "auto" and len(queries) == 1:
            cv = "leave-pair-out" if self._pairs_are_affordable(problem, k) else DEFAULT_FOLDS
        return Folds(cv, queries, labels)

    def _pairs_are_affordable(self, problem: SelectionProblem, k: int) -> bool:
        m, n = problem.X.shape
        pairs = m * (m - 1) / 2
        closed = problem.holds_pairs_in_closed_form
        work = k * n * pairs * (1 if closed else m)
        if work <= MOST_WORK and (closed or pairs <= MOST_PAIRS):
            return True
        warnings.warn(
            f"leave-pair-out of {m} items would take {work:.1g} elementary steps for {k} of {n} "
            f"features, so {DEFAULT_FOLDS} folds judge them instead: give cv explicitly "
            "('leave-pair-out' or a number of folds) to choose.",
            EstimateWarning,
            stacklevel=4,
        )
        return False

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask

    def first(self, k: int) -> GreedyRankRLS:
        """The fitted model of the first k selected features; nothing is learnt again."""
        check_is_fitted(self)
        if not isinstance(k, Integral) or not 1 <= k <= len(self.selected_):
            raise ValueError(f"k must lie between 1 and {len(self.selected_)}; got {k!r}.")
        model = copy(self).set_params(**vars(self.fitted_parameters))
        model.set_params(n_features_to_select=int(k))
        model._set_selection(self.selected_[:k], self.criterion_[:k], self.coef_path_[:k, :k])
        return model

    @property
    def representation(self) -> Representation:
        """The model is linear in the columns of X."""
        return Representation(LINEAR, None, None)
