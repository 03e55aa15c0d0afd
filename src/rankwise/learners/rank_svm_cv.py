"""RankSVMCV: alpha chosen along a warm-started path, on folds that keep queries whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.learners.quadratic import check_alphas
from rankwise.learners.rank_svm import (
    PRECISIONS,
    RankSVM,
    build_features,
    check_svm_parameters,
    score_risks,
    solver_class,
    warn_unless_converged,
)
from rankwise.losses.hinge import NoPreference, risk_of_scores
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.scoring import score_folds
from rankwise.numerics.products import Products
from rankwise.solvers.solver import INTERRUPTED, Solution
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import Supervision
from rankwise.validation import check_items, check_scores

DEFAULT_ALPHAS = 10.0 ** np.arange(-6, 2)


class RankSVMCV(RankSVM):
    """RankSVM with alpha chosen from a grid by cross-validation.

    In every fold the grid is solved from the largest alpha down, each solution and (bundle method)
    all cutting planes carried on to the next: planes bound the risk, whatever alpha is. Kernels are
    factorised once for all folds; held-out basis items are removed from a reduced set's map.

    Parameters
    ----------
    alphas : grid of positive numbers, default 10^-6 … 10
    cv : int number of folds (by query where there are queries), "leave-query-out", a scikit-learn
        splitter, or an iterable of (train, test) or of test index arrays
    scoring : None for 1 − ranking error, averaged over queries (over folds where there are no
        queries); the name of a measure in rankwise.metrics, a rankwise.metrics.scorer, or a
        callable(y, s) to maximise
    loss, kernel, gamma, degree, coef0, basis, solver, tol, max_iter, random_state, verbose : as in
        RankSVM; random_state also shuffles int folds (None: a fixed shuffle)

    Attributes
    ----------
    alpha_ : the chosen alpha; of equal scores the largest
    best_score_ : its score
    cv_results_ : {"alpha", "score", "score_se"}, one entry an alpha
        and those of RankSVM, of the model refitted on everything with alpha_
    """

    def __init__(
        self,
        alphas=None,
        *,
        cv=5,
        scoring=None,
        loss="hinge",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        basis=None,
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        random_state=None,
        verbose=0,
    ):
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    warm_start = False

    def fit(self, X, y, *, qid=None):
        """Score the grid on held-out predictions, choose, and refit on everything."""
        check_svm_parameters(self)
        alphas = check_alphas(DEFAULT_ALPHAS if self.alphas is None else self.alphas)
        X = check_items(self, X, reset=True, dtype=PRECISIONS)
        Y = check_scores(y, X.shape[0])
        queries = Queries.from_labels(qid, X.shape[0])
        self._has_queries = qid is not None
        scores = _Scores(Y.reshape(len(Y), -1), queries)
        risks = score_risks(scores.Y, queries, self.loss)
        folds = Folds(self.cv, queries, scores.Y, random_state=self.random_state)
        if folds.kind not in ("folds", "leave-query-out"):
            raise ValueError(
                f"cv={self.cv!r} would refit for every item or pair: use folds, or RankRLSCV, "
                "where it has a closed form."
            )
        space, phi = build_features(self, X)
        path = _HeldOutPaths(self, space, phi, scores)
        found, influence = score_folds(path, folds, alphas, self.scoring)
        self._choose(alphas, found.mean(axis=1), influence.mean(axis=2))
        solutions = [
            path.solve_path(phi, risk, np.append(alphas[alphas > self.alpha_], self.alpha_))[-1]
            for risk in risks
        ]
        self._set_solutions(space, solutions, Y.ndim == 1)
        return self

    def _choose(self, alphas, scores, influence) -> None:
        errors = np.sqrt((influence**2).sum(axis=1))
        self.cv_results_ = {"alpha": alphas, "score": scores, "score_se": errors}
        self.best_score_ = float(scores.max())
        self.alpha_ = float(alphas[scores >= self.best_score_ - 1e-12].max())


@dataclass
class _Scores:
    Y: np.ndarray
    queries: Queries

    @property
    def n_items(self) -> int:
        return len(self.Y)

    @property
    def n_outputs(self) -> int:
        return self.Y.shape[1]

    def take(self, index: np.ndarray) -> _Scores:
        return _Scores(self.Y[index], self.queries.take(index))


class _HeldOutPaths(HeldOut):
    """Held-out predictions for a grid of alphas, by one path of solutions for each hold-out."""

    def __init__(self, model: RankSVMCV, space, phi, scores: _Scores):
        self._model, self._space, self._phi = model, space, phi
        self._scores, self.supervision = scores, cast(Supervision, scores)

    def solve_path(self, phi, risk, alphas) -> list[Solution]:
        """Solutions in the order of alphas, solved from the largest down."""
        model = self._model
        solver, start = solver_class(model)(phi, risk), None
        limits = {"tol": model.tol, "max_iter": model.max_iter, "verbose": model.verbose}
        solutions = {}
        for alpha in sorted(set(alphas.tolist()), reverse=True):
            found = solver.solve(alpha, start=start, **limits)
            if found.status == INTERRUPTED:
                raise KeyboardInterrupt("alpha was not chosen yet")
            warn_unless_converged(found, model)
            solutions[alpha], start = found, found.w
        return [solutions[alpha] for alpha in alphas.tolist()]

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        """(a, |items|, k); zero if the items that stay have no preference to learn from."""
        staying = np.setdiff1d(np.arange(self.n_items), items)
        phi = self._phi
        if self._model.basis is not None:
            phi = self._space.map.without(items)
        part = self._scores.take(staying)
        trained, tested = phi[staying], Products(phi[items])
        out = np.zeros((len(alphas), len(items), part.Y.shape[1]))
        for j, y in enumerate(part.Y.T):
            try:
                risk = risk_of_scores(np.ascontiguousarray(y), part.queries, self._model.loss)
            except NoPreference:
                continue
            for i, found in enumerate(self.solve_path(trained, risk, alphas)):
                out[i, :, j] = tested.scores(found.w)
        return out
