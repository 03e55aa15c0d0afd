"""What callers of `fit` get wrong, answered with the right word before anything is computed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

from sklearn import get_config

WORDS_FOR_QUERIES = ("group", "groups", "query", "queries", "query_id", "query_ids", "qids")
ONE_LINE = "sklearn.set_config(enable_metadata_routing=True)"
FRAMES = 12
"""How many callers of `fit` are looked at: a search calls it directly, or through a pipeline."""


def answering(fit: Callable) -> Callable:
    """The method `fit` of a learner that answers wrong words, and searches without routing."""
    if hasattr(fit, "__wrapped__"):
        return fit
    known = set(inspect.signature(fit).parameters)

    @wraps(fit)
    def checked(self: Any, *args: Any, **labels: Any) -> Any:
        for word in labels:
            if word not in known and word in WORDS_FOR_QUERIES:
                raise TypeError(_right_word(type(self).__name__, word))
        if labels.get("qid") is not None:
            _refuse_search_without_routing(type(self).__name__)
        return fit(self, *args, **labels)

    return checked


def _right_word(learner: str, word: str) -> str:
    text = (
        f"{learner}.fit has no {word}=: the labels of queries are qid=, one label per row of X. "
        "Sizes of consecutive queries become labels by qid=np.repeat(np.arange(len(sizes)), sizes)."
    )
    if word == "groups":
        text += (
            " Items that are held out together are groups= of RankRLSCV, RankSVMCV, MPRankCV and "
            "of rankwise.evaluation."
        )
    return text


def _refuse_search_without_routing(learner: str) -> None:
    """A search that passes qid to fit but not to score would report nan behind warnings."""
    if get_config()["enable_metadata_routing"]:
        return
    frame: FrameType | None = inspect.currentframe()
    for _ in range(FRAMES):
        if frame is None:
            return
        if (
            frame.f_code.co_name == "_fit_and_score"
            and frame.f_globals.get("__name__") == "sklearn.model_selection._validation"
        ):
            if _needs_queries(frame.f_locals.get("scorer")):
                raise ValueError(
                    f"scikit-learn passes qid to {learner}.fit here but not to its score, so that "
                    f"all scores would be nan. Add one line before the search: {ONE_LINE}"
                )
            return
        frame = frame.f_back


def _needs_queries(scorer: Any) -> bool:
    """Whether a scorer is the score of the estimator itself, or one of rankwise's."""
    from rankwise.metrics.scorers import Scorer

    if isinstance(scorer, Scorer):
        return scorer.takes_qid and scorer.qid is None
    if type(scorer).__name__ == "_PassthroughScorer":
        return True
    if isinstance(scorer, dict):
        return any(_needs_queries(one) for one in scorer.values())
    held = vars(scorer).values() if type(scorer).__name__ == "_MultimetricScorer" else ()
    return any(_needs_queries(one) for one in held if isinstance(one, dict))
