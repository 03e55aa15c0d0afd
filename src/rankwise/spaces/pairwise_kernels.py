"""Kernels of pairs of nodes as short sums of Kronecker products of node kernels.

With K the kernel of row nodes and G that of column nodes (Viljanen, Airola and Pahikkala 2022):

| name | k((u, v), (u', v')) |
|---|---|
| kronecker | K(u, u') G(v, v') |
| cartesian | K(u, u') [v = v'] + [u = u'] G(v, v') |
| linear | K(u, u') + G(v, v') |
| polynomial | (K(u, u') + G(v, v'))² |
| ranking | K(u, u') − K(u, v') − K(v, u') + K(v, v'), so h(u, v) = f(u) − f(v); one domain |
| mlpk | the square of "ranking", metric learning: h(u, v) = (φ(u) − φ(v))ᵀ W (φ(u) − φ(v)) |

Symmetric and reciprocal relations have ½ (k(e, e') ± k(e, reversed e')), as in equations 8 and 9 of
Pahikkala et al. 2013. "ranking" is reciprocal and "mlpk" is symmetric by itself, so these forms are
the same kernels.

A function is h = Σ_(i,j) C_ij k(·, (i, j)) with a matrix C over pairs of training nodes. Each term
of a kernel costs two products with node kernels, O(q p) at q edges; nothing of the size of pairs
of pairs is formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.edges import Edges, sampled_together
from rankwise.spaces.nodes import Nodes


class View(ABC):
    """One kernel between nodes, made from the kernel of the nodes; equal if of the same class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def gram(self, nodes: Nodes) -> np.ndarray: ...

    @abstractmethod
    def represent(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        """Rows of new nodes, to be multiplied with coefficients that `fold` has prepared."""

    @abstractmethod
    def training(self, nodes: Nodes, index: np.ndarray) -> np.ndarray:
        """Rows of the training nodes `index`, as `represent` would give them."""

    def times(self, nodes: Nodes, U: Matrix, W: np.ndarray) -> np.ndarray:
        """represent(U) @ W."""
        return self.represent(nodes, U) @ W

    def fold(self, C: np.ndarray, axis: int) -> np.ndarray:
        """The coefficients C (p_a, p_b, k) along the axis of these nodes, as `represent` needs."""
        return C


class KernelView(View):
    """The kernel itself."""

    def gram(self, nodes: Nodes) -> np.ndarray:
        return nodes.gram()

    def represent(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        return nodes.represent(U)

    def training(self, nodes: Nodes, index: np.ndarray) -> np.ndarray:
        return nodes.rows[index]

    def times(self, nodes: Nodes, U: Matrix, W: np.ndarray) -> np.ndarray:
        return nodes.represent_times(U, W)


class SquaredView(View):
    """The square of each value of the kernel."""

    def gram(self, nodes: Nodes) -> np.ndarray:
        with np.errstate(over="ignore"):  # the solver refuses an overflow
            return nodes.gram() ** 2

    def represent(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        return nodes.represent(U) ** 2

    def training(self, nodes: Nodes, index: np.ndarray) -> np.ndarray:
        return nodes.rows[index] ** 2


class ConstantView(View):
    """1 for all nodes, as one feature."""

    def gram(self, nodes: Nodes) -> np.ndarray:
        return np.ones((len(nodes), len(nodes)))

    def represent(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        return np.ones((U.shape[0], 1))

    def training(self, nodes: Nodes, index: np.ndarray) -> np.ndarray:
        return np.ones((len(index), 1))

    def fold(self, C: np.ndarray, axis: int) -> np.ndarray:
        return C.sum(axis=axis, keepdims=True)


class IdentityView(View):
    """1 for a node and itself; new nodes have none."""

    def gram(self, nodes: Nodes) -> np.ndarray:
        return np.eye(len(nodes))

    def represent(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        return nodes.recognise(U).toarray()

    def training(self, nodes: Nodes, index: np.ndarray) -> np.ndarray:
        return np.eye(len(nodes))[index]

    def times(self, nodes: Nodes, U: Matrix, W: np.ndarray) -> np.ndarray:
        return np.asarray(nodes.recognise(U) @ W)


KERNEL, SQUARED, CONSTANT, IDENTITY = KernelView(), SquaredView(), ConstantView(), IdentityView()


class Term(NamedTuple):
    """weight · (view of the row nodes) ⊗ (view of the column nodes)."""

    weight: float
    left: View
    right: View


class Held(NamedTuple):
    """C as values at edges; `loops` are further values at the pairs (i, i), or None."""

    edges: Edges
    values: np.ndarray
    loops: np.ndarray | None

    def matrix(self) -> np.ndarray:
        C = self.edges.matrix(self.values)
        if self.loops is not None:
            C.flat[:: len(C) + 1] += self.loops
        return C

    def times(self, B: np.ndarray) -> np.ndarray:
        """C B."""
        product = self.edges.times(self.values, B)
        return product if self.loops is None else product + self.loops[:, None] * B

    def sums(self, axis: int) -> np.ndarray:
        """Sums of C over the columns (axis 1) or over the rows (axis 0)."""
        nodes, n = (self.edges.rows, 0) if axis == 1 else (self.edges.columns, 1)
        totals = np.bincount(nodes, self.values, minlength=self.edges.shape[n])
        return totals if self.loops is None else totals + self.loops


@dataclass(frozen=True)
class PairwiseKernel:
    """A sum of terms; with `contrast` its functions are F(u, u) + F(v, v) − F(u, v) − F(v, u).

    `own_sign` is 1 or −1 if its functions are symmetric or reciprocal by themselves. Then rows and
    columns have to be nodes of one domain.
    """

    name: str
    terms: tuple[Term, ...]
    own_sign: int = 0
    contrast: bool = False

    @property
    def is_kronecker(self) -> bool:
        (_, left, right), *others = self.terms
        return (left, right) == (KERNEL, KERNEL) and not others and not self.contrast

    @property
    def recognises(self) -> bool:
        """Whether new nodes have to be told from known ones."""
        return any(IDENTITY in (term.left, term.right) for term in self.terms)

    def check(self, sign: int, relation: str, two_domains: bool) -> None:
        """A ValueError with the reason if the kernel does not exist for this relation."""
        if not self.own_sign:
            return
        own = "symmetric" if self.own_sign == 1 else "reciprocal"
        if two_domains:
            raise ValueError(
                f"pairwise={self.name!r} compares the row node of an edge with its column node, so "
                "both have to be nodes of one domain: pass one X, or choose another kernel."
            )
        if sign == -self.own_sign:
            raise ValueError(
                f"pairwise={self.name!r} has {own} functions only, so its {relation} form is zero: "
                f"use relation={own!r} (or 'general', which gives the same model)."
            )

    def held(self, edges: Edges, holder: Edges, w: np.ndarray, sign: int) -> Held:
        """C of dual variables w at `edges`; `holder` is `holder_of(edges)`."""
        if self.contrast:
            degrees = sum(
                np.bincount(nodes, w, minlength=edges.shape[0])
                for nodes in (edges.rows, edges.columns)
            )
            return Held(holder, -np.concatenate([w, w])[holder.order], np.asarray(degrees))
        if self.own_sign:
            return Held(holder, np.concatenate([w, self.own_sign * w])[holder.order], None)
        if sign:
            return Held(holder, np.concatenate([w, sign * w])[holder.order] / 2, None)
        return Held(holder, w, None)

    def holder_of(self, edges: Edges, sign: int) -> Edges:
        return edges.mirrored() if sign or self.own_sign else edges

    def at_edges(self, held: Held, grams: Grams, targets: Sequence[Edges]) -> np.ndarray:
        """The function of C at the edges of all `targets`, one after the other."""
        if self.contrast:
            K = grams.left[0]
            image = held.times(K).T  # K C, because C is symmetric
            own = np.einsum("ij,ij->i", K, image)
            between = sampled_together(targets, K, image)
            return np.concatenate(
                [own[e.rows] + own[e.columns] - 2 * F for e, F in zip(targets, between)]
            )
        totals = [np.zeros(len(edges)) for edges in targets]
        for term, L, R in zip(self.terms, grams.left, grams.right):
            add_term(totals, term, (L, R), held, targets)
        return np.concatenate(totals)


def add_term(
    totals: list[np.ndarray],
    term: Term,
    grams: tuple[np.ndarray, np.ndarray],
    held: Held,
    targets: Sequence[Edges],
) -> None:
    """Add the values L C Rᵀ of one term at the targets to `totals`."""
    (weight, left, right), (L, R) = term, grams
    if right == CONSTANT:
        of_rows = weight * (L @ held.sums(1))
        for total, edges in zip(totals, targets):
            total += of_rows[edges.rows]
        return
    if left == CONSTANT:
        of_columns = weight * (R @ held.sums(0))
        for total, edges in zip(totals, targets):
            total += of_columns[edges.columns]
        return
    if left == IDENTITY:
        factors = held.matrix(), R
    else:
        factors = L, (held.matrix() if right == IDENTITY else held.times(R)).T
    for total, values in zip(totals, sampled_together(targets, *factors)):
        total += values if weight == 1.0 else weight * values


class Grams:
    """The kernel matrices of the terms of a pairwise kernel, each computed once."""

    def __init__(self, kernel: PairwiseKernel, rows: Nodes, columns: Nodes):
        made: dict[tuple[View, int], np.ndarray] = {}

        def gram(view: View, nodes: Nodes) -> np.ndarray:
            needed = view not in (CONSTANT, IDENTITY)  # never multiplied with
            key = (view, id(nodes))
            if key not in made:
                made[key] = view.gram(nodes) if needed else np.zeros((0, 0))
            return made[key]

        self.left = [gram(term.left, rows) for term in kernel.terms]
        self.right = [gram(term.right, columns) for term in kernel.terms]


_LINEAR = (Term(1.0, KERNEL, CONSTANT), Term(1.0, CONSTANT, KERNEL))
_CARTESIAN = (Term(1.0, KERNEL, IDENTITY), Term(1.0, IDENTITY, KERNEL))
_POLYNOMIAL = (
    Term(1.0, SQUARED, CONSTANT),
    Term(2.0, KERNEL, KERNEL),
    Term(1.0, CONSTANT, SQUARED),
)
_KRONECKER = (Term(1.0, KERNEL, KERNEL),)

PAIRWISE: dict[str, PairwiseKernel] = {
    kernel.name: kernel
    for kernel in (
        PairwiseKernel("kronecker", _KRONECKER),
        PairwiseKernel("cartesian", _CARTESIAN),
        PairwiseKernel("linear", _LINEAR),
        PairwiseKernel("polynomial", _POLYNOMIAL),
        PairwiseKernel("ranking", _LINEAR, own_sign=-1),
        PairwiseKernel("mlpk", _KRONECKER, own_sign=1, contrast=True),
    )
}
"""Pairwise kernels by name."""
KRONECKER = PAIRWISE["kronecker"]
