"""A reranker from few judgements: learnt fusion against BM25, cosine, RRF and LightGBM.

Three data sets. `simulated` is rankwise.datasets.make_hybrid_search. `20 newsgroups` and `Reuters`
are stand-ins for a judged collection: the subject line of a post (the headline of a story) is the
query, the posts of the same newsgroup (the stories that share a topic) are the relevant documents,
candidates are the best 30 documents by BM25 and by cosine, and embeddings are 64 dimensions of
latent semantic analysis (TF-IDF and a singular value decomposition), not those of a language model.
Each row is NDCG@10 on the same test queries after training on n queries.
LightGBM (lambdarank, default settings but 100 trees and 15 leaves) runs where it is installed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from benchmarks.papers import data as papers_data
from rankwise import RankRLSCV, metrics
from rankwise.datasets import make_hybrid_search
from rankwise.evaluation import confidence_interval
from rankwise.features import Interactions
from rankwise.scaling import ItemScaler

SIZES = (10, 25, 50, 100, 200, 300)
N_TEST = 100
K1, B = 1.2, 0.75


def main() -> None:
    report("simulated", make_hybrid_search(400, 30, 32, random_state=0))
    report("20 newsgroups, LSA", newsgroups())
    report("Reuters, LSA", reuters())


def report(name: str, data) -> None:
    cosine = (unit(data.query) * unit(data.document)).sum(axis=1)
    rrf = 1 / (60 + ranks(data.bm25, data.qid)) + 1 / (60 + ranks(cosine, data.qid))
    scale = ItemScaler("query")
    fusion = scale.fit_transform(np.column_stack([data.bm25, cosine]), qid=data.qid)
    products = Interactions(include=("product",)).fit_transform(
        np.hstack([data.query, data.document])
    )
    crossed = np.hstack([fusion, scale.fit_transform(products, qid=data.qid)])
    queries = np.random.default_rng(0).permutation(np.unique(data.qid))
    test, rest = np.isin(data.qid, queries[:N_TEST]), queries[N_TEST:]
    print(
        f"{name}: {len(queries)} queries, {len(data.y)} documents; NDCG@10, {N_TEST} test queries"
    )
    for title, s in (("BM25", data.bm25), ("cosine", cosine), ("RRF", rrf)):
        print(f"  {title:8} {judged(data, test, s[test]):.3f}")
    print("  judged queries  two weights  interactions  LightGBM  pairs, 95% interval")
    for n in (n for n in SIZES if n <= len(rest)):
        train = np.isin(data.qid, rest[:n])
        row, interval = [], ""
        for features in (fusion, crossed):
            model = RankRLSCV().fit(features[train], data.y[train], qid=data.qid[train])
            s = model.predict(features[test])
            row.append(f"{judged(data, test, s):.3f}")
            low, high = confidence_interval(data.y[test], s, data.qid[test], random_state=0)
            interval = f"{low:.3f} to {high:.3f}"
        s = boosted(crossed[train], data.y[train], data.qid[train], crossed[test])
        row.append("absent" if s is None else f"{judged(data, test, s):.3f}")
        print(f"  {n:14}  {row[0]:>11}  {row[1]:>12}  {row[2]:>8}  {interval}")


def judged(data, test: np.ndarray, s: np.ndarray) -> float:
    return metrics.ndcg(data.y[test], s, data.qid[test], k=10)


def boosted(X, y, qid, X_test) -> np.ndarray | None:
    """LightGBM's lambdarank at the same labels; None where it is not installed."""
    try:
        from lightgbm import LGBMRanker
    except ImportError:
        return None
    order = np.argsort(qid, kind="stable")
    sizes = np.unique(qid[order], return_counts=True)[1]
    model = LGBMRanker(n_estimators=100, num_leaves=15, random_state=0, n_jobs=1, verbose=-1)
    return model.fit(X[order], y[order], group=sizes).predict(X_test)


def unit(E: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(E, axis=1, keepdims=True)
    return E / np.where(length > 0, length, 1.0)


def ranks(s: np.ndarray, qid: np.ndarray) -> np.ndarray:
    place = np.empty(len(s))
    for label in np.unique(qid):
        rows = np.flatnonzero(qid == label)
        place[rows[np.argsort(-s[rows], kind="stable")]] = np.arange(1, len(rows) + 1)
    return place


def newsgroups() -> Bunch:
    """Subject lines as queries; posts of the same newsgroup are relevant."""
    posts = papers_data.newsgroups20().train
    titles, bodies = zip(*(split_subject(text) for text in posts.texts))
    return collection(titles, bodies, [{group} for group in posts.target])


def reuters() -> Bunch:
    """Headlines as queries; stories that share a topic are relevant."""
    stories = papers_data.reuters21578()
    told = [i for i, topics in enumerate(stories.topics) if topics]
    titles, bodies = zip(*(split_headline(stories.texts[i]) for i in told))
    return collection(titles, bodies, [stories.topics[i] for i in told])


def collection(
    titles: Sequence[str],
    bodies: Sequence[str],
    topics: Sequence[set[str]],
    n_queries: int = 400,
    n_documents: int = 6000,
    depth: int = 30,
) -> Bunch:
    """Queries and candidates as the docstring says, from texts that were drawn at random."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    chosen = np.random.default_rng(0).permutation(len(titles))[: n_documents + n_queries]
    words = CountVectorizer(stop_words="english", min_df=3, max_df=0.5)
    counts = words.fit_transform([bodies[i] for i in chosen[:n_documents]])
    asked = words.transform([titles[i] for i in chosen[n_documents:]])
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
    lsa = TruncatedSVD(64, random_state=0).fit(tfidf.transform(counts))
    D, Q = (lsa.transform(tfidf.transform(one)) for one in (counts, asked))
    lexical, similar = bm25(counts, asked), unit(Q) @ unit(D).T
    rows, y = [], []
    for q in np.flatnonzero(np.asarray(asked.sum(axis=1)).ravel() > 0):
        wanted = topics[chosen[n_documents + q]]
        found = sorted({*np.argsort(-lexical[q])[:depth], *np.argsort(-similar[q])[:depth]})
        relevant = [not wanted.isdisjoint(topics[chosen[d]]) for d in found]
        if any(relevant) and not all(relevant):
            rows += [(q, d) for d in found]
            y += relevant
    query, document = np.array(rows).T
    return Bunch(
        qid=query,
        y=np.array(y, dtype=float),
        bm25=lexical[query, document],
        query=Q[query],
        document=D[document],
    )


def split_headline(text: str) -> tuple[str, str]:
    """The first line of a story, and the rest of it."""
    lines = [line for line in text.splitlines() if line.strip(" \x02\x03")]
    return (lines[0], " ".join(lines[1:])) if lines else ("", "")


def split_subject(text: str) -> tuple[str, str]:
    """The subject line without "Re:", and the text after the header."""
    text = text.replace("\r\n", "\n")
    lines = text if "\n\n" in text else text.replace("\t", "\n")  # some copies hold tabs instead
    header, _, body = lines.partition("\n\n")
    line = next((x for x in header.splitlines() if x.lower().startswith("subject:")), "")
    return line[8:].replace("Re:", " "), body


def bm25(counts, asked) -> np.ndarray:
    """(queries, documents) Okapi BM25 with k1 = 1.2 and b = 0.75."""
    length = np.asarray(counts.sum(axis=1)).ravel()
    found = np.asarray((counts > 0).sum(axis=0)).ravel()
    idf = np.log1p((counts.shape[0] - found + 0.5) / (found + 0.5))
    weights = counts.tocoo().astype(float)
    norm = K1 * (1 - B + B * length[weights.row] / length.mean())
    weights.data = idf[weights.col] * weights.data * (K1 + 1) / (weights.data + norm)
    return np.asarray(((asked > 0).astype(float) @ weights.T.tocsc()).todense())


if __name__ == "__main__":
    main()
