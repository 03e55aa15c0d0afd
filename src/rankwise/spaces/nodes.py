"""Spaces of nodes, which pairs of nodes are made of: h(u, v) = φ(u)ᵀ W φ(v).

This is the Kronecker product of two node spaces (equation 7 of Pahikkala et al. 2013), which is
never formed. A symmetric or antisymmetric W gives the kernels of equations 8 and 9 with the same
norm ‖W‖_F, which is why those kernels carry the factor ½. Other pairwise kernels are sums of such
products (`pairwise_kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg
from scipy import sparse

from rankwise.exceptions import InvalidKernel
from rankwise.numerics.arrays import Matrix, dense
from rankwise.spaces.definiteness import repaired
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.node_kernels import InteractionProfile, SideKernel


@dataclass
class Spectrum:
    """Z = Q diag(s) Vᵀ of the p nodes' features Z (Z Zᵀ = K), without zero singular values.

    `to_rows` maps coordinates along V to coefficients of whatever represents a node: features, or
    kernel values to the training nodes. If `centred`, this is the decomposition of C Z, where C is
    the centring matrix.
    """

    Q: np.ndarray
    s: np.ndarray
    to_rows: np.ndarray
    centred: bool

    @property
    def is_full(self) -> bool:
        """Whether Q spans all vectors, or all vectors of mean zero if centred."""
        return self.Q.shape[1] == self.Q.shape[0] - self.centred


@dataclass(eq=False)
class KernelPart:
    """One kernel of a sum, its weight, and the columns of the nodes' matrix that belong to it.

    If its matrix was repaired, `transform` changes the values of new nodes alike.
    """

    kernel: Kernel
    weight: float = 1.0
    start: int = 0
    stop: int | None = None
    transform: np.ndarray | None = None

    def of(self, X: Matrix) -> Matrix:
        whole = self.start == 0 and self.stop in (None, X.shape[1])
        return X if whole else X[:, self.start : self.stop]

    def between(self, U: Matrix, X: Matrix | None) -> np.ndarray:
        """weight · k(U, X), repaired if the training matrix was."""
        given = self.of(U)
        if self.kernel.is_precomputed:
            K = dense(given)
        else:
            assert X is not None
            K = self.kernel.matrix(given, self.of(X))
        if self.transform is not None:
            K = K @ self.transform
        return K if self.weight == 1.0 else self.weight * K


@dataclass(eq=False)
class Nodes:
    """The training nodes of one domain, by their features (linear kernel, n < p) or their kernel.

    `rows` (p, d) represents the training nodes: by features, d = n, or by the kernel matrix, d = p.
    The route through features does not square the condition number, so alpha may go down to 0.
    `X` holds what the kernel of new nodes is computed from and what known nodes are recognised by;
    None if neither is needed. `parts` are the kernels of the sum. `own` (p, p) is what only known
    nodes have in addition: item effects and interaction profiles; None if there is nothing.
    """

    rows: np.ndarray
    X: Matrix | None
    parts: list[KernelPart]
    through_features: bool
    own: np.ndarray | None = None
    profiles: tuple[tuple[float, InteractionProfile], ...] = ()
    repairs: list[dict[str, float | str]] = field(default_factory=list)

    @classmethod
    def build(
        cls,
        X: Matrix,
        kernel: Kernel | SideKernel,
        name: str,
        *,
        widths: list[int] | None = None,
        recognises: bool = False,
        as_kernel: bool = False,
    ) -> Nodes:
        """The space of the nodes X; `name` is what error messages call them.

        `widths` are the numbers of columns of X that belong to each kernel of a sum; None if all of
        them share all columns. With `recognises` known nodes are found again by their rows. With
        `as_kernel` features are never used in place of their kernel.
        """
        side = SideKernel(((1.0, kernel),)) if isinstance(kernel, Kernel) else kernel
        (_, first), *_ = side.parts
        linear = side.is_plain and first.is_linear and X.shape[1] < X.shape[0]
        if linear and not as_kernel:
            known = X.copy() if recognises else None
            return cls(np.array(dense(X)), known, [KernelPart(first)], True)
        ends = np.cumsum([0, *(widths or [])]).tolist()
        places = list(pairwise(ends)) if widths else [(0, None)] * len(side.parts)
        parts, repairs = [], []
        K, own = np.zeros((X.shape[0], X.shape[0])), np.zeros((0, 0))
        shift = side.item_effect
        for (weight, kernel_of_part), place in zip(side.parts, places):
            part = KernelPart(kernel_of_part, weight, *place)
            gram, diagonal, report = _gram(part, X, name, side.repair)
            shift += weight * diagonal
            repairs += report
            parts.append(part)
            K = gram if side.is_plain else K + weight * gram
        if shift:
            own = shift * np.eye(len(K))
            K = K + own
        keeps = recognises or bool(shift) or bool(side.profiles)
        only_precomputed = side.n_precomputed == len(side.parts)
        kept = X.copy() if keeps or not only_precomputed else None
        return cls(K, kept, parts, False, own if shift else None, side.profiles, repairs)

    def __len__(self) -> int:
        return len(self.rows)

    def profiled(self, Y: np.ndarray, seen: np.ndarray) -> Nodes:
        """The same nodes with the kernels of their interaction profiles, the rows of Y."""
        G = np.zeros((len(self), len(self)))
        for weight, profile in self.profiles:
            G += weight * profile.matrix(Y, seen)
        own = G if self.own is None else self.own + G
        return replace(self, rows=self.rows + G, own=own, profiles=())

    @cached_property
    def _register(self) -> KnownNodes:
        if self.X is None:
            raise ValueError("these nodes keep no rows to recognise known nodes by.")
        return KnownNodes(self.X)

    def recognise(self, U: Matrix) -> sparse.csr_array:
        """(len(U), p) with a 1 where a node of U is a training node."""
        return self._register.recognise(U)

    def represent(self, U: Matrix) -> np.ndarray:
        """(len(U), d) rows of new nodes, to be multiplied with coefficients."""
        if self.through_features:
            return dense(U)
        first, *others = self.parts
        K = first.between(U, self.X)
        for part in others:
            K = K + part.between(U, self.X)
        if self.own is not None:
            K = K + self.recognise(U) @ self.own
        return K

    def represent_times(self, U: Matrix, W: np.ndarray) -> np.ndarray:
        """represent(U) @ W for few columns W (d, c), without forming repaired values."""
        if self.through_features:
            return np.asarray(U @ W)
        total = np.zeros((U.shape[0], W.shape[1]))
        for part in self.parts:
            folded = W if part.transform is None else part.transform @ W
            total += replace(part, transform=None).between(U, self.X) @ folded
        if self.own is not None:
            total += self.recognise(U) @ (self.own @ W)
        return total

    def kernel_between(self, U: Matrix, V: Matrix) -> np.ndarray:
        """(len(U), len(V)) kernel values of new nodes with each other.

        Rows of a precomputed kernel are the values of a node to the training nodes, so V must then
        be these nodes, in their order.
        """
        if self.through_features:
            return dense(U) @ dense(V).T
        if self.X is not None:
            parts = (p.weight * p.kernel.matrix(p.of(U), p.of(V)) for p in self.parts)
            return np.asarray(sum(parts))
        U, V = dense(U), dense(V)
        if V.shape != self.rows.shape or not np.allclose(V, self.rows):
            raise ValueError(
                "a precomputed kernel says nothing about two new nodes: V must be the kernel "
                "matrix of the training nodes."
            )
        return U

    def represent_to(self, kept: np.ndarray, index: int | slice | np.ndarray) -> np.ndarray:
        """Rows of the training nodes `index`, as the model of the `kept` nodes needs them."""
        return self.rows[index] if self.through_features else self.rows[index][..., kept]

    def take(self, index: np.ndarray | None) -> Nodes:
        """The space of some of the training nodes; None means all of them.

        It serves closed forms and hold-outs; new nodes are represented by all nodes.
        """
        if index is None:
            return self
        rows = self.rows[index] if self.through_features else self.rows[np.ix_(index, index)]
        X = None if self.X is None else self.X[index]
        own = None if self.own is None else self.own[np.ix_(index, index)]
        return Nodes(rows, X, self.parts, self.through_features, own)

    def gram(self) -> np.ndarray:
        return self.rows @ self.rows.T if self.through_features else self.rows

    def from_dual(self, A: np.ndarray) -> np.ndarray:
        """Coefficients of `rows` from coefficients A of a kernel expansion over the nodes."""
        return self.rows.T @ A if self.through_features else A

    def spectrum(self, centred: bool = False) -> Spectrum:
        """Thin SVD of the features, O(p n²), or eigendecomposition of the kernel, O(p³)."""
        if self.through_features:
            Z = self.rows - self.rows.mean(axis=0) if centred else self.rows
            Q, s, Vt = np.linalg.svd(Z, full_matrices=False)
            kept = s > max(Z.shape) * np.finfo(float).eps * s.max(initial=0.0)
            return Spectrum(_recentred(Q[:, kept], centred), s[kept], Vt[kept].T, centred)
        K = centre_kernel(self.rows) if centred else self.rows
        eigenvalues, Q = scipy.linalg.eigh(K, check_finite=False, overwrite_a=centred)
        kept = eigenvalues > len(K) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        if centred:
            kept[0] = False
        first = len(K) if not kept.any() else int(np.argmax(kept))
        Q, s = _recentred(Q[:, first:], centred), np.sqrt(eigenvalues[first:])
        return Spectrum(Q, s, Q / s, centred)


Report = dict[str, float | str]


def _gram(
    part: KernelPart, X: Matrix, name: str, repair: str | None
) -> tuple[np.ndarray, float, list[Report]]:
    """The matrix of a part's kernel, what a repair adds to its diagonal, and the report of it.

    Sets the transform of the part if new nodes have to be repaired alike.
    """
    kernel, given = part.kernel, part.of(X)
    title = f"the kernel of {name}"
    way_out = "take fewer nodes, or a linear kernel with n < p features"
    if repair is None or not (kernel.is_precomputed or kernel.may_be_indefinite):
        try:
            return kernel.gram(given, title, way_out), 0.0, []
        except InvalidKernel as error:
            raise InvalidKernel(f"{error} Or ask for repair='clip', 'flip' or 'shift'.") from None
    K = np.array(dense(given), order="C") if kernel.is_precomputed else kernel.matrix(given, given)
    change = repaired(K, repair, title)
    if change is None:
        return K, 0.0, []
    part.transform = change.transform
    fixed = change.K if not change.shift else (K + K.T) / 2
    return fixed, change.shift, [{"nodes": name, **change.report}]


def _recentred(Q: np.ndarray, centred: bool) -> np.ndarray:
    """Q with columns of mean zero: tiny singular values let the constant vector leak into them."""
    if centred and Q.size:
        Q -= Q.mean(axis=0)
    return Q


def centre_kernel(K: np.ndarray) -> np.ndarray:
    """C K C with C = I − 11ᵀ/p, O(p²)."""
    means = K.mean(axis=0)
    centred = K - means
    centred -= (means - means.mean())[:, None]
    return centred


class KnownNodes:
    """The training nodes X, found again by their rows.

    A node is recognised if its row (features, or values of a precomputed kernel) equals that of a
    training node bit by bit. If several training nodes have the same row, nothing tells them apart,
    and they share the 1 equally.
    """

    def __init__(self, X: Matrix):
        self._n = X.shape[0]
        self._numbers: dict[bytes, list[int]] = {}
        for number, row in enumerate(_rows(X)):
            self._numbers.setdefault(row, []).append(number)

    def recognise(self, U: Matrix) -> sparse.csr_array:
        """(len(U), p) with a 1 where a node of U is a training node, O(nnz)."""
        found = [self._numbers.get(row, []) for row in _rows(U)]
        counts = np.array([len(same) for same in found], dtype=np.intp)
        starts = np.concatenate([[0], np.cumsum(counts)])
        columns = np.array([number for same in found for number in same], dtype=np.intp)
        shares = np.repeat(1.0 / np.maximum(counts, 1), counts)
        return sparse.csr_array((shares, columns, starts), shape=(U.shape[0], self._n))


def _rows(X: Matrix) -> Iterator[bytes]:
    """The content of each row; a stored zero and −0.0 count as 0."""
    if isinstance(X, np.ndarray):
        for values in np.asarray(X, dtype=np.float64) + 0.0:
            at = np.flatnonzero(values)
            yield at.astype(np.int64).tobytes() + values[at].tobytes()
        return
    for row in range(X.shape[0]):
        where = slice(X.indptr[row], X.indptr[row + 1])
        at, values = X.indices[where], X.data[where]
        order = np.argsort(at, kind="stable")
        order = order[values[order] != 0]
        yield at[order].astype(np.int64).tobytes() + values[order].astype(np.float64).tobytes()
