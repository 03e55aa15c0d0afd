"""Why is item A ranked above item B: the difference of their scores as a sum of named parts.

A linear model has one part per feature, w_j (a_j − b_j). A kernel model has one part per training
item of its basis, c_i (k(a, x_i) − k(b, x_i)). RankBoost has one part per feature, the sum of the
weights of the thresholds between a and b. The parts add up to f(a) − f(b) exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.relation_baselines import RelationBaseline
from rankwise.workflow.ranking_data import Relation, numbered, sides_of
from rankwise.workflow.trained_model import TrainedModel


@dataclass
class Part:
    """One summand: its name, its share of f(a) − f(b), and the two values that it compares."""

    name: str
    amount: float
    a: float
    b: float


@dataclass
class Explanation:
    """The parts sum to `difference`, largest first; `kind` is "features" or "items"."""

    kind: str
    parts: list[Part]
    score_a: float
    score_b: float

    @property
    def difference(self) -> float:
        return self.score_a - self.score_b

    def rest(self, shown: int) -> float:
        """The sum of the parts after the first ones."""
        return float(sum(part.amount for part in self.parts[shown:]))


class Importance(NamedTuple):
    """What influences the scores most; `kind` is "weights", "thresholds" or "items"."""

    kind: str
    amounts: np.ndarray
    names: list[str]


def explain(model: TrainedModel, X: Any, a: int, b: int, qid: Any = None) -> Explanation:
    """The parts of f(a) − f(b) for the rows a and b of X; qid as in TrainedModel.predict."""
    ranker, prepared = model.ranker, model.prepared(X, qid)
    pair, values = _dense(prepared[[a, b]]), _dense(X[[a, b]])
    kind, names = "features", _feature_names(model)
    if isinstance(ranker, RankBoost):
        rules, amounts = ranker.rankers_, np.zeros(pair.shape[1])
        x = pair[:, rules["feature"]]
        above = np.where(np.isnan(x), rules["missing"], x > rules["threshold"])
        np.add.at(amounts, rules["feature"], ranker.weights_ * (above[0] - above[1]))
    elif hasattr(ranker, "coef_"):
        amounts = ranker.coef_ * (pair[0] - pair[1])
    else:
        kind, names, values = "items", support_names(model), ranker.representation.of(pair)
        amounts = ranker.dual_coef_ * (values[0] - values[1])
    return _explanation(kind, amounts, names, values, ranker.predict(prepared)[[a, b]])


def explain_edges(model: TrainedModel, relation: Relation, a: int, b: int) -> Explanation:
    """The parts of h(u, v) − h(u, v') for two edges of the same condition u.

    If u is fixed, the model is linear in the representation of a candidate: its features, or its
    kernel values to the training candidates.
    """
    ranker = model.ranker
    if isinstance(ranker, RelationBaseline):
        raise ValueError(
            "a baseline has no weights to explain: it says what similar nodes say. Explain a model "
            "of --learner conditional or two-step."
        )
    given, ranked = sides_of(ranker.condition)
    function, domains = ranker.pair_function, relation.domains
    if not function.pairwise.is_kronecker or function.effects is not None:
        raise ValueError(
            "the parts of a score are those of pairwise='kronecker' without effects; this model "
            f"has pairwise={function.pairwise.name!r} and effects="
            f"{ranker.fitted_parameters.effects!r}."
        )
    spaces = function.rows, function.columns
    condition = domains[given].X[relation.edges[[a], given]]
    pair = domains[ranked].X[relation.edges[[a, b], ranked]]
    coefficients = ranker.coef_ if hasattr(ranker, "coef_") else ranker.dual_coef_
    oriented = coefficients if given == 0 else coefficients.T
    direction = spaces[given].represent(condition)[0] @ oriented
    represented = spaces[ranked].represent(pair)
    kind, names = "features", domains[ranked].features
    if not spaces[ranked].through_features:
        known = model.training.get("node_names")
        kind = "items"
        names = known[ranked] if known else numbered("training object", len(direction))
    amounts = direction * (represented[0] - represented[1])
    return _explanation(kind, amounts, names, represented, represented @ direction)


def _explanation(
    kind: str, amounts: np.ndarray, names: list[str], values: np.ndarray, scores: Any
) -> Explanation:
    order = np.argsort(-np.abs(amounts), kind="stable")
    parts = [
        Part(str(names[i]), float(amounts[i]), float(values[0][i]), float(values[1][i]))
        for i in order
        if amounts[i] != 0
    ]
    return Explanation(kind, parts, float(scores[0]), float(scores[1]))


def importance(model: TrainedModel, X: Any = None, qid: Any = None) -> Importance:
    """What influences the scores most, in no particular order.

    Linear models: weight times standard deviation of the feature over the items X. RankBoost: the
    sum of the absolute weights of the thresholds of a feature. Kernels: the coefficients of the
    basis items.
    """
    ranker = model.ranker
    if isinstance(ranker, RankBoost):
        amounts = np.zeros(ranker.n_features_in_)
        np.add.at(amounts, ranker.rankers_["feature"], np.abs(ranker.weights_))
        return Importance("thresholds", amounts, _feature_names(model))
    if not hasattr(ranker, "coef_"):
        return Importance("items", ranker.dual_coef_, support_names(model))
    amounts = ranker.coef_
    if X is not None:
        X = model.prepared(X, qid)
        is_sparse = sparse.issparse(X)
        spread = np.sqrt(mean_variance_axis(X, axis=0)[1]) if is_sparse else X.std(axis=0)
        amounts = amounts * spread
    return Importance("weights", amounts, _feature_names(model))


def _feature_names(model: TrainedModel) -> list[str]:
    return model.training.get("features") or numbered("feature", model.ranker.n_features_in_)


def support_names(model: TrainedModel) -> list[str]:
    """The basis items of a kernel model as "name (query, score)"."""
    support = model.training.get("support")
    if not support:
        return [f"training item {i + 1}" for i in model.ranker.basis_index_]
    queries = [f"query {label}" for label in support["queries"] or ()]
    scores = [f"score {score:g}" for score in support["scores"] or ()]
    about = zip(*filter(None, (queries, scores)))
    names = [f"{name} ({', '.join(known)})" for name, known in zip(support["names"], about)]
    return names or support["names"]


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
