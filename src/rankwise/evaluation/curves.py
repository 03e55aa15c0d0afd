"""How performance on unseen data grows with the training set, and how it hangs on alpha."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from rankwise.evaluation.estimators import check_estimator, fitted, scores_of
from rankwise.evaluation.folds import check_folds, checked_scores, judge, refitting_folds, resolve
from rankwise.evaluation.held_out import Refitting, held_out
from rankwise.io.atomic import write_atomically
from rankwise.learners.rank_rls import RankRLS
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS, RankRLSCV
from rankwise.metrics import concordance
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries
from rankwise.validation import check_alphas


@dataclass
class Curve:
    """Held-out concordance `score` ± `score_se` over `x`; `training` where it was judged too."""

    name: str
    x: np.ndarray
    score: np.ndarray
    score_se: np.ndarray
    training: np.ndarray | None = None
    log_base: int | None = None

    @property
    def best(self) -> float:
        """The x of the best score; the largest of equals."""
        return float(self.x[len(self.x) - 1 - int(np.argmax(self.score[::-1]))])

    def draw(self, axes=None, label="unseen data"):
        """Draw the curve with its error bars, on a new picture or on `axes`; returns the axes."""
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure(figsize=(6.4, 4.0), layout="constrained").subplots()
            axes.axhline(0.5, color="grey", lw=0.8, ls=":")
        (line,) = axes.plot(self.x, self.score, "o-", ms=3.5, label=f"{label} ± standard error")
        low, high = self.score - self.score_se, self.score + self.score_se
        axes.fill_between(self.x, low, high, color=line.get_color(), alpha=0.18, lw=0)
        if self.training is not None:
            axes.plot(self.x, self.training, "--", color="grey", label="training data")
        if self.log_base is not None:
            axes.set_xscale("log", base=self.log_base)
        if self.training is not None:
            axes.set_xticks(self.x, [f"{size}" for size in self.x])
            axes.minorticks_off()
        axes.set(xlabel=self.name, ylabel="share of pairs in the right order")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return axes

    def save(self, path) -> Path:
        """Write the picture; the format is that of the file's ending."""
        path, picture = Path(path), io.BytesIO()
        self.draw().figure.savefig(picture, dpi=120, format=path.suffix[1:] or "png")
        write_atomically(path, [picture.getbuffer()])
        return path


def regularisation_curve(
    est, X, y, qid=None, *, alphas=None, parameter=None, cv="auto", random_state=None
) -> Curve:
    """Cross-validated concordance over a grid of alphas, with standard errors.

    RankRLS and RankRLSCV: the whole grid in closed form, `cv` as in RankRLSCV. Any other estimator
    is refitted for every value of its `parameter`, by default its alpha or C; cv="auto" is then
    leave-query-out or at most 10 folds.
    """
    check_estimator(est)
    if isinstance(est, RankRLSCV):
        grid = alphas if alphas is not None else est.alphas
        return _closed_curve(clone(est).set_params(alphas=grid), X, y, qid, cv, random_state)
    grid = check_alphas(DEFAULT_ALPHAS if alphas is None else alphas)
    if type(est) is RankRLS and parameter in (None, "alpha"):
        shared = {name: value for name, value in est.get_params().items() if name != "alpha"}
        return _closed_curve(RankRLSCV(grid, **shared), X, y, qid, cv, random_state)
    parameter = _parameter(est, parameter)
    y, queries = checked_scores(y, qid)
    folds = refitting_folds(cv, X, y, queries, random_state)
    by_query = len(queries) > 1
    found = []
    for value in track(grid, len(grid), f"values of {parameter}"):
        model = held_out(clone(est).set_params(**{parameter: value}), X, y, _told(queries))
        score, influence = judge(model, folds).mean_and_influence(by_query)
        found.append((score, np.sqrt(influence @ influence)))
    score, error = np.array(found).T
    return Curve(parameter, grid, score, error, log_base=_base(grid))


def _closed_curve(search: RankRLSCV, X, y, qid, cv, random_state) -> Curve:
    given = not (isinstance(cv, str) and cv == "auto")
    options = {"cv": cv} if given else {}
    if random_state is not None:
        options["random_state"] = random_state
    if given and qid is not None:
        scores, queries = checked_scores(y, qid)
        resolve(cv, X, scores, queries, random_state)
    found = search.set_params(**options).fit(X, y, qid=qid).cv_results_
    return Curve("alpha", found["alpha"], found["score"], found["score_se"], log_base=2)


def _parameter(est, parameter) -> str:
    names = est.get_params()
    if parameter is None:
        parameter = next((name for name in ("alpha", "C") if name in names), None)
        if parameter is None:
            raise ValueError(
                f"{type(est).__name__} has neither alpha nor C: name a parameter, one of "
                f"{', '.join(sorted(names))}."
            )
    if parameter not in names:
        raise ValueError(f"{type(est).__name__} has no parameter {parameter!r}.")
    return parameter


def _base(grid) -> int:
    steps = np.log2(grid)
    return 2 if np.allclose(steps, np.round(steps)) else 10


def _told(queries: Queries) -> Queries | None:
    return queries if len(queries) > 1 else None


def learning_curve(
    est, X, y, qid=None, *, sizes: Sequence | None = None, folds=5, repeats=1, random_state=None
) -> Curve:
    """Held-out concordance after training on ever more items (with qid: ever more whole queries).

    Each fold is judged by models trained on growing random parts of the others, `repeats` times
    over; the error bars are standard errors over folds. `sizes` are numbers of items (queries),
    or shares of what a fold leaves if they are floats up to 1. An estimator that chooses its own
    alpha does so in every part anew. Costs folds · repeats · sizes fits.
    """
    check_estimator(est)
    y, queries = checked_scores(y, qid)
    by_query = len(queries) > 1
    rng = check_random_state(0 if random_state is None else random_state)
    model = Refitting(est, X, y, _told(queries))
    rounds = [
        (held, test)
        for _ in range(repeats)
        for held, test in refitting_folds(
            _count(folds, y, queries), X, y, queries, rng.randint(2**31 - 1)
        ).folds
    ]
    groups = list(queries) if by_query else list(np.arange(len(y))[:, None])
    smallest = min(len(_staying(groups, held)) for held, _ in rounds)
    sizes = _sizes(sizes, smallest)
    values = np.full((2, len(rounds), len(sizes)), np.nan)
    jobs = [(i, held, test) for i, (held, test) in enumerate(rounds)]
    for i, held, test in track(jobs, len(jobs), "learning curve"):
        pool = _staying(groups, held)
        order = rng.permutation(len(pool))
        for j, size in enumerate(sizes):
            train = np.sort(np.concatenate([pool[g] for g in order[:size]]))
            values[:, i, j] = _both_scores(model, train, test, queries)
    judged = np.isfinite(values[0]).sum(axis=0)
    training, score = np.nanmean(values[1], axis=0), np.nanmean(values[0], axis=0)
    error = np.nanstd(values[0], axis=0, ddof=1) / np.sqrt(judged)
    name = "training queries" if by_query else "training items"
    return Curve(name, np.array(sizes), score, error, training, _growth(sizes))


def _count(folds, y, queries: Queries) -> int:
    available = len(queries) if len(queries) > 1 else len(y)
    return min(check_folds(folds), available)


def _staying(groups, held) -> list[np.ndarray]:
    out = set(held.tolist())
    return [items for items in groups if items[0] not in out]


def _sizes(sizes, available: int) -> list[int]:
    if sizes is None:
        least = max(2, min(10, available // 4))
        return sorted({round(float(n)) for n in np.geomspace(least, available, 7)})
    found = []
    for size in sizes:
        whole = size * available if isinstance(size, float) and size <= 1 else size
        if not 1 <= round(whole) <= available:
            raise ValueError(
                f"sizes must lie between 1 and {available}, what a fold leaves; got {size!r}."
            )
        found.append(round(whole))
    return sorted(set(found))


def _growth(sizes) -> int | None:
    return 2 if len(sizes) > 2 and sizes[-1] > 8 * sizes[0] else None


def _both_scores(model: Refitting, train, test, queries: Queries) -> tuple[float, float]:
    """Concordance on the test and on the training items; ½ where nothing could be learnt."""
    try:
        trained = fitted(model.estimator, model.X, model.y, train, model.queries)
    except ValueError:
        if model._teaches(train):
            raise
        return 0.5, np.nan
    out = []
    for items in (test, train):
        scores = scores_of(model.estimator, trained, model.X, items, train)
        levels = model.ties.levels(items, scores)
        try:
            out.append(concordance(model.y[items], levels, queries.codes[items]))
        except ValueError:
            out.append(np.nan)
    return out[0], out[1]
