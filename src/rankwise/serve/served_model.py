"""A loaded model that ranks the items of one request, explains two of them, and describes itself.

Nothing here knows of HTTP. All errors that a request can cause are ValueErrors, with the words of
`predict` where `predict` refuses, except that a missing value is named by item and column.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from rankwise import __version__
from rankwise.serve.item_rows import (
    Item,
    categorical_rows,
    framed_rows,
    missing_values,
    numeric_rows,
    shown,
)
from rankwise.workflow.explaining import explain
from rankwise.workflow.ranking_data import numbered
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.trained_model import TrainedModel

NAMES = ("id", "docid", "doc_id")
"""Keys of an item that may name it, beside the column of names that the model was trained with."""
PARTS = 12
"""Parts of an explanation, if a request does not say how many."""
ABOUT_MISSING = ("NaN", "[nan]", "[None]")
"""What an error of `predict` about a missing value contains."""


class ServedModel:
    """A model from a file: a model of the command, a learner, or a pipeline that ends in one.

    `cost` tells how long the score of one item takes, in units of one value of a linear model.
    """

    def __init__(self, est: Any):
        self.est = est
        self.record = getattr(est, "record", None) or {}
        ranker = est.ranker if isinstance(est, TrainedModel) else est
        ranker = ranker.steps[-1][1] if isinstance(ranker, Pipeline) else ranker
        self.ranker = ranker
        name = type(ranker).__name__
        if hasattr(ranker, "predict_edges"):
            raise ValueError(f"{name} scores pairs of objects: `rankwise serve` ranks items.")
        if not hasattr(ranker, "predict") or not hasattr(ranker, "n_features_in_"):
            raise ValueError(f"{name} does not score items by features: it cannot be served.")
        representation = getattr(ranker, "representation", None)
        kernel = getattr(representation, "kernel", None)
        if kernel is not None and kernel.is_precomputed:
            raise ValueError(
                f'{name} was fitted with kernel="precomputed", which no item can have.'
            )
        if np.ndim(getattr(ranker, "coefficients", np.zeros(1))) > 1:
            raise ValueError(f"{name} has several outputs, and an order needs one score.")
        self.features = self._feature_names()
        self.takes_frames = _takes_frames(est)
        scaler = getattr(est, "scaler", None)
        self.scales_by_query = getattr(scaler, "scale", None) == "query"
        reading = self.record.get("reading") or {}
        self.query_column = reading.get("query")
        names = dict.fromkeys([reading.get("name") or "id", *NAMES])
        self.columns, self.levels = self._columns(reading.get("learnt") or [])
        self.name_columns = [name for name in names if name not in self.columns]
        basis = getattr(representation, "basis_index", None)
        self.cost = len(self.features) * (1 if basis is None else 1 + len(basis) / 50)

    def _feature_names(self) -> list[str]:
        for names in (self.record.get("features"), getattr(self.est, "feature_names_in_", None)):
            if names is not None and len(names):
                return [str(name) for name in names]
        return numbered("feature", getattr(self.est, "n_features_in_", self.ranker.n_features_in_))

    def _columns(self, learnt: list[dict[str, Any]]) -> tuple[list[str], dict[str, list[str]]]:
        """The columns of items that make the features, and the levels of those with categories."""
        levels = {c["name"]: list(map(str, c["levels"])) for c in learnt if c.get("levels")}
        if not levels:
            return self.features, {}
        names = [column["name"] for column in learnt]
        made = sum(len(levels.get(name, [name])) for name in names)
        return [*names, *self.features[made:]], levels

    def ids(self, items: list[Item]) -> list[Any]:
        """What each item is called, None if it has no name."""
        return [
            next((item[name] for name in self.name_columns if item.get(name) is not None), None)
            for item in items
        ]

    def rows(self, items: list[Item]) -> Any:
        """The matrix, or frame, that the model takes."""
        if self.levels:
            return categorical_rows(items, self.columns, self.levels)
        return (framed_rows if self.takes_frames else numeric_rows)(items, self.columns)

    def labels(self, items: list[Item], query: Any) -> np.ndarray:
        """The query of every item: a request holds the items of one query."""
        if self.query_column is not None and self.query_column not in self.columns:
            found = {str(item[self.query_column]) for item in items if self.query_column in item}
            if len(found) > 1:
                first, second = sorted(found)[:2]
                raise ValueError(
                    f"the items belong to {len(found)} queries ({shown(first)}, {shown(second)}, "
                    "...), but a request ranks one: send one request, or one line of NDJSON, per "
                    "query."
                )
        return np.full(len(items), "0" if query is None else str(query), dtype=object)

    def scores(self, items: list[Item], query: Any = None) -> np.ndarray:
        X, labels = self.rows(items), self.labels(items, query)
        more = (labels,) if isinstance(self.est, TrainedModel) else ()
        try:
            return np.asarray(self.est.predict(X, *more), dtype=float)
        except ValueError as error:
            if any(word in str(error) for word in ABOUT_MISSING):
                self._refuse_missing(items)
            raise

    def _refuse_missing(self, items: list[Item]) -> None:
        """Name the first missing value, unless a pipeline may have filled it and not another."""
        found = missing_values(items, self.columns, self.levels)
        ranker = self.est.ranker if isinstance(self.est, TrainedModel) else self.est
        if found and (not isinstance(ranker, Pipeline) or len({name for _, name in found}) == 1):
            row, name = found[0]
            raise ValueError(f"items[{row}]: {name!r} is missing.") from None

    def rank(self, items: list[Item], query: Any = None) -> list[dict[str, Any]]:
        """The items best first; equal scores keep the order of the request."""
        scores = self.scores(items, query)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(f"items[{row}] has no finite score: its values are too large.")
        order = np.argsort(-scores, kind="stable").tolist()
        ids, values = self.ids(items), scores.tolist()
        return [
            {"id": ids[index], "score": values[index], "rank": rank, "index": index}
            for rank, index in enumerate(order, 1)
        ]

    def explain(
        self, items: list[Item], a: Any = None, b: Any = None, query: Any = None, top: int = PARTS
    ) -> dict[str, Any]:
        """Why item a has another score than item b, the parts with the largest influence first.

        a and b are positions in the list, or ids as text; by default the first two of the ranking.
        """
        if len(items) < 2:
            raise ValueError("an explanation compares two items, but there is only one.")
        ranking = self.rank(items, query)
        first = self._position(items, a, "a") if a is not None else ranking[0]["index"]
        second = self._position(items, b, "b") if b is not None else None
        if second is None:
            second = next(row["index"] for row in ranking if row["index"] != first)
        if first == second:
            raise ValueError("a and b are the same item: name two different ones.")
        model, X = self._explained(self.rows(items))
        found = explain(model, X, first, second, self.labels(items, query))
        by_index = {row["index"]: row for row in ranking}
        return {
            "a": by_index[first],
            "b": by_index[second],
            "difference": found.difference,
            "kind": found.kind,
            "parts": [
                {"name": p.name, "amount": p.amount, "a": p.a, "b": p.b} for p in found.parts[:top]
            ],
            "rest": found.rest(top),
        }

    def _position(self, items: list[Item], name: Any, argument: str) -> int:
        if isinstance(name, int) and not isinstance(name, bool):
            if not 0 <= name < len(items):
                raise ValueError(
                    f"{argument} is {name}, but positions go from 0 to {len(items) - 1}."
                )
            return name
        found = [i for i, each in enumerate(self.ids(items)) if str(each) == str(name)]
        if len(found) != 1:
            how = "no item has" if not found else f"{len(found)} items have"
            raise ValueError(f"{how} the id {shown(name)}: give the position of the item instead.")
        return found[0]

    def _explained(self, X: Any) -> tuple[TrainedModel, Any]:
        """A model of scaler and ranker, and the items as its scaler takes them."""
        if isinstance(self.est, TrainedModel) and not isinstance(self.est.ranker, Pipeline):
            return self.est, X
        pipeline = self.est.ranker if isinstance(self.est, TrainedModel) else self.est
        if not isinstance(pipeline, Pipeline):
            return TrainedModel(self.ranker, None, {"features": self.features}), X
        before = pipeline[:-1]
        changed = before.transform(X) if len(before) else X
        names = self.features
        if changed.shape[1] != len(names) or self.takes_frames:
            names = _names_behind(before, changed.shape[1])
            return TrainedModel(self.ranker, None, {"features": names}), np.asarray(changed)
        return TrainedModel(self.ranker, _Before(before), {"features": names}), X

    def card(self) -> dict[str, Any]:
        """What the model is, what it was trained on, and how well it may be expected to rank."""
        record = self.record
        recipe, trained = record.get("recipe") or {}, record.get("trained") or {}
        card: dict[str, Any] = {
            "learner": recipe.get("learner") or type(self.ranker).__name__,
            "features": self.features,
            "columns": self.columns,
            "levels": self.levels,
            "id_columns": self.name_columns,
            "query_column": self.query_column,
            "scales_by_query": self.scales_by_query,
            "takes_missing": self.takes_missing,
            "recipe": recipe,
            "trained_on": None,
            "created": record.get("created"),
            "versions": record.get("versions") or {"rankwise": __version__},
            "estimate": self._estimate(),
            "typical": self._typical(),
        }
        if trained:
            source = PurePath(str(trained.get("source", ""))).name
            card["trained_on"] = {"source": source, "summary": trained.get("summary")}
        return card

    @property
    def takes_missing(self) -> bool:
        """Whether an item may lack a value."""
        if hasattr(self.ranker, "rankers_"):
            return True
        return getattr(getattr(self.est, "scaler", None), "missing", None) in ("mean", "median")

    def _estimate(self) -> dict[str, Any] | None:
        """The held-out score of training with its 95% interval, or None if there was no search."""
        path = SearchPath.from_record(self.record.get("path"))
        if path is not None:
            low, high = path.interval or (None, None)
            return {
                "score": path.at_chosen[0],
                "low": low,
                "high": high,
                "of": path.judged,
                "by": path.by,
                "parameter": path.parameter,
                "chosen": path.chosen,
            }
        if hasattr(self.ranker, "best_score_"):
            score = float(np.mean(self.ranker.best_score_))
            by, of = str(getattr(self.ranker, "cv_", "cross-validation")), "held-out score"
            return {"score": score, "low": None, "high": None, "of": of, "by": by}
        return None

    def _typical(self) -> list[dict[str, float]] | None:
        """The mean and the deviation of every feature, if the model keeps them."""
        scaler = getattr(self.est, "scaler", None)
        if scaler is None or not hasattr(scaler, "deviation_"):
            return None
        return [
            {"mean": float(mean), "deviation": float(deviation)}
            for mean, deviation in zip(scaler.mean_, scaler.deviation_)
        ]


class _Before:
    """The steps of a pipeline before its ranker, as the scaler of a TrainedModel."""

    def __init__(self, steps: Pipeline):
        self.steps = steps

    def transform(self, X: Any, qid: Any = None) -> Any:
        return self.steps.transform(X)


def _takes_frames(est: Any) -> bool:
    """Whether a pipeline chooses columns by name, so that it must be given a frame."""
    if isinstance(est, TrainedModel):
        return _takes_frames(est.ranker)
    parts = [part for _, part in est.steps] if isinstance(est, Pipeline) else [est]
    return any(hasattr(part, "transformers_") for part in parts)


def _names_behind(steps: Pipeline, n: int) -> list[str]:
    try:
        return [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):
        return numbered("feature", n)
