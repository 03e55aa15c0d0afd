"""MPRank: magnitude-preserving ranking, in closed form, point by point, or with norm 1."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.pairwise_loo import approximate_costs, exact_costs
from rankwise.learners.magnitude import MagnitudeRanker
from rankwise.learners.rank_rls import RankRLS
from rankwise.learners.rank_svm import (
    build_features,
    forget_model,
    set_model,
    warn_unless_converged,
)
from rankwise.losses.epsilon_insensitive import pair_normaliser
from rankwise.losses.least_squares import PairwiseScores
from rankwise.solvers.moments import CentredMoments
from rankwise.solvers.online import FeatureRows, KernelRows, OnlineSolver
from rankwise.spaces.kernels import check_gram, kernel_matrix, may_be_indefinite
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, check_items, check_positive, check_scores

SOLVERS = {
    "auto": "closed for norm 2, the bundle method for norm 1",
    "closed": "norm 2: equations 11 and 13, whichever side is cheaper",
    "online": "norm 2: points one by one in passes (section 2.5), and partial_fit",
}

KERNEL_SAMPLE = 500
"""Items on which an online fit tries a kernel that may be indefinite."""


def _streams(model) -> bool:
    if model.solver != "online":
        raise AttributeError('partial_fit needs solver="online".')
    if model.kernel == "precomputed":
        raise AttributeError("partial_fit needs items: a precomputed kernel cannot grow by rows.")
    return True


class MPRank(MagnitudeRanker):
    """Minimises ‖h‖² + C/m² Σ_ij |(h_j − h_i) − (y_j − y_i)|^norm over ordered pairs.

    With qid over pairs of the same query, and Σ m_q² in place of m². Equation 8 of Cortes, Mohri,
    Rastogi (2007). Norm 2 is RankRLS at alpha = m²/(2C), O(m n² + n³) or O(m³): without queries
    also scikit-learn's Ridge(m/(2C)), less its intercept. Norm 1 sorts residuals,
    O(nnz + m log m) a step.

    Parameters
    ----------
    C : float > 0, weight of the mean cost against ‖h‖²
    norm : 2 or 1, the power of the cost
    kernel : "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable;
        gamma=None is 1/n
    basis : None exact; int that many random basis items (reduced set); or an array of their rows
    solver : "closed"; "online", point by point in passes of O(nnz) for features and O(m²) for
        kernels, with a step size that needs no choosing; "auto", closed for norm 2
    tol : online, the share of the objective that the last pass may still change; norm 1, duality
        gap relative to the objective of h = 0
    max_iter : most passes or iterations; a fit that needs more warns
    cache_size : MB of kernel rows that the online solver may keep; 0 computes all of them anew in
        every pass and never holds the kernel matrix
    random_state : draws the basis

    Attributes
    ----------
    coef_ : (n,) or (k, n), for the linear kernel
    dual_coef_ : (r,) or (r, k), for other kernels
    basis_index_ : (r,) the items that dual_coef_ belongs to
    n_iter_ : iterations, 1 in closed form
    objective_, gap_, history_ : of the solvers that iterate, as in SVRank; the online solver's are
        of all outputs together, its history the dual's

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.learners.mprank import MPRank
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> MPRank(C=100.0).fit(X, [1, 2, 3, 1.5, 2.5]).predict(X).round(2)
    array([-0.17,  0.81,  1.79,  0.28,  1.31])
    """

    def __init__(
        self,
        C=1.0,
        *,
        norm=2,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        basis=None,
        solver="auto",
        tol=1e-4,
        max_iter=1000,
        cache_size=500,
        random_state=None,
    ):
        self.C = C
        self.norm = norm
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("solver", self.solver, SOLVERS)
        check_positive("cache_size", self.cache_size, zero=True)
        if self.norm == 1 and self.solver != "auto":
            raise ValueError(
                f'solver="{self.solver}" is for norm=2: norm=1 has solver="auto" only.'
            )

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given.

        A pair weighs v_i v_j with sample_weight v: 2 is the item twice.
        """
        self._check_parameters()
        X = check_items(self, X, reset=True)
        self._keep(X, *self._supervise(X.shape[0], y, qid, sample_weight), qid is not None)
        self._problem = self._moments = self._space = None
        self._told = self._features_told()
        if self.norm == 1:
            self._fit_residuals(0.0)
        elif self.solver == "online":
            self._fit_online()
        else:
            self._fit_closed()
        return self

    def _fit_closed(self) -> None:
        problem = self._least_squares()
        problem._set_model(problem._solve_path([problem.alpha])[0])
        forget_model(self)
        for name in ("coef_", "dual_coef_", "basis_index_", "_X_basis", "n_iter_"):
            if hasattr(problem, name):
                setattr(self, name, getattr(problem, name))

    def _fit_online(self, start=None) -> None:
        told = self._supervision
        plain_kernel = self.kernel != "linear" and self.basis is None
        source: FeatureRows | KernelRows
        if plain_kernel:
            self._check_kernel_rows()
            limit = 1e6 * self.cache_size
            source = KernelRows(self._X, self.kernel, self._kernel_parameters(), limit)
        else:
            self._space, phi = build_features(self, self._X)
            source = FeatureRows(phi)
        solver = OnlineSolver(source, told.Y, told.queries, told.weight, self.C)
        found = solver.solve(start=start, tol=self.tol, max_iter=self.max_iter)
        warn_unless_converged(found, self)
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        self.history_ = {name: found.history[name] for name in ("objective", "seconds")}
        if plain_kernel:
            forget_model(self, ("coef_",))
            self.dual_coef_ = found.w[:, 0] if self._single_output else found.w
            self.basis_index_ = np.arange(len(told.Y))
            self._X_basis = None if self.kernel == "precomputed" else self._X
        else:
            set_model(self, self._space, np.asarray(phi.T @ found.w).T, self._single_output)

    def _check_kernel_rows(self) -> None:
        """A whole matrix that was given is proved definite; a kernel that may be indefinite is
        tried on some items."""
        if self.kernel == "precomputed":
            check_gram(self._X.toarray() if sparse.issparse(self._X) else self._X)
        elif may_be_indefinite(self.kernel, self.coef0):
            some = np.linspace(0, self._X.shape[0] - 1, KERNEL_SAMPLE).astype(int)
            some = self._X[np.unique(some)]
            K = kernel_matrix(some, some, self.kernel, **self._kernel_parameters())
            check_gram(K, f"the matrix of kernel={self.kernel!r}")

    @available_if(_streams)
    def partial_fit(self, X, y):
        """Add items to those seen, as one query: the batch solution for all of them.

        Linear models and reduced sets keep sums, O(n²) or O(r²) memory however long the stream
        and O(b n² + n³) a call of b items; random basis items are drawn from the first call. A
        full kernel keeps every item: its model grows with the stream, and a call continues the
        passes over all items from the last solution.
        """
        self._check_parameters()
        first = not hasattr(self, "coef_") and not hasattr(self, "dual_coef_")
        X = check_items(self, X, reset=first)
        y = check_scores(y, X.shape[0])
        Y = y.reshape(len(y), -1)
        if first:
            self._keep(None, None, y.ndim == 1, False)
            self._moments = self._space = None
            self._told = self._features_told()
        self._check_stream(Y, y.ndim == 1)
        self._problem = None
        if self.kernel != "linear" and self.basis is None:
            return self._grow(X, Y)
        return self._accumulate(X, Y)

    def _features_told(self) -> tuple:
        """What the features of a stream's model depend on."""
        return (self.kernel, *self._kernel_parameters().values(), self.basis is None)

    def _check_stream(self, Y, single: bool) -> None:
        if self._told != self._features_told():
            raise ValueError("kernel, gamma, degree, coef0 and basis must not change in a stream.")
        if self._has_queries:
            raise ValueError("this model was fitted with qid; partial_fit adds to a single query.")
        if self._supervision is not None and np.ptp(self._supervision.weight) > 0:
            raise ValueError(
                "this model was fitted with sample_weight; a stream's items are equal."
            )
        coef = self.coef_.T if hasattr(self, "coef_") else getattr(self, "dual_coef_", None)
        if coef is not None and self._supervision is None and self._moments is None:
            raise ValueError(
                "this model holds no training items to go on from: rankwise.save keeps them with "
                "training_data=True only."
            )
        seen = Y.shape[1] if coef is None else int(np.prod(coef.shape[1:]))
        if single != self._single_output or Y.shape[1] != seen:
            raise ValueError(f"y must keep the shape of its {seen} output(s).")

    def _grow(self, X, Y):
        """A full kernel: every item stays."""
        start = None
        if self._X is not None:
            is_sparse = sparse.issparse(X) or sparse.issparse(self._X)
            X = sparse.vstack((self._X, X), "csr") if is_sparse else np.vstack((self._X, X))
            Y = np.vstack((self._supervision.Y, Y))
            known = self.dual_coef_.reshape(-1, Y.shape[1])
            start = np.vstack((known, np.zeros((len(Y) - len(known), Y.shape[1]))))
        m = len(Y)
        self._X, self._supervision = X, PairwiseScores(Y, Queries.from_labels(None, m), np.ones(m))
        self._fit_online(start)
        return self

    def _accumulate(self, X, Y):
        """Features: sums stay, items go."""
        if self.basis is not None and self._space is None:
            self._space, _ = build_features(self, X if self._X is None else self._X)
        if self._moments is None:
            sizes = X.shape[1] if self._space is None else self._space.map.embedding_.shape[1]
            self._moments = CentredMoments(sizes, Y.shape[1])
            if self._supervision is not None:
                self._moments.add(self._features(self._X), self._supervision.Y)
        self._moments.add(self._features(X), Y)
        self._X = self._supervision = None
        W = self._moments.solve(self._moments.n_items / (2 * self.C))
        set_model(self, self._space, W.T, self._single_output)
        self.n_iter_ = 1
        return self

    def _features(self, X):
        return X if self._space is None else self._space.map.transform(X)

    def _least_squares(self) -> RankRLS:
        """The same problem as RankRLS: unordered pairs, divided by 2C/N."""
        if self._problem is None:
            supervision = self._items_seen()
            self._problem = least_squares(self, self._X, supervision, self._single_output)
        return self._problem

    def pairwise_loo(self, exact=True):
        """Mean over ordered pairs of the squared cost by the model trained without the pair.

        Equation 17, with the factor 2C/m of the full sample kept as in the proof of Proposition 2;
        (k,) for k outputs. exact: O(m²) in all after one m × m matrix without queries, one matrix
        a query with them. exact=False: the paper's approximation, which takes the mean of h for
        that of every model without a pair (one query, no basis items removed); O(m²) too, so
        it is here to be compared.
        """
        check_is_fitted(self)
        if self.norm != 2:
            raise ValueError("pairwise_loo has a closed form for norm=2 only.")
        costs = loo_costs(self._least_squares(), self._items_seen(), [self.C], exact)[0]
        return float(costs[0]) if self._single_output else costs


def least_squares(model, X, supervision, single_output: bool) -> RankRLS:
    """RankRLS with the model's kernel, ready for any alpha."""
    names = ("kernel", "gamma", "degree", "coef0", "basis", "random_state")
    alpha = pair_normaliser(supervision.queries, supervision.weight) / (2 * model.C)
    problem = RankRLS(alpha, **{name: getattr(model, name) for name in names})
    problem._single_output = single_output
    return problem._prepare(X, supervision)


def loo_costs(problem: RankRLS, supervision, Cs, exact: bool) -> np.ndarray:
    """(c, k) leave-one-out errors over pairs for every C, from one decomposition."""
    if np.ptp(supervision.weight) > 0:
        raise ValueError("pairwise_loo is for items of equal sample_weight.")
    if not exact and (len(supervision.queries) > 1 or supervision.queries.n_items < 3):
        raise ValueError(
            "pairwise_loo(exact=False) approximates one query of three or more items: use "
            "exact=True, which costs no more."
        )
    N = pair_normaliser(supervision.queries, supervision.weight)
    compute = exact_costs if exact else approximate_costs
    return np.stack([problem._by_output(partial(compute, alpha=N / (2 * C))) for C in Cs])
