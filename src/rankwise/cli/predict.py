"""rankwise predict"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import Mistake, check_writable, working, write_text
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.cli.result_files import KINDS, kind_of, write_rows
from rankwise.io.trec import run_text

if TYPE_CHECKING:
    from rankwise.workflow.ranking_data import Items


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
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Relations without DATA: only this many of the best for each node.",
)
@applies_model(without_data=True)
def predict(
    task: ModelAndData, output: str, kind: str | None, trec: bool, tag: str, top: int | None
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

    Higher scores are better. A table (CSV, TSV, JSON, JSON lines, Parquet) has the columns query
    (if there are queries), id, score and rank, where rank 1 is the best item of its query; items
    without names are numbered from 1. A model trained with --scale query scales the items of DATA
    within their own queries. Models of relations without DATA rank all pairs of the nodes, which
    may be new, as a table with the columns row, column, score and rank.
    """
    if trec and kind not in (None, "trec"):
        raise Mistake(f"--trec writes a run file, --as {kind} does not: give one of them.")
    if task.data_path is None and task.is_relational:
        _predict_pairs(task, output, "trec" if trec else kind, tag, top)
        return
    if top is not None:
        raise Mistake("--top is for relations without DATA: it ranks all pairs of the nodes.")
    kind = "trec" if trec else kind or kind_of(output, "scores")
    check_writable(output)
    with working("predicting"):
        items, scores = task.scored()
    if kind == "scores":
        write_text(output, score_lines(scores))
    elif kind == "trec":
        if scores.ndim > 1:
            raise Mistake("the model has several outputs, but a run file holds one score.")
        names = items.names if items.named else [f"row_{i}" for i in range(1, len(items) + 1)]
        write_text(output, run_text(items.qid, names, scores, tag=tag))
    else:
        write_rows(output, ranking_columns(items, scores), kind)


def _predict_pairs(
    task: ModelAndData, output: str, kind: str | None, tag: str, top: int | None
) -> None:
    """Rank all pairs of the given nodes, or the best of each condition."""
    from rankwise.cli.relation_results import best_pairs
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


def ranking_columns(items: Items, scores: np.ndarray) -> dict[str, Any]:
    """The columns of a table of predictions: query, id, score and rank within the query."""
    columns: dict[str, Any] = {} if items.qid is None else {"query": items.qid}
    columns["id"] = items.names if items.named else np.arange(1, len(items) + 1)
    if scores.ndim > 1:
        return columns | {f"score {j + 1}": one for j, one in enumerate(scores.T)}
    rank = np.empty(len(scores), dtype=np.int64)
    for members in items.queries:
        rank[members[np.argsort(-scores[members], kind="stable")]] = np.arange(1, len(members) + 1)
    return columns | {"score": scores, "rank": rank}


def score_lines(scores: np.ndarray) -> str:
    """One line per item with every digit of its score, or of its scores if there are several."""
    rows = scores.reshape(len(scores), -1).tolist()
    return "".join(" ".join(repr(value) for value in row) + "\n" for row in rows)
