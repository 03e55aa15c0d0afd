"""RankRLS and RLS: pairwise and pointwise regularised least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.learners.quadratic_ranker import QuadraticLearner
from rankwise.learners.stream_learner import StreamLearner
from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.losses.pair_losses import PairCost, PairLoss
from rankwise.losses.quadratic_loss import PointwiseLoss
from rankwise.supervision.preferences import check_preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, ScoredItems, Supervision
from rankwise.validation import check_weights, refuse_extreme_weights


@dataclass(eq=False, repr=False, kw_only=True)
class PairwiseLeastSquares(QuadraticLearner):
    """Learners with the arguments loss, ties and query_weight."""

    loss: str | PairCost = "magnitude"
    ties: str = "keep"
    query_weight: str = "pairs"

    def _quadratic_loss(self) -> PairLoss:
        return quadratic_loss(self.loss, self.ties, self.query_weight)

    def _supervise(
        self, m: int, y, qid, sample_weight, preferences=None
    ) -> tuple[Supervision, bool]:
        supervision: Supervision
        if preferences is None:
            supervision, single = self._told_items(m, y, qid, sample_weight)
        else:
            preferences = check_preferences(preferences, y, m)
            weight = check_weights(sample_weight, m)
            weight = np.ones(m) if weight is None else weight
            queries, single = Queries.from_labels(qid, m), True
            supervision = ComparedItems(preferences, queries, weight)
        refuse_extreme_weights(supervision.weight)
        supervision.check()
        return supervision, single


@dataclass(eq=False, repr=False)
class RankRLS(PairwiseLeastSquares, StreamLearner):
    """Minimises Σ_pairs w² (z − (f_h − f_j))² + alpha‖f‖² over pairs h ≻ j, in closed form.

    Each unordered pair of a query counts once; there is no intercept, because none can be learnt
    from differences. Pahikkala, Tsivtsivadze, Airola, Järvinen, Boberg (2009), with the losses of
    equations 20 to 22. Pairs within a query are never enumerated (except for the relative loss
    and losses of your own): a fit costs what ridge regression costs, O(m n² + n³) or O(m³),
    whichever side is cheaper. One decomposition gives every alpha, every output and every hold-out;
    it is computed when one of them is first asked for.

    Without queries, with the magnitude loss and ties kept, this *is* ridge regression with an
    unpenalised intercept at alpha/m (scikit-learn's Ridge(alpha/m)), without the intercept. With
    queries, with another loss, with ties dropped or with explicit preferences it is not.

    Parameters
    ----------
    alpha : float > 0
        Strength of regularisation.
    loss
        "magnitude" (z = y, w = 1), "unit" (z = 1, w = 1) or "relative" (z = y, w = 1/y), y being
        the difference of the two scores; or an object with a method pairs(difference) that returns
        the arrays z and w for differences > 0. Such a loss of your own is exact everywhere, at the
        price of the relative loss: the pairs of a query are enumerated, O(m_q²), and every hold-out
        that splits a query refits it.
    kernel
        "linear", "rbf", "poly" or another of scikit-learn's pairwise kernels, "precomputed", or a
        callable of two matrices (or of two rows).
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None exact; int that many random basis items (reduced set, equation 40); or an array of
        their row numbers.
    ties
        "keep" keeps zero-magnitude pairs with the magnitude loss, "drop" leaves them out; the other
        losses never have them.
    query_weight
        "pairs" every pair weighs 1; "size" a pair of a query of m_q items weighs 1/m_q, so that a
        query weighs about as much as it has items; "queries" the pairs of a query share weight 1.
        With sample_weight v, m_q is the sum of v over the query.
    solver
        "auto", or "cholesky" (one factorisation for each alpha), "spectral" (one decomposition for
        all alphas) or "cg" (linear kernel; for large sparse data). "auto" fits a kernel by
        "cholesky", and decomposes when a path or a hold-out first asks, or if alpha is too small
        beside the kernel (below 2e-10 of the largest eigenvalue).
    tol, max_iter
        Of conjugate gradients.
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
    n_features_in_, feature_names_in_
        Of X.
    n_iter_
        Iterations of conjugate gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [0.5, 1.0], [1.5, 0.2]])
    >>> model = RankRLS(alpha=0.1).fit(X, [1, 2, 3, 10, 11], qid=["a", "a", "a", "b", "b"])
    >>> model.predict(X).round(2)
    array([-0.26,  0.72,  1.69,  0.16,  1.22])
    """

    _whole_queries = True

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given, or from
        `preferences` (a rankwise.Preferences) in place of y.

        y may also be a rankwise.Censored: the pairs are then the comparable ones, O(m) to apply,
        and qid labels strata. The magnitude of a pair is the difference of its two times. If the
        longer time is censored, that is the least that the difference can be, and least squares
        pull longer predictions towards it; "unit" asks for the order alone. Pairs of equal times
        (one event, one censored) have magnitude 0, see `ties`.

        A pair weighs v_i v_j with sample_weight v: 2 is the item twice.
        """
        self._forget_stream()
        return self._fit(X, y, qid, sample_weight, preferences)

    def _streamed_items(self, m: int, y, qid, sample_weight) -> tuple[Supervision, bool]:
        """Scores or censored outcomes; a stratum comes whole, as a query does."""
        return self._told_items(m, y, qid, sample_weight)

    def leave_preference_out(self) -> np.ndarray:
        """(l,): f_winner − f_loser of each preference by the model trained without it.

        All statements about the same two items leave together, whoever won; the items stay. O(r)
        for each pair of items after the decomposition, r being the smaller of features and items.
        """
        return self._outputs(self.training_problem.leave_preferences_out([self.alpha]))


@dataclass(eq=False, repr=False)
class RLS(StreamLearner):
    """Minimises Σ v (y − f)² + alpha‖f‖², no intercept: the pointwise baseline of RankRLS.

    The same spaces, solvers, paths and hold-outs, and the same costs.

    Parameters
    ----------
    alpha, kernel, gamma, degree, coef0, basis, random_state, solver, tol, max_iter
        As in RankRLS. `qid` in `fit` only says what leave_query_out leaves out and how `score`
        compares.

    Attributes
    ----------
    coef_, dual_coef_, basis_index_, n_features_in_, feature_names_in_, n_iter_
        As in RankRLS.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RLS
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> model = RLS(alpha=1.0).fit(X, [2.0, 4.0, 6.0])
    >>> model.coef_.round(3), model.leave_one_out().round(2)
    (array([1.867]), array([1.86, 3.64, 5.  ]))
    """

    def _quadratic_loss(self) -> PointwiseLoss:
        return PointwiseLoss()

    def _supervise(
        self, m: int, y, qid, sample_weight, preferences=None
    ) -> tuple[ScoredItems, bool]:
        if preferences is not None:
            raise ValueError("RLS learns from scores y: use RankRLS for explicit preferences.")
        return self._scored_items(m, y, qid, sample_weight)

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Learn from scores y (m,) or (m, k); an item weighs sample_weight v."""
        self._forget_stream()
        return self._fit(X, y, qid, sample_weight)
