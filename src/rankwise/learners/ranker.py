"""What all rankers share: the kernel, predict, score, fitted attributes, tags, routing of qid."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.fit_calls import answering
from rankwise.learners.fit_memory import FitMemory
from rankwise.solvers.solver import CONVERGED, INTERRUPTED, MAX_ITER, STALLED, Solution
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import Basis, RandomState
from rankwise.spaces.representation import Representation
from rankwise.spaces.space import Space
from rankwise.supervision.censored import CensoredItems, read_censored
from rankwise.supervision.queries import Queries, check_scored_queries
from rankwise.supervision.supervision import ScoredItems, Supervision
from rankwise.validation import check_items, check_scores, check_weights

LINEAR = Kernel("linear")
STANDARDISE = "standardise the features of X, for example with sklearn.preprocessing.StandardScaler"
ADVICE = {
    MAX_ITER: f"increase max_iter or tol, or {STANDARDISE}",
    INTERRUPTED: "fit again to the end",
    STALLED: f"more iterations would not help, so raise tol, or {STANDARDISE}",
}
"""What helps a fit that did not converge."""


@dataclass(eq=False, repr=False, kw_only=True)
class KernelArguments:
    """Constructor arguments are fields of dataclasses, so each is declared in one place."""

    kernel: str | Callable = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class BasisArguments(KernelArguments):
    basis: Basis = None
    random_state: RandomState = None


class Ranker(FitMemory, RegressorMixin, BaseEstimator):
    """Base of learners with f(x) = ⟨w, x⟩ (`coef_`) or f(x) = Σ_R b_i k(x, x_i) (`dual_coef_`).

    `_set_model` sets the fitted attributes: `coef_` (n,) or (k, n) for the linear kernel;
    `dual_coef_` (r,) or (r, k), `basis_index_` and `_X_basis` for other kernels. `_has_queries`
    says whether fit was given qid.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def precisions(self, kernel: Kernel) -> Any:
        """The types of X that fit and predict use as they are."""
        return np.float64

    def __init_subclass__(cls, **options: Any) -> None:
        if "fit" in vars(cls):
            cls.fit = answering(vars(cls)["fit"])
        super().__init_subclass__(**options)

    def named_coef(self) -> dict[str, Any]:
        """The weight of each feature by its name, the largest absolute value first.

        Names are those of the frame that the model was fitted to, else "x0", "x1", ... With several
        outputs a weight is an array (k,). Weights of features on different scales do not compare.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise AttributeError(
                f"{type(self).__name__} has no coef_: a kernel other than the linear one has no "
                "weights of features. sklearn.inspection.permutation_importance works for all."
            )
        weights = np.atleast_2d(self.coef_)
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(weights.shape[1])] if names is None else names
        order = np.argsort(-np.abs(weights).max(axis=0), kind="stable")
        single = np.ndim(self.coef_) == 1
        return {str(names[j]): float(self.coef_[j]) if single else weights[:, j] for j in order}

    def _warn_of_dependence(self, X: Any, supervision: Any, *labels: Any) -> None:
        """For searches: warn if rows seem to belong together and neither qid nor groups say so."""
        from rankwise.model_selection.dependent_rows import warn_of_dependent_rows

        if all(label is None for label in labels) and not Kernel(self.kernel).is_precomputed:
            names = getattr(self, "feature_names_in_", None)
            Y = getattr(supervision, "Y", None)
            y = Y[:, 0] if Y is not None and Y.shape[1] == 1 else None
            warn_of_dependent_rows(X, y, names, stacklevel=5)

    @property
    def fitted_with_queries(self) -> bool:
        """Whether fit was given qid, so that scores of different queries do not compare."""
        return getattr(self, "_has_queries", False)

    @property
    def representation(self) -> Representation:
        """How items enter the fitted model; multiply by `coefficients` to get their scores."""
        names = ("basis_index_", "_X_basis")
        kernel = Kernel.of(self.fitted_parameters)
        return Representation(kernel, *(getattr(self, name, None) for name in names))

    @property
    def coefficients(self) -> np.ndarray:
        """(d,) or (d, k), the coefficients of the represented items."""
        return self.coef_.T if hasattr(self, "coef_") else self.dual_coef_

    def _scored_items(self, m: int, y, qid, sample_weight) -> tuple[ScoredItems, bool]:
        """The checked scores, and whether y has a single column without an axis of outputs."""
        Y, queries = check_scores(y, m), Queries.from_labels(qid, m)
        weight = check_weights(sample_weight, m)
        weight = np.ones(m) if weight is None else weight
        return ScoredItems(Y.reshape(m, -1), queries, weight), Y.ndim == 1

    def _told_items(self, m: int, y, qid, sample_weight) -> tuple[Supervision, bool]:
        """The same for learners that also take censored outcomes."""
        outcome = read_censored(y)
        if outcome is None:
            return self._scored_items(m, y, qid, sample_weight)
        if len(outcome) != m:
            raise ValueError(f"X and y must have as many rows: X has {m}, y has {len(outcome)}.")
        weight = check_weights(sample_weight, m)
        weight = np.ones(m) if weight is None else weight
        return CensoredItems(outcome, Queries.from_labels(qid, m), weight), True

    def _set_model(self, space: Space | Representation, solution: np.ndarray, single: bool) -> None:
        """The fitted attributes from the coefficients (d, k) of a model in the space."""
        for name in ("coef_", "dual_coef_", "basis_index_", "_X_basis"):
            self.__dict__.pop(name, None)
        representation = space.representation if isinstance(space, Space) else space
        if representation.kernel.is_linear:
            self.coef_ = solution[:, 0] if single else np.ascontiguousarray(solution.T)
        else:
            self.dual_coef_ = solution[:, 0] if single else solution
        if representation.basis_index is not None:
            self.basis_index_ = representation.basis_index
            self._X_basis = representation.X_basis
        self._remember_parameters()

    def predict(self, X):
        """Scores of the items X, (n,) or (n, k); higher is better."""
        check_is_fitted(self)
        if hasattr(self, "coef_"):
            return self._scores(check_items(self, X, reset=False, dtype=self.precisions(LINEAR)))
        representation = self.representation
        X = check_items(self, X, reset=False, dtype=self.precisions(representation.kernel))
        return representation.scores(X, self.coefficients)

    def _scores(self, represented) -> np.ndarray:
        return represented @ self.coefficients

    def score(self, X, y, qid=None, sample_weight=None) -> float:
        """1 − ranking error, averaged over queries (and over outputs); 1 is a perfect order.

        For censored outcomes y it is Harrell's concordance, the share of comparable pairs.
        Weights have no meaning here and are refused; pipelines pass the argument on as None.
        """
        from rankwise import metrics

        check_is_fitted(self)
        if sample_weight is not None:
            raise ValueError("score takes no sample_weight: the measure counts pairs equally.")
        S = self.predict(X)
        check_scored_queries(self.fitted_with_queries, qid, len(S))
        outcome = read_censored(y)
        if outcome is not None:
            return metrics.concordance(outcome, S, qid)
        y = check_scores(y, len(S))
        if y.ndim == 1 and S.ndim == 1:
            return metrics.concordance(y, S, qid)
        y, S = y.reshape(len(y), -1), S.reshape(len(S), -1)
        if y.shape != S.shape:
            raise ValueError(f"the model predicts {S.shape[1]} outputs, y has {y.shape[1]}.")
        return float(
            np.mean([metrics.concordance(y[:, j], S[:, j], qid) for j in range(y.shape[1])])
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = Kernel(self.kernel).is_precomputed
        return tags


class MultiOutputRanker(Ranker):
    """A ranker whose y may have several columns."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def warn_unless_converged(solution: Solution, model, stacklevel: int = 4) -> None:
    """ConvergenceWarning with the gap that was reached."""
    if solution.status == CONVERGED:
        return
    interrupted = solution.status == INTERRUPTED
    reason = "was interrupted" if interrupted else "did not converge"
    warnings.warn(
        f"{type(model).__name__} {reason} after {solution.n_iter} iterations, with objective "
        f"{solution.objective:.6g} within {solution.gap:.3g} of the minimum (tol={model.tol:g}); "
        f"the best model so far is kept{'' if interrupted else ': ' + ADVICE[solution.status]}.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


class ConvergenceTally:
    """Counts the fits of a search that did not converge, so that one warning speaks for all."""

    def __init__(self) -> None:
        self._fits, self._gaps = 0, dict[str, list[float]]()

    def add(self, solution: Solution) -> None:
        self._fits += 1
        if solution.status != CONVERGED:
            self._gaps.setdefault(solution.status, []).append(solution.gap)

    def warn(self, model: Any, stacklevel: int = 4) -> None:
        """A ConvergenceWarning if some fit did not converge; the commonest reason is advised on."""
        if not self._gaps:
            return
        gaps = [gap for found in self._gaps.values() for gap in found]
        commonest = max(self._gaps, key=lambda status: len(self._gaps[status]))
        warnings.warn(
            f"{len(gaps)} of the {self._fits} fits of {type(model).__name__} did not converge; "
            f"the worst is within {max(gaps):.3g} of its minimum (tol={model.tol:g}): "
            f"{ADVICE[commonest]}.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
