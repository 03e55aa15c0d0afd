"""Simulated hybrid search: queries with lexical scores and embeddings, and graded judgements."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from rankwise.validation import check_positive


def make_hybrid_search(
    n_queries: int = 300,
    n_documents: int = 30,
    dimensions: int = 32,
    *,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Documents that a lexical and a dense retriever found, with grades 0 to 3: simulated data.

    Each query has a topic u and each document an embedding v; what a reader wants is the sum of a
    lexical match and of Σ_j w_j u_j v_j, where only some dimensions matter (w_j falls from 2 to 0).
    `bm25` is the lexical match on a scale that differs from query to query, as that of BM25 does,
    with noise; the embeddings are u and v with noise. So neither signal is enough alone, a fixed
    fusion helps, and learnt weights of the dimensions help more. Grades cut the wanted score, with
    noise of its own, at the 60%, 80% and 93% points of all documents. O(m d).

    Parameters
    ----------
    n_queries, n_documents, dimensions
        Number of queries, documents of each, length of embeddings.
    noise
        How much the signals and the judgements are blurred.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        With qid (m,), docid (m,) text, y (m,) grades, bm25 (m,), query (m, d) and document (m, d)
        embeddings of each row, as float32.

    Examples
    --------
    >>> from rankwise.datasets import make_hybrid_search
    >>> data = make_hybrid_search(n_queries=5, n_documents=10, dimensions=4, random_state=0)
    >>> data.query.shape, data.y[:10]
    ((50, 4), array([0., 1., 3., 0., 0., 0., 0., 0., 0., 2.]))
    """
    for name, value in (("n_queries", n_queries), ("n_documents", n_documents)):
        check_positive(name, value)
    check_positive("dimensions", dimensions)
    check_positive("noise", noise, zero=True)
    rng = check_random_state(random_state)
    q, k, d = int(n_queries), int(n_documents), int(dimensions)
    topic, document = rng.normal(size=(q, 1, d)), rng.normal(size=(q, k, d))
    weights = np.linspace(2.0, 0.0, d)
    dense = (weights * topic * document).sum(axis=2) / np.sqrt((weights**2).sum())
    lexical = rng.normal(size=(q, k))
    wanted = lexical + dense + 0.7 * noise * rng.normal(size=(q, k))
    scale = np.exp(rng.normal(size=(q, 1)))
    bm25 = scale * (8.0 + 2.0 * (lexical + 0.7 * noise * rng.normal(size=(q, k))))
    blurred = [part + 0.3 * noise * rng.normal(size=part.shape) for part in (topic, document)]
    cuts = np.quantile(wanted, [0.6, 0.8, 0.93])
    return Bunch(
        qid=np.repeat([f"q{i}" for i in range(q)], k),
        docid=np.array([f"q{i}-d{j}" for i in range(q) for j in range(k)]),
        y=np.digitize(wanted, cuts).ravel().astype(float),
        bm25=bm25.ravel(),
        query=np.repeat(blurred[0], k, axis=1).reshape(q * k, d).astype(np.float32),
        document=blurred[1].reshape(q * k, d).astype(np.float32),
    )
