"""Pairs of items, one by one, that become the Laplacian and the target of a quadratic loss."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import sparse

from rankwise.losses.graph_laplacian import GraphLaplacian
from rankwise.losses.laplacian import Target
from rankwise.losses.quadratic_loss import Quadratic


class PairCost(Protocol):
    """What a loss of your own needs."""

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The target z and the weight w of pairs whose scores differ by `difference` > 0."""
        ...


class SquaredTargets:
    """The cost whose weights w² are the w² z² of a loss."""

    def __init__(self, loss: PairCost):
        self._loss = loss

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, w = self._loss.pairs(difference)
        return z, np.asarray(w) * z


class PairGraph:
    """Collects pairs with their weights w² and pulls w² z into a graph over m items.

    `blocks` (m,) numbers the items that only leave the problem together; None if connected items
    alone do.
    """

    def __init__(self, m: int, blocks: np.ndarray | None = None):
        self._m, self._blocks = m, blocks
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._b = np.zeros(m)

    def add(
        self, winner: np.ndarray, loser: np.ndarray, squared: np.ndarray, pull: np.ndarray
    ) -> None:
        self._parts.append((winner, loser, squared))
        self._b += np.bincount(winner, pull, minlength=self._m)
        self._b -= np.bincount(loser, pull, minlength=self._m)

    def quadratic(self) -> Quadratic:
        winner, loser, squared = (np.concatenate(part) for part in zip(*self._parts))
        counted = squared != 0
        edges = (squared[counted], (winner[counted], loser[counted]))
        graph = sparse.csr_array(edges, shape=(self._m, self._m))
        laplacian = GraphLaplacian(sparse.csr_array(graph + graph.T), self._blocks)
        return Quadratic(laplacian, Target(laplacian, given=self._b[:, None]))
