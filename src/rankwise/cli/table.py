"""rankwise table"""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.console import Mistake, check_writable, say, working
from rankwise.cli.data_options import COLUMNS
from rankwise.cli.result_files import kind_of, write_rows
from rankwise.cli.run_files import QRELS, RUN, RunOptions


@click.command()
@RUN
@QRELS
@click.option("--table", "features", metavar="FILE", help="A table of features of the documents.")
@click.option("--query", metavar="COLUMN", help="The column of queries in that table.")
@click.option("--id", "name", metavar="COLUMN", help="Its column of documents.")
@click.option("--depth", type=click.IntRange(1), help="Keep the first documents of every run.")
@click.option(
    "--unjudged",
    type=click.Choice(["drop", "zero"]),
    default="drop",
    show_default=True,
    help="Leave documents without judgement out, or call them not relevant.",
)
@click.option("-o", "--output", default="-", metavar="TABLE", help="CSV, TSV, JSON or Parquet.")
def table(
    paths: tuple[str, ...],
    qrels: str | None,
    features: str | None,
    query: str | None,
    name: str | None,
    depth: int | None,
    unjudged: str,
    output: str,
) -> None:
    """Join TREC runs, judgements and features into one table: a line per query and document.

    \b
    Examples:
      rankwise table --run bm25=bm25.run --run dense=dense.run --qrels qrels.txt -o train.csv
      rankwise train train.csv -o model.rw
      rankwise table --run bm25=new_bm25.run --run dense=new_dense.run -o new.csv
      rankwise predict model.rw new.csv --trec -o reranked.run

    Every run gives its score and its term of reciprocal rank fusion, 1/(60 + rank). Without --qrels
    the table has no scores. --table adds columns of a CSV, TSV or Parquet file, which names the
    documents, and the queries if features depend on them.
    """
    from rankwise.io.run_tables import training_table
    from rankwise.io.trec import read_qrels

    if not paths:
        raise Mistake("a table is made of runs: give --run, once or more.")
    check_writable(output)
    with working("joining"):
        runs = RunOptions(paths, qrels).read()
        judgements = None if qrels is None else read_qrels(qrels)
        extra = None if features is None else _features(features, query, name)
        made = training_table(runs, judgements, features=extra, depth=depth, unjudged=unjudged)
    columns: dict[str, Any] = {"qid": made.qid, "docid": made.docid}
    columns |= {column: made.X[:, j] for j, column in enumerate(made.feature_names)}
    if made.y is not None:
        columns["relevance"] = made.y.astype(int)
    write_rows(output, columns, kind_of(output, "csv"))
    if output != "-":
        say(f"Wrote {output}: {len(made.qid)} lines, {len(set(made.qid))} queries.")


def _features(path: str, query: str | None, name: str | None) -> Any:
    """The table of features; columns of queries and documents by their usual names."""
    from rankwise.io.source import read_source
    from rankwise.io.tables import read_columns, read_table

    if path == "-":
        raise Mistake("--table is a file: standard input cannot be read twice.")
    names = list(read_columns(read_source(path)).values)
    query = COLUMNS["query"].find(path, names, query, required=True)
    name = COLUMNS["name"].find(path, names, name, required=True)
    if name is None:
        raise Mistake(f"{path}: which column names the documents? Give --id.")
    return read_table(path, query=query, comments=name)
