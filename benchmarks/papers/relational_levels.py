"""relational_permutation_test: how often p is small although the permuted features say nothing.

    python -m benchmarks.papers.relational_levels [repetitions, default 400] [both|rows|columns ...]

Relations of 12 x 10 nodes with effects of rows and columns are drawn again and again. If the
features of both sides are permuted, none of them tells anything; if those of one side are permuted,
the features of the other side tell a lot. The levels of the test should be 5 and 20%: the table
shows the shares of p-values up to 0.05 and up to 0.2, in every setting.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.papers import table
from rankwise import TwoStepRanker
from rankwise.evaluation import relational_permutation_test
from rankwise.numerics.progress import track

SETTINGS = ("edges", "rows", "columns", "both")
NODES = ("both", "rows", "columns")
SIZE = (12, 10)
LEVELS = (0.05, 0.2)


def drawn(nodes: str, rng: np.random.Generator) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Features (A, B) and labels Y; the features of `nodes` are independent of all the rest."""
    A, B = (rng.normal(size=(p, 2)) for p in SIZE)
    Y = rng.normal(size=(SIZE[0], 1)) + rng.normal(size=SIZE[1]) + rng.normal(size=SIZE)
    if nodes == "rows":
        Y = Y + rng.normal(size=A.shape) @ B.T
    elif nodes == "columns":
        Y = Y + A @ rng.normal(size=B.shape).T
    return (A, B), Y


def p_values(
    nodes: str, setting: str, repetitions: int, rng: np.random.Generator, n_permutations: int = 99
) -> np.ndarray:
    found = []
    for _ in range(repetitions):
        X, Y = drawn(nodes, rng)
        test = relational_permutation_test(
            TwoStepRanker(3.0, fill="mean"),
            X,
            Y,
            setting=setting,
            nodes=nodes,
            cv=2,
            n_permutations=n_permutations,
            random_state=rng.integers(2**31 - 1),
        )
        found.append(test.p_value)
    return np.array(found)


def main(repetitions: int = 400, *permuted: str) -> None:
    cases = [(nodes, setting) for nodes in permuted or NODES for setting in SETTINGS]
    cells: dict[str, list[str]] = {nodes: [] for nodes, _ in cases}
    for nodes, setting in track(cases, len(cases), "cases", least=2):
        seed = [NODES.index(nodes), SETTINGS.index(setting)]
        p = p_values(nodes, setting, repetitions, np.random.default_rng(seed))
        shares = " / ".join(f"{100 * np.mean(p <= level + 1e-9):.1f}" for level in LEVELS)
        cells[nodes].append(shares)
    rows = [(f"{nodes} permuted", *shares) for nodes, shares in cells.items()]
    title = f"% of p-values up to 0.05 / 0.2, {repetitions} repetitions, 99 permutations"
    table.show(title, ("features", *SETTINGS), rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
