"""RankSVM: pairwise hinge losses for any real scores, with a certificate of optimality."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.base import Ranker
from rankwise.losses.hinge import LOSSES, NoPreference, Risk, risk_of_preferences, risk_of_scores
from rankwise.losses.least_squares import PairwisePreferences
from rankwise.numerics.products import Products
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.solver import CONVERGED, INTERRUPTED, Solution
from rankwise.spaces.cholesky_space import CholeskySpace
from rankwise.spaces.kernels import check_kernel
from rankwise.spaces.space import ReducedSpace
from rankwise.supervision.queries import Queries
from rankwise.validation import (
    check_choice,
    check_items,
    check_positive,
    check_preferences,
    check_scores,
)

SOLVERS = {"auto": None, "bundle": BundleSolver, "newton": NewtonSolver}
"""auto: the bundle method for the hinge loss, truncated Newton for the squared hinge loss."""
PRECISIONS = [np.float64, np.float32]


class RankSVM(Ranker):
    """Minimises mean over queries of (mean over pairs y_h > y_j of loss) + alpha‖w‖².

    The loss of a pair is max(0, 1 − (f_h − f_j)), or its square; queries without a pair do not
    count. Airola, Pahikkala, Salakoski (2011): an iteration costs O(nnz + m log m) for any real
    scores, however many pairs there are; O(nnz + l) with l explicit preferences.

    Parameters
    ----------
    alpha : float > 0, strength of regularisation (the paper's λ; SVMrank's C is 1/(alpha N))
    loss : "hinge" or "squared_hinge"
    kernel : "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable of
        two matrices (or of two rows); gamma=None is 1/n
    basis : None exact; int that many random basis items (reduced set); or an array of their rows
    solver : "bundle" (cutting planes, any loss), "newton" (squared hinge) or "auto"
    tol : duality gap at which the bundle method stops, or gradient norm relative to that at
        w = 0 at which Newton's method does
    max_iter : most iterations; a fit that needs more warns with the gap it reached
    warm_start : start from the last solution, for instance along decreasing alpha
    random_state : draws the basis
    verbose : 1 prints objective, gap and time left for every iteration

    Attributes
    ----------
    coef_ : (n,) or (k, n), for the linear kernel
    dual_coef_ : (r,) or (r, k), for other kernels
    basis_index_ : (r,) the items that dual_coef_ belongs to
    objective_ : the value reached; objective_ − gap_ is a lower bound of the minimum
    gap_, n_iter_ : of the last fit
    history_ : {"objective", "gap", "seconds"}, one entry an iteration (and, with
        Newton's method, one for the start)
    n_features_in_, feature_names_in_
        With k outputs objective_, gap_ and n_iter_ are arrays (k,), history_ a list.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> model = RankSVM(alpha=0.01).fit(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"])
    >>> float(model.score(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"]))
    1.0
    """

    def __init__(
        self,
        alpha=1e-3,
        *,
        loss="hinge",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        basis=None,
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, qid=None, preferences=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given, or from
        `preferences` (a rankwise.Preferences) in place of y: their weights count, the margin is 1
        whatever their magnitudes.

        X in single precision is used as it is. Ctrl-C ends the fit with the best model so far.
        """
        check_svm_parameters(self)
        alpha = check_positive("alpha", self.alpha)
        X = check_items(self, X, reset=True, dtype=PRECISIONS)
        risks, single = self._risks(X.shape[0], y, qid, preferences)
        self._has_queries = qid is not None
        space, phi = build_features(self, X)
        self._set_solutions(space, self._minimise(phi, risks, alpha), single)
        return self

    def _minimise(self, phi, risks: list[Risk], alpha: float) -> list[Solution]:
        """One solution a risk."""
        solver, starts = solver_class(self), self._starts(phi.shape[1], len(risks))
        solutions = []
        for risk, start in zip(risks, starts):
            found = solver(phi, risk).solve(
                alpha,
                start=start,
                tol=self.tol,
                max_iter=self.max_iter,
                verbose=self.verbose,
            )
            solutions.append(found)
            if found.status == INTERRUPTED and len(solutions) < len(risks):
                raise KeyboardInterrupt("no model yet for the outputs that remain")
            warn_unless_converged(found, self, stacklevel=4)
        return solutions

    def predict(self, X):
        """Scores of the items X, (n,) or (n, k); higher is better."""
        if self.kernel != "linear":
            return super().predict(X)
        check_is_fitted(self)
        products = Products(check_items(self, X, reset=False, dtype=PRECISIONS))
        if self.coef_.ndim == 1:
            return products.scores(self.coef_)
        return np.column_stack([products.scores(w) for w in self.coef_])

    def _risks(self, m: int, y, qid, preferences) -> tuple[list[Risk], bool]:
        """One risk an output, and whether there is but one."""
        queries = Queries.from_labels(qid, m)
        if preferences is not None:
            preferences = check_preferences(preferences, y, m)
            PairwisePreferences(preferences, queries, np.ones(m), "unit").check()
            return [risk_of_preferences(preferences, m, self.loss)], True
        Y = check_scores(y, m)
        return score_risks(Y.reshape(m, -1), queries, self.loss), Y.ndim == 1

    def _starts(self, n: int, k: int) -> list[np.ndarray | None]:
        last = getattr(self, "_last", None)
        if self.warm_start and last is not None and last.shape == (k, n):
            return list(last)
        return [None] * k

    def _set_solutions(self, space, solutions: list[Solution], single: bool) -> None:
        W = np.array([found.w for found in solutions])
        self._last = W if self.warm_start else None
        set_model(self, space, W, single)
        columns = ("objective", "gap", "n_iter", "history")
        values = {name: [getattr(found, name) for found in solutions] for name in columns}
        for name, value in values.items():
            whole = value if name == "history" else np.array(value)
            setattr(self, f"{name}_", value[0] if single else whole)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def check_svm_parameters(model) -> None:
    """All but alpha."""
    check_choice("loss", model.loss, LOSSES)
    check_choice("solver", model.solver, SOLVERS)
    check_positive("tol", model.tol)
    check_kernel(model.kernel, **model._kernel_parameters())
    if not isinstance(model.max_iter, Integral) or model.max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1; got {model.max_iter!r}.")
    if model.solver == "newton" and model.loss == "hinge":
        raise ValueError(
            'solver="newton" requires curvature, which the hinge loss lacks: use '
            'loss="squared_hinge", or solver="bundle".'
        )


def solver_class(model):
    if model.solver != "auto":
        return SOLVERS[model.solver]
    return BundleSolver if model.loss == "hinge" else NewtonSolver


def build_features(model, X):
    """The space (None for the plain linear one) and its features Φ of the training items."""
    if model.kernel == "linear" and model.basis is None:
        return None, X
    parameters = model._kernel_parameters()
    if model.basis is None:
        space = CholeskySpace(X, model.kernel, parameters)
        return space, space.embedding
    space = ReducedSpace(X, model.kernel, parameters, model.basis, model.random_state)
    return space, space.map.embedding_


def set_model(model, space, W: np.ndarray, single: bool) -> None:
    """The fitted attributes from weights W (k, d) in the space, and none of an earlier kernel's."""
    forget_model(model)
    solution = W.T if space is None else space.to_model(W.T)
    if model.kernel == "linear":
        model.coef_ = solution[:, 0] if single else np.ascontiguousarray(solution.T)
    else:
        model.dual_coef_ = solution[:, 0] if single else solution
    if space is not None:
        model.basis_index_, model._X_basis = space.basis_index, space.X_basis


def forget_model(model, names=("coef_", "dual_coef_", "basis_index_", "_X_basis")) -> None:
    for name in names:
        vars(model).pop(name, None)


def score_risks(Y: np.ndarray, queries: Queries, loss: str) -> list[Risk]:
    """One risk an output; NoPreference names the output that has none."""
    risks = []
    for j, y in enumerate(Y.T):
        try:
            risks.append(risk_of_scores(np.ascontiguousarray(y), queries, loss))
        except NoPreference as error:
            if Y.shape[1] == 1:
                raise
            raise NoPreference(f"output {j}: {error}") from None
    return risks


def warn_unless_converged(found: Solution, model, stacklevel: int = 3) -> None:
    if found.status == CONVERGED:
        return
    reason = "was interrupted" if found.status == INTERRUPTED else "did not converge"
    advice = "" if found.status == INTERRUPTED else ": increase max_iter or tol, or scale X"
    warnings.warn(
        f"{type(model).__name__} {reason} after {found.n_iter} iterations, with objective "
        f"{found.objective:.6g} within {found.gap:.3g} of the minimum (tol={model.tol:g}); the "
        f"best model so far is kept{advice}.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
