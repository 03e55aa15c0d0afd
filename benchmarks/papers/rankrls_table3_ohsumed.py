"""Pahikkala et al. 2009, Table 3: disagreement error of RankRLS and RLS on OHSUMED.

Section 5.3: grades 0 and 1 are merged (bipartite), every feature is scaled to [0, 1] within each
query, the kernel is linear, and the folds are the five of the data set. In each fold three parts
train, the fourth chooses alpha from 2^-15 .. 2^15 and the fifth gives the error, averaged over its
queries that have a pair, then over folds. The paper's error (1) counts a pair of equal predictions
as wrong, because its sign(0) is −1; the column "ties ½" counts it as half wrong. Our objective sums
over millions of pairs, which outweigh 2^15, so the last columns repeat the choice with a grid up to
2^40. The TREC columns are not reproduced, because those data were not available.
"""

from __future__ import annotations

import numpy as np

from benchmarks.papers import data, table
from rankwise import RLS, RankRLS
from rankwise.metrics import misranking, ranking_error

# descending: the largest of equally good alphas is chosen
WIDE = 2.0 ** np.arange(40, -16, -1)
ALPHAS = WIDE[WIDE <= 2.0**15]

# Name, learner, whether it gets the queries, the paper's figure. The items of a relevant pair have
# the same query and different scores, hence ties="drop"; "all pairs" includes ties.
METHODS = [
    ("RankRLS", RankRLS(ties="drop"), True, 0.340),
    ("RankRLS, ties kept", RankRLS(ties="keep"), True, None),
    ("RankRLS, queries of equal weight", RankRLS(ties="drop", query_weight="queries"), True, None),
    ("RankRLS all pairs", RankRLS(ties="keep"), False, 0.346),
    ("RankRLS all pairs, ties dropped", RankRLS(ties="drop"), False, None),
    ("RLS", RLS(), False, 0.346),
]


def main() -> None:
    ohsumed = data.ohsumed()
    X = data.scale_per_query(ohsumed.X, ohsumed.qid)
    y = (ohsumed.y == 2).astype(float)
    folds = list(data.letor_folds(ohsumed.part))
    results = {
        name: [Fold(learner, X, y, ohsumed.qid, by_query, *fold) for fold in folds]
        for name, learner, by_query, _ in METHODS
    }
    paper = {name: figure for name, _, _, figure in METHODS}
    reference = np.concatenate([fold.errors for fold in results["RLS"]])
    rows = []
    for name, outcome in results.items():
        mean = float(np.mean([fold.errors.mean() for fold in outcome]))
        gain = np.concatenate([fold.errors for fold in outcome]) - reference
        rows.append(
            (
                name,
                mean,
                paper[name],
                table.signed(mean - paper[name]) if paper[name] else None,
                f"{table.signed(gain.mean())} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}",
                float(np.mean([fold.half_for_ties for fold in outcome])),
                "{:.3f}–{:.3f}".format(*np.mean([fold.range for fold in outcome], axis=0)),
                ", ".join(str(fold.exponent) for fold in outcome),
                float(np.mean([fold.wide_errors.mean() for fold in outcome])),
                ", ".join(str(fold.wide_exponent) for fold in outcome),
            )
        )
    header = (
        "",
        "ours",
        "paper",
        "difference",
        "minus RLS, ± standard error over queries",
        "ties ½",
        "any alpha of the paper's grid",
        "log2 alpha, by fold",
        "grid to 2^40",
        "log2 alpha",
    )
    table.show(
        f"OHSUMED, disagreement error, {len(reference)} test queries with a pair", header, rows
    )


class Fold:
    """Test errors, one per query, with the alpha that is best on the validation part."""

    def __init__(self, learner, X, y, qid, by_query, train, validation, test):
        learner.fit(X[train], y[train], qid=qid[train] if by_query else None)
        wide = learner.path(WIDE)
        tuned = [disagreement(y, X @ w, qid, validation).mean() for w in wide]
        widest = int(np.argmin(tuned))
        self.wide_exponent = int(np.log2(WIDE[widest]))
        self.wide_errors = disagreement(y, X @ wide[widest], qid, test)
        first = len(WIDE) - len(ALPHAS)
        coefs, best = wide[first:], int(np.argmin(tuned[first:]))
        self.exponent = int(np.log2(ALPHAS[best]))
        self.errors = disagreement(y, X @ coefs[best], qid, test)
        self.half_for_ties = ranking_error(y[test], X[test] @ coefs[best], qid[test])
        every_alpha = [disagreement(y, X @ w, qid, test).mean() for w in coefs]
        self.range = min(every_alpha), max(every_alpha)


def disagreement(y, scores, qid, rows) -> np.ndarray:
    """Equation 1 for each query among ``rows`` with a pair; rounding restores exact ties."""
    scores = np.round(scores, 12)
    queries = [rows[qid[rows] == query] for query in np.unique(qid[rows])]
    return np.array([misranking(y[q], scores[q]) for q in queries if np.ptp(y[q]) > 0])
