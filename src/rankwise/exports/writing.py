"""`export`: a fitted model as a file for other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rankwise.exports.model_steps import ScoringFunction, checked_steps
from rankwise.io.atomic import write_atomically
from rankwise.validation import check_choice


def _json(function: ScoringFunction, name: str) -> bytes:
    from rankwise.exports.json_format import to_json

    return to_json(function)


def _onnx(function: ScoringFunction, name: str) -> bytes:
    from rankwise.exports.onnx_format import to_onnx

    return to_onnx(function)


def _elasticsearch(function: ScoringFunction, name: str) -> bytes:
    from rankwise.exports.search_engines import to_elasticsearch

    return to_elasticsearch(function, name)


def _solr(function: ScoringFunction, name: str) -> bytes:
    from rankwise.exports.search_engines import to_solr

    return to_solr(function, name)


FORMATS: dict[str, Callable[[ScoringFunction, str], bytes]] = {
    "json": _json,
    "onnx": _onnx,
    "elasticsearch": _elasticsearch,
    "solr": _solr,
}


def export(
    est: Any,
    path: str | os.PathLike,
    format: str = "json",
    *,
    features: Sequence[str] | None = None,
    name: str | None = None,
) -> None:
    """Write a fitted model so that other programs compute the same scores as `predict`.

    The model may be any learner of rankwise that scores items by their features, a search over one,
    a pipeline of scalers, imputers, selectors and kernel maps that ends in one, or a model of the
    command. Before the file is written, the exported formula is compared with `predict`. The file
    appears whole or not at all. What a format cannot say exactly is a ValueError with the reason.

    Parameters
    ----------
    est
        The fitted model.
    path
        The file to write.
    format
        "json" (plain numbers, any model), "onnx" (a graph in double precision, any model; needs
        rankwise[onnx]), "elasticsearch" or "solr" (linear models and their feature sets).
    features
        Names of the features, if the model knows none or other names are wanted.
    name
        How a search engine will call the model; by default the name of the file without suffix.

    Examples
    --------
    >>> import json, tempfile
    >>> import numpy as np
    >>> from rankwise import RankRLS, export
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> model = RankRLS(alpha=1.0).fit(X, [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(model, f"{folder}/model.json", features=["price", "age"])
    ...     content = json.load(open(f"{folder}/model.json"))
    >>> content["features"], content["weights"] == model.coef_.tolist()
    (['price', 'age'], True)
    """
    check_choice("format", format, FORMATS)
    stem = Path(os.fsdecode(path)).name.split(".")[0]
    write_atomically(path, [exported(est, format, features=features, name=name or stem)])


def exported(
    est: Any, format: str, *, features: Sequence[str] | None = None, name: str = ""
) -> bytes:
    """The content of the file that `export` writes."""
    check_choice("format", format, FORMATS)
    if isinstance(features, str):
        raise ValueError("features must be a list of names, not one text.")
    function = checked_steps(est, features)
    plain_name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    return FORMATS[format](function, plain_name or "rankwise")
