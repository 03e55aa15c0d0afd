"""A training table from judgements, runs and features of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.validation import check_count

if TYPE_CHECKING:
    from sklearn.utils import Bunch

FUSION = 60
"""The constant of reciprocal rank fusion: a document at rank r has 1/(60 + r)."""
UNJUDGED = ("drop", "zero")


def training_table(
    runs: Mapping[str, Any],
    qrels: Any = None,
    *,
    features: Any = None,
    depth: int | None = None,
    unjudged: str = "drop",
) -> Bunch:
    r"""The documents that runs found, as items to rank: one row per query and document, O(m log m).

    Every run gives two features: its score, and "NAME rr" = 1/(60 + rank), the term of reciprocal
    rank fusion, where the rank is that of its scores. If a run did not find a document that another
    run found, its score is the lowest that the run gave in that query (0 if it found nothing), and
    its "rr" is 0.

    Parameters
    ----------
    runs
        {name: what `read_run` returns}.
    qrels
        What `read_qrels` returns; None for new queries, which have no y.
    features
        What `read_table` returns with query= and comments= (the names of documents), or with
        comments= only for features that a document has in every query; every document that is kept
        must be there.
    depth
        Keep the first `depth` documents of every run; None for all.
    unjudged
        "drop" leaves documents without judgement out, "zero" calls them not relevant.

    Returns
    -------
    Bunch
        With X (m, n), y (m,) or None, qid (m,), docid (m,), feature_names; queries in the order of
        the first run, documents by their name.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_qrels, read_run, training_table
    >>> bm25 = read_run(io.StringIO("q1 Q0 b 1 12.5 bm25\nq1 Q0 a 2 11.0 bm25\n"))
    >>> qrels = read_qrels(io.StringIO("q1 0 a 2\nq1 0 b 0\n"))
    >>> data = training_table({"bm25": bm25}, qrels)
    >>> data.feature_names, data.X.round(4).tolist(), data.y
    (['bm25', 'bm25 rr'], [[11.0, 0.0161], [12.5, 0.0164]], array([2., 0.]))
    """
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError("runs must be a dict of names and what read_run returns.")
    if unjudged not in UNJUDGED:
        raise ValueError(f"unjudged must be one of {UNJUDGED}; got {unjudged!r}.")
    depth = check_count("depth", depth, none=True)
    found = {name: _ranked(run, depth) for name, run in runs.items()}
    queries = list(dict.fromkeys(query for by_query in found.values() for query in by_query))
    judged = None
    if qrels is not None:
        judged = {(q, d): int(r) for q, d, r in zip(qrels.qid, qrels.docid, qrels.relevance)}
    pairs = []
    for query in queries:
        documents = sorted({d for by_query in found.values() for d in by_query.get(query, ())})
        if judged is not None and unjudged == "drop":
            documents = [document for document in documents if (query, document) in judged]
        pairs += [(query, document) for document in documents]
    if not pairs:
        raise ValueError("no document of the runs is judged: compare the names in both files.")
    blocks = [_run_features(by_query, pairs) for by_query in found.values()]
    names = [column for name in found for column in (name, f"{name} rr")]
    if features is not None:
        blocks.append(_joined(features, pairs))
        names += list(features.feature_names)
    _refuse_repeated(names)
    from sklearn.utils import Bunch

    y = None if judged is None else np.array([float(judged.get(pair, 0)) for pair in pairs])
    qid, docid = (np.array([pair[side] for pair in pairs], dtype=object) for side in (0, 1))
    return Bunch(X=np.hstack(blocks), y=y, qid=qid, docid=docid, feature_names=names)


def _ranked(run: Any, depth: int | None) -> dict[str, dict[str, tuple[float, int]]]:
    """{query: {document: (score, rank)}} with ranks from the scores, ties as in trec_eval."""
    members: dict[str, list[tuple[float, str]]] = {}
    for query, document, score in zip(run.qid, run.docid, run.score):
        members.setdefault(query, []).append((float(score), document))
    return {
        query: {
            document: (score, rank)
            for rank, (score, document) in enumerate(sorted(found, reverse=True)[:depth], 1)
        }
        for query, found in members.items()
    }


def _run_features(by_query: Any, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    lowest = {query: min(score for score, _ in found.values()) for query, found in by_query.items()}
    X = np.zeros((len(pairs), 2))
    for row, (query, document) in enumerate(pairs):
        hit = by_query.get(query, {}).get(document)
        X[row] = (lowest.get(query, 0.0), 0.0) if hit is None else (hit[0], 1 / (FUSION + hit[1]))
    return X


def _joined(features: Any, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    if getattr(features, "comments", None) is None:
        raise ValueError("features need the names of documents: read_table(..., comments=COLUMN).")
    names = [str(name) for name in features.comments]
    by_query = features.qid is not None
    keys: list[Any] = list(zip(map(str, features.qid), names)) if by_query else list(names)
    row_of = {key: row for row, key in enumerate(keys)}
    if len(row_of) < len(keys):
        twice = next(key for key, row in zip(keys, range(len(keys))) if row_of[key] != row)
        raise ValueError(f"features hold {_words(twice)} twice.")
    rows = np.empty(len(pairs), dtype=np.int64)
    for i, (query, document) in enumerate(pairs):
        key = (query, document) if by_query else document
        if key not in row_of:
            raise ValueError(
                f"features lack {_words(key)}, which a run found: add it, or give a smaller depth."
            )
        rows[i] = row_of[key]
    return np.asarray(features.X)[rows]


def _words(key: Any) -> str:
    return f"document {key!r}" if isinstance(key, str) else f"document {key[1]!r} of {key[0]!r}"


def _refuse_repeated(names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two features are called {twice!r}: give the runs other names.")
