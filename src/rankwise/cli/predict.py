"""rankwise predict"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from rankwise.cli.console import check_writable, working, write_text
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.io.plain_text import one_word


@click.command()
@click.option(
    "-o", "--output", default="-", metavar="SCORES", help="File to write; default: stdout."
)
@click.option("--trec", is_flag=True, help="Write a TREC run file: qid Q0 docid rank score tag.")
@click.option("--tag", default="rankwise", show_default=True, help="Last column of a run file.")
@applies_model()
def predict(task: ModelAndData, output: str, trec: bool, tag: str) -> None:
    """Score the items of DATA with MODEL, one score per line in the order of DATA.

    \b
    Examples:
      rankwise predict model.rw new.csv -o scores.txt
      rankwise predict model.rw test.letor.gz --trec -o run.txt
      cat new.csv | rankwise predict model.rw - | head
      rankwise predict model.rw edges.csv --nodes proteins.csv -o scores.txt

    Higher scores are better. A model trained with --scale query scales the items of DATA within
    their own queries.
    """
    check_writable(output)
    with working("predicting"):
        items, scores = task.scored()
    text = run_file(scores, items.qid, items.names, tag) if trec else score_lines(scores)
    write_text(output, text)


def score_lines(scores: np.ndarray) -> str:
    """One line per item with every digit of its score, or of its scores if there are several."""
    rows = scores.reshape(len(scores), -1).tolist()
    return "".join(" ".join(repr(value) for value in row) + "\n" for row in rows)


def run_file(scores: np.ndarray, qid: Any, names: Any, tag: str) -> str:
    """Queries in the order of their first item, items from the highest score; ranks from 1.

    White space and control characters of a name become "_", because a space ends a column.
    """
    from rankwise.supervision.queries import Queries

    queries = Queries.from_labels(qid, len(scores))
    first = np.minimum.reduceat(queries.order, queries.starts[:-1])
    lines = []
    for number in np.argsort(first, kind="stable"):
        members = queries.members(number)
        label = one_word(str(queries.labels[number])) if qid is not None else "0"
        for rank, item in enumerate(members[np.argsort(-scores[members], kind="stable")], 1):
            name = one_word(str(names[item]))
            lines.append(f"{label} Q0 {name} {rank} {float(scores[item])!r} {one_word(tag)}\n")
    return "".join(lines)
