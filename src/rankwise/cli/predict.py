"""rankwise predict"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.console import Mistake, check_writable, working, write_text
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.cli.result_files import KINDS, kind_of


@click.command()
@click.option(
    "-o", "--output", default="-", metavar="SCORES", help="File to write; default: stdout."
)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["scores", *KINDS, "trec"]),
    help="What to write; default: what the ending of SCORES says (.csv, .tsv, .json, .jsonl, "
    ".parquet), else one score per line.",
)
@click.option("--trec", is_flag=True, help="The same as --as trec: qid Q0 docid rank score tag.")
@click.option("--tag", default="rankwise", show_default=True, help="Last column of a run file.")
@click.option("--workers", type=click.IntRange(1), help="A folder: on so many Dask workers here.")
@click.option("--scheduler", metavar="ADDRESS", help="A folder: on this Dask cluster.")
@click.option("--resume", is_flag=True, help="A folder: keep predictions that are up to date.")
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Relations without DATA: only this many of the best for each node.",
)
@applies_model(without_data=True)
def predict(
    task: ModelAndData,
    output: str,
    kind: str | None,
    trec: bool,
    tag: str,
    top: int | None,
    **folder: Any,
) -> None:
    """Score the items of DATA with MODEL, in the order of DATA.

    \b
    Examples:
      rankwise predict model.rw new.csv -o scores.txt
      rankwise predict model.rw new.csv -o ranking.csv
      rankwise predict model.rw test.letor.gz --trec -o run.txt
      cat new.csv | rankwise predict model.rw - | head
      rankwise predict model.rw new.csv --as json | jq ".[0]"
      rankwise predict model.rw edges.csv --nodes proteins.csv -o scores.txt
      rankwise predict model.rw --row-nodes new_drugs.csv --column-nodes targets.csv --top 5
      rankwise predict model.rw parts/ --as csv --workers 4 -o rankings/

    Higher scores are better. A table (CSV, TSV, JSON, JSON lines, Parquet) has the columns query
    (if there are queries), id, score and rank, where rank 1 is the best item of its query; items
    without names are numbered from 1. A model trained with --scale query scales the items of DATA
    within their own queries. Models of relations without DATA rank all pairs of the nodes, which
    may be new, as a table with the columns row, column, score and rank.

    If DATA is a folder, each of its files gets a file of predictions in the folder of -o, written
    whole or not at all. Ctrl-C keeps the finished files, and --resume goes on with the others.
    """
    if trec and kind not in (None, "trec"):
        raise Mistake(f"--trec writes a run file, --as {kind} does not: give one of them.")
    kind = "trec" if trec else kind
    if task.data_path is None and task.is_relational:
        _predict_pairs(task, output, kind, tag, top)
        return
    if top is not None:
        raise Mistake("--top is for relations without DATA: it ranks all pairs of the nodes.")
    if task.data_path is not None and Path(task.data_path).is_dir():
        _predict_folder(task, output, kind or "scores", tag, **folder)
        return
    for name, value in folder.items():
        if value:
            raise Mistake(f"--{name} is for a folder of data files: DATA is one file.")
    check_writable(output)
    with working("predicting"):
        from rankwise.cli.result_files import write_predictions

        scored = task.scored()
    write_predictions(scored, output, kind or kind_of(output, "scores"), tag)


def _predict_folder(
    task: ModelAndData,
    output: str,
    kind: str,
    tag: str,
    *,
    workers: int | None,
    scheduler: str | None,
    resume: bool,
) -> None:
    from rankwise.cli.folder_prediction import Folder, predict_folder

    if output == "-":
        raise Mistake(f"{task.data_path} is a folder: name a folder for the predictions with -o.")
    if Path(output).exists() and not Path(output).is_dir():
        raise Mistake(f"{output} is a file, but the predictions of a folder need a folder.")
    if scheduler is not None and workers is not None:
        raise Mistake("--scheduler names a cluster, --workers starts one: give one of them.")
    where: Any = workers if scheduler is None else scheduler
    predict_folder(Folder(task, Path(output), kind, tag), where, resume)


def _predict_pairs(
    task: ModelAndData, output: str, kind: str | None, tag: str, top: int | None
) -> None:
    """Rank all pairs of the given nodes, or the best of each condition."""
    from rankwise.cli.relation_results import best_pairs
    from rankwise.cli.result_files import write_rows
    from rankwise.io.trec import run_text
    from rankwise.workflow.ranking_data import sides_of

    kind = kind or kind_of(output, "csv")
    if kind == "scores":
        raise Mistake("all pairs of nodes need names beside the scores: give --as csv, or DATA.")
    check_writable(output)
    with working("predicting"):
        pairs = best_pairs(task, top)
    if kind == "trec":
        sides = pairs.row, pairs.column
        given, ranked = sides_of(task.model.ranker.condition)
        write_text(output, run_text(sides[given], sides[ranked], pairs.score, tag=tag))
    else:
        write_rows(output, pairs.columns(), kind)
