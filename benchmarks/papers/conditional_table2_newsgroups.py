"""Pahikkala et al. 2013, Table 2: conditional ranking of newsgroup documents of unseen groups.

Section 6.2: given a document, rank those of its newsgroup first, then those of similar groups (the
same top level, rec or comp), then the rest. The kernel is linear on the words of the bodies;
complete graphs of 4000 to 5000 nodes are solved in closed form. One set of groups trains, another
tests. The paper says "word frequencies" and no more. alpha and the representation of the documents
are chosen together, for each loss and set by itself, with two of the training groups held out and,
to save time, on 400 documents of each group: the test groups choose nothing. What was chosen is
tested, and raw counts beside it. The data of the bacteria and enzymes
were not available.

    python -m benchmarks.papers.conditional_table2_newsgroups [documents of each group, default all]
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from benchmarks.papers import data, table
from rankwise import ConditionalRanker
from rankwise.metrics import conditional_error

GROUPS = {
    1: ("rec.autos", "comp.sys.ibm.pc.hardware", "rec.sport.baseball", "comp.windows.x"),
    2: (
        "rec.motorcycles",
        "comp.graphics",
        "rec.sport.hockey",
        "comp.os.ms-windows.misc",
        "comp.sys.mac.hardware",
    ),
}
ALPHAS = 2.0 ** np.arange(-30, 49, 6)
PAPER = {("ranking", 1): 0.2562, ("regression", 1): 0.3685, ("ranking", 2): 0.2895}
PAPER["regression", 2] = 0.3967
CHOOSING = 400
"""So many documents of each training group choose alpha and the representation."""
REPRESENTATIONS = {
    "counts": CountVectorizer,
    "relative frequencies": partial(TfidfVectorizer, use_idf=False, norm="l1"),
    "frequencies of norm 1": partial(TfidfVectorizer, use_idf=False),
    "TF-IDF": TfidfVectorizer,
}


def main(each: int | None = None) -> None:
    """`each` limits the number of documents of a group, for a trial."""
    texts, groups = documents(each)
    chosen, every, counted = [], [], []
    for train_set, test_set in ((1, 2), (2, 1)):
        train, test = (np.flatnonzero(np.isin(groups, GROUPS[i])) for i in (train_set, test_set))
        for objective in ("ranking", "regression"):
            name = f"Newsgroups {train_set}, {objective}"
            found = {
                title: held_out_error(make, texts, groups, train, train_set, objective)
                for title, make in REPRESENTATIONS.items()
            }
            best = min(found, key=lambda title: found[title][1])
            alpha, held_out = found[best]
            make = REPRESENTATIONS[best]
            error = errors_over(make, [alpha], texts, groups, train, test, objective)[0]
            paper = PAPER[objective, train_set]
            sizes = f"{len(train)}, {len(test)}"
            chosen.append((name, sizes, *beside(error, paper), best, int(np.log2(alpha)), held_out))
            every += [
                (name, title, held_out, int(np.log2(alpha)))
                for title, (alpha, held_out) in found.items()
            ]
            print(f"  {name}: {best}, {error:.3f}", flush=True)
            raw = raw_counts(found["counts"][0], texts, groups, train, test, objective)
            counted.append((name, *beside(raw, paper), int(np.log2(found["counts"][0]))))
    header = (
        "",
        "nodes, training and test",
        "ours",
        "paper",
        "difference",
        "representation",
        "log2 alpha",
        "error on held-out training groups",
    )
    table.show("Table 2, conditional ranking error on unseen groups", header, chosen)
    header = ("", "representation", "error on held-out training groups", "log2 alpha")
    table.show("What the choice of the representation saw", header, every)
    header = ("", "ours", "paper", "difference", "log2 alpha")
    table.show("Raw counts, which were not chosen, on the same test groups", header, counted)


def beside(error: float, paper: float) -> tuple[float, str, str]:
    return float(error), f"{paper:.3f}", table.signed(error - paper)


def raw_counts(alpha: float, texts, groups, train, test, objective: str) -> float:
    """The test error of word counts; an alpha chosen on held-out training groups."""
    make = REPRESENTATIONS["counts"]
    return errors_over(make, [alpha], texts, groups, train, test, objective)[0]


def held_out_error(make, texts, groups, train, train_set, objective) -> tuple[float, float]:
    """The alpha with the least error on held-out training groups, the largest of equals, and that
    error, from the first documents of each group."""
    train = np.concatenate([train[groups[train] == g][:CHOOSING] for g in GROUPS[train_set]])
    held_out = np.isin(groups[train], GROUPS[train_set][2:4])
    parts = train[~held_out], train[held_out]
    errors = errors_over(make, ALPHAS, texts, groups, *parts, objective)
    best = len(errors) - 1 - int(np.argmin(errors[::-1]))
    return float(ALPHAS[best]), float(errors[best])


def documents(each: int | None = None) -> tuple[list[str], np.ndarray]:
    """Bodies and newsgroups of all documents, of both parts of the data set.

    `each` keeps the first documents of every group.
    """
    news = data.newsgroups20()
    texts = [text.split("\n\n", 1)[-1] for text in news.train.texts + news.test.texts]
    groups = np.array(news.train.target + news.test.target)
    if each is None:
        return texts, groups
    kept = np.concatenate([np.flatnonzero(groups == g)[:each] for g in np.unique(groups)])
    return [texts[i] for i in kept], groups[kept]


def similarity(groups: np.ndarray) -> np.ndarray:
    """2 within a newsgroup, 1 within its top level, else 0."""
    top = np.array([group.split(".")[0] for group in groups])
    return (groups[:, None] == groups).astype(float) + (top[:, None] == top)


def errors_over(make, alphas, texts, groups, train, test, objective: str) -> list[float]:
    """Conditional ranking error on the test documents for every alpha."""
    words = make(dtype=np.float64)
    X = words.fit_transform([texts[i] for i in train])
    K = (words.transform([texts[i] for i in test]) @ X.T).toarray()
    model = ConditionalRanker(alphas[-1], objective=objective).fit(X, similarity(groups[train]))
    Y = similarity(groups[test])
    return [conditional_error(Y, K @ model.path([alpha])[0] @ K.T) for alpha in alphas]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
