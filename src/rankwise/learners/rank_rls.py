"""RankRLS and RLS: pairwise and pointwise regularised least squares."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from rankwise.learners.quadratic import QuadraticRanker
from rankwise.losses.least_squares import (
    LOSSES,
    QUERY_WEIGHTS,
    TIES,
    PairwisePreferences,
    PairwiseScores,
    PointwiseScores,
    normal_equations,
)
from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.supervision.queries import Queries
from rankwise.validation import (
    check_choice,
    check_items,
    check_preferences,
    check_scores,
    check_weights,
    refuse_non_finite,
)

MUCH_DATA = 10_000_000
"""Entries of X that it would take long to read once more just to check them."""


def _is_linear(estimator) -> bool:
    if estimator.kernel != "linear" or estimator.basis is not None:
        raise AttributeError('partial_fit needs kernel="linear" and no basis.')
    return True


class RankRLS(QuadraticRanker):
    """Minimises Σ_pairs w² (z − (f_h − f_j))² + alpha‖f‖² over pairs h ≻ j, in closed form.

    Each unordered pair of a query counts once; there is no intercept, because none can be learnt
    from differences. Pahikkala, Tsivtsivadze, Airola, Järvinen, Boberg (2009), with cost
    equations 20 to 22. Preferences within a query are never enumerated (except for the relative
    loss): a fit costs what ridge regression costs, O(m n² + n³) or O(m³), whichever side is
    cheaper, and gives every alpha, every output and every hold-out from one decomposition.

    Without queries, with the magnitude loss and ties kept, this *is* ridge regression with an
    unpenalised intercept at alpha/m (scikit-learn's Ridge(alpha/m)), less the intercept. With
    queries, with another loss, with ties dropped or with explicit preferences it is not.

    Parameters
    ----------
    alpha : float > 0, strength of regularisation
    loss : "magnitude" (z = y, w = 1), "unit" (z = 1, w = 1) or "relative" (z = y, w = 1/y), y
        being the difference of the two scores
    kernel : "linear", "rbf", "poly" or another of scikit-learn's pairwise kernels, "precomputed",
        or a callable of two matrices (or of two rows); gamma=None is 1/n
    basis : None exact; int that many random basis items (reduced set, equation 40); or an array
        of their row numbers
    ties : "keep" keeps zero-magnitude pairs with the magnitude loss, "drop" leaves them out; the
        other losses never have them
    query_weight : "pairs" every pair weighs 1; "queries" the pairs of a query share weight 1
    solver : "auto", "spectral" or "cg" (linear kernel; for large sparse data)
    tol, max_iter : of conjugate gradients
    random_state : draws the basis

    Attributes
    ----------
    coef_ : (n,) or (k, n), for the linear kernel
    dual_coef_ : (r,) or (r, k), for other kernels
    basis_index_ : (r,) the items that dual_coef_ belongs to
    n_features_in_, feature_names_in_, n_iter_

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> model = RankRLS(alpha=0.1).fit(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"])
    >>> model.predict(X).round(2)
    array([-0.26,  0.72,  1.69,  0.16,  1.22])
    """

    def __init__(
        self,
        alpha=1.0,
        *,
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
        self.alpha = alpha
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, LOSSES)
        check_choice("ties", self.ties, TIES)
        check_choice("query_weight", self.query_weight, QUERY_WEIGHTS)

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given, or from
        `preferences` (a rankwise.Preferences) in place of y.

        A pair weighs v_i v_j with sample_weight v: 2 is the item twice.
        """
        self._check_parameters()
        X = check_items(self, X, reset=True, finite=False)
        if preferences is not None or not self._sums_over_all_of(X):
            refuse_non_finite(X, "X")
        supervision, single = self._supervise(X, y, qid, sample_weight, preferences)
        supervision.check()
        self._has_queries, self._accumulated = qid is not None, None
        return self._fit_problem(X, supervision, single)

    def _sums_over_all_of(self, X) -> bool:
        """Much data, of which a fit refuses what is not finite in the sums it makes anyway."""
        plain = self.kernel == "linear" and self.basis is None and self.loss != "relative"
        dense = not sparse.issparse(X) and X.size >= MUCH_DATA and X.shape[1] <= X.shape[0]
        return plain and dense and self.solver != "cg"

    def _supervise(self, X, y, qid, sample_weight, preferences=None):
        m = X.shape[0]
        queries = Queries.from_labels(qid, m)
        weight = check_weights(sample_weight, m)
        weight = np.ones(m) if weight is None else weight
        by_query = self.query_weight == "queries"
        if preferences is not None:
            preferences = check_preferences(preferences, y, m)
            return PairwisePreferences(preferences, queries, weight, self.loss, by_query), True
        Y = check_scores(y, m)
        cost = (self.loss, self.ties, by_query)
        return PairwiseScores(Y.reshape(m, -1), queries, weight, *cost), Y.ndim == 1

    @available_if(_is_linear)
    def partial_fit(self, X, y, *, qid=None, sample_weight=None):
        """Add whole queries to a linear model, exactly: as if all had been fitted at once.

        Keeps the n × n sums XᵀLX and XᵀLy, O(m n² + n³) a call. Without qid each call is one
        query; a query seen before is refused, for its pairs with the earlier items would be lost.
        """
        self._check_parameters()
        first = not hasattr(self, "coef_")
        X = check_items(self, X, reset=first)
        supervision, single = self._supervise(X, y, qid, sample_weight)
        sums = None if first else self._sums()
        seen = set() if sums is None else sums[2]
        new = set() if qid is None else {_plain(label) for label in supervision.queries.labels}
        if seen & new:
            raise ValueError(
                f"qid {sorted(map(str, seen & new))[0]!r} was seen before: a query must come whole."
            )
        k = supervision.Y.shape[1]
        if sums is not None and (sums[1].shape[1] != k or single != self._single_output):
            raise ValueError(f"y must keep the shape of its {sums[1].shape[1]} outputs.")
        G, moments = normal_equations(X, supervision)
        if sums is not None:
            G, moments = [old + more for old, more in zip(sums[0], G)], sums[1] + moments
        self._accumulated = (G, moments, seen | new)
        self._has_queries = qid is not None or (not first and self._has_queries)
        self._X = self._supervision = self._space = self._fits = None
        self._single_output = single
        self.n_iter_ = 1
        n = X.shape[1]
        columns = [np.arange(k)] if len(G) == 1 else [np.array([j]) for j in range(k)]
        solution = np.empty((n, k))
        for gram, c in zip(G, columns):
            regularised = gram + self.alpha * np.eye(n)
            solution[:, c] = scipy.linalg.solve(regularised, moments[:, c], assume_a="pos")
        self._set_model(solution)
        return self

    def _sums(self):
        """The normal equations of all that was learnt so far, and the queries they came from."""
        if self._accumulated is not None:
            return self._accumulated
        self._refuse_without_items()
        if not isinstance(self._supervision, PairwiseScores):
            raise ValueError("partial_fit continues from scores, not from explicit preferences.")
        labels = self._supervision.queries.labels if self._has_queries else []
        G, moments = self._known_equations() or normal_equations(self._X, self._supervision)
        return G, moments, {_plain(label) for label in labels}

    def _known_equations(self):
        """The normal equations as the fit left them, whatever became of X since; None if dual."""
        if self._fits is None or not isinstance(self._fits[0][1].spectrum, PrimalSpectrum):
            return None
        grams = {int(j): fit.spectrum.gram for columns, fit in self._fits for j in columns}
        moments = np.empty((len(grams[0][0]), len(grams)))
        for columns, fit in self._fits:
            moments[:, columns] = fit.spectrum.gram[1]
        outputs = [0] if self._supervision.keeps_ties else sorted(grams)
        return [grams[j][0] for j in outputs], moments


class RLS(QuadraticRanker):
    """Minimises Σ v (y − f)² + alpha‖f‖², no intercept: the pointwise baseline of RankRLS.

    The same spaces, solvers, paths and hold-outs; `qid` only says what leave_query_out leaves
    out and how `score` compares. Parameters and attributes as in RankRLS.
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        basis=None,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        random_state=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Learn from scores y (m,) or (m, k); an item weighs sample_weight v."""
        self._check_parameters()
        X = check_items(self, X, reset=True)
        supervision, single = self._supervise(X, y, qid, sample_weight)
        self._has_queries = qid is not None
        return self._fit_problem(X, supervision, single)

    def _supervise(self, X, y, qid, sample_weight):
        m = X.shape[0]
        Y = check_scores(y, m)
        weight = check_weights(sample_weight, m)
        weight = np.ones(m) if weight is None else weight
        queries = Queries.from_labels(qid, m)
        return PointwiseScores(Y.reshape(m, -1), queries, weight), Y.ndim == 1


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label
