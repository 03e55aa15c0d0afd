"""SVRank: ε-insensitive magnitude-preserving ranking in O(m log m) per step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from rankwise.learners.magnitude_ranker import MagnitudeRanker
from rankwise.validation import check_items, check_positive


@dataclass(eq=False, repr=False)
class SVRank(MagnitudeRanker):
    """Minimises `‖h‖² + C/m² Σ_ij max(0, |(h_j − h_i) − (y_j − y_i)| − epsilon)^norm`.

    Over ordered pairs; with qid over pairs of the same query, and Σ m_q² in place of m².
    Equation 9 of Cortes, Mohri, Rastogi (2007), without its quadratic programme of m²
    constraints: the cost depends on the residuals h − y alone, which are sorted, O(nnz + m log m)
    per step.

    Parameters
    ----------
    C : float > 0
        Weight of the mean cost against ‖h‖².
    epsilon : float ≥ 0
        Deviations of a difference up to it cost nothing.
    norm
        1 (bundle method) or 2 (truncated Newton).
    kernel
        "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable.
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None exact; int that many random basis items (reduced set); or an array of their rows.
    tol
        Duality gap relative to the objective of h = 0, and with norm 2 also the gradient norm
        relative to that at h = 0.
    max_iter
        Most iterations; a fit that needs more warns with the gap it reached.
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
    objective_
        The value reached; `objective_` − `gap_` is a lower bound of the minimum.
    gap_, n_iter_
        Of the fit.
    history_
        {"objective", "gap", "seconds"}, one entry per iteration.

    Notes
    -----
    With k outputs `objective_`, `gap_` and `n_iter_` are arrays (k,), `history_` a list.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import SVRank
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> SVRank(C=1000.0, epsilon=0.1, tol=1e-6).fit(X, [5.0, 7.0, 9.0, 13.0]).predict(X).round(1)
    array([0. , 2. , 4. , 7.9])
    """

    epsilon: float = 0.1
    _: KW_ONLY
    norm: int = 1
    tol: float = 1e-3

    def fit(self, X, y, *, qid=None, sample_weight=None):
        """Learn from scores y (m,) or (m, k), within queries where qid is given.

        A pair weighs v_i v_j with sample_weight v: 2 is the item twice.
        """
        self._check_parameters()
        check_positive("epsilon", self.epsilon, zero=True)
        items = check_items(self, X, reset=True)
        self._keep(items, *self._supervise(items.shape[0], y, qid, sample_weight), qid is not None)
        self._guard(items, X)
        self._fit_residuals(self.epsilon)
        return self
