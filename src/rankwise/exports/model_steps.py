"""From a fitted estimator to its steps, by public attributes only.

A learner whose scores are `representation.of(X) @ coefficients` needs nothing here: all learners of
rankwise do so. Before anything is written, `checked_steps` compares the steps with `predict`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.exports.scoring_steps import (
    Clip,
    DivideByNorm,
    Fill,
    KernelValues,
    Monomials,
    MultiplyAndAdd,
    Product,
    Select,
    Standardise,
    Step,
    Thresholds,
)
from rankwise.numerics.arrays import dense
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import Representation
from rankwise.workflow.ranking_data import numbered
from rankwise.workflow.trained_model import TrainedModel

PROBES = 32
"""How many made-up items are scored by the steps and by `predict` before a model is exported."""
CLOSE = 1e-9
"""How close both scores must be, beside the sizes of the terms that they add up."""
DEFAULT_GAMMA = {"chi2": 1.0}
"""scikit-learn's gamma of Nystroem where it is not 1/n."""


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
    parts = list(_flattened(est))
    ranker = parts[-1]
    steps = [step for part in parts[:-1] for step in _transformation(part)]
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


def _flattened(est: Any) -> Iterator[Any]:
    """The fitted parts of searches, pipelines and trained models, in the order of their use."""
    if hasattr(est, "best_estimator_"):
        yield from _flattened(est.best_estimator_)
    elif isinstance(est, TrainedModel):
        for part in (est.scaler, est.ranker):
            if part is not None:
                yield from _flattened(part)
    elif hasattr(est, "steps"):
        for _, part in est.steps:
            if part is not None and part != "passthrough":
                yield from _flattened(part)
    else:
        yield est


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
    return _expansion(ranker.representation, W.reshape(len(W), -1), width, name)


def _expansion(space: Representation, W: np.ndarray, n: int, name: str) -> list[Step]:
    """Scores or features `space.of(X) @ W`."""
    kernel = space.kernel
    if kernel.is_precomputed:
        raise ValueError(
            f'{name} was fitted with kernel="precomputed": the file would not know the kernel. '
            "Fit with the name of a kernel."
        )
    if callable(kernel.kernel):
        raise ValueError(
            f"the kernel of {name} is code of your own, which no exported file holds: fit with the "
            "name of a kernel."
        )
    if kernel.is_linear or space.X_basis is None:
        return [Product(W, name)]
    gamma = 1.0 / n if kernel.gamma is None else float(kernel.gamma)
    basis = np.asarray(dense(space.X_basis), dtype=float)
    return [KernelValues(replace(kernel, gamma=gamma), basis, name), Product(W, name)]


def _transformation(part: Any) -> list[Step]:
    name = type(part).__name__
    if name in TRANSFORMATIONS:
        return TRANSFORMATIONS[name](part)
    if hasattr(part, "get_support"):
        return [Select(part.get_support(indices=True), name)]
    raise ValueError(
        f"{name} cannot be exported: the steps that can are {', '.join(TRANSFORMATIONS)} and "
        "selectors of columns."
    )


def _item_scaler(part: Any) -> list[Step]:
    if part.fitted_parameters.scale == "query":
        raise ValueError(
            "the model scales every feature within the query, so a score depends on the other "
            "items of its query, and a file that scores one item at a time cannot know them. Train "
            'with scale="standard" (--scale standard), or serve the model with `rankwise serve`.'
        )
    steps: list[Step] = []
    if hasattr(part, "fill_"):
        steps.append(Fill(part.fill_, "ItemScaler"))
    if hasattr(part, "deviation_"):
        offset = part.mean_ if part.centred_ else np.zeros_like(part.deviation_)
        steps.append(Standardise(offset, part.deviation_, "ItemScaler"))
    return steps


def _imputer(part: Any) -> list[Step]:
    values = np.asarray(part.statistics_)
    if getattr(part, "add_indicator", False) or values.dtype.kind not in "fiu":
        raise ValueError("SimpleImputer is exported for numbers and without add_indicator only.")
    if not isinstance(part.missing_values, float) or not np.isnan(part.missing_values):
        raise ValueError("SimpleImputer is exported if missing values are nan only.")
    values = values.astype(float)
    kept = np.flatnonzero(~np.isnan(values))
    steps: list[Step] = [Fill(values[kept], "SimpleImputer")]
    return steps if len(kept) == len(values) else [Select(kept, "SimpleImputer"), *steps]


def _centred(part: Any, offset: Any, scale: Any) -> list[Step]:
    n = part.n_features_in_
    offset = np.zeros(n) if offset is None else np.asarray(offset, dtype=float)
    scale = np.ones(n) if scale is None else np.asarray(scale, dtype=float)
    return [Standardise(offset, scale, type(part).__name__)]


def _min_max(part: Any) -> list[Step]:
    steps: list[Step] = [MultiplyAndAdd(part.scale_, part.min_, "MinMaxScaler")]
    low, high = part.feature_range
    return [*steps, Clip(low, high, "MinMaxScaler")] if part.clip else steps


def _nystroem(part: Any) -> list[Step]:
    options = {k: v for k in ("gamma", "degree", "coef0") if (v := getattr(part, k)) is not None}
    if not callable(part.kernel):
        options.setdefault("gamma", DEFAULT_GAMMA.get(part.kernel))
    kernel = Kernel(part.kernel, **options)
    if part.kernel_params or not part.components_.shape[0]:
        raise ValueError("Nystroem is exported without kernel_params only.")
    space = Representation(kernel, part.component_indices_, part.components_)
    T = part.normalization_.T
    if kernel.is_linear:
        return [Product(np.asarray(dense(part.components_.T @ T), dtype=float), "Nystroem")]
    return _expansion(space, T, part.n_features_in_, "Nystroem")


TRANSFORMATIONS: dict[str, Callable[[Any], list[Step]]] = {
    "ItemScaler": _item_scaler,
    "StandardScaler": lambda p: _centred(
        p, p.mean_ if p.with_mean else None, p.scale_ if p.with_std else None
    ),
    "RobustScaler": lambda p: _centred(p, p.center_, p.scale_),
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda p: _centred(p, None, p.scale_),
    "Normalizer": lambda p: [DivideByNorm(p.norm, "Normalizer")],
    "SimpleImputer": _imputer,
    "PolynomialFeatures": lambda p: [Monomials(p.powers_, "PolynomialFeatures")],
    "KernelMap": lambda p: _expansion(
        p.representation, p.coefficients, p.n_features_in_, "KernelMap"
    ),
    "Nystroem": _nystroem,
}
"""How the transformers of a pipeline become steps."""


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
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = np.asarray(est.predict(X)).reshape(len(X), -1)
        found = function.scores(X)
        sizes = sizes_of_terms(function, X)
    if found.shape != expected.shape or not np.allclose(
        found, expected, rtol=CLOSE, atol=CLOSE * (sizes.max() if sizes.size else 1.0)
    ):
        raise ValueError(
            f"the scores of {function.learner} are not a sum over its coefficients: it cannot be "
            "exported exactly."
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
    """Items like those that the model has seen: around its offsets and its basis."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, size=(PROBES, len(function.features)))
    for step in function.steps:
        if isinstance(step, KernelValues):
            rows = step.basis[rng.integers(len(step.basis), size=PROBES)]
            if rows.shape[1] == X.shape[1]:
                X = rows * rng.uniform(0.9, 1.1, size=rows.shape)
            break
    for step in reversed(function.steps):
        if isinstance(step, Standardise | MultiplyAndAdd) and _width(step) == X.shape[1]:
            X = step.reverse(X)
    return X
