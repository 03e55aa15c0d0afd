"""What a comparison of models found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.evaluation.baseline_verdict import BaselineVerdict, verdict_of


@dataclass
class Difference:
    """Score of one model minus that of another, with its 95% interval and p-values.

    Attributes
    ----------
    first, second : str
        The names of the models.
    difference, low, high : float
        Score of `first` minus score of `second`, and its 95% interval.
    p_value, p_adjusted : float
        Before and after correction for the number of comparisons.

    Examples
    --------
    >>> from rankwise.evaluation import Difference
    >>> Difference("new", "old", 0.02, p_value=0.01, p_adjusted=0.02, low=0.005, high=0.035).first
    'new'
    """

    first: str
    second: str
    difference: float
    p_value: float
    p_adjusted: float
    low: float = np.nan
    high: float = np.nan


@dataclass
class Comparison:
    """Held-out score of each model, best first, and the differences between all models.

    Attributes
    ----------
    names : list of str
        The models, best first.
    score, score_se : (k,) arrays
        Their scores and standard errors. An error is nan if all queries (or folds) have the same
        score, which does not show an error.
    by_query : (q, k) array or None
        One row per query that can be judged; None without queries.
    queries : (q,) array or None
        The labels of the rows of `by_query`.
    differences : list of Difference
        Those of all pairs of models, sorted by p-value.
    how, measure : str
        What was held out, and what the scores are.
    baselines : tuple of str
        The names of the models that were given as scores.

    Examples
    --------
    >>> from rankwise import RLS, RankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import compare
    >>> data = make_ranking(n_queries=20, n_items=10, n_features=3, random_state=0)
    >>> found = compare({"pairs": RankRLS(), "points": RLS()}, data.X, data.y, data.qid)
    >>> found.best, found.by_query.shape, found.how
    ('pairs', (20, 2), 'leave-query-out, 20 queries paired')
    """

    names: list[str]
    score: np.ndarray
    score_se: np.ndarray
    by_query: np.ndarray | None
    differences: list[Difference]
    how: str
    measure: str = "share of pairs in the right order"
    queries: np.ndarray | None = None
    baselines: tuple[str, ...] = ()

    def against(self, baseline: str | None = None, model: str | None = None) -> BaselineVerdict:
        """Is the model better than the baseline: by how much, how certain, on which queries not.

        By default the baseline is the only one that was given as scores, and the model the best of
        the others.
        """
        return verdict_of(self, baseline, model)

    @property
    def best(self) -> str:
        return self.names[0]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{self.measure}; {self.how}", f"{'model':{width}}  score     ±"]
        for name, score, error in zip(self.names, self.score, self.score_se):
            spread = f"{error:.3f}" if np.isfinite(error) else "    –"
            lines.append(f"{name:{width}}  {score:.3f} {spread}")
        both = [f"{d.first} − {d.second}" for d in self.differences]
        width = max(map(len, both), default=0)
        if both:
            lines.append(f"{'difference':{width}}              p  corrected")
        for text, d in zip(both, self.differences):
            p, adjusted = (_short(value) for value in (d.p_value, d.p_adjusted))
            lines.append(f"{text:{width}}  {d.difference:+.3f} {p:>7}    {adjusted:>7}")
        return "\n".join(lines)


def _short(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"
