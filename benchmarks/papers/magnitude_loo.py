"""Cortes, Mohri, Rastogi 2007, section 2.6: the leave-one-out error over pairs, approximated.

Items are California houses, standardised; the kernel is Gaussian with gamma 1/8. The approximation
is Proposition 2 with the mean of h in place of the mean of each model without a pair. It is
compared with the exact error for a growing number of items, together with the C that each error
chooses. Both cost O(m²) after the same decomposition.
"""

from __future__ import annotations

import numpy as np

from benchmarks.papers import table
from benchmarks.papers.magnitude_figure1 import houses
from rankwise.learners.mprank import MPRank
from rankwise.learners.mprank_cv import MPRankCV

SIZES = (25, 50, 100, 200, 400, 800)
GRID = 10.0 ** np.arange(-1, 5)


def main() -> None:
    X, y = houses()
    rows = []
    for m in SIZES:
        model = MPRank(100.0, kernel="rbf").fit(X[:m], y[:m])
        found = [float(model.pairwise_loo(exact=exact)) for exact in (True, False)]
        chosen = [
            f"{MPRankCV(GRID, exact=exact, kernel='rbf').fit(X[:m], y[:m]).C_:g}"
            for exact in (True, False)
        ]
        off = f"{table.signed(100 * (found[1] / found[0] - 1), 2)}%"
        rows.append((m, *found, off, *chosen))
    header = ("items", "exact", "approximate", "difference", "C by exact", "C by approximate")
    table.show("Leave-one-out error over pairs, C = 100", header, rows)


if __name__ == "__main__":
    main()
