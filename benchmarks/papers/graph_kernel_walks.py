"""Airola 2011, section 2.6: the graph kernel with walks of a limited length, on the small corpora.

    python -m benchmarks.papers.graph_kernel_walks [corpora=LLL,HPRD50,IEPA] [longest=1,2,4,8]

The set-up is that of Table 1: ten folds of documents, alpha and threshold chosen by leaving out
documents of the training part. The kernel is max, normalised, with walks of at most so many edges.
A dependency is a vertex of its own, so that two edges lead from a word to the next in the parse.
"""

from __future__ import annotations

import sys

from benchmarks.papers import table
from benchmarks.papers.graph_kernel_table1 import Study, corpora
from rankwise.graphs import AllPathsVectorizer

CORPORA, LENGTHS = "LLL,HPRD50,IEPA", "1,2,4,8"


def main(**words: str) -> None:
    lengths = [int(word) for word in words.get("longest", LENGTHS).split(",")]
    rows = []
    for name, corpus in corpora({"corpora": CORPORA, **words}).items():
        study = Study(name, corpus, 10)
        for longest in (*lengths, None):
            vectorizer = AllPathsVectorizer("max", normalize=True, longest=longest)
            title = "any" if longest is None else str(longest)
            found = study.row(title, vectorizer.fit_transform(study.graphs))
            rows.append((*found[:8], f"{vectorizer.n_features_out_:,}"))
    header = ("corpus", "edges of a walk", "P", "R", "F", "±", "AUC", "±", "features")
    table.show("Walks of a limited length; figures in %", header, rows)


if __name__ == "__main__":
    main(**dict(word.split("=", 1) for word in sys.argv[1:]))
