"""MPRank: magnitude-preserving ranking, in closed form, point by point, or with norm 1."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.holdout.pairwise_loo import pairwise_loo_costs
from rankwise.holdout.quadratic_problem import QuadraticProblem
from rankwise.learners.fit_memory import own
from rankwise.learners.magnitude_ranker import MagnitudeRanker
from rankwise.learners.ranker import warn_unless_converged
from rankwise.losses.pair_losses import MagnitudeLoss
from rankwise.numerics.arrays import dense
from rankwise.solvers.kernel_stream import KernelStream
from rankwise.solvers.moments import CentredMoments
from rankwise.solvers.online import FeatureRows, KernelRows, OnlineSolver
from rankwise.spaces.definiteness import check_gram
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.representation import Representation
from rankwise.spaces.space import LinearSpace, ReducedSpace
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems
from rankwise.validation import check_choice, check_items, check_positive, check_scores

SOLVERS = {
    "auto": "closed for norm 2, the bundle method for norm 1",
    "closed": "norm 2: equations 11 and 13, whichever side is cheaper",
    "online": "norm 2: points one by one in passes (section 2.5), and partial_fit",
}

KERNEL_SAMPLE = 500
"""Items on which an online fit tries a kernel that may be indefinite."""
STREAM_STEPS = 100
"""Steps of O(m) that a call of partial_fit may take before it passes over all items again."""


def _streams(model) -> bool:
    if model.solver != "online":
        raise AttributeError('partial_fit needs solver="online".')
    if Kernel(model.kernel).is_precomputed:
        raise AttributeError("partial_fit needs items: a precomputed kernel cannot grow by rows.")
    return True


@dataclass(eq=False, repr=False)
class MPRank(MagnitudeRanker):
    """Minimises `‖h‖² + C/m² Σ_ij |(h_j − h_i) − (y_j − y_i)|^norm` over ordered pairs.

    With qid over pairs of the same query, and Σ m_q² in place of m². Equation 8 of Cortes, Mohri,
    Rastogi (2007). Norm 2 is RankRLS at alpha = m²/(2C), O(m n² + n³) or O(m³): without queries
    also scikit-learn's Ridge(m/(2C)), without its intercept. Norm 1 sorts residuals,
    O(nnz + m log m) per step.

    Parameters
    ----------
    C : float > 0
        Weight of the mean cost against ‖h‖².
    norm
        2 or 1, the power of the cost.
    kernel
        "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable.
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None exact; int that many random basis items (reduced set); or an array of their rows.
    solver
        "closed"; "online", point by point in passes of O(nnz) for features and O(m²) for kernels,
        with a step size that needs no choosing; "auto", closed for norm 2.
    tol
        Online, the share of the objective that the last pass may still change; norm 1, duality gap
        relative to the objective of h = 0.
    max_iter
        Most passes or iterations; a fit that needs more warns.
    cache_size
        MB of kernel rows that the online solver may keep; 0 computes all rows again in every pass
        and never holds the kernel matrix.
    random_state
        Draws the basis.

    Attributes
    ----------
    coef_
        (n,) or (k, n), for the linear kernel.
    dual_coef_
        (r,) or (r, k), for other kernels.
    basis_index_
        (r,) the items that `dual_coef_` belongs to.
    n_iter_
        Iterations, 1 in closed form.
    objective_, gap_, history_
        Of the solvers that iterate, as in SVRank; the online solver's are of all outputs together,
        its history the dual's.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MPRank
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> MPRank(C=100.0).fit(X, [1, 2, 3, 1.5, 2.5]).predict(X).round(2)
    array([-0.17,  0.81,  1.79,  0.28,  1.31])
    """

    _: KW_ONLY
    solver: str = "auto"
    cache_size: float = 500

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
        items = check_items(self, X, reset=True)
        if not self._by_features and not Kernel(self.kernel).is_precomputed:
            items = own(items, X)
        self._keep(items, *self._supervise(items.shape[0], y, qid, sample_weight), qid is not None)
        self._guard(items, X)
        self._problem = self._moments = self._space = self._stream = None
        self._told = self._stream_settings()
        if self.norm == 1:
            self._fit_residuals(0.0)
        elif self.solver == "online":
            self._fit_online()
        else:
            self._fit_closed()
        return self

    @property
    def _by_features(self) -> bool:
        """Whether a model is weights of features, and no kernel expansion over all items."""
        return Kernel(self.kernel).is_linear or self.basis is not None

    def _fit_closed(self) -> None:
        self._problem = problem = least_squares(self, self._X, self._items_seen())
        solution = problem.path([self._normaliser / (2 * self.C)])[0]
        self._set_model(problem.space, solution, self._single_output)
        self.n_iter_ = problem.n_iter

    def _fit_online(self, start=None) -> None:
        kernel, told = Kernel.of(self), self._items_seen()
        by_features = self._by_features
        source: FeatureRows | KernelRows
        if by_features:
            space = self._feature_space(self._X)
            self._space = space if isinstance(space, ReducedSpace) else None
            source = FeatureRows(space.features)
        else:
            self._check_kernel_rows(kernel)
            source = KernelRows(self._X, kernel, 1e6 * self.cache_size)
        found = OnlineSolver(source, told).solve(
            1.0 / self.C, start=start, tol=self.tol, max_iter=self.max_iter
        )
        found = self._in_units_of_C(found)
        warn_unless_converged(found, self)
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        self.history_ = {name: found.history[name] for name in ("objective", "seconds")}
        if by_features:
            solution = space.to_model(np.asarray(space.features.T @ found.w))
            self._set_model(space, solution, self._single_output)
        else:
            X_basis = None if kernel.is_precomputed else self._X
            model = Representation(kernel, np.arange(told.n_items), X_basis)
            self._set_model(model, found.w, self._single_output)

    def _check_kernel_rows(self, kernel: Kernel) -> None:
        """A given matrix is checked as a whole; a kernel that may be indefinite on some items."""
        if kernel.is_precomputed:
            check_gram(dense(self._X))
        elif kernel.may_be_indefinite:
            some = np.unique(np.linspace(0, self._X.shape[0] - 1, KERNEL_SAMPLE).astype(int))
            kernel.gram(self._X[some], f"the matrix of kernel={self.kernel!r}")

    @available_if(_streams)
    def partial_fit(self, X, y):
        """Add items to those seen, as one query: the batch solution for all of them.

        Linear models and reduced sets keep sums, O(n²) or O(r²) memory however long the stream
        and O(b n² + n³) per call of b items; random basis items are drawn from the first call. A
        full kernel keeps every item: its model grows with the stream. A new item then costs O(m)
        for m items seen if the gap is reached in a few steps at the items that need them most, as
        it usually is with the default tol. Otherwise the passes over all items go on, O(m²) each.
        """
        self._check_parameters()
        first = not hasattr(self, "coef_") and not hasattr(self, "dual_coef_")
        given, X = X, check_items(self, X, reset=first)
        y = check_scores(y, X.shape[0])
        Y = y.reshape(len(y), -1)
        if first:
            self._keep(None, None, y.ndim == 1, False)
            self._moments = self._space = self._stream = None
            self._told = self._stream_settings()
        self._check_stream(Y, y.ndim == 1)
        self._problem = None
        if self._by_features:
            return self._accumulate(X, Y)
        return self._grow(own(X, given), Y)

    def _stream_settings(self) -> tuple:
        """What must not change between the calls of a stream."""
        return (self.kernel, self.gamma, self.degree, self.coef0, self.basis is None)

    def _check_stream(self, Y, single: bool) -> None:
        if self._told != self._stream_settings():
            raise ValueError("kernel, gamma, degree, coef0 and basis must not change in a stream.")
        if self._has_queries:
            raise ValueError("this model was fitted with qid; partial_fit adds to a single query.")
        if self._supervision is not None and np.ptp(self._supervision.weight) > 0:
            raise ValueError(
                "this model was fitted with sample_weight; the items of a stream weigh the same."
            )
        is_fitted = hasattr(self, "coef_") or hasattr(self, "dual_coef_")
        if is_fitted and self._supervision is None and self._moments is None:
            raise ValueError(
                "this model holds no training items to go on from: rankwise.save keeps them with "
                "training_data=True only."
            )
        seen = int(np.prod(self.coefficients.shape[1:])) if is_fitted else Y.shape[1]
        if single != self._single_output or Y.shape[1] != seen:
            raise ValueError(f"y must keep the shape of its {seen} output(s).")

    def _grow(self, X, Y):
        """A full kernel: every item stays, and new items cost O(m) each if few steps suffice."""
        stream = None
        if self._X is not None:
            stream, self._stream = self._stream, None
            if stream is None:
                known = self.dual_coef_.reshape(-1, Y.shape[1]).copy()
                stream = KernelStream(
                    Kernel.of(self), self._training_items(), self._supervision.Y, known
                )
            stream.add(X, Y)
            X, Y = stream.X, stream.Y
        m = len(Y)
        self._X_checksum = None
        self._X, self._supervision = X, ScoredItems(Y, Queries.from_labels(None, m), np.ones(m))
        if stream is None or not self._settle(stream):
            self._fit_online(None if stream is None else stream.alpha)
        return self

    def _settle(self, stream: KernelStream) -> bool:
        """Whether a few steps reached `tol`; then the model is set."""
        found = stream.settle(self.C, self.tol, STREAM_STEPS)
        self.objective_, self.gap_, self.n_iter_, converged = found
        if converged:
            self._stream = stream
            model = Representation(stream.kernel, np.arange(len(stream.Y)), stream.X)
            self._set_model(model, stream.alpha.copy(), self._single_output)
        return converged

    def _accumulate(self, X, Y):
        """Features: the sums stay, the items do not."""
        if self.basis is not None and self._space is None:
            self._space = self._feature_space(X if self._X is None else self._X)
        if self._moments is None:
            features = X.shape[1] if self._space is None else self._space.map.rank
            self._moments = CentredMoments(features, Y.shape[1])
            if self._supervision is not None:
                self._moments.add(self._features(self._training_items()), self._supervision.Y)
        self._moments.add(self._features(X), Y)
        self._X = self._supervision = None
        W = self._moments.solve(self._moments.n_items / (2 * self.C))
        space = LinearSpace(X, may_be_dual=False) if self._space is None else self._space
        self._set_model(space, space.to_model(W), self._single_output)
        self.n_iter_ = 1
        return self

    def _features(self, X):
        return X if self._space is None else self._space.map.embed(X)

    def _least_squares(self) -> QuadraticProblem:
        """The problem as RankRLS has it: unordered pairs, divided by 2C/N."""
        if self._problem is None:
            told = self._items_seen()
            self._problem = least_squares(self.fitted_parameters, self._X, told)
        self._refuse_edited(self._X)
        return self._problem

    def pairwise_loo(self, exact=True, *, retrain=False):
        """Mean over ordered pairs of the squared cost by the model trained without the pair.

        Equation 17, with the factor 2C/m of the full sample kept as in the proof of Proposition 2;
        (k,) for k outputs. exact: O(m²) in all after one m × m matrix without queries, and one
        matrix per query with them. exact=False: the paper's approximation, which takes the mean
        of h for that of every model without a pair (one query, no basis items removed). It also
        costs O(m²), so it is here for comparison. retrain=True: the models are those of new fits
        without the pair, with the factor 2C/(m − 2); they are regularised a little more weakly.
        """
        check_is_fitted(self)
        if self.fitted_parameters.norm != 2:
            raise ValueError("pairwise_loo has a closed form for norm=2 only.")
        C = check_positive("C", self.C)
        costs = pairwise_loo_costs(self._least_squares(), [C], exact, retrain)[0]
        return float(costs[0]) if self._single_output else costs


def least_squares(model, X, supervision: ScoredItems) -> QuadraticProblem:
    """The least-squares problem over all pairs with the model's kernel, for any alpha."""
    return QuadraticProblem(
        X,
        supervision,
        MagnitudeLoss(),
        Kernel.of(model),
        basis=model.basis,
        random_state=model.random_state,
    )
