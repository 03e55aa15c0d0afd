"""Airola et al. 2008, Tables 2 to 5: trained on one corpus, tested on the others.

    python -m benchmarks.papers.graph_kernel_table2 [corpora=LLL,AIMed] [train=LLL] [combine=max]
        [NAME=PATH ...]

The kernel is normalised. Leaving out one document of the training corpus at a time chooses alpha
and the threshold. Rows are training corpora, columns are test corpora. NAME=PATH adds a corpus;
the paper's fifth is BioInfer=PATH.
"""

from __future__ import annotations

import sys

from benchmarks.papers import table
from benchmarks.papers.graph_kernel_table1 import corpora
from rankwise.applications.ppi import InteractionRanker
from rankwise.applications.ppi_evaluation import transfer

ORDER = ("AIMed", "BioInfer", "HPRD50", "IEPA", "LLL")
PAPER = {
    "Table 2, AUC": {
        "AIMed": (None, 67.7, 82.4, 76.1, 77.8),
        "BioInfer": (77.8, None, 75.2, 79.3, 83.3),
        "HPRD50": (72.5, 61.8, None, 74.9, 64.0),
        "IEPA": (70.2, 72.2, 80.0, None, 82.5),
        "LLL": (61.8, 61.0, 69.4, 74.8, None),
    },
    "Table 3, F at the threshold of the training corpus": {
        "AIMed": (None, 24.9, 64.6, 22.9, 17.7),
        "BioInfer": (44.2, None, 63.6, 64.5, 76.4),
        "HPRD50": (40.9, 27.2, None, 56.3, 45.5),
        "IEPA": (38.4, 47.0, 65.6, None, 77.0),
        "LLL": (32.6, 42.2, 58.3, 63.9, None),
    },
    "Table 4, F at the best threshold": {
        "AIMed": (None, 47.1, 69.0, 67.4, 74.5),
        "BioInfer": (47.2, None, 63.9, 68.0, 78.0),
        "HPRD50": (42.2, 42.5, None, 65.1, 67.9),
        "IEPA": (39.1, 51.7, 67.5, None, 77.6),
        "LLL": (33.3, 42.5, 59.8, 64.9, None),
    },
    "Table 5, F at the test corpus's share of interactions": {
        "AIMed": (None, 44.7, 65.6, 63.9, 70.1),
        "BioInfer": (42.6, None, 62.0, 66.9, 75.6),
        "HPRD50": (39.1, 40.0, None, 63.3, 58.5),
        "IEPA": (33.5, 48.4, 66.3, None, 77.4),
        "LLL": (26.5, 38.7, 54.0, 63.0, None),
    },
}
MEASURES = (
    lambda moved: moved.auc,
    lambda moved: moved.chosen.f,
    lambda moved: moved.best.f,
    lambda moved: moved.by_share.f,
)


def main(**words: str) -> None:
    known = corpora(words)
    trained = words["train"].split(",") if "train" in words else list(known)
    moved = {}
    for name in trained:
        ranker = InteractionRanker(words.get("combine", "max")).fit(known[name])
        print(f"  {name}: alpha {ranker.alpha_:.3g}, AUC of documents left out {ranker.auc_:.3f}")
        sys.stdout.flush()
        others = {other: test for other, test in known.items() if other != name}
        moved[name] = {other: transfer(ranker, test) for other, test in others.items()}
    columns = [name for name in ORDER if name in known]
    columns += [name for name in known if name not in ORDER]
    for (title, paper), measure in zip(PAPER.items(), MEASURES):
        rows = []
        for name in (name for name in columns if name in moved):
            ours = [measure(moved[name][c]) if c != name else None for c in columns]
            theirs = [
                paper[name][ORDER.index(c)] if name in paper and c in ORDER else None
                for c in columns
            ]
            rows.append((name, "ours", *(_percent(value, 100) for value in ours)))
            rows.append(("", "paper", *(_percent(value) for value in theirs)))
        table.show(title, ("trained on", "", *columns), rows)


def _percent(value: float | None, scale: float = 1.0) -> str:
    return "-" if value is None else f"{scale * value:.1f}"


if __name__ == "__main__":
    main(**dict(word.split("=", 1) for word in sys.argv[1:]))
