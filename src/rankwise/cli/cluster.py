"""rankwise train on a Dask cluster: files read by the workers, a local model written."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path as FilePath

import numpy as np
from scipy import sparse

from rankwise.cli.console import say, working
from rankwise.cli.failures import Mistake
from rankwise.cli.inputs import NAMES, QUERIES, TARGETS, Reading
from rankwise.learners.rank_rls_cv import DEFAULT_ALPHAS, EQUAL
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.search import Path
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import _versions, fitting_options, interruptions_raised

LEARNERS = {"rank-rls": "RankRLS", "rank-svm": "RankSVM"}
SECONDS = 30
"""How long to wait for a scheduler."""


def train_on_cluster(
    path: str, recipe: Recipe, reading: Reading, scheduler, workers, quiet: bool
) -> tuple[TrainedModel, Reading]:
    """Read, arrange, choose alpha by leave-query-out where asked to, fit."""
    _refuse_what_partitions_lack(recipe)
    started = time.perf_counter()
    with _connected(scheduler, workers) as client:
        if not quiet:
            say(
                f"{len(client.scheduler_info(n_workers=-1)['workers'])} workers at "
                f"{client.scheduler.address}, dashboard {client.dashboard_link}"
            )
        with working("reading") as report, _shown(report, "reading"):
            data, features, reading = _read(path, reading)
        with (
            interruptions_raised(),
            working(f"training {recipe.learner}") as report,
            _shown(report, f"training {recipe.learner}"),
        ):
            model, chosen, found = _fitted(recipe, data)
    n = model.n_features_in_
    items, queries = model._trained_on
    described = f"{items:,} items" + ("" if queries is None else f" in {queries:,} queries")
    record = {
        "recipe": recipe.record(),
        "found": found,
        "path": None if chosen is None else chosen.record(),
        "trained": {
            "source": path,
            "summary": f"{described}, {n} features",
            "items": items,
            "queries": queries,
            "features": n,
        },
        "seconds": time.perf_counter() - started,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "features": features or [f"feature {j + 1}" for j in range(n)],
        "support": _support(model),
    }
    if not quiet:
        say(f"{path}: {record['trained']['summary']}.")
    ranker = model.to_local()
    vars(ranker).pop("feature_names_in_", None)  # the record has them; files are read as arrays
    return TrainedModel(ranker, None, record), reading


def _refuse_what_partitions_lack(recipe: Recipe) -> None:
    if recipe.learner not in LEARNERS:
        raise Mistake(f"on a cluster --learner is one of {', '.join(LEARNERS)}.")
    if recipe.scale != "none" or recipe.missing != "refuse":
        raise Mistake("on a cluster items are taken as they are: leave --scale and --missing out.")
    if recipe.cv not in ("auto", "leave-query-out"):
        raise Mistake("on a cluster candidates are judged by leave-query-out: leave --cv out.")
    if recipe.kernel in ("rbf", "laplacian") and recipe.gamma == "auto":
        raise Mistake("on a cluster the kernel's width is not guessed: give --gamma.")
    if recipe.learner == "rank-svm" and not isinstance(recipe.alpha, float | int):
        raise Mistake("on a cluster rank-svm is trained for one alpha: give --alpha a number.")


@contextmanager
def _connected(scheduler: str | None, workers: int | None):
    """A client of the scheduler named, or of workers of our own on loopback."""
    from distributed import Client

    from rankwise.dask import local_cluster

    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=SECONDS, set_as_default=True)
        except (OSError, TimeoutError, ValueError) as error:
            raise Mistake(f"no Dask scheduler answers at {scheduler}: {error}") from error
        with client:
            yield client
        return
    with local_cluster(workers or 1, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def _shown(report, what: str):
    """Tasks done and to do, of every round trip, where a terminal shows them."""
    from distributed.diagnostics.progressbar import TextProgressBar

    from rankwise.dask.cluster import watcher

    if report is None:
        yield
        return
    trips: list[str] = []

    class Bar(TextProgressBar):
        def _draw_bar(self, remaining, all, **_):
            report(f"{what}, round trip {len(trips)}: {all - remaining} of {all} tasks")

        def _draw_stop(self, **_):
            pass

    def watch(future):
        trips.append(future.key)
        report(f"{what}, round trip {len(trips)}")
        if len(trips) > 3:  # the many short ones of an iterative solver
            return
        try:
            Bar([future], interval="200ms")
        except OSError:
            return  # what was lost, the fit itself will tell

    token = watcher.set(watch)
    try:
        yield
    finally:
        watcher.reset(token)


def _read(path: str, reading: Reading):
    from rankwise.dask import partition_by_query, read_letor, read_table
    from rankwise.dask.lazy_readers import TABLES, files_of

    if path == "-":
        raise Mistake("a cluster reads files, not standard input.")
    suffixes = {FilePath(file).suffix.lower() for file in files_of(path)}
    is_table = reading.format == "table" or (
        reading.format == "auto" and bool(suffixes & set(TABLES))
    )
    features: list[str] = []
    if is_table:
        kind = next(iter(suffixes & set(TABLES)), None)
        if kind is None:
            raise Mistake(f"on a cluster tables are {' or '.join(TABLES)} files.")
        columns = [str(name) for name in TABLES[kind](files_of(path)[:1]).columns]
        reading = replace(
            reading,
            target=_column(columns, reading.target, TARGETS),
            query=_column(columns, reading.query, QUERIES),
            name=_column(columns, reading.name, NAMES),
        )
        if reading.target is None:
            named = ", ".join(map(repr, columns))
            raise Mistake(f"which column holds the scores to learn? Give --target, one of {named}.")
        drop = [name for name in (reading.name, *reading.ignore) if name is not None]
        data = read_table(path, reading.target, reading.query, drop=drop)
        features = [str(name) for name in data.X.columns]
    else:
        data = read_letor(path)
    if data.qid is not None:
        data = partition_by_query(data.X, data.y, qid=data.qid)
    return data, features, reading


def _column(columns: list[str], given, usual) -> str | None:
    if given is not None:
        if given not in columns:
            raise Mistake(f"there is no column {given!r}: there are {', '.join(columns)}.")
        return given
    lower = {column.lower(): column for column in reversed(columns)}
    return next((lower[name] for name in usual if name in lower), None)


def _fitted(recipe: Recipe, data):
    import rankwise.dask

    options, found = fitting_options(recipe, sparse.csr_matrix((10**9, 1)))
    make = getattr(rankwise.dask, LEARNERS[recipe.learner])
    if isinstance(recipe.alpha, float | int):
        return make(recipe.alpha, **options).fit(data.X, data.y, qid=data.qid), None, found
    if data.qid is None:
        raise Mistake("without queries nothing can be held out: give --alpha a number.")
    alphas = np.sort(DEFAULT_ALPHAS if recipe.alpha == "auto" else np.asarray(recipe.alpha))
    model = make(float(alphas[-1]), **options).fit(data.X, data.y, qid=data.qid)
    table = model.leave_query_out_scores(alphas)
    best = alphas[table["score"] >= table["score"].max() - EQUAL].max()
    model.set_params(alpha=float(best))
    model._set_model(model._solve_path([best])[0])
    errors = table["score_se"]
    chosen = Path("alpha", alphas, table["score"], errors, float(best), "leave-query-out")
    return model, chosen, found


def _support(model) -> dict | None:
    if not hasattr(model, "dual_coef_"):
        return None
    names = [f"row {i + 1}" for i in model.basis_index_]
    return {"names": names, "queries": None, "scores": None}
