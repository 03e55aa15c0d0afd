"""Davis and Yamanishi in four settings: ranking, regression, two-step and plain baselines.

For every outer fold of a setting (what is new at test time: edges, rows, columns or both) each
method is trained on the other edges. Its parameters are chosen on three inner folds of the same
setting (two-step: by its exact hold-outs of that setting), by the concordance that is then
reported: of the columns of a row (given the row), or of the rows of a column (given the column).
Nothing is chosen on test edges. Concordance is the mean over the conditions that have two test
edges of different value, then over folds.

    .venv/bin/python -m benchmarks.papers.conditional_four_settings [RESULTS.json [SET ...]]

With a file of results, what it holds is not computed again, so that the script can be resumed, and
the figures of docs/guide/drugs_and_targets.md are drawn from it.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import table
from benchmarks.papers.conditional_drug_target import relations
from benchmarks.papers.data import REPOSITORY
from rankwise import ConditionalRanker, TwoStepRanker, TwoStepRankerCV
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics import ranking_error
from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit

SETTINGS = {
    "edges": ("known row, known column", EdgeSplit),
    "rows": ("new row", RowSplit),
    "columns": ("new column", ColumnSplit),
    "both": ("new row, new column", RowColumnSplit),
}
CONDITIONS = ("row", "column")
ALPHAS = 2.0 ** np.arange(8, -9, -2)
OUTER, INNER = 5, 3

Candidates = Iterator[np.ndarray]
"""A matrix of scores of all pairs for each candidate of a method's parameters."""


class Data:
    """Two kernels and the values of some edges; everything else of Y is nan."""

    def __init__(self, K_A: np.ndarray, K_B: np.ndarray, Y: np.ndarray, edges: np.ndarray):
        self.K_A, self.K_B, self.edges = K_A, K_B, edges
        self.y = Y[tuple(edges.T)]
        self.seen = np.full(Y.shape, np.nan)
        self.seen[tuple(edges.T)] = self.y

    @property
    def block(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the columns that have a training edge."""
        return tuple(np.flatnonzero(~np.isnan(self.seen).all(axis=axis)) for axis in (1, 0))


def conditional(data: Data, objective: str, condition: str) -> Candidates:
    """ConditionalRanker with the product of the two kernels."""
    ranker = ConditionalRanker(
        ALPHAS[0], kernel="precomputed", objective=objective, condition=condition, tol=1e-4
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit((data.K_A, data.K_B), data.y, edges=data.edges)
        for coefficients in ranker.path(ALPHAS):
            yield data.K_A @ coefficients @ data.K_B.T


def ranking(data: Data, condition: str, setting: str) -> Candidates:
    return conditional(data, "ranking", condition)


def regression(data: Data, condition: str, setting: str) -> Candidates:
    return conditional(data, "regression", "row")


def two_step(data: Data, condition: str, setting: str) -> Candidates:
    """TwoStepRanker on the nodes that have a training edge, alphas by its exact hold-outs.

    Where cells are missing (setting "edges") they are filled by the mean for the choice of the
    alphas, which keeps the closed forms, and by the model itself for the fit.
    """
    rows, columns = data.block
    K = data.K_A[np.ix_(rows, rows)], data.K_B[np.ix_(columns, columns)]
    Y = data.seen[np.ix_(rows, columns)]
    options = {"kernel": "precomputed", "condition": condition}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = TwoStepRankerCV(setting=setting, fill="mean", **options).fit(K, Y)
        model = TwoStepRanker(search.alpha_, fill="model", **options).fit(K, Y)
    yield model.predict(data.K_A[:, rows], data.K_B[:, columns])


def object_mean(data: Data, condition: str, setting: str) -> Candidates:
    """Every object by the mean of its training values, the same order for all conditions."""
    axis = 0 if condition == "row" else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.nanmean(data.seen, axis=axis, keepdims=True)
    yield np.nan_to_num(means, nan=float(data.y.mean())) + np.zeros(data.seen.shape)


METHODS: dict[str, Callable[[Data, str, str], Candidates]] = {
    "ranking": ranking,
    "regression": regression,
    "two-step": two_step,
    "object mean": object_mean,
}
CHOOSE_THEMSELVES = {"two-step", "object mean"}
SHARED = {"regression"}
"""Methods whose scores do not depend on the condition: both are judged from one training."""


def concordance(Y: np.ndarray, S: np.ndarray, edges: np.ndarray, condition: str) -> float:
    at = tuple(edges.T)
    try:
        return 1 - ranking_error(Y[at], S[at], edges[:, CONDITIONS.index(condition)])
    except UndefinedMetric:
        return np.nan


def fold_results(sides, Y, train, test, setting: str, method: str) -> dict[str, float]:
    """Concordance on the test edges by condition, for the candidate that inner folds choose."""
    make = METHODS[method]
    inner = list(SETTINGS[setting][1](INNER, 0).split(train))
    if method in CHOOSE_THEMSELVES:
        inner = []
    found = {}
    for conditions in [CONDITIONS] if method in SHARED else [(one,) for one in CONDITIONS]:
        scores: dict[str, list] = {condition: [] for condition in conditions}
        for fit, validate in inner:
            paths: dict[str, list] = {condition: [] for condition in conditions}
            for S in make(Data(*sides, Y, train[fit]), conditions[0], setting):
                for condition in conditions:
                    paths[condition].append(concordance(Y, S, train[validate], condition))
            for condition in conditions:
                scores[condition].append(paths[condition])
        best = dict.fromkeys(conditions, 0)
        if inner:
            best = {c: int(np.argmax(np.nanmean(scores[c], axis=0))) for c in conditions}
        for number, S in enumerate(make(Data(*sides, Y, train), conditions[0], setting)):
            for condition in conditions:
                if number == best[condition]:
                    found[condition] = concordance(Y, S, test, condition)
    return found


def results(known: dict, keep: Callable[[dict], None], wanted: list[str]) -> dict:
    """{set/setting/method: {condition: concordance, ...}}, added to what is known."""
    for name, (K_A, K_B, Y) in relations().items():
        if wanted and not any(one.lower() in name.lower() for one in wanted):
            continue
        edges = np.argwhere(np.ones(Y.shape))
        for method in METHODS:
            for setting, (_, Split) in SETTINGS.items():
                key = f"{name}/{setting}/{method}"
                if key in known:
                    continue
                started = time.perf_counter()
                folds = [
                    fold_results((K_A, K_B), Y, edges[train], edges[test], setting, method)
                    for train, test in Split(OUTER, 0).split(edges)
                ]
                known[key] = {c: [round(f[c], 5) for f in folds] for c in CONDITIONS}
                known[key]["seconds"] = round(time.perf_counter() - started, 1)
                means = {c: round(float(np.nanmean(known[key][c])), 3) for c in CONDITIONS}
                print(f"{key}: {means}, {known[key]['seconds']} s", file=sys.stderr, flush=True)
                keep(known)
    return known


def cell(values: list[float], known: bool) -> str:
    return f"{np.nanmean(values):.3f}" if known and np.isfinite(values).any() else "–"


def knows_objects(method: str, setting: str, condition: str) -> bool:
    """Whether a mean of the objects exists: objects that are new have none."""
    new = {"row": ("columns", "both"), "column": ("rows", "both")}[condition]
    return method != "object mean" or setting not in new


def show(found: dict) -> None:
    """One table for each condition."""
    shapes = {name: Y.shape for name, (_, _, Y) in relations().items()}
    for condition, ranked in (("row", "columns for each row"), ("column", "rows for each column")):
        rows = []
        for name, shape in shapes.items():
            for setting, (title, _) in SETTINGS.items():
                cells = [
                    cell(found[key][condition], knows_objects(method, setting, condition))
                    if (key := f"{name}/{setting}/{method}") in found
                    else "–"
                    for method in METHODS
                ]
                label = f"{name} {shape[0]} × {shape[1]}" if setting == "edges" else ""
                rows.append((label, title, *cells))
        header = ("set", "new at test time", *METHODS)
        table.show(f"Concordance of the ranking of {ranked}", header, rows)


def draw(found: dict, folder: Path) -> None:
    """Which cells are trained and tested on in each setting, and the results of all sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 2.5), layout="constrained")
    for axes, setting in zip(figure.subplots(1, 4), SETTINGS):
        axes.imshow(_cells(setting), cmap="Blues", vmin=0, vmax=2.4, aspect="equal")
        axes.set_xticks(np.arange(-0.5, 12), [])
        axes.set_yticks(np.arange(-0.5, 9), [])
        axes.grid(color="white", lw=1.2)
        axes.tick_params(length=0)
        axes.set_title(f"{setting}: {SETTINGS[setting][0]}", fontsize=8.5)
    figure.supxlabel("dark: known and trained on, light: not used, white with a cross: predicted")
    for axes, setting in zip(figure.axes, SETTINGS):
        at = np.argwhere(_cells(setting) == 0)
        axes.plot(at[:, 1], at[:, 0], "x", color="#c0392b", ms=5)
    figure.savefig(folder / "relation_settings.png", dpi=150)

    figure = Figure(figsize=(8.6, 5.6), layout="constrained")
    panels = figure.subplots(2, 4, sharey=True)
    for row, condition in zip(panels, CONDITIONS):
        for axes, name in zip(row, relations()):
            for number, method in enumerate(METHODS):
                x = np.arange(4) + 0.13 * (number - 1.5)
                y = [
                    np.nanmean(found[key][condition])
                    if (key := f"{name}/{setting}/{method}") in found
                    and knows_objects(method, setting, condition)
                    else np.nan
                    for setting in SETTINGS
                ]
                axes.plot(x, y, "osD^"[number], ms=5, label=method)
            axes.axhline(0.5, color="grey", lw=0.8, ls=":")
            axes.set_xticks(range(4), SETTINGS, fontsize=8)
            axes.set_title(f"{name}, by {condition}", fontsize=9)
            axes.grid(axis="y", alpha=0.3)
        row[0].set_ylabel("concordance")
    panels[0, 0].legend(frameon=False, fontsize=7.5, loc="lower left")
    figure.supxlabel("what is new at test time")
    figure.savefig(folder / "four_settings.png", dpi=150)


def _cells(setting: str) -> np.ndarray:
    """A matrix of 8 × 11 cells: 2 trained on, 1 not used, 0 tested."""
    cells = np.full((8, 11), 2)
    if setting == "edges":
        cells.flat[np.random.default_rng(3).choice(cells.size, 18, replace=False)] = 0
    if setting in ("rows", "both"):
        cells[6:] = 0 if setting == "rows" else 1
    if setting in ("columns", "both"):
        cells[:, 8:] = 0 if setting == "columns" else 1
    if setting == "both":
        cells[6:, 8:] = 0
    return cells


def main(arguments: list[str] | None = None) -> None:
    path = Path(arguments[0]) if arguments else None
    known = (
        json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}
    )

    def keep(found: dict) -> None:
        if path is not None:
            path.write_text(json.dumps(found, indent=1), encoding="utf-8")

    found = results(known, keep, (arguments or [])[1:])
    show(found)
    if path is not None:
        draw(found, REPOSITORY / "docs" / "figures")


if __name__ == "__main__":
    main(sys.argv[1:])
