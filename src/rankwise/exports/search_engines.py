"""Linear models for Elasticsearch (and OpenSearch) Learning to Rank, and for Solr Learning to Rank.

Both engines compute Σ weight · normalised feature in single precision, without an intercept. The
offsets and scales of scalers become normalizers of the engine, so no intercept is needed.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from rankwise.exports.model_steps import ScoringFunction
from rankwise.exports.plain_form import PlainForm, plain_form

SOLR = "org.apache.solr.ltr"
NAMES = {
    "Elasticsearch": re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*"),
    "Solr": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
}
"""Names of features that the engine can also use as names of fields and in its logs."""


def to_elasticsearch(function: ScoringFunction, name: str) -> bytes:
    """`featureset` and `model`: the bodies of the two requests that store them."""
    form = _linear(function, "Elasticsearch")
    names, weights = _names(function), form.weights[:, 0]
    features = []
    for j, feature in enumerate(names):
        factor: dict[str, Any] = {"field": feature}
        if form.fill is not None and not np.isnan(form.fill[j]):
            factor["missing"] = float(form.fill[j])
        score = {"query": {"match_all": {}}, "field_value_factor": factor}
        features.append(
            {
                "name": feature,
                "params": [],
                "template_language": "mustache",
                "template": {"function_score": {**score, "boost_mode": "replace"}},
            }
        )
    model: dict[str, Any] = {"type": "model/linear"}
    normalizers = {
        names[j]: {"standard": {"mean": offset, "standard_deviation": deviation}}
        for j, offset, deviation in _normalised(form)
    }
    if normalizers:
        model["feature_normalizers"] = normalizers
    model["definition"] = dict(zip(names, weights.tolist()))
    return _text(
        {
            "featureset": {"name": name, "features": features},
            "model": {"name": name, "model": model},
        }
    )


def to_solr(function: ScoringFunction, name: str) -> bytes:
    """`features` for the feature store and `model` for the model store."""
    form = _linear(function, "Solr")
    names, weights = _names(function), form.weights[:, 0]
    store = []
    for j, feature in enumerate(names):
        params: dict[str, Any] = {"field": feature}
        if form.fill is not None and not np.isnan(form.fill[j]):
            params["defaultValue"] = float(form.fill[j])
        kind = f"{SOLR}.feature.FieldValueFeature"
        store.append({"store": name, "name": feature, "class": kind, "params": params})
    used: list[dict[str, Any]] = [{"name": feature} for feature in names]
    for j, offset, deviation in _normalised(form):
        params = {"avg": repr(offset), "std": repr(deviation)}
        used[j]["norm"] = {"class": f"{SOLR}.norm.StandardNormalizer", "params": params}
    model = {
        "class": f"{SOLR}.model.LinearModel",
        "store": name,
        "name": name,
        "features": used,
        "params": {"weights": dict(zip(names, weights.tolist()))},
    }
    return _text({"features": store, "model": model})


def _names(function: ScoringFunction) -> list[str]:
    """The names of the features; feature_1, feature_2, ... where the model knows none."""
    if function.named:
        return function.features
    return [f"feature_{j}" for j in range(1, len(function.features) + 1)]


def _linear(function: ScoringFunction, engine: str) -> Any:
    """The plain form of a model that the engine can compute, else a ValueError with the reason."""
    if function.n_outputs > 1:
        raise ValueError(
            f"{engine} ranks by one score, and the model has {function.n_outputs} outputs: fit one "
            "model for each."
        )
    form = plain_form(function)
    if form.weights is None:
        raise ValueError(
            f"{engine} computes linear models, and {function.learner} "
            f"{'adds up thresholds' if form.thresholds is not None else 'has a kernel'}: use "
            'format="onnx" or "json", or `rankwise serve`.'
        )
    for name in _names(function):
        if not NAMES[engine].fullmatch(name):
            raise ValueError(
                f"{engine} cannot call a feature {name!r}: give names of letters, digits and _ "
                "(features=[...], or --feature-names)."
            )
    _refuse_beyond_single_precision(function, form, engine)
    return form


def _refuse_beyond_single_precision(function: ScoringFunction, form: PlainForm, engine: str):
    assert form.weights is not None
    with np.errstate(all="ignore"):
        for values in (form.weights[:, 0], form.offset, 1.0 / form.scale):
            single = values.astype(np.float32)
            lost = ~np.isfinite(single) | ((values != 0) & (single == 0))
            if lost.any():
                raise ValueError(
                    f"{engine} computes in single precision, which cannot hold "
                    f"{values[lost][0]:.6g} of {function.features[int(np.argmax(lost))]!r}: change "
                    "the unit of the feature, or scale it before training."
                )


def _normalised(form: PlainForm) -> list[tuple[int, float, float]]:
    """(feature, offset, deviation) where there is something to subtract or to divide by."""
    changed = np.flatnonzero((form.offset != 0) | (form.scale != 1))
    return [(int(j), float(form.offset[j]), float(1.0 / form.scale[j])) for j in changed]


def _text(record: dict) -> bytes:
    return (json.dumps(record, allow_nan=False, indent=2) + "\n").encode()
