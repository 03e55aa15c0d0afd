"""The record of a training run, as it is written into the model file."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
import sklearn

from rankwise.workflow.recipe import Recipe
from rankwise.workflow.search import SearchPath


class TrainingRecord(TypedDict, total=False):
    """How a model was trained, in plain values. Files of older versions may lack fields."""

    recipe: dict[str, Any]  # as it was given: Recipe.record()
    found: dict[str, Any]  # the values found for "auto": gamma, basis
    path: dict[str, Any] | None  # SearchPath.record(); None if the parameter was given
    trained: dict[str, Any]  # the data: source, summary and counts
    seconds: float
    created: str
    versions: dict[str, str]
    features: list[str]  # names of the features, in the order of the columns of X
    support: dict[str, Any] | None  # kernels: names, queries and scores of the basis items
    node_features: list[list[str]]  # relations: features of row and of column objects
    node_names: list[list[str]]  # relations: names of row and of column objects
    reading: dict[str, Any] | None  # command: format and columns of the data file
    command: list[str]  # command: the words of the command that trained the model


@dataclass
class Fit:
    """A fitted learner, the search that chose its parameter, and the values found for "auto"."""

    model: Any
    path: SearchPath | None
    found: dict[str, Any]
    scaler: Any = None


def new_record(recipe: Recipe, fit: Fit, started: float, trained: dict[str, Any]) -> TrainingRecord:
    """The record of a training run that began at `started`, a value of time.perf_counter()."""
    return {
        "recipe": recipe.record(),
        "found": fit.found,
        "path": None if fit.path is None else fit.path.record(),
        "trained": trained,
        "seconds": time.perf_counter() - started,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "rankwise": importlib.metadata.version("rankwise"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def support_record(model: Any, names: Any, qid: Any = None, y: Any = None) -> dict | None:
    """The names of the basis items of a kernel model, their queries and scores where known.

    `names`, `qid` and `y` are those of all training items. None if the model has no basis.
    """
    if getattr(model, "dual_coef_", None) is None or not hasattr(model, "basis_index_"):
        return None
    index = model.basis_index_
    return {
        "names": [str(names[i]) for i in index],
        "queries": None if qid is None else [str(label) for label in qid[index]],
        "scores": None if y is None else [float(score) for score in y[index]],
    }
