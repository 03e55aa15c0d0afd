"""Pahikkala et al. 2009, Table 3: the RankBoost column on OHSUMED, beside ours.

The set-up is that of rankrls_table3_ohsumed.py: grades 0 and 1 are merged, features are scaled to
[0, 1] within each query, and in each of five folds three parts train, one chooses the number of
rounds and one tests. A pair of equal predictions is wrong. RankBoost is also trained on all three
grades (multipartite) and judged in the same way.
"""

from __future__ import annotations

import numpy as np

from benchmarks.papers import data, table
from rankwise.learners.rank_boost import RankBoost
from rankwise.metrics import misranking

ROUNDS, PAPER = 200, 0.351


def main() -> None:
    ohsumed = data.ohsumed()
    X = data.scale_per_query(ohsumed.X, ohsumed.qid)
    y, qid = (ohsumed.y == 2).astype(float), ohsumed.qid
    rows = []
    for name, grades, figure in (
        ("RankBoost", y, PAPER),
        ("RankBoost, three grades", ohsumed.y, None),
    ):
        errors, rounds = [], []
        for train, validation, test in data.letor_folds(ohsumed.part):
            model = RankBoost(ROUNDS).fit(X[train], grades[train], qid=qid[train])
            tuned = [query_errors(y, s, qid, validation) for s in model.staged_predict(X)]
            best = int(np.argmin([error.mean() for error in tuned]))
            rounds.append(best + 1)
            scores = list(model.staged_predict(X))[best]
            errors.append(query_errors(y, scores, qid, test))
        mean = float(np.mean([fold.mean() for fold in errors]))
        se = np.concatenate(errors).std(ddof=1) / np.sqrt(sum(map(len, errors)))
        rows.append((name, mean, figure, f"{se:.3f}", " ".join(map(str, rounds))))
    header = ("", "ours", "paper", "se over queries", "rounds by fold")
    table.show("OHSUMED, disagreement error", header, rows)


def query_errors(y, scores, qid, rows) -> np.ndarray:
    """One error for each query among `rows` that has a pair."""
    members = [rows[qid[rows] == query] for query in np.unique(qid[rows])]
    return np.array([misranking(y[i], scores[i]) for i in members if np.ptp(y[i]) > 0])


if __name__ == "__main__":
    main()
