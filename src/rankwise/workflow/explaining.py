"""Why is A above B: the difference of two scores, exactly, as a sum of named parts.

Linear models: w_j (a_j − b_j) for every feature. Kernels: c_i (k(a, x_i) − k(b, x_i)) for every
training item that the model rests on. RankBoost: the thresholds that lie between a and b, summed
for every feature. The parts add up to f(a) − f(b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rankwise.learners.rank_boost import RankBoost
from rankwise.solvers.boosting import Threshold
from rankwise.spaces.kernels import kernel_matrix
from rankwise.workflow.relation import Relation
from rankwise.workflow.trained_model import TrainedModel


@dataclass
class Part:
    """One summand: its name, what it adds to f(a) − f(b), and the two values behind it."""

    name: str
    amount: float
    a: float
    b: float


@dataclass
class Explanation:
    """`kind` is "features" or "items"; parts come by falling size and sum to `difference`."""

    kind: str
    parts: list[Part]
    score_a: float
    score_b: float

    @property
    def difference(self) -> float:
        return self.score_a - self.score_b

    def rest(self, shown: int) -> float:
        return float(sum(part.amount for part in self.parts[shown:]))


def explain(model: TrainedModel, X, a: int, b: int, qid=None) -> Explanation:
    """The parts of f(a) − f(b), for rows a and b of X; qid as in TrainedModel.predict."""
    prepared = model.prepared(X, qid)
    pair = _dense(prepared[[a, b]])
    raw = _dense(X[[a, b]])
    amounts, names, values, kind = _parts(model, pair, raw)
    scores = model.ranker.predict(prepared)
    return _explanation(kind, amounts, names, values, scores[a], scores[b])


def explain_edges(model: TrainedModel, relation: Relation, a: int, b: int) -> Explanation:
    """The parts of h(u, v) − h(u, v'), for two edges of the same condition u.

    Given u the model is linear in what represents a candidate: its features, or its kernel values
    to the training candidates.
    """
    ranker = model.ranker
    side = 0 if ranker.condition == "row" else 1
    spaces, items = (ranker._rows, ranker._columns), (relation.rows, relation.column_items)
    given = items[side].X[relation.edges[[a], side]]
    pair = items[1 - side].X[relation.edges[[a, b], 1 - side]]
    coefficients = ranker._coefficients if side == 0 else ranker._coefficients.T
    direction = spaces[side].represent(given)[0] @ coefficients
    represented = spaces[1 - side].represent(pair)
    by_features = spaces[1 - side].through_features
    names = items[1 - side].features
    if not by_features:
        known = (model.record or {}).get("node_names")
        numbers = [f"training object {i + 1}" for i in range(len(direction))]
        names = known[1 - side] if known else numbers
    amounts = direction * (represented[0] - represented[1])
    scores = represented @ direction
    kind = "features" if by_features else "items"
    return _explanation(kind, amounts, names, represented, scores[0], scores[1])


def _explanation(kind, amounts, names, values, score_a, score_b) -> Explanation:
    order = np.argsort(-np.abs(amounts), kind="stable")
    parts = [
        Part(str(names[i]), float(amounts[i]), float(values[0][i]), float(values[1][i]))
        for i in order
        if amounts[i] != 0
    ]
    return Explanation(kind, parts, float(score_a), float(score_b))


def _parts(model: TrainedModel, pair: np.ndarray, raw: np.ndarray):
    ranker = model.ranker
    features = model.feature_names or [f"feature {j + 1}" for j in range(pair.shape[1])]
    if isinstance(ranker, RankBoost):
        amounts = np.zeros(pair.shape[1])
        for rule, weight in zip(ranker.rankers_, ranker.weights_):
            fires = Threshold(*rule).ranks(pair)
            amounts[rule["feature"]] += weight * (fires[0] - fires[1])
        return amounts, features, raw, "features"
    if ranker.kernel == "linear":
        return ranker.coef_ * (pair[0] - pair[1]), features, raw, "features"
    if ranker.kernel == "precomputed":
        K = pair[:, ranker.basis_index_]
    else:
        K = kernel_matrix(pair, ranker._X_basis, ranker.kernel, **ranker._kernel_parameters())
    return ranker.dual_coef_ * (K[0] - K[1]), support_names(model), K, "items"


def importance(model: TrainedModel, X=None, qid=None) -> tuple[str, np.ndarray, list[str]]:
    """What counts most: kind, amounts and names, in no order.

    Linear models: the weight times the feature's standard deviation over the items X, what the
    feature moves scores by. RankBoost: the sum of absolute weights of the feature's thresholds.
    Kernels: the coefficients of the training items.
    """
    ranker = model.ranker
    if isinstance(ranker, RankBoost):
        amounts = np.zeros(ranker.n_features_in_)
        np.add.at(amounts, ranker.rankers_["feature"], np.abs(ranker.weights_))
        return "features", amounts, _features(model, len(amounts))
    if ranker.kernel == "linear":
        spread = np.ones(len(ranker.coef_))
        if X is not None:
            prepared = model.prepared(X, qid)
            if sparse.issparse(prepared):
                square = np.asarray(prepared.multiply(prepared).mean(axis=0)).ravel()
                mean = np.asarray(prepared.mean(axis=0)).ravel()
                spread = np.sqrt(np.maximum(square - mean**2, 0.0))
            else:
                spread = prepared.std(axis=0)
        return "features", ranker.coef_ * spread, _features(model, len(spread))
    return "items", ranker.dual_coef_, support_names(model)


def support_names(model: TrainedModel) -> list[str]:
    """Training items as "name (query, score)"."""
    support = (model.record or {}).get("support")
    if not support:
        return [f"training item {i + 1}" for i in model.ranker.basis_index_]
    names = []
    for i, name in enumerate(support["names"]):
        about = []
        if support["queries"] is not None:
            about.append(f"query {support['queries'][i]}")
        if support["scores"] is not None:
            about.append(f"score {support['scores'][i]:g}")
        names.append(f"{name} ({', '.join(about)})" if about else name)
    return names


def _features(model: TrainedModel, n: int) -> list[str]:
    return model.feature_names or [f"feature {j + 1}" for j in range(n)]


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
