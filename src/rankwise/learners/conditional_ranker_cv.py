"""A choice of alpha by cross-validation in the setting the model is meant for."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import UndefinedMetric
from rankwise.learners.conditional_inputs import SIGNS, Labels
from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.metrics import ranking_error
from rankwise.model_selection.relational_splits import (
    ColumnSplit,
    EdgeSplit,
    RowColumnSplit,
    RowSplit,
)
from rankwise.spaces.nodes_and_edges import Edges
from rankwise.validation import check_choice, check_positive

SPLITTERS = {"edges": EdgeSplit, "rows": RowSplit, "columns": ColumnSplit, "both": RowColumnSplit}
HOLDOUTS = {"edges": "edge", "rows": "row", "columns": "column", "both": "both"}


class ConditionalRankerCV(BaseEstimator):
    """ConditionalRanker with the alpha of least conditional ranking error on held-out edges.

    Every fold is solved once for all alphas: in closed form where its training edges are a complete
    graph of some nodes (new rows, new columns or both, of a complete graph), else by conjugate
    gradients with warm starts. Equal scores: the largest alpha wins.

    Parameters
    ----------
    ranker : the ConditionalRanker whose alpha is to be chosen; None for one with its defaults
    alphas : candidates; None is 2.0**arange(-15, 16)
    setting : what is new at test time: "edges" (setting 1), "rows", "columns" (2 and 3 where rows
        are conditions) or "both" (4)
    cv : number of folds, a splitter with `split(edges)`, "leave-one-out" (complete graphs: the
        hold-outs of ConditionalRanker), or "auto": leave-one-out where it is a closed form that
        holds out whole conditions of two domains, else 5 folds. In one domain folds leave nodes out
        in both roles. Leave-one-out compares scores of different models unless whole conditions
        are held out.
    random_state : draws the folds

    Attributes
    ----------
    alpha_, best_score_ : the chosen alpha and its 1 − conditional error
    cv_results_ : {"alpha", "score", "score_se"}; the standard error is that over
        folds, or over conditions where one row or column at a time is left out
    best_estimator_ : the ranker refitted on all edges with alpha_
    """

    def __init__(self, ranker=None, *, alphas=None, setting="both", cv="auto", random_state=None):
        self.ranker = ranker
        self.alphas = alphas
        self.setting = setting
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, Y, *, edges=None):
        """As ConditionalRanker.fit; then refits with the best alpha on everything."""
        check_choice("setting", self.setting, tuple(SPLITTERS))
        alphas = (
            2.0 ** np.arange(-15, 16) if self.alphas is None else np.asarray(self.alphas, float)
        )
        if alphas.ndim != 1 or not len(alphas):
            raise ValueError("alphas must be a non-empty sequence of numbers.")
        for alpha in alphas:
            check_positive("alphas", float(alpha))
        alphas = np.sort(alphas)[::-1]
        ranker = ConditionalRanker() if self.ranker is None else clone(self.ranker)
        ranker.set_params(alpha=float(alphas[0]))
        ranker._check_parameters()
        labels = ranker._fit_nodes(X, Y, edges)
        if self._leaves_one_out(ranker, labels):
            errors = self._leave_one_out_errors(ranker, labels, alphas)
        else:
            errors = self._fold_errors(ranker, labels, alphas)
        scores = 1 - errors.mean(axis=0)
        spread = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        self.cv_results_ = {"alpha": alphas, "score": scores, "score_se": spread}
        best = int(np.argmax(scores))
        self.alpha_, self.best_score_ = float(alphas[best]), float(scores[best])
        self.best_estimator_ = ranker.set_params(alpha=self.alpha_).fit(X, Y, edges=edges)
        return self

    def _leaves_one_out(self, ranker, labels: list[Labels]) -> bool:
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, ("auto", "leave-one-out"))
        complete = all(label.is_complete for label in labels)
        if self.cv == "leave-one-out":
            if not complete:
                raise ValueError('cv="leave-one-out" needs a complete graph; use folds: cv=5.')
            return True
        whole_conditions = self.setting == ranker.condition + "s"
        return self.cv == "auto" and complete and ranker._two_domains and whole_conditions

    def _leave_one_out_errors(self, ranker, labels: list[Labels], alphas) -> np.ndarray:
        """(relations × conditions, alphas): the decompositions are shared by all alphas."""
        ranker._problems = ranker._prepare(labels)
        ranker._set_coefficients([np.empty(0)])
        found = []
        for alpha in alphas:
            ranker.alpha = float(alpha)
            held_out = np.atleast_3d(getattr(ranker, f"leave_{HOLDOUTS[self.setting]}_out")())
            errors = []
            for label, scores in zip(labels, np.moveaxis(held_out, -1, 0)):
                pair = (label.Y, scores) if ranker.condition == "row" else (label.Y.T, scores.T)
                errors += [ranking_error(y, s) for y, s in zip(*pair) if np.ptp(y) > 0]
            found.append(errors)
        return np.array(found).T

    def _fold_errors(self, ranker, labels: list[Labels], alphas) -> np.ndarray:
        """(relations × folds, alphas)."""
        splitter = self._splitter(ranker)
        found = []
        for number, label in enumerate(label.as_edges() for label in labels):
            edges = np.column_stack([label.rows, label.columns])
            for train, test in splitter.split(edges):
                (problem,) = ranker._prepare([label.take(train)], number, len(labels))
                found.append(_errors_on(ranker, problem, label.take(test), alphas))
        return np.array(found)

    def _splitter(self, ranker):
        if hasattr(self.cv, "split") and not isinstance(self.cv, str):
            return self.cv
        n_splits = 5 if self.cv == "auto" else self.cv
        if not isinstance(n_splits, numbers.Integral):
            raise ValueError(
                f"cv must be 'auto', 'leave-one-out', a number of folds or a splitter of "
                f"rankwise.selection; got {self.cv!r}."
            )
        one_domain = not ranker._two_domains
        if self.setting == "edges":
            one_domain = SIGNS[ranker.relation] != 0
        return SPLITTERS[self.setting](n_splits, self.random_state, one_domain=one_domain)

    def predict(self, U, V=None):
        check_is_fitted(self)
        return self.best_estimator_.predict(U, V)

    def predict_edges(self, U, V, edges):
        check_is_fitted(self)
        return self.best_estimator_.predict_edges(U, V, edges)

    def rank(self, u, V, k=None):
        check_is_fitted(self)
        return self.best_estimator_.rank(u, V, k)

    def score(self, U, V, Y) -> float:
        check_is_fitted(self)
        return self.best_estimator_.score(U, V, Y)


def _errors_on(ranker, problem, test: Labels, alphas: np.ndarray) -> list[float]:
    """Conditional ranking error at the test edges for every alpha, from one training set."""
    rows, row = np.unique(test.rows, return_inverse=True)
    columns, column = np.unique(test.columns, return_inverse=True)
    left, right = ranker._rows.rows[rows], ranker._columns.rows[columns]
    pairs = Edges(row, column, (len(rows), len(columns)))
    y, condition = (
        v[pairs.order] for v in (test.y, ranker._oriented((test.rows, test.columns))[0])
    )
    errors = []
    for found in problem.path(alphas.tolist()):
        coefficients = found[:, :, 0] if ranker.condition == "row" else found[:, :, 0].T
        try:
            errors.append(ranking_error(y, pairs.sampled(left @ coefficients, right), condition))
        except UndefinedMetric as error:
            raise UndefinedMetric(
                "a fold has no condition with two test edges of different value; use fewer folds."
            ) from error
    return errors
