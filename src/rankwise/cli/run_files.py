"""Run files and judgements of TREC: their options, and how `evaluate` shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rankwise.cli.console import Mistake, cells, say, say_json, stdout, table, working
from rankwise.cli.recipe_options import stacked

if TYPE_CHECKING:
    from rankwise.evaluation import RunComparison


class RunOptions(NamedTuple):
    """The run files as they were given, [NAME=]FILE, and the file of judgements."""

    paths: tuple[str, ...]
    qrels: str | None
    all_queries: bool = False

    def read(self) -> dict[str, Any]:
        """{name: run}; the name is the one that was given, or that of the file without endings."""
        from rankwise.io.trec import read_run

        runs: dict[str, Any] = {}
        for given in self.paths:
            name, path = named_file(given)
            name = name or PurePath(path).name.split(".")[0] or path
            if name in runs:
                raise Mistake(f"two runs are called {name!r}: give --run NAME=FILE.")
            runs[name] = read_run(path)
        return runs


class Wanted(NamedTuple):
    """What `evaluate` should show."""

    scoring: str | None
    relevant: float | None
    per_query: bool
    as_json: bool


def named_file(given: str) -> tuple[str, str]:
    """NAME=FILE as both parts; the name is empty if it was not given."""
    name, equals, path = given.partition("=")
    return (name, path) if equals and name and "/" not in name else ("", given)


RUN = click.option(
    "--run", "paths", metavar="[NAME=]FILE", multiple=True, help="A TREC run file (repeatable)."
)
QRELS = click.option("--qrels", metavar="FILE", help="TREC judgements of the runs.")
ALL_QUERIES = click.option(
    "--all-queries", is_flag=True, help="Runs: judged queries that a run lacks count 0."
)


def run_options(command: Callable) -> Callable:
    """The options --run, --qrels and --all-queries, which the command receives as `runs`."""

    @wraps(command)
    def bundled(*args: Any, **options: Any) -> Any:
        runs = RunOptions(*(options.pop(name) for name in ("paths", "qrels", "all_queries")))
        return command(*args, runs=runs, **options)

    return stacked(RUN, QRELS, ALL_QUERIES)(bundled)


def evaluate_runs(runs: RunOptions, wanted: Wanted) -> None:
    """Print the measures of the runs, and paired tests if there are several."""
    from rankwise.evaluation import compare_runs
    from rankwise.io.trec import read_qrels
    from rankwise.metrics.trec_measures import DEFAULT

    if not runs.paths or runs.qrels is None:
        raise Mistake("runs are judged by judgements: give both --run and --qrels.")
    if wanted.relevant is not None and wanted.relevant != int(wanted.relevant):
        raise Mistake("--relevant is an integer for runs: relevance is one.")
    names = DEFAULT if wanted.scoring is None else tuple(dict.fromkeys(wanted.scoring.split(",")))
    with working("evaluating"):
        found = compare_runs(
            read_qrels(runs.qrels),
            runs.read(),
            names,
            relevant=1 if wanted.relevant is None else int(wanted.relevant),
            all_queries=runs.all_queries,
        )
    if wanted.as_json:
        say_json(_record(found, wanted.per_query))
        return
    _show(found, wanted.per_query)


def _record(found: RunComparison, per_query: bool) -> dict[str, Any]:
    runs = {
        name: {
            measure: {
                "value": float(found.mean[measure][number]),
                "low": float(found.interval[measure][number, 0]) if is_judged else None,
                "high": float(found.interval[measure][number, 1]) if is_judged else None,
            }
            for measure in found.mean
            for is_judged in [measure in found.interval]
        }
        for number, name in enumerate(found.names)
    }
    record: dict[str, Any] = {"num_q": len(found.queries), "runs": runs}
    record["differences"] = [asdict(one) for one in found.differences]
    if per_query:
        record["per_query"] = [
            {"query": query}
            | {key: dict(zip(found.names, values[i].tolist())) for key, values in _items(found)}
            for i, query in enumerate(found.queries)
        ]
    return record


def _items(found: RunComparison) -> list[tuple[str, Any]]:
    return list(found.by_query.items())


def _show(found: RunComparison, per_query: bool) -> None:
    from rankwise.metrics.trec_measures import describe_measure

    console = stdout()
    say(f"{len(found.queries)} judged queries; tied scores as in trec_eval, unless said otherwise.")
    shown = table("run", "measure", "value", "95% interval", right=(2,))
    for number, name in enumerate(found.names):
        for measure, means in found.mean.items():
            if measure in found.interval:
                low, high = found.interval[measure][number]
                figures = [f"{means[number]:.4f}", f"{low:.4f} to {high:.4f}"]
            else:
                figures = [f"{means[number]:.0f}", "a sum"]
            shown.add_row(*cells(name, describe_measure(measure)), *figures)
    console.print(shown)
    if found.differences:
        console.print()
        _show_differences(found, console)
    if not per_query:
        return
    console.print()
    heads = [f"{describe_measure(key)}, {name}" for key in found.mean for name in found.names]
    shown = table("query", *cells(*heads), right=tuple(range(1, 1 + len(heads))))
    for i, query in enumerate(found.queries):
        values = [f"{value:.4f}" for _, rows in _items(found) for value in rows[i]]
        shown.add_row(*cells(str(query)), *values)
    console.print(shown)


def _show_differences(found: RunComparison, console: Any) -> None:
    from rankwise.metrics.trec_measures import describe_measure

    several = len(found.names) > 2
    heads = ["measure", "difference", "", "95% interval", "p, Student", "p, randomisation"]
    heads += ["p, corrected"] if several else []
    shown = table(*heads, "won, lost", right=(2, 4, 5, *([6] if several else [])))
    for one in found.differences:
        ps = [one.p_value, one.p_randomisation, *([one.p_adjusted] if several else [])]
        shown.add_row(
            *cells(describe_measure(one.measure), f"{one.first} − {one.second}"),
            f"{one.difference:+.4f}",
            f"{one.low:+.4f} to {one.high:+.4f}",
            *(f"{p:.4f}" if p >= 1e-4 else "<0.0001" for p in ps),
            f"{one.wins}, {one.losses}",
        )
    console.print(shown)
