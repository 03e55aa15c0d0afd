"""rankwise predict"""

from __future__ import annotations

import click
import numpy as np

from rankwise.cli.console import check_writable, working, write_text
from rankwise.cli.models import load_model, scored_data, taken_files
from rankwise.cli.options import reading_options, relation_options, taken_reading
from rankwise.supervision.queries import Queries


@click.command(short_help="Score the items of DATA.")
@click.argument("model")
@click.argument("data")
@click.option(
    "-o", "--output", default="-", metavar="SCORES", help="File to write; default: stdout."
)
@click.option("--trec", is_flag=True, help="Write a TREC run file: qid Q0 docid rank score tag.")
@click.option("--tag", default="rankwise", show_default=True, help="Last column of a run file.")
@reading_options
@relation_options
def predict(model, data, output, trec, tag, **options):
    """Score the items of DATA with MODEL, one score a line in the order of DATA; higher is better.

    \b
    Examples:
      rankwise predict model.rw new.csv -o scores.txt
      rankwise predict model.rw test.letor.gz --trec -o run.txt
      cat new.csv | rankwise predict model.rw - | head
      rankwise predict model.rw edges.csv --nodes proteins.csv -o scores.txt

    With --scale query the model scales within the queries of DATA itself.
    """
    check_writable(output)
    reading, files = taken_reading(options), taken_files(options)
    with working("predicting"):
        trained = load_model(model)
        items, scores = scored_data(trained, data, reading, files)
    text = run_file(scores, items.qid, items.names, tag) if trec else one_a_line(scores)
    write_text(output, text)


def one_a_line(scores: np.ndarray) -> str:
    """Scores with every digit; several outputs go side by side."""
    rows = scores.reshape(len(scores), -1).tolist()
    return "".join(" ".join(repr(value) for value in row) + "\n" for row in rows)


def run_file(scores: np.ndarray, qid, names, tag: str) -> str:
    """Queries in the order of their first item, items by falling score; ranks from 1."""
    queries = Queries.from_labels(qid, len(scores))
    first = np.minimum.reduceat(queries.order, queries.starts[:-1])
    lines = []
    for number in np.argsort(first, kind="stable"):
        members = queries.members(number)
        label = "_".join(str(queries.labels[number]).split()) if qid is not None else "0"
        for rank, item in enumerate(members[np.argsort(-scores[members], kind="stable")], 1):
            name = "_".join(str(names[item]).split())
            lines.append(f"{label} Q0 {name} {rank} {float(scores[item])!r} {tag}\n")
    return "".join(lines)
