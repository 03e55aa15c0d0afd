"""One model against one existing ranking, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwise.metrics.scorers import Scorer
from rankwise.model_selection.choosing import EQUAL

if TYPE_CHECKING:
    from rankwise.evaluation.comparison_result import Comparison

LEVEL = 0.05
"""A model is called better (or worse) if the p-value of the difference is at most this."""


class WorseQuery(NamedTuple):
    """A query that the baseline orders better, with both scores."""

    query: Any
    model: float
    baseline: float


@dataclass
class BaselineVerdict:
    """Whether a model is better than an existing ranking, and on which queries it is not.

    Attributes
    ----------
    model, baseline, measure : str
        The names of both, and what the scores are.
    model_score, baseline_score, difference : float
        Their scores, and the first minus the second.
    low, high, p_value : float
        The 95% interval of the difference, and the p-value of this one comparison.
    better : str
        "yes", "no" (the baseline is better) or "unproved".
    queries, wins, ties : int
        The number of judged queries, and of those that the model wins and ties; 0 without queries.
    worse : list
        The queries on which the model is worse, with both scores, the largest loss first.
    baseline_is_reversed : bool
        Whether the baseline orders clearly worse than chance, as a column does whose smaller values
        are better.

    Examples
    --------
    >>> from rankwise import RankRLSCV
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import compare
    >>> data = make_ranking(n_queries=20, n_items=10, n_features=3, random_state=0)
    >>> models = {"rule": data.X[:, 0], "new": RankRLSCV()}
    >>> verdict = compare(models, data.X, data.y, data.qid).against("rule")
    >>> verdict.better, verdict.wins
    ('yes', 20)
    """

    model: str
    baseline: str
    measure: str
    model_score: float
    baseline_score: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int = 0
    ties: int = 0
    worse: list[WorseQuery] = field(default_factory=list)
    baseline_is_reversed: bool = False

    @property
    def better(self) -> str:
        if self.p_value > LEVEL:
            return "unproved"
        return "yes" if self.difference > 0 else "no"

    @property
    def queries(self) -> int:
        return self.wins + self.ties + len(self.worse)

    def __str__(self) -> str:
        p = f"p = {self.p_value:.2g}" if self.p_value >= 1e-4 else "p < 0.0001"
        figures = (
            f"{self.measure} {self.model_score:.3f} against {self.baseline_score:.3f}, a "
            f"difference of {self.difference:+.3f} (95% interval {self.low:+.3f} to "
            f"{self.high:+.3f}, {p})"
        )
        opening = {
            "yes": f"{self.model} is better than {self.baseline}",
            "no": f"{self.model} is worse than {self.baseline}",
            "unproved": f"It is not shown that {self.model} is better than {self.baseline}",
        }[self.better]
        on = f"; it is worse on {len(self.worse)} of {self.queries} queries" if self.queries else ""
        if self.better == "unproved" and (self.low > 0 or self.high < 0):
            on += "; the better of the two is not shown to be above chance"
        return f"{opening}: {figures}{on}."

    def record(self) -> dict[str, Any]:
        """The verdict as plain values."""
        plain = {
            name: getattr(self, name)
            for name in (
                "model",
                "baseline",
                "measure",
                "better",
                "wins",
                "ties",
                "baseline_is_reversed",
            )
        }
        numbers = ("model_score", "baseline_score", "difference", "low", "high", "p_value")
        plain |= {name: float(getattr(self, name)) for name in numbers}
        plain["worse"] = [
            {"query": str(one.query), "model": float(one.model), "baseline": float(one.baseline)}
            for one in self.worse
        ]
        return plain | {"sentence": str(self)}

    @classmethod
    def from_record(cls, record: dict[str, Any] | None) -> BaselineVerdict | None:
        if not record:
            return None
        values = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        values["worse"] = [WorseQuery(**one) for one in record["worse"]]
        return cls(**values)


def verdict_of(comparison: Comparison, baseline: str | None, model: str | None) -> BaselineVerdict:
    """The verdict about two of the compared models; see Comparison.against."""
    names = comparison.names
    if baseline is None:
        if len(comparison.baselines) != 1:
            raise ValueError(
                f"{len(comparison.baselines)} of the models are given as scores: name the baseline."
            )
        baseline = comparison.baselines[0]
    others = [name for name in names if name not in comparison.baselines and name != baseline]
    model = model or (others or [name for name in names if name != baseline])[0]
    for name in (baseline, model):
        if name not in names:
            raise ValueError(f"{name!r} was not compared; the models are {names}.")
    if model == baseline:
        raise ValueError(f"{model!r} cannot be compared with itself.")
    found = next(
        one for one in comparison.differences if {one.first, one.second} == {model, baseline}
    )
    sign = 1 if found.first == model else -1
    low, high = sorted((sign * found.low, sign * found.high))
    of_model, of_baseline = (float(comparison.score[names.index(n)]) for n in (model, baseline))
    wins, ties, worse = _by_query(comparison, model, baseline)
    return BaselineVerdict(
        model=model,
        baseline=baseline,
        measure=comparison.measure,
        model_score=of_model,
        baseline_score=of_baseline,
        difference=sign * found.difference,
        low=low,
        high=high,
        p_value=found.p_value,
        wins=wins,
        ties=ties,
        worse=worse,
        baseline_is_reversed=_is_reversed(comparison, baseline),
    )


def _is_reversed(comparison: Comparison, baseline: str) -> bool:
    """Whether the baseline orders fewer than half of the pairs right, by two standard errors."""
    if comparison.measure not in (Scorer("concordance").title, Scorer("auc").title):
        return False
    number = comparison.names.index(baseline)
    error = comparison.score_se[number]
    return bool(comparison.score[number] + 2 * (error if np.isfinite(error) else 0.0) < 0.5)


def _by_query(
    comparison: Comparison, model: str, baseline: str
) -> tuple[int, int, list[WorseQuery]]:
    """On how many queries the model is better and equal, and those on which it is worse."""
    if comparison.by_query is None or comparison.queries is None:
        return 0, 0, []
    both = comparison.by_query[:, [comparison.names.index(name) for name in (model, baseline)]]
    gain = both[:, 0] - both[:, 1]
    order = np.argsort(gain, kind="stable")
    lost = order[gain[order] < -EQUAL]
    worse = [WorseQuery(comparison.queries[i], *map(float, both[i])) for i in lost]
    return int((gain > EQUAL).sum()), int((np.abs(gain) <= EQUAL).sum()), worse
