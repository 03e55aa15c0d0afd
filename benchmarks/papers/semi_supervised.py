"""Do unlabelled items help RankRLS? Chapter 6.3 of Airola (2011), on three data sets.

    python -m benchmarks.papers.semi_supervised [repetitions]

Two ways to use them, each a kernel that is deformed by the unlabelled items U with a strength μ:

* smooth over neighbours (Sindhwani, Niyogi, Belkin 2005), with the Laplacian M of the graph of
  nearest neighbours:    k(x, z) − μ k_xᵀ (I + μ M K)⁻¹ M k_z
* two views that agree (Sindhwani, Rosenberg 2008; co-regularisation, as in Tsivtsivadze et al.
  2011), with one Gaussian kernel for each half of the features, and d their difference on U:
  (k₁ + k₂)(x, z) − μ d_xᵀ (I + μ (K₁ + K₂))⁻¹ d_z

μ = 0 is the supervised RankRLS with the same kernel. Alpha and μ are chosen by exact
leave-query-out or leave-pair-out on the labelled items, which is all that a user has; the best μ
in hindsight is shown too.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from benchmarks.papers import data
from rankwise import RankRLSCV, metrics
from rankwise.numerics.arrays import dense

STRENGTHS = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)
UNLABELLED, TESTED = 500, 1500
NEIGHBOURS = 6


def smooth(X: np.ndarray, U: np.ndarray, strength: float) -> np.ndarray:
    """The kernel of all items, deformed by the graph of the items U."""
    K = rbf_kernel(X, gamma=1 / X.shape[1])
    if not strength:
        return K
    edges = kneighbors_graph(X[U], NEIGHBOURS, include_self=False)
    W = edges.maximum(edges.T).toarray()
    degree = np.sqrt(W.sum(axis=1))
    M = strength * (np.eye(len(U)) - W / np.outer(degree, degree))
    deformed = K - K[:, U] @ np.linalg.solve(np.eye(len(U)) + M @ K[np.ix_(U, U)], M @ K[U])
    return (deformed + deformed.T) / 2


def agreeing(X: np.ndarray, U: np.ndarray, strength: float) -> np.ndarray:
    """The kernel of two views, halves of the features, that are to agree on the items U."""
    views = [rbf_kernel(X[:, part::2], gamma=2 / X.shape[1]) for part in (0, 1)]
    K, d = views[0] + views[1], (views[0] - views[1])[U]
    if not strength:
        return K
    system = np.eye(len(U)) + strength * K[np.ix_(U, U)]
    deformed = K - strength * d.T @ np.linalg.solve(system, d)
    return (deformed + deformed.T) / 2


WAYS = {"smooth over neighbours": smooth, "two views that agree": agreeing}


def sets():
    """name -> X, y, qid (None for a single query), the number of labelled items or queries."""
    for name, read, labelled in (
        ("cadata", data.cadata, 30),
        ("ohsumed", data.ohsumed, 5),
        ("lambdarank", lambda: data.lambdarank().train, 10),
    ):
        try:
            found = read()
        except data.MissingData as missing:
            print(f"skipped {missing}")
            continue
        yield name, dense(found.X), found.y, getattr(found, "qid", None), labelled


def draw(y, qid, labelled: int, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that are labelled, unlabelled and tested; queries stay whole where there are some."""
    if qid is None:
        order = rng.permutation(len(y))
    else:
        labels = rng.permutation(np.unique(qid))
        order = np.concatenate([np.flatnonzero(qid == label) for label in labels])
        labelled = int(sum((qid == label).sum() for label in labels[:labelled]))
    first, rest = order[:labelled], order[labelled:]
    return first, rest[:UNLABELLED], rest[UNLABELLED : UNLABELLED + TESTED]


def compare(name, X, y, qid, labelled: int, repetitions: int) -> None:
    gains = {way: [] for way in WAYS}
    for seed in range(repetitions):
        L, U, T = draw(y, qid, labelled, np.random.default_rng(seed))
        rows = np.concatenate([L, U, T])
        Z = StandardScaler().fit_transform(X[rows])
        l, t = np.arange(len(L)), np.arange(len(L) + len(U), len(rows))
        for way, deform in WAYS.items():
            seen, unseen = [], []
            for strength in STRENGTHS:
                K = deform(Z, np.arange(len(L) + len(U)), strength)
                given = {} if qid is None else {"qid": qid[L]}
                model = RankRLSCV(kernel="precomputed").fit(K[np.ix_(l, l)], y[L], **given)
                scores = model.predict(K[np.ix_(t, l)])
                seen.append(model.best_score_)
                unseen.append(metrics.concordance(y[T], scores, None if qid is None else qid[T]))
            gains[way].append((unseen[0], unseen[int(np.argmax(seen))], max(unseen)))
    for way, values in gains.items():
        found = np.array(values)
        gain = found[:, 1:] - found[:, :1]
        mean, error = gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
        print(
            f"{name:11}{way:24} supervised {found[:, 0].mean():.4f}   chosen μ "
            f"{mean[0]:+.4f} ± {error[0]:.4f}   best μ in hindsight {mean[1]:+.4f} ± {error[1]:.4f}"
        )


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else ""
    repetitions = int(given) if given.isdigit() else 20
    print(f"concordance on new items; mean gains over {repetitions} draws ± standard error")
    for name, X, y, qid, labelled in sets():
        compare(name, X, np.asarray(y), qid, labelled, repetitions)


if __name__ == "__main__":
    main()
