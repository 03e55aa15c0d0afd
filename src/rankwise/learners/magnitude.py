"""What MPRank and SVRank share: C, pairs of a query, risks on residuals, the stability bound."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.base import Ranker
from rankwise.learners.rank_svm import build_features, set_model, warn_unless_converged
from rankwise.learners.stability import check_delta, given_or_measured, stability_bound
from rankwise.losses.epsilon_insensitive import pair_normaliser, risk_of_residuals
from rankwise.losses.least_squares import PairwiseScores
from rankwise.metrics import pair_cost
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.solver import CONVERGED, INTERRUPTED, MAX_ITER
from rankwise.spaces.kernels import check_kernel, kernel_matrix
from rankwise.supervision.queries import Queries
from rankwise.validation import check_positive, check_scores, check_weights

BLOCK = 256
"""Items whose kernel matrix is formed at once when only its diagonal is wanted."""
ROUNDING = 1e-12
"""A gap below this share of the objective is none, whatever the gradient's norm."""


class MagnitudeSupervision(Ranker):
    """Learners told all pairs of a query, ties included."""

    def _supervise(self, m: int, y, qid, sample_weight) -> tuple[PairwiseScores, bool]:
        """All pairs of a query, a pair weighing v_i v_j; and whether there is but one output.

        Weights count relative to each other, so the largest may be 1 whatever their scale.
        """
        Y = check_scores(y, m)
        weight = check_weights(sample_weight, m)
        weight = np.ones(m) if weight is None else weight / weight.max()
        supervision = PairwiseScores(Y.reshape(m, -1), Queries.from_labels(qid, m), weight)
        supervision.check()
        return supervision, Y.ndim == 1

    def _keep(self, X, supervision: PairwiseScores, single: bool, has_queries: bool) -> None:
        self._X, self._supervision = X, supervision
        self._single_output, self._has_queries = single, has_queries

    @property
    def _normaliser(self) -> float:
        return pair_normaliser(self._supervision.queries, self._supervision.weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class MagnitudeRanker(MagnitudeSupervision):
    """‖h‖² + C/N Σ_ij cost((h_j − h_i) − (y_j − y_i)) over ordered pairs, N = Σ_q m_q²."""

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        if not isinstance(self.norm, Integral) or self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2; got {self.norm!r}.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be an integer of at least 1; got {self.max_iter!r}.")
        check_kernel(self.kernel, **self._kernel_parameters())

    def _fit_residuals(self, epsilon: float) -> None:
        """Minimise R(Φw) + ‖w‖²/C an output at a time, R the mean cost over ordered pairs.

        O(nnz + m log m) a step: the bundle method for norm 1, truncated Newton for norm 2.
        """
        supervision = self._supervision
        space, phi = build_features(self, self._X)
        solver = BundleSolver if self.norm == 1 else NewtonSolver
        solutions = []
        for y in supervision.Y.T:
            pairs = (supervision.queries, supervision.weight)
            risk = risk_of_residuals(np.ascontiguousarray(y), *pairs, epsilon, self.norm)
            tol = self.tol
            if self.norm == 1:
                start = risk.at(np.zeros(risk.n_items)).value
                tol *= start if start > 0 else 1.0
            found = solver(phi, risk).solve(1.0 / self.C, tol=tol, max_iter=self.max_iter)
            if found.status == MAX_ITER and found.gap <= ROUNDING * found.objective:
                found.status = CONVERGED
            found.objective *= self.C
            found.gap *= self.C
            for name in ("objective", "gap"):
                found.history[name] *= self.C
            solutions.append(found)
            if found.status == INTERRUPTED and len(solutions) < supervision.Y.shape[1]:
                raise KeyboardInterrupt("no model yet for the outputs that remain")
            warn_unless_converged(found, self)
        set_model(self, space, np.array([found.w for found in solutions]), self._single_output)
        for name in ("objective", "gap", "n_iter", "history"):
            values = [getattr(found, name) for found in solutions]
            whole = values if name == "history" else np.array(values)
            setattr(self, f"{name}_", values[0] if self._single_output else whole)

    def stability_bound(self, delta=0.05, *, kappa=None, M=None) -> dict:
        """The generalisation bound of Corollary 1 (equations 65 and 66), O(m log m) after predict.

        kappa bounds √K(x, x) and M bounds |h(x) − y|, for all items and hypotheses; where they
        are not given, the largest on the training items stand in, which the theorem does not
        grant. Returns "empirical", the mean cost over the m² ordered pairs; "stability", β of
        Proposition 3; "bound", which the expected cost of a new pair exceeds with probability
        delta at most; "assumptions", in words, and whether the bound says anything: it does not
        where it exceeds (2M)^norm, as it will unless C is well below √m.
        """
        check_is_fitted(self)
        delta = check_delta(delta)
        supervision = self._items_seen()
        if len(supervision.queries) > 1 or supervision.Y.shape[1] > 1:
            raise ValueError("stability_bound is for one output and a model fitted without qid.")
        if np.ptp(supervision.weight) > 0:
            raise ValueError("stability_bound is for items of equal sample_weight.")
        y, h = supervision.Y[:, 0], self.predict(self._X).ravel()
        largest = (float(np.sqrt(self._kernel_diagonal().max())), float(np.abs(h - y).max()))
        kappa, M, origin = given_or_measured(kappa, M, *largest)
        cost = pair_cost(y, h, "SVR", power=self.norm, epsilon=getattr(self, "epsilon", 0.0))
        given = {"C": self.C, "norm": self.norm, "m": len(y), "delta": delta}
        return stability_bound(empirical=cost, kappa=kappa, M=M, origin=origin, **given)

    def _items_seen(self) -> PairwiseScores:
        if self._supervision is None:
            raise ValueError(
                "this model holds no training items, which hold-outs and bounds need: partial_fit "
                "keeps sums only, and rankwise.save keeps items with training_data=True only."
            )
        return self._supervision

    def _kernel_diagonal(self) -> np.ndarray:
        X, parameters = self._X, self._kernel_parameters()
        if self.kernel == "precomputed":
            return np.asarray(X.diagonal())
        blocks = [slice(start, start + BLOCK) for start in range(0, X.shape[0], BLOCK)]
        squares = [kernel_matrix(X[rows], X[rows], self.kernel, **parameters) for rows in blocks]
        return np.concatenate([np.diagonal(square) for square in squares])
