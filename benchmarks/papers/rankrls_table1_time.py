"""Pahikkala et al. 2009, Table 1: seconds to train with the Gaussian kernel, class acq of Reuters.

The paper's RankSVM is SVM-light's dual solver; its RankRLS is an eigendecomposition in Python. Ours
are RankRLS (one Cholesky factorisation), RankRLS with the decomposition that gives every alpha and
all hold-outs, and RankSVM on one Cholesky factor of the kernel matrix, as section 4.2 of the paper
suggests, to a gap of 1e-3. The paper does not state its parameters; we use gamma 1.

    python -m benchmarks.papers.rankrls_table1_time [largest number of documents, default 6000]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.papers import data, table
from rankwise import RankRLS, RankSVM

PAPER = {
    200: (1, 2),
    500: (3, 150),
    750: (5, 579),
    1000: (10, 1740),
    1500: (24, 4685),
    2000: (48, 13707),
    2500: (83, 20055),
    4000: (280, None),
    6000: (841, None),
}
GAUSSIAN = {"kernel": "rbf", "gamma": 1.0}
LEARNERS = {
    "RankRLS": lambda: RankRLS(1.0, **GAUSSIAN),
    "RankRLS, every alpha": lambda: RankRLS(1.0, solver="spectral", **GAUSSIAN),
    "RankSVM": lambda: RankSVM(1e-3, **GAUSSIAN),
}


def main(largest: int = 6000) -> None:
    documents = data.reuters21578()
    sizes = [m for m in PAPER if m <= largest]
    order = np.random.default_rng(0).permutation(len(documents.texts))[: max(sizes)]
    X = TfidfVectorizer(dtype=np.float64).fit_transform([documents.texts[i] for i in order])
    y = np.array(["acq" in documents.topics[i] for i in order], dtype=float)
    for make in LEARNERS.values():  # loads compiled code
        make().fit(X[:100], y[:100])
    rows = []
    for m in sizes:
        taken = []
        for make in LEARNERS.values():
            start = time.perf_counter()
            learner = make().fit(X[:m], y[:m])
            taken.append(time.perf_counter() - start)
        gap = f"{learner.n_iter_}, {learner.gap_:.0e}"
        cells = [f"{t:.2f}" for t in taken]
        rows.append((f"{m:,}", *cells[:2], PAPER[m][0], cells[2], PAPER[m][1], gap))
    header = ("items", *list(LEARNERS)[:2], "paper's RankRLS", "RankSVM", "paper's RankSVM")
    title = "Table 1: seconds to train with the Gaussian kernel, Reuters, class acq"
    table.show(title, (*header, "planes, gap of RankSVM"), rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
