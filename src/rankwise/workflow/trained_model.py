"""The model that `rankwise train` writes, and the record of its training."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from rankwise.io.feature_columns import read_frame
from rankwise.numerics.frame_columns import column_names, require_columns
from rankwise.supervision.censored import Censored
from rankwise.workflow.ranking_data import Items, numbered

if TYPE_CHECKING:
    from rankwise.workflow.recipe import Recipe
    from rankwise.workflow.search import Fit


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
    nodes_named: bool  # relations: whether these names came with the objects
    pairs: str  # relations: the pairs of the training data, see relation_pairs.pairs_record
    reading: dict[str, Any] | None  # command: format and columns of the data file
    command: list[str]  # command: the words of the command that trained the model
    tried: list[dict[str, Any]]  # the recipes that were chosen from, with their held-out scores
    nested: dict[str, Any]  # NestedJudgement.record(), if it was asked for
    baseline: dict[str, Any]  # BaselineVerdict.record(), if there was an existing ranking


class TrainedModel(BaseEstimator):
    """A fitted ranker behind a fitted scaler, with the record of its training.

    Parameters
    ----------
    ranker : fitted learner of rankwise
    scaler : fitted rankwise.scaling.ItemScaler, or None
    record : dict of plain values, a TrainingRecord
    """

    def __init__(self, ranker: Any = None, scaler: Any = None, record: Any = None):
        self.ranker = ranker
        self.scaler = scaler
        self.record = record

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> TrainedModel:
        """Fit scaler and ranker to other data, with the same parameters; the record stays."""
        if self.scaler is not None:
            X = self.scaler.fit_transform(X, qid=qid)
        self.ranker.fit(X, y, qid=qid)
        return self

    @property
    def training(self) -> TrainingRecord:
        """The record; without fields if there is none."""
        return self.record if self.record is not None else {}

    def was_trained_on(self, items: Items) -> bool:
        """Whether these are the training data, so that judging by them flatters the model.

        New statements about the same items are other data. Records of older versions have no
        fingerprint of the data, only their file and summary.
        """
        trained = self.training.get("trained") or {}
        if items.preferences is not None and "statements" in trained:
            return trained["statements"] == items.statement_fingerprint()
        if "fingerprint" in trained:
            same = (items.fingerprint(), items.fingerprint(with_scores=False))
            return trained["fingerprint"] in same
        return (trained.get("source"), trained.get("summary")) == (items.source, items.describe())

    @property
    def needs_queries(self) -> bool:
        """Whether scores need qid: features are scaled within queries, and it learnt from some."""
        fitted = getattr(self.scaler, "fitted_parameters", None)  # other transformers have none
        if getattr(fitted, "scale", None) != "query":
            return False
        trained = self.training.get("trained") or {}
        if "queries" in trained:
            return trained["queries"] is not None
        return getattr(self.scaler, "has_queries_", True)

    def prepared(self, X: Any, qid: Any = None) -> Any:
        """The items scaled, as the ranker sees them.

        The columns of a frame are matched by name with the features of training, or with the
        columns of the table that it learnt from, if these held categories, dates or the like. A
        model whose features had no names takes the columns in their order.
        """
        names = self.training.get("features") or []
        given = column_names(X)
        if given is not None and names != numbered("feature", len(names)):
            X = self._by_name(X, names, set(given))
        return X if self.scaler is None else self.scaler.transform(X, qid)

    def _by_name(self, X: Any, names: list[str], given: set[str]) -> Any:
        """The features of training from a frame: encoded already, or as the raw columns."""
        reading = self.training.get("reading") or {}
        learnt = reading.get("learnt") or []
        if learnt and not reading.get("arrays") and not given.issuperset(names):
            return read_frame(X, learnt)
        X = require_columns(X, names, "the frame")
        return X.to_numpy() if not hasattr(self.ranker, "feature_names_in_") else X

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Scores of the items X, higher is better.

        If features are scaled within queries, qid is required: without it the items of all queries
        would be scaled together.
        """
        if self.needs_queries and qid is None:
            raise ValueError(
                "the model scales features within each query, so predict needs qid: the query of "
                "each item (for items of a single query, the same label for all of them)."
            )
        return self.ranker.predict(self.prepared(X, qid))

    def __sklearn_is_fitted__(self) -> bool:
        return self.ranker is not None


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


def support_record(model: Any, names: Any = None, qid: Any = None, y: Any = None) -> dict | None:
    """The basis items of a kernel model: their names, and queries and scores (or times) if known.

    `names`, `qid` and `y` are those of all training items; without names, rows are numbered. The
    result is None if the model has no basis.
    """
    if getattr(model, "dual_coef_", None) is None or not hasattr(model, "basis_index_"):
        return None
    index = model.basis_index_
    known = y.time if isinstance(y, Censored) else y
    return {
        "names": [f"row {i + 1}" if names is None else str(names[i]) for i in index],
        "queries": None if qid is None else [str(label) for label in qid[index]],
        "scores": None if y is None else [float(score) for score in known[index]],
    }
