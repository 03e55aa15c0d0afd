"""The time of one more item: by an update, by a new solution from sums, and by a refit.

python -m benchmarks.speed.streams
"""

from __future__ import annotations

import numpy as np

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RLS, RankRLS
from rankwise.solvers.cholesky import NormalEquations


def items_of_a_stream(n: int) -> None:
    rng = np.random.default_rng(0)
    m = n + 1000
    X, y = rng.normal(size=(m, n)), rng.normal(size=m)
    stream = RLS().fit(X, y)
    G, c = X.T @ X, X.T @ y[:, None]
    few = (X[:1], y[:1])

    def one_more():
        stream.partial_fit(*few)

    def solved_again():
        G_new, c_new = G + X[:1].T @ X[:1], c + X[:1].T @ y[:1, None]
        NormalEquations(G_new, c_new).path([1.0])

    timed = {
        "partial_fit of one item": one_more,
        "sums, and a new factorisation": solved_again,
        "refit of all items": lambda: RLS().fit(X, y),
    }
    print_ratios(f"RLS, {n} features, {m} items", timed, {}, 3)


def basis_items(r: int, m: int = 3000) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    options = {"kernel": "rbf", "gamma": 0.05}
    model = RankRLS(**options, basis=np.arange(r)).fit(X, y)
    model.add_basis(r)
    model.remove_basis(r)

    def one_more_and_back():
        model.add_basis(r)
        model.remove_basis(r)

    timed = {
        "add_basis and remove_basis of one item": one_more_and_back,
        "one refit": lambda: RankRLS(**options, basis=np.arange(r + 1)).fit(X, y),
    }
    print_ratios(f"RankRLS, {r} basis items, {m} items", timed, {}, 3)


def main() -> None:
    print_machine()
    for n in (500, 1000, 2000):
        items_of_a_stream(n)
    basis_items(800)


if __name__ == "__main__":
    main()
