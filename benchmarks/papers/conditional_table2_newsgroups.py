"""Pahikkala et al. 2013, Table 2: conditional ranking of newsgroup documents of unseen groups.

Section 6.2: given a document, rank those of its newsgroup first, then those of similar groups (the
same top level, rec or comp), then the rest. The kernel is linear on word counts of the bodies;
complete graphs of 4000 to 5000 nodes are solved in closed form. One set of groups trains, another
tests. alpha is chosen with half of the training groups held out. The data of the bacteria and
enzymes were not available.
"""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

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
ALPHAS = 2.0 ** np.arange(0, 49, 6)
PAPER = {("ranking", 1): 0.2562, ("regression", 1): 0.3685, ("ranking", 2): 0.2895}
PAPER["regression", 2] = 0.3967


def main() -> None:
    texts, groups = documents()
    figures, chosen = [], []
    for train_set, test_set in ((1, 2), (2, 1)):
        train, test = (np.flatnonzero(np.isin(groups, GROUPS[i])) for i in (train_set, test_set))
        for objective in ("ranking", "regression"):
            alpha = choose_alpha(texts, groups, train, train_set, objective)
            error = errors_over([alpha], texts, groups, train, test, objective)[0]
            name = f"Newsgroups {train_set}, {objective}"
            figures.append((name, error, PAPER[objective, train_set]))
            chosen.append((name, len(train), len(test), int(np.log2(alpha))))
    table.beside("Table 2, conditional ranking error on unseen groups", figures)
    table.show("sizes and log2 alpha", ("", "training", "test", "log2 alpha"), chosen)


def documents() -> tuple[list[str], np.ndarray]:
    """Bodies and newsgroups of all documents, of both parts of the data set."""
    news = data.newsgroups20()
    texts = [text.split("\n\n", 1)[-1] for text in news.train.texts + news.test.texts]
    return texts, np.array(news.train.target + news.test.target)


def similarity(groups: np.ndarray) -> np.ndarray:
    """2 within a newsgroup, 1 within its top level, else 0."""
    top = np.array([group.split(".")[0] for group in groups])
    return (groups[:, None] == groups).astype(float) + (top[:, None] == top)


def choose_alpha(texts, groups, train, train_set: int, objective: str) -> float:
    """The alpha with the least error on held-out training groups, trained on the other ones."""
    held_out = np.isin(groups[train], GROUPS[train_set][2:4])
    parts = train[~held_out], train[held_out]
    errors = errors_over(ALPHAS, texts, groups, *parts, objective)
    return float(ALPHAS[len(errors) - 1 - int(np.argmin(errors[::-1]))])


def errors_over(alphas, texts, groups, train, test, objective: str) -> list[float]:
    """Conditional ranking error on the test documents for every alpha."""
    counts = CountVectorizer(dtype=np.float64)
    X = counts.fit_transform([texts[i] for i in train])
    K = (counts.transform([texts[i] for i in test]) @ X.T).toarray()
    model = ConditionalRanker(alphas[-1], objective=objective).fit(X, similarity(groups[train]))
    Y = similarity(groups[test])
    return [conditional_error(Y, K @ model.path([alpha])[0] @ K.T) for alpha in alphas]


if __name__ == "__main__":
    main()
