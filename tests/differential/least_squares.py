"""RankRLS, RLS, MPRank and RankRLSCV against elimination in extended precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rankwise import RLS, MPRank, RankRLS, RankRLSCV

from .draws import Drawn, draw
from .extended import (
    Long,
    dual_coefficients,
    from_first_item,
    kernel,
    laplacian,
    long,
    pairs_of_scores,
    solve,
)
from .outcome import Outcome, Undecided

NEAR_TIE = 1e-6
"""The relative loss refuses differences below this share of the largest."""


@dataclass
class Truth:
    """One least-squares problem: predictions for any items, trained on any subset."""

    data: Drawn
    K: np.ndarray
    """All kernel values: rows are training items and then new ones, columns training items."""
    options: dict
    pointwise: bool = False
    basis: np.ndarray | None = None

    def quadratic(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data = self.data
        y, v = data.y[items], data.v[items]
        if self.pointwise:
            return np.diag(long(v)), long(v) * long(y)
        pairs = pairs_of_scores(y, data.codes[items], v, **self.options)
        return laplacian(pairs, len(items))

    def scores(self, trained: np.ndarray, rows: np.ndarray, alpha: float) -> np.ndarray:
        L, b = self.quadratic(trained)
        if not np.any(b) or not np.any(L):
            return np.zeros(len(rows), dtype=Long)
        if self.basis is None and self.data.kernel["kernel"] == "linear" and not self.pointwise:
            return self._linear_scores(trained, rows, alpha)
        if self.basis is None:
            columns = trained
            a = dual_coefficients(self.K[np.ix_(trained, trained)], L, b, alpha)
        else:
            columns = np.intersect1d(self.basis, trained)
            columns = columns[independent(self.K[np.ix_(columns, columns)])]
            K_MR, K_RR = self.K[np.ix_(trained, columns)], self.K[np.ix_(columns, columns)]
            if not len(columns):
                return np.zeros(len(rows), dtype=Long)
            A = K_MR.T @ L @ K_MR + Long(alpha) * K_RR
            a = solve(A, (K_MR.T @ b)[:, None])[:, 0]
        return self.K[np.ix_(rows, columns)] @ a

    def _linear_scores(self, trained, rows, alpha: float) -> np.ndarray:
        """L ignores a common offset of the items, which would cost the kernel its digits."""
        L, b = self.quadratic(trained)
        everything = long(np.vstack([self.data.X, self.data.X_new]))
        X = everything[trained] - everything[trained].mean(axis=0)
        a = dual_coefficients(X @ X.T, L, b, alpha)
        return everything[rows] @ (X.T @ a)

    @property
    def sees_differences(self) -> bool:
        """Whether a learner is to compute differences of kernel values without cancellation."""
        is_poly = self.data.kernel["kernel"] == "poly" and np.ptp(self.data.X, axis=0).any()
        return is_poly and self.data.is_far and not self.pointwise and self.basis is None

    def without(self, items, alpha: float) -> np.ndarray:
        items = np.asarray(items)
        return self.scores(np.setdiff1d(np.arange(self.data.m), items), items, alpha)

    def size(self) -> float:
        """The mean eigenvalue of L K, which a typical alpha is to be compared with."""
        L, _ = self.quadratic(np.arange(self.data.m))
        return float(np.trace(L @ self.K[: self.data.m])) / self.data.m


def independent(K: np.ndarray) -> np.ndarray:
    """Columns of a kernel matrix that span all of them, by Cholesky with pivots."""
    rest, chosen = K.astype(Long).copy(), []
    largest = np.diag(K).max(initial=0)
    while len(chosen) < len(K):
        pivot = int(np.argmax(np.diag(rest)))
        if rest[pivot, pivot] <= 1e-14 * largest:
            break
        chosen.append(pivot)
        rest = rest - np.outer(rest[:, pivot], rest[pivot]) / rest[pivot, pivot]
    return np.array(sorted(chosen), dtype=int)


def kernel_values(data: Drawn) -> tuple[np.ndarray, object, object]:
    """All kernel values, and what the learner is given to fit and to predict."""
    if data.kernel["kernel"] == "precomputed":
        given = np.vstack([data.X, data.X_new]) @ data.X.T
        given[: data.m] = (given[: data.m] + given[: data.m].T) / 2
        return long(given), given[: data.m], given
    name, arguments = data.kernel["kernel"], list(data.kernel.values())[1:]
    everything = np.vstack([data.X, data.X_new])
    values = kernel(name, everything, data.X, *arguments)
    return values, data.give(data.X), data.give(everything)


def random_learner(rng: np.random.Generator, data: Drawn, K: np.ndarray):
    """A learner without its alpha, and the truth about it."""
    kind = rng.random()
    if kind < 0.2:
        truth = Truth(data, K, {}, pointwise=True)
        return RLS(**data.kernel), truth
    if kind < 0.35:
        options = {"loss": "magnitude", "ties": "keep", "query_weight": "pairs"}
        return MPRank(solver="closed", **data.kernel), Truth(data, K, options)
    options = {
        "loss": str(rng.choice(["magnitude", "unit", "relative"])),
        "ties": str(rng.choice(["keep", "drop"])),
        "query_weight": str(rng.choice(["pairs", "queries", "size"])),
    }
    basis = None
    if data.m > 2 and not data.is_far and rng.random() < 0.25:
        basis = np.sort(rng.choice(data.m, int(rng.integers(1, data.m)), replace=False))
    return RankRLS(basis=basis, **options, **data.kernel), Truth(data, K, options, basis=basis)


def may_refuse(truth: Truth) -> bool:
    """Whether an error is right: nothing to learn from, or differences the loss cannot weigh."""
    if truth.pointwise:
        return not np.any(truth.data.v)
    _, b = truth.quadratic(np.arange(truth.data.m))
    if not np.any(b):
        return True
    if truth.options["loss"] != "relative":
        return False
    for query in np.unique(truth.data.codes):
        y = truth.data.y[truth.data.codes == query]
        gaps = np.abs(y[:, None] - y[None, :])
        gaps = gaps[gaps > 0]
        if len(gaps) and gaps.min() < 10 * NEAR_TIE * gaps.max():
            return True
    return False


def check_learner(rng: np.random.Generator) -> Outcome:
    """A fit and all its hold-outs."""
    data = draw(rng)
    K, X, X_all = kernel_values(data)
    model, truth = random_learner(rng, data, K)
    outcome = Outcome(f"{model!r} on {data}", may_refuse(truth) or data.scale != 1.0)
    size = truth.size()
    if not size > 0:
        return outcome.undecided("no pair has a weight")
    alpha = size * 10.0 ** rng.uniform(-8, 4)
    if isinstance(model, MPRank):
        total = sum(data.v[data.codes == query].sum() ** 2 for query in np.unique(data.codes))
        C = total / (2 * alpha)
        model.set_params(C=C)
        alpha = total / (2 * C)
    else:
        model.set_params(alpha=alpha)
    expected = truth.scores(np.arange(data.m), np.arange(data.m + 3), alpha)
    outcome.scale = np.abs(expected).max()
    outcome.rounding = 100 * sensitivity(rng, truth, alpha, expected)
    outcome.may_refuse |= outcome.rounding > 0.1  # the last digits of the kernel decide
    with outcome.refusing():
        model.fit(X, data.y, qid=data.qid, sample_weight=data.weight)
        outcome.compare("predict", model.predict(X_all), expected)
        if not isinstance(model, MPRank):
            check_holdouts(rng, model, truth, alpha, outcome)
    return outcome


def sensitivity(rng, truth: Truth, alpha: float, expected: np.ndarray) -> float:
    """How much predictions and leave-one-out change if the input changes in its last digits.

    No computation in double precision can be asked for more digits than that.
    """
    data, m = truth.data, truth.data.m
    single = np.array([truth.without([i], alpha)[0] for i in range(m)])
    largest = 0.0
    for _ in range(3):
        nearby = replace(
            truth,
            data=replace(data, X=nudged(rng, data.X), X_new=nudged(rng, data.X_new)),
            K=nudged_kernel(rng, truth.K, truth.sees_differences),
        )
        scores = nearby.scores(np.arange(m), np.arange(m + 3), alpha)
        left_out = np.array([nearby.without([i], alpha)[0] for i in range(m)])
        for found, true in ((scores, expected), (left_out, single)):
            largest = max(largest, float(np.abs(found - true).max()))
    return largest / float(np.abs(expected).max() or 1)


def nudged(rng, values: np.ndarray) -> np.ndarray:
    """The values in extended precision, each changed by up to half a unit of its last digit."""
    noise = rng.uniform(-1, 1, size=values.shape).astype(Long)
    return values.astype(Long) * (1 + np.finfo(float).eps / 2 * noise)


def nudged_kernel(rng, K: np.ndarray, by_differences: bool) -> np.ndarray:
    """Every value changed in its last digit, or in that of its difference from the first item's
    values, which is all that pairs see of it."""
    seen, m = from_first_item(K) if by_differences else K, K.shape[1]
    changed = K + (nudged(rng, seen) - seen)
    changed[:m] = (changed[:m] + changed[:m].T) / 2
    return changed


def check_holdouts(rng, model, truth: Truth, alpha: float, outcome: Outcome) -> None:
    data, m = truth.data, truth.data.m
    single = np.array([truth.without([i], alpha)[0] for i in range(m)])
    outcome.compare("leave_one_out", model.leave_one_out(), single)
    items = rng.choice(m, int(rng.integers(1, m)), replace=False)
    outcome.compare("holdout", model.holdout(items), truth.without(items, alpha))
    if len(set(data.codes)) > 1:
        by_query = np.empty(m, dtype=Long)
        for query in np.unique(data.codes):
            members = np.flatnonzero(data.codes == query)
            by_query[members] = truth.without(members, alpha)
        outcome.compare("leave_query_out", model.leave_query_out(), by_query)
    pairs = [(i, j) for i, j in combinations(range(m), 2) if data.codes[i] == data.codes[j]]
    if pairs:
        held = np.array([truth.without(pair, alpha) for pair in pairs])
        outcome.compare("leave_pair_out", model.leave_pair_out(), held)


def check_search(rng: np.random.Generator) -> Outcome:
    """The scores of RankRLSCV for some alphas, leave-pair-out or leave-query-out."""
    data = draw(rng, largest=9)
    K, X, _ = kernel_values(data)
    model, truth = random_learner(rng, data, K)
    if not isinstance(model, RankRLS):
        model, truth = RankRLS(**data.kernel), Truth(data, K, dict(ENTIRE))
    several = len(set(data.codes)) > 1
    cv = "leave-query-out" if several and rng.random() < 0.5 else "leave-pair-out"
    outcome = Outcome(f"RankRLSCV(cv={cv!r}) of {model!r} on {data}", True)
    size = truth.size()
    if not size > 0:
        return outcome.undecided("no pair has a weight")
    alphas = size * 10.0 ** np.sort(rng.uniform(-6, 3, size=3))
    parameters = {name: value for name, value in model.get_params().items() if name != "alpha"}
    try:
        expected = np.array([expected_score(truth, cv, alpha) for alpha in alphas])
    except Undecided as reason:
        return outcome.undecided(str(reason))
    with outcome.refusing():
        search = RankRLSCV(alphas, cv=cv, **parameters)
        search.fit(X, data.y, qid=data.qid, sample_weight=data.weight)
        outcome.compare("score", search.cv_results_["score"], expected)
    return outcome


ENTIRE = {"loss": "magnitude", "ties": "keep", "query_weight": "pairs"}


def expected_score(truth: Truth, cv: str, alpha: float) -> float:
    """The mean over queries of the share of held-out pairs in the right order."""
    data, shares = truth.data, []
    largest = float(np.abs(truth.scores(np.arange(data.m), np.arange(data.m), alpha)).max())
    for query in np.unique(data.codes):
        members = np.flatnonzero(data.codes == query)
        whole = truth.without(members, alpha)
        right = []
        for a, b in combinations(range(len(members)), 2):
            i, j = members[a], members[b]
            if data.y[i] == data.y[j]:
                continue
            f = truth.without([i, j], alpha) if cv == "leave-pair-out" else whole[[a, b]]
            gap = float(f[0] - f[1])
            if abs(gap) <= 1e-6 * largest:
                raise Undecided("two held-out scores are too close to say which is higher")
            right.append(float((gap > 0) == (data.y[i] > data.y[j])))
        if right:
            shares.append(np.mean(right))
    if not shares:
        raise Undecided("there is no pair to judge")
    return float(np.mean(shares))
