"""Scores of pairs of nodes, seen or not, in blocks that never hold more than asked for."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.learners import conditional_inputs as inputs
from rankwise.metrics import conditional_error
from rankwise.spaces.nodes_and_edges import Edges, Nodes
from rankwise.validation import check_items

BLOCK = 2048


class Predictions:
    """Methods of ConditionalRanker: h(u, v) = row(u)ᵀ coefficients column(v)."""

    condition: str
    coef_: np.ndarray
    dual_coef_: np.ndarray
    n_features_in_: tuple[int, int]
    _rows: Nodes
    _columns: Nodes
    _two_domains: bool
    _has_relations: bool

    @property
    def _coefficients(self) -> np.ndarray:
        return self.coef_ if hasattr(self, "coef_") else self.dual_coef_

    def _oriented(self, pair: tuple) -> tuple:
        """What belongs to conditions first, from (of rows, of columns)."""
        return pair if self.condition == "row" else pair[::-1]

    def _check_side(self, U, side: str):
        if not self._two_domains:
            return check_items(self, U, reset=False)
        number = ("row", "column").index(side)
        return inputs.check_nodes(U, f"{side} nodes", self.n_features_in_[number])

    def _check_pair(self, U, V) -> tuple:
        check_is_fitted(self)
        if V is None and self._two_domains:
            raise ValueError("V is required: this model has two domains, U row and V column nodes.")
        U = self._check_side(U, "row")
        return U, U if V is None else self._check_side(V, "column")

    def predict(self, U, V=None) -> np.ndarray:
        """(len(U), len(V)[, k]) scores h(u, v); V=None means U. Kernels are evaluated in blocks."""
        U, V = self._check_pair(U, V)
        coefficients = self._coefficients
        out = np.empty((U.shape[0], V.shape[0], *coefficients.shape[2:]))
        for rows in _blocks(U.shape[0]):
            left = np.tensordot(self._rows.represent(U[rows]), coefficients, axes=1)
            for columns in _blocks(V.shape[0]):
                right = self._columns.represent(V[columns]).T
                if coefficients.ndim == 2:
                    np.matmul(left, right, out=out[rows, columns])
                else:
                    for k in range(coefficients.shape[2]):
                        out[rows, columns, k] = left[:, :, k] @ right
        return out

    def predict_edges(self, U, V, edges) -> np.ndarray:
        """(n[, k]) scores of the pairs (U[i], V[j]) of `edges` (n, 2) alone."""
        U, V = self._check_pair(U, V)
        edges = inputs.check_edges(edges, (U.shape[0], V.shape[0]))
        sides = []
        for nodes, X, which in ((self._rows, U, edges[:, 0]), (self._columns, V, edges[:, 1])):
            used, place = np.unique(which, return_inverse=True)
            sides.append((nodes.represent(X[used]), place))
        (left, rows), (right, columns) = sides
        pairs = Edges(rows, columns, (len(left), len(right)))
        coefficients = np.atleast_3d(self._coefficients)
        out = np.empty((len(edges), coefficients.shape[2]))
        for k in range(coefficients.shape[2]):
            out[pairs.order, k] = pairs.sampled(left @ coefficients[:, :, k], right)
        return out if self._has_relations else out[:, 0]

    def rank(self, u, V, k=None) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the k best of V given the node u, best first, and their scores.

        u is a row node, with condition="column" a column node. Candidates are scored in blocks and
        only the k best are sorted, O(|V|) beside the kernel; k=None ranks all. Equal scores keep
        the order of V. With several relations both results have a last axis of relations.
        """
        check_is_fitted(self)
        u = np.atleast_2d(u) if isinstance(u, list | np.ndarray) else u
        given, candidates = self._oriented(("row", "column"))
        u, V = self._check_side(u, given), self._check_side(V, candidates)
        if u.shape[0] != 1:
            raise ValueError(f"u must be one node, got {u.shape[0]}.")
        n = V.shape[0]
        k = n if k is None else k
        if not isinstance(k, numbers.Integral) or k < 1:
            raise ValueError(f"k must be a positive integer or None; got {k!r}.")
        nodes, others = self._oriented((self._rows, self._columns))
        coefficients = np.atleast_3d(self._coefficients)
        if self.condition == "column":
            coefficients = np.swapaxes(coefficients, 0, 1)
        direction = np.tensordot(nodes.represent(u)[0], coefficients, axes=1)
        scores = np.empty((n, direction.shape[1]))
        for block in _blocks(n):
            scores[block] = others.represent(V[block]) @ direction
        index = np.stack([_best(column, min(int(k), n)) for column in scores.T], axis=1)
        scores = np.take_along_axis(scores, index, axis=0)
        return (index, scores) if self._has_relations else (index[:, 0], scores[:, 0])

    def score(self, U, V, Y) -> float:
        """1 − conditional ranking error (equation 4) of the scores of U × V; V=None means U."""
        S, Y = np.atleast_3d(self.predict(U, V)), np.atleast_3d(np.asarray(Y, dtype=float))
        if S.shape != Y.shape:
            raise ValueError(f"Y must have the shape of the predictions {S.shape}, got {Y.shape}.")
        errors = [
            conditional_error(Y[:, :, j], S[:, :, j], self.condition) for j in range(Y.shape[2])
        ]
        return 1 - float(np.mean(errors))


def _blocks(n: int):
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """Indices of the k largest, largest first, equal ones in their order; O(n + k log k)."""
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, tied]))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]
