"""Scores of items as lines, run files or tables, written completely or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.console import Mistake, write_text
from rankwise.cli.result_files import write_rows
from rankwise.io.trec import run_text

if TYPE_CHECKING:
    from rankwise.workflow.ranking_data import Items


def write_predictions(scored: tuple[Items, np.ndarray], output: str, kind: str, tag: str) -> None:
    """Write items and their scores as `kind`: scores, trec, or a kind of table."""
    items, scores = scored
    if kind == "scores":
        write_text(output, score_lines(scores))
    elif kind == "trec":
        if scores.ndim > 1:
            raise Mistake("the model has several outputs, but a run file holds one score.")
        names = items.names if items.named else [f"row_{i}" for i in range(1, len(items) + 1)]
        write_text(output, run_text(items.qid, names, scores, tag=tag))
    else:
        write_rows(output, ranking_columns(items, scores), kind)


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
