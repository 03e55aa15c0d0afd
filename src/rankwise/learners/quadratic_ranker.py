"""The shell around quadratic problems: one fit, one path, all hold-outs, for any supervision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.ranker import BasisArguments, MultiOutputRanker
from rankwise.losses.quadratic_loss import QuadraticLoss
from rankwise.spaces.kernels import Kernel
from rankwise.supervision.supervision import Supervision, pairs_within
from rankwise.validation import (
    check_alphas,
    check_choice,
    check_count,
    check_index,
    check_items,
    check_pairs,
    check_positive,
    refuse_non_finite,
)

if TYPE_CHECKING:  # a saved model predicts without what only a fit needs
    from rankwise.holdout.quadratic_problem import QuadraticProblem


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticLearner(BasisArguments, MultiOutputRanker):
    """Learners whose objective is Σ (squared differences) + alpha‖f‖², for one alpha or many."""

    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 1000

    @abstractmethod
    def _quadratic_loss(self) -> QuadraticLoss:
        """The loss of the constructor's arguments, checked."""

    @abstractmethod
    def _supervise(self, m: int, y, qid, sample_weight, preferences) -> tuple[Supervision, bool]:
        """What the learner is told, checked, and whether there is a single output."""

    def _checked_pieces(self) -> tuple[QuadraticLoss, Kernel]:
        """The loss and the kernel of the constructor's arguments, all of which are checked."""
        from rankwise.holdout.quadratic_problem import SOLVERS

        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("solver", self.solver, SOLVERS)
        return self._quadratic_loss(), Kernel.of(self)

    def _problem_of(
        self, X, supervision: Supervision, basis, loss: QuadraticLoss, kernel: Kernel
    ) -> QuadraticProblem:
        from rankwise.holdout.quadratic_problem import QuadraticProblem

        limits = {"tol": self.tol, "max_iter": self.max_iter}
        settings: dict[str, Any] = {
            "solver": self.solver,
            "random_state": self.random_state,
            **limits,
        }
        return QuadraticProblem(X, supervision, loss, kernel, basis=basis, **settings)

    def hold_outs(
        self, X, y=None, *, qid=None, sample_weight=None, preferences=None
    ) -> QuadraticProblem:
        """Predictions for held-out items of this training set, for any alphas; fits nothing yet.

        The arguments are those of `fit`. The result is a rankwise.holdout.protocol.HeldOut.
        """
        return clone(self)._checked_problem(X, y, qid, sample_weight, preferences)[0]

    def _checked_problem(
        self, X, y, qid, sample_weight, preferences
    ) -> tuple[QuadraticProblem, bool]:
        """The problem of a training set, and whether there is a single output."""
        from rankwise.holdout.quadratic_problem import sums_show_finiteness

        pieces = self._checked_pieces()
        X = check_items(self, X, reset=True, finite=False)
        # A frame has been copied already, so one more pass is cheap, and it can name the column.
        names = getattr(self, "feature_names_in_", None)
        if names is not None or not sums_show_finiteness(X, pieces[1], self.basis, self.solver):
            refuse_non_finite(X, "X", names)
        supervision, single = self._supervise(X.shape[0], y, qid, sample_weight, preferences)
        self._has_queries = qid is not None
        return self._problem_of(X, supervision, self.basis, *pieces), single


@dataclass(eq=False, repr=False)
class QuadraticRanker(QuadraticLearner):
    """A quadratic learner with a given alpha, its path and its hold-outs."""

    alpha: float = 1.0

    def _checked_pieces(self) -> tuple[QuadraticLoss, Kernel]:
        check_positive("alpha", self.alpha)
        return super()._checked_pieces()

    def _fit(self, X, y, qid, sample_weight, preferences=None):
        """Solve for alpha and set the fitted attributes."""
        problem, self._single_output = self._checked_problem(X, y, qid, sample_weight, preferences)
        solution = problem.path([self.alpha])[0]
        self._problem, self.n_iter_ = problem, problem.n_iter
        self._X, self._supervision, self._basis = problem.X, problem.supervision, problem.basis
        self._guard(problem.X, X)
        self._set_model(problem.space, solution, self._single_output)
        return self

    @property
    def training_problem(self) -> QuadraticProblem:
        """The problem of the last fit; decomposed again after the model was loaded or pickled."""
        check_is_fitted(self)
        if self._supervision is None:
            raise ValueError(
                "this model holds no training items, which hold-outs and paths need: partial_fit "
                "keeps sums only, and rankwise.save keeps items with training_data=True only."
            )
        if self._X is not None:
            self._refuse_edited(self._X)
        if self._problem is None:
            told = (self._X, self._supervision, self._basis)
            fitted = type(self)(**vars(self.fitted_parameters))
            self._problem = fitted._problem_of(*told, *fitted._checked_pieces())
        return self._problem

    @property
    def _alpha(self) -> float:
        """The current alpha, which may differ from that of the fit."""
        return check_positive("alpha", self.alpha)

    def path(self, alphas) -> np.ndarray:
        """Coefficients for every alpha from one decomposition, in the order given.

        (a, n) or (a, k, n) as `coef_` for the linear kernel, (a, r) or (a, r, k) as `dual_coef_`
        for others. After a fit by conjugate gradients each alpha starts from the next larger one.
        """
        problem = self.training_problem
        coefficients = problem.path(check_alphas(alphas))
        if self._single_output:
            return coefficients[..., 0]
        return coefficients.swapaxes(1, 2) if problem.kernel.is_linear else coefficients

    def _outputs(self, values: np.ndarray) -> np.ndarray:
        return values[0, ..., 0] if self._single_output else values[0]

    def holdout(self, index) -> np.ndarray:
        """Predictions for the training items `index` by the model trained without them.

        Equal to refitting with the same alpha, basis items among them removed. O(u³ + u² r) for u
        items if they are whole queries, if the loss is pointwise, or if one query has all its
        pairs; otherwise one refit of the queries they touch.
        """
        problem = self.training_problem
        return self._outputs(problem.without(check_index(index, problem.n_items), [self._alpha]))

    def leave_one_out(self) -> np.ndarray:
        """(m,) or (m, k): each item predicted by the model trained without it.

        O(m r) in all for a pointwise loss or a single query with all its pairs, O(Σ m_q³) with
        queries. Explicit preferences: O(d² r + d³) for an item that d others are compared with.
        Censored outcomes: O(n³) per item from n features or basis items, one refit per item from a
        kernel matrix. Other losses: O(m_q³) per item.
        """
        return self._outputs(self.training_problem.leave_each_out([self._alpha]))

    def leave_query_out(self) -> np.ndarray:
        """(m,) or (m, k): each item predicted by the model trained without its whole query.

        Equation 33 of Pahikkala et al. 2009: O(Σ m_q³ + m_q² r) in all.
        """
        problem = self.training_problem
        queries = problem.supervision.queries
        if len(queries) < 2:
            raise ValueError(
                "leave_query_out needs a model fitted with qid of two or more queries."
            )
        return self._outputs(problem.leave_groups_out(list(queries), [self._alpha]))

    def leave_pair_out(self, pairs=None) -> np.ndarray:
        """(p, 2) or (p, 2, k): both items of each pair predicted by the model trained without them.

        Default: every pair i < j in row order, with queries only pairs of the same query. For one
        query with all its pairs O(1) per pair after one matrix (equations 36 to 39), or after one
        matrix for each pair of weights if the weights differ; with queries the same for each
        query's block. Tie-free and unit losses of r score levels: O(1) per pair after r(r + 1)/2
        such matrices. Relative loss and losses of your own: O(m_q³) per pair. Explicit preferences:
        O(d² r + d³) for a pair that d preferences touch. Pairs that remove basis items: O(r) each.
        Censored outcomes: O(n³) per pair from n features or basis items (a refit if a basis item
        leaves), one refit per pair from a kernel matrix.
        """
        problem = self.training_problem
        if pairs is None:
            pairs = pairs_within(problem.supervision.queries)
        else:
            pairs = check_pairs(pairs, problem.n_items)
        return self._outputs(problem.leave_pairs_out(pairs, [self._alpha]))

    def __getstate__(self):
        """Without the decomposition, which any later hold-out computes again."""
        state = super().__getstate__().copy()
        state.update(_problem=None)
        return state
