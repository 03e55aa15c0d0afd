"""The choice of alpha and of a threshold by predictions for documents that were left out."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from rankwise.applications.candidate_pairs import kernel_of
from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.kernel_folds import LeaveOut
from rankwise.holdout.quadratic_problem import QuadraticProblem
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.metrics import auc
from rankwise.spaces.basis_removal import REDUNDANT
from rankwise.validation import check_count

Seed = int | np.random.RandomState | None
LEARNERS = {"rls": "pointwise, y = ±1", "rank_rls": "all pairs of candidates"}

Part = tuple[np.ndarray, list[np.ndarray]]
"""The rows of a test fold, which may be empty, and the groups of rows in its training part."""


class Chosen(NamedTuple):
    """What was chosen on the training part of a fold.

    `held_out` has the prediction for each training item by the model without its group, and `auc`
    is their AUC. `scores` are the predictions for the test fold. The dual coefficients, zero for
    items outside the basis, and the intercept are those of the model on all items.
    """

    alpha: float
    threshold: float
    auc: float
    held_out: np.ndarray
    scores: np.ndarray
    coefficients: np.ndarray
    intercept: float


def default_alphas(F: sparse.csr_matrix) -> np.ndarray:
    """2^-14 … 2^6, every second power, times the mean of the kernel's diagonal."""
    scale = squares(F) / F.shape[0]
    return 2.0 ** np.arange(-14, 8, 2) * (scale if scale > 0 else 1.0)


def squares(F: sparse.csr_matrix) -> float:
    """The trace of the kernel F Fᵀ."""
    return float(np.square(F.data).sum())


def choose(
    F: sparse.csr_matrix,
    y: np.ndarray,
    groups: list[np.ndarray],
    alphas: np.ndarray,
    learner: str,
    basis: int | None = None,
    random_state: Seed = None,
) -> Chosen:
    """The alpha with the largest AUC of predictions for held-out groups, and the threshold with the
    largest F of these predictions.

    It costs O(m³) per alpha for m items and a kernel matrix of m × m. With a basis of r items it
    costs one eigendecomposition, O(m r²), and matrices of m × r.
    """
    check_count("basis", basis, none=True)
    if basis is None or basis >= len(y):
        everything = [(np.zeros(0, dtype=int), groups)]
        return choose_each(kernel_of(F), y, everything, alphas, learner)[0]
    members = check_random_state(random_state).choice(len(y), basis, replace=False)
    reduced = ReducedRanking if learner == "rank_rls" else ReducedRegression
    return _choose_reduced(reduced(F, y, np.sort(members)), groups, np.sort(alphas)[::-1])


def choose_each(
    K: np.ndarray, y: np.ndarray, parts: list[Part], alphas: np.ndarray, learner: str
) -> list[Chosen]:
    """The same for the training part of each test fold, from one m × m inverse per alpha.

    Of equally good alphas the largest is taken.
    """
    best: dict[int, Chosen] = {}
    for alpha in np.sort(alphas)[::-1].tolist():
        model = LeaveOut(K, y, alpha, learner == "rank_rls")
        for number, (test, groups) in enumerate(parts):
            held_out = model.groups_without(groups, fold=test)
            known = np.isfinite(held_out)
            quality = pooled_auc(y[known], held_out[known])
            if number not in best or quality > best[number].auc:
                threshold = best_threshold(y[known] > 0, held_out[known])
                scores, solution = model.without(test), (model.coefficients, model.intercept)
                best[number] = Chosen(alpha, threshold, quality, held_out, scores, *solution)
        del model  # its m × m matrix, before the next one is made
    return [best[number] for number in range(len(parts))]


class ReducedRegression:
    """Least squares on the kernel F Fᵀ with basis vectors, those of a held-out group removed.

    Candidates of one sentence often have the same graph. A small number on the kernel's diagonal,
    far below any alpha, makes them different, so that an update can remove a basis vector. Here it
    is one more feature of each basis vector. It is also less than any eigenvalue of the basis, so
    that updates lose few digits, and no hold-out needs another map, which would cost O(|B|³).
    """

    def __init__(self, F: sparse.csr_matrix, y: np.ndarray, basis: np.ndarray):
        own = np.full(len(basis), np.sqrt(2 * REDUNDANT * squares(F)))
        place = (basis, np.arange(len(basis)))
        apart = sparse.csr_matrix((own, place), shape=(F.shape[0], len(basis)))
        self.F, self.y = sparse.hstack((F, apart), format="csr"), y
        self.basis, self.problem = basis, self._problem(basis)
        removal = self.problem.space.matrix.removal
        assert removal is not None
        removal.recompute = None

    def _problem(self, basis: np.ndarray) -> QuadraticProblem:
        return RLS(kernel=inner_products, basis=basis).hold_outs(self.F, self.y)

    def held_out(self, groups: list[np.ndarray], alphas: np.ndarray) -> np.ndarray:
        """(alphas, m) predictions for each item by the model without its group."""
        return self.problem.leave_groups_out(groups, alphas)[..., 0]

    def solution(self, alpha: float) -> tuple[np.ndarray, float]:
        """(m,) dual coefficients, zero for items outside the basis, and the intercept."""
        coefficients = np.zeros(len(self.y))
        coefficients[self.basis] = self.problem.path([alpha])[0][:, 0]
        return coefficients, 0.0


class ReducedRanking(ReducedRegression):
    """The same for RankRLS with alpha × (number of training items), whatever is held out, plus the
    intercept that makes the residuals sum to zero.

    The mean of all items is one more item, of weight 0. It leaves with every group, so that the
    prediction for it tells the mean score of the items that stay, and with it the intercept.
    """

    def _problem(self, basis: np.ndarray) -> QuadraticProblem:
        mean = sparse.csr_matrix(self.F.mean(axis=0))
        items, y = sparse.vstack((self.F, mean), format="csr"), np.append(self.y, 0.0)
        weight = np.append(np.ones(len(self.y)), 0.0)
        model = RankRLS(kernel=inner_products, basis=basis)
        return model.hold_outs(items, y, sample_weight=weight)

    def held_out(self, groups: list[np.ndarray], alphas: np.ndarray) -> np.ndarray:
        y, m = self.y, len(self.y)
        out = np.empty((len(alphas), m))
        for group in groups:
            left, staying = np.append(np.sort(group), m), max(m - len(group), 1)
            f = self.problem.without(left, alphas * staying)[..., 0]
            total = m * f[:, -1] - f[:, :-1].sum(axis=1)
            intercept = (y.sum() - y[group].sum() - total) / staying
            out[:, left[:-1]] = f[:, :-1] + intercept[:, None]
        return out

    def solution(self, alpha: float) -> tuple[np.ndarray, float]:
        coefficients, _ = super().solution(alpha * len(self.y))
        return coefficients, float(np.mean(self.y - self.F @ (self.F.T @ coefficients)))


def inner_products(X: sparse.csr_matrix, Y: sparse.csr_matrix) -> np.ndarray:
    """The linear kernel as a dense matrix, without the detour over the weights of the features,
    of which there are many more than items."""
    return (X @ Y.T).toarray()


def _choose_reduced(
    model: ReducedRegression, groups: list[np.ndarray], alphas: np.ndarray
) -> Chosen:
    """The same with basis vectors, of which those of a held-out group are removed with it."""
    y, held_out = model.y, model.held_out(groups, alphas)
    qualities = [pooled_auc(y, scores) for scores in held_out]
    best = int(np.argmax(qualities))
    alpha, threshold = float(alphas[best]), best_threshold(y > 0, held_out[best])
    solution = model.solution(alpha)
    return Chosen(alpha, threshold, qualities[best], held_out[best], np.zeros(0), *solution)


def pooled_auc(y: np.ndarray, scores: np.ndarray) -> float:
    """AUC of all items together; ½ if only one class is present."""
    try:
        return auc(y, scores)
    except UndefinedMetric:
        return 0.5


class Decision(NamedTuple):
    """Precision, recall and F; a ratio 0/0 counts as 0."""

    precision: float
    recall: float
    f: float


def judge(y: np.ndarray, positive: np.ndarray) -> Decision:
    """How well `positive` (bool) agrees with the truth y (bool)."""
    y, positive = np.asarray(y, dtype=bool), np.asarray(positive, dtype=bool)
    hits, called, true = (int(np.count_nonzero(a)) for a in (y & positive, positive, y))
    f = 2 * hits / max(1, true + called)
    return Decision(hits / max(1, called), hits / max(1, true), f)


def best_threshold(y: np.ndarray, scores: np.ndarray) -> float:
    """The threshold with the largest F, if candidates with a score above it are called positive.

    It lies midway between two scores, or below all of them if everything is best called positive.
    The highest of equally good thresholds is taken. O(m log m).
    """
    y, scores = np.asarray(y, dtype=bool), np.asarray(scores, dtype=float)
    if not y.any():
        raise UndefinedMetric("a threshold needs at least one positive candidate to be chosen on.")
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(y[order])
    called = np.arange(1, len(y) + 1)
    f = 2 * hits / (called + hits[-1])
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold lies between equal scores
    last = int(np.argmax(f))
    if last + 1 == len(ranked):
        return float(ranked[-1] - 1.0 - abs(ranked[-1]))
    return float(ranked[last + 1] + (ranked[last] - ranked[last + 1]) / 2)


def highest(scores: np.ndarray, share: float) -> np.ndarray:
    """(m,) True for the `share` of the candidates with the highest scores, to the nearest integer.

    Of candidates with equal scores the earlier ones are taken.
    """
    if not isinstance(share, Real) or isinstance(share, bool) or not 0 <= share <= 1:
        raise ValueError(f"share must be a number between 0 and 1; got {share!r}.")
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.argsort(-scores, kind="stable")[: round(float(share) * len(scores))]] = True
    return chosen
