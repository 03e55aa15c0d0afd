"""What the reports of scores, outcomes and preferences share: title, facts, verdict, commands."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np

from rankwise.evaluation import learning_curve
from rankwise.report import sections
from rankwise.report.rendering import render_page
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import unfitted
from rankwise.workflow.verdict import against_baseline, in_one_sentence, trained_beside, verdict


class ModelPage:
    """A page about a model and the items that judge it.

    `on_training_data` says whether the model was trained on the items; None finds it out.
    `commands` are shown as the way to reproduce the page.
    """

    def __init__(
        self,
        model: TrainedModel,
        items: Items,
        title: str | None,
        commands: list[list[str]],
        on_training_data: bool | None = None,
    ):
        self._model, self._items, self._title, self._commands = model, items, title, commands
        self.path = SearchPath.from_record(model.training.get("path"))
        if on_training_data is None:
            on_training_data = model.was_trained_on(items)
        self.on_training_data: bool = on_training_data
        recipe = model.training.get("recipe", {})
        self.learner = recipe.get("learner", type(model.ranker).__name__)

    def learning(self, y: Any = None, **options: Any) -> sections.Figure:
        """The learning curve of the model's recipe on the items; `options` tell the groups."""
        X = self._model.prepared(self._items.X, self._items.qid)
        curve = learning_curve(unfitted(self._model), X, y, self._items.qid, **options)
        return sections.learning(curve)

    def verdict(self, judgement: Any) -> Any:
        """The opening sentence."""
        return verdict(judgement, self.path, on_training_data=self.on_training_data)

    def opening(
        self, judgement: Any, scores: np.ndarray
    ) -> tuple[Any, sections.WorseThanBaseline | None]:
        """The opening sentence, beside an existing ranking if there is one, and the queries on
        which the model is worse than that."""
        items = self._items
        if items.baseline is None:
            return self.verdict(judgement), None
        if self.on_training_data:
            known = self._model.training.get("baseline")
            return trained_beside(known, items.baseline_name), None
        found = against_baseline(self.learner, scores, items)
        assert found is not None
        return in_one_sentence(found), sections.worse_than_baseline(found)

    def render(self, template: str, **values: Any) -> str:
        """The page as text; `values` are those that the kinds of reports do not share."""
        flattered = sections.flattered(self.path) if self.on_training_data else ""
        shared = {
            "title": self._title or f"{self.learner} on {PurePath(self._items.source).name}",
            "subtitle": f"{self._items.describe()}.",
            "version": self._model.training.get("versions", {}).get("rankwise", ""),
            "facts": sections.facts(self._model, self._items),
            "judged_on_training_data": flattered,
            "reproduction": sections.reproduction(self._model, self._commands),
        }
        return render_page(template, **shared, **values)
