"""The transformers of a pipeline as steps, by the public attributes of their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.exports.scoring_steps import (
    Branches,
    Clip,
    DivideByNorm,
    Fill,
    KernelValues,
    Levels,
    Monomials,
    MultiplyAndAdd,
    PairProducts,
    Product,
    Select,
    Standardise,
    Step,
)
from rankwise.learners.interactions import COSINE, PRODUCT
from rankwise.numerics.arrays import dense
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.representation import Representation
from rankwise.workflow.trained_model import TrainedModel

DEFAULT_GAMMA = {"chi2": 1.0}
"""scikit-learn's gamma of Nystroem where it is not 1/n."""


def fitted_parts(est: Any) -> Iterator[Any]:
    """The fitted parts of searches, pipelines and trained models, in the order of their use."""
    if hasattr(est, "best_estimator_"):
        yield from fitted_parts(est.best_estimator_)
    elif isinstance(est, TrainedModel):
        for part in (est.scaler, est.ranker):
            if part is not None:
                yield from fitted_parts(part)
    elif hasattr(est, "steps"):
        for _, part in est.steps:
            if part is not None and part != "passthrough":
                yield from fitted_parts(part)
    else:
        yield est


def expansion(space: Representation, W: np.ndarray, n: int, name: str) -> list[Step]:
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


def transformation(part: Any) -> list[Step]:
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


def _one_hot(part: Any) -> list[Step]:
    infrequent = [each for each in getattr(part, "infrequent_categories_", ()) if each is not None]
    if infrequent or any(
        np.asarray(levels).dtype.kind not in "fiub" for levels in part.categories_
    ):
        raise ValueError(
            "OneHotEncoder is exported for categories that are numbers, none of them infrequent: a "
            "file takes numbers. Encode text before the pipeline, or serve the model."
        )
    known = [np.asarray(levels, dtype=float) for levels in part.categories_]
    if any(np.isnan(levels).any() for levels in known):
        raise ValueError("OneHotEncoder is exported without a category for missing values only.")
    dropped = part.drop_idx_ if part.drop_idx_ is not None else [None] * len(known)
    kept = [levels if j is None else np.delete(levels, int(j)) for levels, j in zip(known, dropped)]
    return [Levels(known, kept, part.handle_unknown == "error", "OneHotEncoder")]


def _by_columns(part: Any) -> list[Step]:
    """ColumnTransformer: each transformer has its columns; what is dropped has no branch."""
    n, names = part.n_features_in_, list(getattr(part, "feature_names_in_", ()))
    branches = []
    for _, transformer, given in part.transformers_:
        chosen: Any = [given] if isinstance(given, str | int) else given
        if isinstance(chosen, slice):
            chosen = _slice_of_numbers(chosen, names)
        else:
            chosen = [names.index(c) if isinstance(c, str) else c for c in chosen]
        columns = np.arange(n)[chosen]
        if (isinstance(transformer, str) and transformer == "drop") or not len(columns):
            continue
        parts = [] if isinstance(transformer, str) else list(fitted_parts(transformer))
        branches.append((columns, [step for each in parts for step in transformation(each)]))
    if part.transformer_weights or not branches:
        raise ValueError("ColumnTransformer is exported without transformer_weights only.")
    return [Branches(branches, "ColumnTransformer")]


def _slice_of_numbers(given: slice, names: list[str]) -> slice:
    """A slice of names, which includes its end and has no step, as one of numbers."""
    start, stop = given.start, given.stop
    if not isinstance(start, str) and not isinstance(stop, str):
        return given
    return slice(
        None if start is None else names.index(start),
        None if stop is None else names.index(stop) + 1,
    )


def _function(part: Any) -> list[Step]:
    if part.func is not None:
        raise ValueError("FunctionTransformer holds code of your own, which no exported file does.")
    return []


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
    return expansion(space, T, part.n_features_in_, "Nystroem")


def _interactions(part: Any) -> list[Step]:
    """Cosines, products and outer products of two embeddings, then the columns passed on."""
    name, fitted = "Interactions", part.fitted_parameters
    query, document = map(int, part.dimensions_)
    U, V = np.arange(query), query + np.arange(document)
    both = np.arange(query + document)
    unit: list[Step] = [
        Branches([(U, [DivideByNorm("l2", name)]), (V, [DivideByNorm("l2", name)])], name)
    ]
    lengths = unit if fitted.normalize else []
    branches: list[tuple[np.ndarray, list[Step]]] = []
    for kind in fitted.include:
        if kind == COSINE:
            total = Product(np.ones((query, 1)), name)
            branches.append((both, [*unit, PairProducts(U, V, name), total]))
        elif kind == PRODUCT:
            branches.append((both, [*lengths, PairProducts(U, V, name)]))
        else:
            P, Q = part.query_directions_, part.document_directions_
            left, right = np.indices((len(P), len(Q))).reshape(2, -1)
            projected: list[tuple[np.ndarray, list[Step]]] = [
                (U, [Product(P.T, name)]),
                (V, [Product(Q.T, name)]),
            ]
            products = PairProducts(left, len(P) + right, name)
            branches.append((both, [*lengths, Branches(projected, name), products]))
    rest = np.arange(query + document, part.n_features_in_)
    if len(rest):
        branches.append((rest, []))
    return [Branches(branches, name)]


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
    "ColumnTransformer": _by_columns,
    "OneHotEncoder": _one_hot,
    "FunctionTransformer": _function,
    "PolynomialFeatures": lambda p: [Monomials(p.powers_, "PolynomialFeatures")],
    "KernelMap": lambda p: expansion(
        p.representation, p.coefficients, p.n_features_in_, "KernelMap"
    ),
    "Nystroem": _nystroem,
    "Interactions": _interactions,
}
"""How the transformers of a pipeline become steps."""
