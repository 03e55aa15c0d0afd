"""RankRLSCV: the regularisation chosen by exact cross-validation, at the price of a few fits."""

from __future__ import annotations

import numpy as np

from rankwise.holdout.protocol import HeldOut
from rankwise.learners.base import Ranker
from rankwise.learners.quadratic import QuadraticHoldOuts, check_alphas
from rankwise.learners.rank_rls import RankRLS
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.scoring import score_grid
from rankwise.validation import check_items

DEFAULT_ALPHAS = 2.0 ** np.arange(-15, 16)
EQUAL = 1e-12
"""Scores closer than this are equal: the largest alpha wins."""


class RankRLSCV(Ranker):
    """RankRLS with alpha chosen from a grid by exact cross-validation.

    Every alpha is scored on predictions by models that never saw the items predicted, from one
    decomposition for the whole grid; nothing is refitted where the algebra has a closed form.

    Parameters
    ----------
    alphas : grid of positive numbers, default 2^-15 … 2^15
    cv : "leave-pair-out", "leave-query-out", "leave-one-out", an int number of folds (by query
        where there are queries), a scikit-learn splitter, or an iterable of (train, test) or of
        test index arrays. "auto": leave-query-out with queries, else leave-pair-out up to 4000
        items, else 10 folds. Leave-one-out pools the predictions of m models, which is biased
        for ranking: prefer leave-pair-out.
    scoring : None for 1 − ranking error, averaged over queries (over folds where there are no
        queries); the name of a measure in rankwise.metrics, a rankwise.metrics.scorer, or a
        callable(y, s) to maximise
    alpha_per_target : choose an alpha for every output on its own
    loss, kernel, gamma, degree, coef0, basis, ties, query_weight, solver, tol, max_iter,
    random_state : as in RankRLS; random_state also shuffles int folds (None: a fixed shuffle)

    Attributes
    ----------
    alpha_ : the chosen alpha, (k,) with alpha_per_target
    best_score_ : its score
    cv_results_ : {"alpha", "score", "score_se"}, one entry an alpha, (a, k) with
        alpha_per_target. The standard error is that of a U-statistic for leave-pair-out, else of
        the mean over queries or folds.
    coef_ or dual_coef_, basis_index_ : of the model refitted on everything with alpha_
    """

    def __init__(
        self,
        alphas=None,
        *,
        cv="auto",
        scoring=None,
        alpha_per_target=False,
        loss="magnitude",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        basis=None,
        ties="keep",
        query_weight="pairs",
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        random_state=None,
    ):
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.alpha_per_target = alpha_per_target
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.ties = ties
        self.query_weight = query_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Score the grid, choose, and keep the model of the chosen alpha."""
        alphas = check_alphas(DEFAULT_ALPHAS if self.alphas is None else self.alphas)
        model = self._model(alphas[0])
        model._check_parameters()
        X = check_items(self, X, reset=True)
        supervision, model._single_output = model._supervise(X, y, qid, sample_weight)
        supervision.check()
        self._has_queries = qid is not None
        scores = (supervision.queries, supervision.Y)
        folds = Folds(self.cv, *scores, random_state=self.random_state)
        problem = QuadraticHoldOuts(model._prepare(X, supervision))
        scores, influence = score_grid(problem, folds, alphas, self.scoring)
        return self._choose(alphas, scores, influence, model)

    def hold_outs(self, X, y=None, *, qid=None, sample_weight=None, preferences=None) -> HeldOut:
        """Temporary: those of RankRLS, for every alpha."""
        return self._model(1.0).hold_outs(
            X, y, qid=qid, sample_weight=sample_weight, preferences=preferences
        )

    def _model(self, alpha) -> RankRLS:
        shared = RankRLS().get_params()
        parameters = {name: getattr(self, name) for name in shared if name != "alpha"}
        return RankRLS(alpha, **parameters)

    def _choose(self, alphas, scores, influence, model: RankRLS):
        """scores (a, k); influence (a, units, k), whose sum of squares is the squared error."""
        if not self.alpha_per_target:
            scores, influence = scores.mean(axis=1), influence.mean(axis=2)
        errors = np.sqrt((influence**2).sum(axis=1))
        self.cv_results_ = {"alpha": alphas, "score": scores, "score_se": errors}
        eligible = scores >= scores.max(axis=0) - EQUAL
        best = np.where(eligible.T, alphas, -np.inf).T.argmax(axis=0)
        self.alpha_ = alphas[best] if self.alpha_per_target else float(alphas[best])
        if self.alpha_per_target:
            self.best_score_ = scores[best, np.arange(scores.shape[1])]
            chosen, place = np.unique(best, return_inverse=True)
            path = model._solve_path(alphas[chosen])
            solution = path[place, :, np.arange(len(place))].T
        else:
            self.best_score_ = float(scores[best])
            solution = model._solve_path([self.alpha_])[0]
        model._set_model(solution)
        for name in ("coef_", "dual_coef_", "basis_index_", "_X_basis"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.n_iter_ = model.n_iter_
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
