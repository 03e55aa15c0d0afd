"""rankwise train on a Dask cluster: the workers read the files, and a local model is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.cli.console import Mistake, say, working
from rankwise.cli.data_files import require_target
from rankwise.cli.data_options import COLUMNS, OUTCOME, DataOptions
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS
from rankwise.model_selection.choosing import largest_of_best
from rankwise.workflow.ranking_data import numbered
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.search import Fit
from rankwise.workflow.search_path import COMPARABLE, SearchPath
from rankwise.workflow.trained_model import TrainedModel, new_record, support_record
from rankwise.workflow.training import interruptions_raised

LEARNERS = {"rank-rls": "RankRLS", "rank-svm": "RankSVM"}
READ_COLUMNS = ("target", "query", "name", *OUTCOME)
SCHEDULER_TIMEOUT = 30
"""Seconds to wait for a scheduler."""
MANY_ITEMS = 10**9
"""Partitions hold more items than an exact kernel can take."""


def train_on_cluster(
    where: str | int, path: str, recipe: Recipe, files: DataOptions, quiet: bool
) -> tuple[TrainedModel, DataOptions]:
    """Read, partition by query, choose alpha by leave-query-out if asked to, and fit.

    `where` is the address of a scheduler, or a number of workers to start on this machine.
    """
    _refuse_unavailable(recipe, files)
    started = time.perf_counter()
    with connected(where) as client:
        if not quiet:
            say(
                f"{len(client.scheduler_info(n_workers=-1)['workers'])} workers at "
                f"{client.scheduler.address}, dashboard {client.dashboard_link}"
            )
        with working("reading") as report, _progress(report, "reading"):
            data, features, files = _read(path, files)
        what = f"training {recipe.learner}"
        with interruptions_raised(), working(what) as report, _progress(report, what):
            fit = _fitted(recipe, data)
    n = fit.model.n_features_in_
    items, queries = fit.model.trained_on
    summary = f"{items:,} items" + ("" if queries is None else f" in {queries:,} queries")
    summary += f", {n} features"
    counts = {"items": items, "queries": queries, "features": n}
    record = new_record(recipe, fit, started, {"source": path, "summary": summary, **counts})
    record["features"] = features or numbered("feature", n)
    record["support"] = support_record(fit.model)
    if not quiet:
        say(f"{path}: {summary}.")
    ranker = fit.model.to_local()
    # The record has the names. Commands read files as arrays, which have no names to compare.
    vars(ranker).pop("feature_names_in_", None)
    return TrainedModel(ranker, None, record), files


def _refuse_unavailable(recipe: Recipe, files: DataOptions) -> None:
    """Raise an error for options that only training on one machine has."""
    for role, column in files.columns.items():
        if column is not None and role not in READ_COLUMNS:
            raise Mistake(f"on a cluster {COLUMNS[role].option} is not available.")
    if files.cells.given:
        raise Mistake(f"on a cluster {files.cells.given} is not available.")
    if recipe.learner not in LEARNERS:
        raise Mistake(f"on a cluster --learner is one of {', '.join(LEARNERS)}.")
    if recipe.scale != "none" or recipe.missing != "refuse":
        raise Mistake("on a cluster items are used as they are: leave --scale and --missing out.")
    if recipe.cv not in ("auto", "leave-query-out"):
        raise Mistake("on a cluster candidates are judged by leave-query-out: leave --cv out.")
    if recipe.guesses_gamma:
        raise Mistake("on a cluster the width of the kernel must be given: give --gamma.")
    if recipe.learner == "rank-svm" and recipe.searches:
        raise Mistake("on a cluster rank-svm is trained for one alpha: give --alpha a number.")


@contextmanager
def connected(where: str | int) -> Iterator[Any]:
    """A client of the named scheduler, or of new workers on this machine."""
    from distributed import Client

    from rankwise.dask import local_cluster

    if isinstance(where, int):
        with local_cluster(where, silence_logs=50) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(where, timeout=SCHEDULER_TIMEOUT, set_as_default=True)
    except (OSError, TimeoutError, ValueError) as error:
        raise Mistake(f"no Dask scheduler answers at {where}: {error}") from error
    with client:
        yield client


@contextmanager
def _progress(report: Any, what: str) -> Iterator[None]:
    """Report the finished tasks of every round trip, if a terminal shows them."""
    from distributed.diagnostics.progressbar import TextProgressBar

    from rankwise.dask.cluster import watcher

    if report is None:
        yield
        return
    trips: list[str] = []

    class Bar(TextProgressBar):
        def _draw_bar(self, remaining: int, all: int, **_: Any) -> None:
            report(f"{what}, round trip {len(trips)}: {all - remaining} of {all} tasks")

        def _draw_stop(self, **_: Any) -> None:
            pass

    def watch(future: Any) -> None:
        trips.append(future.key)
        report(f"{what}, round trip {len(trips)}")
        if len(trips) > 3:  # an iterative solver makes many short ones
            return
        try:
            Bar([future], interval="200ms")
        except OSError:
            return  # the fit itself will report the lost connection

    token = watcher.set(watch)
    try:
        yield
    finally:
        watcher.reset(token)


def _read(path: str, files: DataOptions) -> tuple[Any, list[str], DataOptions]:
    """Lazy data with whole queries in each partition, and the features and columns of a table."""
    from rankwise.dask import partition_by_query, read_letor, read_table
    from rankwise.dask.lazy_readers import TABLES
    from rankwise.io.source import files_of

    if path == "-":
        raise Mistake("a cluster reads files, not standard input.")
    kinds = {Path(file).suffix.lower() for file in files_of(path)} & set(TABLES)
    features: list[str] = []
    if files.format == "table" or (files.format == "auto" and kinds):
        if not kinds:
            raise Mistake(f"on a cluster tables are {' or '.join(TABLES)} files.")
        columns = [str(name) for name in TABLES[kinds.pop()](files_of(path)[:1]).columns]
        files = files.found_in(path, columns)
        require_target(files, path, columns)
        told = {role: files.columns[role] for role in ("target", "query", *OUTCOME)}
        drop = [name for name in (files.columns["name"], *files.ignore) if name is not None]
        data = read_table(path, **told, drop=drop)
        features = [str(name) for name in data.X.columns]
    else:
        if any(files.columns.get(role) for role in OUTCOME):
            raise Mistake("--time and --event name columns of a table: DATA is LETOR.")
        data = read_letor(path)
    if data.qid is not None:
        data = partition_by_query(data.X, data.y, qid=data.qid)
    return data, features, files


def _fitted(recipe: Recipe, data: Any) -> Fit:
    import rankwise.dask

    options, found = recipe.arguments(MANY_ITEMS)
    estimator = getattr(rankwise.dask, LEARNERS[recipe.learner])
    if not recipe.searches:
        model = estimator(recipe.value, **options).fit(data.X, data.y, qid=data.qid)
        return Fit(model, None, found)
    if data.qid is None:
        raise Mistake("without queries nothing can be held out: give --alpha a number.")
    alphas = np.sort(recipe.candidates(DEFAULT_ALPHAS))
    model = estimator(float(alphas[-1]), **options).fit(data.X, data.y, qid=data.qid)
    table = model.leave_query_out_scores(alphas, recipe.scoring)
    best = float(alphas[largest_of_best(alphas, table["score"])])
    model.set_alpha(best)
    scores = (table["score"], table["score_se"])
    path = SearchPath("alpha", alphas, *scores, best, "leave-query-out", scoring=recipe.scoring)
    if isinstance(data.y, list):  # of censored outcomes
        path.judged = COMPARABLE
    elif recipe.scoring is not None:
        from rankwise.metrics.scorers import read_scoring

        path.judged = f"held-out {read_scoring(recipe.scoring).title}"
    return Fit(model, path, found)
