"""Models as plain JSON, which a page of any language can read. The schema is in docs/export.md."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankwise import __version__
from rankwise.exports.model_steps import ScoringFunction
from rankwise.exports.plain_form import PlainForm, plain_form

SCHEMA, VERSION = "rankwise-scores", 1
KERNELS = {
    **{name: name for name in ("rbf", "laplacian", "poly", "sigmoid", "cosine", "chi2")},
    "additive_chi2": "additive_chi2",
    "polynomial": "poly",
}
"""The names of kernels in the schema, whose formulas docs/export.md has."""


def to_json(function: ScoringFunction) -> bytes:
    """The model as UTF-8 text, every number with all its digits."""
    form = plain_form(function)
    record = {
        "schema": SCHEMA,
        "version": VERSION,
        "written_by": f"rankwise {__version__}",
        "learner": function.learner,
        "features": function.features,
        "outputs": function.n_outputs,
        "fill": _filled(form.fill),
        **_function(form, function),
    }
    return (json.dumps(record, allow_nan=False, indent=1) + "\n").encode()


def _function(form: PlainForm, function: ScoringFunction) -> dict[str, Any]:
    if form.thresholds is not None:
        rules = form.thresholds
        lowest = np.isneginf(rules.threshold)
        return {
            "kind": "thresholds",
            "rules": [
                {"feature": int(j), "above": None if low else float(t), "missing": int(m), "add": w}
                for j, low, t, m, w in zip(
                    rules.feature, lowest, rules.threshold, rules.missing, rules.weights.tolist()
                )
            ],
        }
    if form.weights is not None:
        with np.errstate(over="ignore", under="ignore"):
            weights = form.weights * form.scale[:, None]
        _refuse_lost(form.weights, weights, function)
        return {
            "kind": "linear",
            "offset": form.offset.tolist(),
            "weights": _by_output(weights, function.single),
        }
    assert form.expansion is not None
    step, coefficients = form.expansion
    kernel = step.kernel
    if kernel.kernel not in KERNELS:
        raise ValueError(f"the kernel {kernel.kernel!r} has no formula in the schema.")
    return {
        "kind": "kernel",
        "offset": form.offset.tolist(),
        "scale": form.scale.tolist(),
        "kernel": {
            "name": KERNELS[kernel.kernel],
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        },
        "basis": step.basis.tolist(),
        "coefficients": _by_output(coefficients, function.single),
    }


def _filled(fill: np.ndarray | None) -> list[float | None] | None:
    if fill is None:
        return None
    return [None if np.isnan(value) else value for value in fill.tolist()]


def _by_output(weights: np.ndarray, single: bool) -> list:
    return weights[:, 0].tolist() if single else weights.T.tolist()


def _refuse_lost(given: np.ndarray, folded: np.ndarray, function: ScoringFunction) -> None:
    lost = ~np.isfinite(folded) | ((given != 0) & (folded == 0))
    if lost.any():
        name = function.features[int(np.argwhere(lost)[0][0])]
        raise ValueError(
            f"the weight of {name!r} leaves the range of floating-point numbers when its scale is "
            "multiplied into it: change the unit of the feature."
        )
