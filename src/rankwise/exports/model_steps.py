"""From a fitted estimator to its steps, by public attributes only.

A learner whose scores are `representation.of(X) @ coefficients` needs nothing here: all learners of
rankwise do so. `transformer_steps` has the transformers of pipelines. Before anything is written,
`checked_steps` compares the steps with `predict`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.exports.scoring_steps import (
    Branches,
    KernelValues,
    Levels,
    MultiplyAndAdd,
    Product,
    Standardise,
    Step,
    Thresholds,
)
from rankwise.exports.transformer_steps import expansion, fitted_parts, transformation
from rankwise.workflow.ranking_data import numbered

PROBES = 32
"""How many made-up items are scored by the steps and by `predict` before a model is exported."""
CLOSE = 1e-9
"""How close both scores must be, beside the sizes of the terms that they add up."""
KEPT = 1e-5
"""How close both scores must be, beside the range of the scores, so that rankings are kept."""


@dataclass(frozen=True)
class ScoringFunction:
    """What an exported file says: names of the features, the steps, and who learnt them.

    `named` says whether the features came with names; else they are "feature 1", "feature 2", ...
    `single` says that predict returns (m,) scores, not (m, k).
    """

    features: list[str]
    named: bool
    steps: list[Step]
    single: bool
    learner: str

    @property
    def n_outputs(self) -> int:
        last = self.steps[-1]
        return last.weights.shape[1] if isinstance(last, Product) else 1

    def scores(self, X: np.ndarray) -> np.ndarray:
        """(m, k)"""
        for step in self.steps:
            X = step.apply(X)
        return X


def checked_steps(est: Any, features: Sequence[str] | None = None) -> ScoringFunction:
    """The steps of a fitted estimator, compared with its `predict`; a ValueError says why not."""
    if hasattr(est, "to_local"):  # fitted on a cluster
        est = est.to_local()
    check_is_fitted(est)
    if not hasattr(est, "predict"):
        raise ValueError(f"{type(est).__name__} gives no scores: export a model that predicts.")
    parts = list(fitted_parts(est))
    ranker = parts[-1]
    steps = [step for part in parts[:-1] for step in transformation(part)]
    steps = _merged([*steps, *_scores(ranker)])
    width = next(part.n_features_in_ for part in parts if hasattr(part, "n_features_in_"))
    names, named = _names(est, parts, width, features)
    single = np.ndim(getattr(ranker, "coefficients", np.zeros(1))) == 1
    function = ScoringFunction(names, named, steps, single, type(ranker).__name__)
    _compare(est, function)
    return function


def _names(
    est: Any, parts: list[Any], n: int, given: Sequence[str] | None
) -> tuple[list[str], bool]:
    record = getattr(est, "record", None) or {}
    known = next((p.feature_names_in_ for p in parts if hasattr(p, "feature_names_in_")), None)
    for names in (given, record.get("features"), known):
        if names is not None and len(names):
            if len(names) != n:
                raise ValueError(f"there are {len(names)} names for {n} features.")
            repeated = {name for name in names if list(names).count(name) > 1}
            if repeated:
                raise ValueError(f"two features are called {sorted(repeated)[0]!r}.")
            named = given is not None or list(names) != numbered("feature", n)
            return [str(name) for name in names], named
    return numbered("feature", n), False


def _scores(ranker: Any) -> list[Step]:
    name = type(ranker).__name__
    if hasattr(ranker, "predict_edges"):
        raise ValueError(
            f"{name} scores pairs of objects, which no exported format takes: serve it in Python."
        )
    if not hasattr(ranker, "n_features_in_"):
        raise ValueError(f"{name} was fitted without features: it scores only the items it knows.")
    if hasattr(ranker, "rankers_"):
        rules = ranker.rankers_
        feature, threshold, missing = (rules[k] for k in ("feature", "threshold", "missing"))
        weights = np.asarray(ranker.weights_, dtype=float)
        return [Thresholds(feature, threshold, missing, weights, name)]
    if not hasattr(ranker, "representation") or not hasattr(ranker, "coefficients"):
        raise ValueError(f"{name} is not a learner of rankwise: its scores have no known formula.")
    W = np.asarray(ranker.coefficients, dtype=float)
    width = ranker.n_features_in_
    return expansion(ranker.representation, W.reshape(len(W), -1), width, name)


def _merged(steps: list[Step]) -> list[Step]:
    """Neighbouring products become one, as the map of a kernel and the weights behind it."""
    merged: list[Step] = []
    for step in steps:
        before = merged[-1] if merged else None
        if isinstance(step, Product) and isinstance(before, Product):
            merged.pop()
            step = Product(before.weights @ step.weights, step.source)
        merged.append(step)
    return merged


def _compare(est: Any, function: ScoringFunction) -> None:
    """Refuse a model whose predictions are not those of its steps, on made-up items."""
    X = _probes(function)
    items: Any = X
    if any(isinstance(step, Branches) for step in function.steps) and (
        (names := getattr(est, "feature_names_in_", None)) is not None
    ):
        import pandas

        items = pandas.DataFrame(X, columns=names)  # which a ColumnTransformer then insists on
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = np.asarray(est.predict(items)).reshape(len(X), -1)
        found = function.scores(X)
        sizes = sizes_of_terms(function, X)
    if found.shape != expected.shape or not np.allclose(
        found, expected, rtol=CLOSE, atol=CLOSE * (sizes.max() if sizes.size else 1.0)
    ):
        raise ValueError(
            f"the scores of {function.learner} are not a sum over its coefficients: it cannot be "
            "exported exactly."
        )
    if len(X) and (np.abs(found - expected) > KEPT * np.ptp(expected, axis=0)).any():
        raise ValueError(
            f"the formula of {function.learner} loses digits that its predictions keep, because "
            "the values of its kernel are nearly equal: standardise the features of X, for example "
            "with sklearn.preprocessing.StandardScaler in a pipeline, and fit again."
        )


def sizes_of_terms(function: ScoringFunction, X: np.ndarray) -> np.ndarray:
    """(m, k) sums of the absolute terms of every score, beside which rounding errors are small."""
    *before, last = function.steps
    for step in before:
        X = step.apply(X)
    return np.abs(X) @ np.abs(last.weights) if isinstance(last, Product) else np.ones((len(X), 1))


def _width(step: Standardise | MultiplyAndAdd) -> int:
    return len(step.offset if isinstance(step, Standardise) else step.factor)


def _probes(function: ScoringFunction) -> np.ndarray:
    """Items like those that the model has seen: around its offsets, and between basis items."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, size=(PROBES, len(function.features)))
    for step in function.steps:
        if isinstance(step, KernelValues):
            first, second = step.basis[rng.integers(len(step.basis), size=(2, PROBES))]
            if first.shape[1] == X.shape[1]:
                X = first + rng.uniform(size=(PROBES, 1)) * (second - first)
            break
    for step in reversed(function.steps):
        if isinstance(step, Standardise | MultiplyAndAdd) and _width(step) == X.shape[1]:
            X = step.reverse(X)
        elif isinstance(step, Branches):
            X = _probes_of(step, len(function.features), rng)
    return X


def _probes_of(step: Branches, n: int, rng: np.random.Generator) -> np.ndarray:
    """Items with known levels and values around the offsets of each branch."""
    X = rng.uniform(size=(PROBES, n))
    for columns, steps in step.branches:
        for each in reversed(steps):
            if isinstance(each, Levels):
                drawn = [rng.choice(levels, size=PROBES) for levels in each.known]
                X[:, columns] = np.column_stack(drawn)
            elif isinstance(each, Standardise | MultiplyAndAdd) and _width(each) == len(columns):
                X[:, columns] = each.reverse(X[:, columns])
    return X
