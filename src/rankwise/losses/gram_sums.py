"""FᵀLF and Fᵀb over blocks of rows, on all cores and in the memory of a few blocks.

Queries that fit into a block are centred and scaled by `half_rows`, A = Rᵀ F, and add AᵀA.
Features that are far from zero are moved to the origin before. Longer queries are cut into pieces.
With V and c of the query, v the weights of its items, and rows z that are shifted by a guess of
their mean (L 1 = 0, so that a shift changes nothing, but a good one keeps the digits),

    FᵀLF = Σ_i c v_i (V − V_k(i)) z_i z_iᵀ  −  c t tᵀ  +  Σ_k c t_k t_kᵀ ,

where t = Σ v_i z_i over the query and t_k the same over tie class k. Classes of a single item have
no third term, and V_k = 0 in the first. The cuts depend on the data alone, so the result does not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankwise.losses.half_rows import HalfRows, Span, half_rows
from rankwise.numerics.arrays import LazyRows, origin_of
from rankwise.numerics.compiled import compiled
from rankwise.numerics.products import add_squares
from rankwise.numerics.threads import one_blas_thread, run
from rankwise.numerics.tiles import mirror_upper

BLOCK_BYTES = 4e6
SHORTEST = 256
"""Blocks have no fewer rows, whatever the number of columns."""
SUM_BYTES = 6.4e7
"""All partial sums of FᵀLF together take about this much memory, or twice that of FᵀLF."""
PARTS = 16
GUESS = 256
"""The mean of a long query is guessed from so many of its items."""


class HasTarget(Protocol):
    """The linear term b = R β; see rankwise.losses.laplacian.Target."""

    @property
    def beta(self) -> np.ndarray: ...

    @property
    def b(self) -> np.ndarray: ...


class Block(NamedTuple):
    """Queries first to last, or if `is_piece` a part of query `first`; items order[start:stop]."""

    first: int
    last: int
    start: int
    stop: int
    is_piece: bool


@dataclass
class Sums:
    """What one task has added up. `G` is valid on and below its diagonal."""

    G: np.ndarray
    moments: np.ndarray
    queries: list[tuple[int, np.ndarray]] = field(default_factory=list)
    """(query, t) of its pieces."""
    classes: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    """(query, class, t_k) of tie classes that a cut divides."""

    def add_squares(self, A: np.ndarray, factor: float = 1.0) -> None:
        """G += factor · AᵀA."""
        add_squares(self.G, A, factor)


def gram_sums(
    F: np.ndarray | LazyRows, operator: HalfRows, target: HasTarget
) -> tuple[np.ndarray, np.ndarray]:
    """FᵀLF and Fᵀb in O(m n²) time, for L with Rᵀ = `operator` over the items of F."""
    n = F.shape[1]
    starts = operator.class_starts[operator.query_classes]
    rows = max(SHORTEST, min(int(BLOCK_BYTES / (8 * max(n, 1))), int(starts[-1]) // PARTS))
    blocks = list(_blocks(starts, rows))
    parts = min(len(blocks), max(2, min(PARTS, int(SUM_BYTES / (8 * max(n, 1) ** 2)))))
    cuts = np.linspace(0, len(blocks), parts + 1).astype(int)
    beta = target.beta
    b = target.b if any(block.is_piece for block in blocks) else None
    origin = origin_of(F) if isinstance(F, np.ndarray) else None
    guesses = {
        block.first: _guess(F, operator.order[starts[block.first] : starts[block.first + 1]])
        for block in blocks
        if block.is_piece
    }
    task = partial(_sum_blocks, F, origin, operator, beta, b, guesses)
    with one_blas_thread():
        sums = run([partial(task, blocks[low:high]) for low, high in pairwise(cuts)])
    G, moments = _joined(sums, operator.scale)
    return F.finish(G, moments) if isinstance(F, LazyRows) else (G, moments)


def _blocks(starts: np.ndarray, rows: int) -> Iterator[Block]:
    """Whole queries that hold about `rows` items together, and pieces of longer queries."""
    low = 0
    while low < len(starts) - 1:
        high = int(np.searchsorted(starts, starts[low] + rows, side="right")) - 1
        if high > low:
            yield Block(low, high, int(starts[low]), int(starts[high]), False)
            low = high
            continue
        size = int(starts[low + 1] - starts[low])
        cuts = int(starts[low]) + np.linspace(0, size, -(-size // rows) + 1).astype(int)
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
            yield Block(low, low + 1, start, stop, True)
        low += 1


def _guess(F: np.ndarray | LazyRows, items: np.ndarray) -> np.ndarray:
    some = items[np.linspace(0, len(items) - 1, min(GUESS, len(items))).astype(int)]
    rows = _rows(F, some)
    return rows.mean(axis=0)


def _rows(
    F: np.ndarray | LazyRows, items: np.ndarray, less: np.ndarray | None = None
) -> np.ndarray:
    """The rows of some items, less the same row each, as a new contiguous array."""
    if isinstance(F, LazyRows):
        rows = F.rows(items)
        if less is not None:
            rows -= less
        return rows
    out = np.empty((len(items), F.shape[1]))
    gather = _gather_rows if F.flags.c_contiguous else _gather_strips
    gather(F, items, np.zeros(F.shape[1]) if less is None else less, out)
    return out


@compiled
def _gather_rows(F: Any, items: np.ndarray, less: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(items)):
        row, target = F[items[i]], out[i]
        for j in range(len(less)):
            target[j] = row[j] - less[j]


@compiled
def _gather_strips(F: Any, items: np.ndarray, less: np.ndarray, out: np.ndarray) -> None:
    """Eight columns at a time: each is read in one run, and whole cache lines are written."""
    for low in range(0, len(less), 8):
        high = min(low + 8, len(less))
        for i in range(len(items)):
            x = items[i]
            for j in range(low, high):
                out[i, j] = F[x, j] - less[j]


def _sum_blocks(
    F: np.ndarray | LazyRows,
    origin: np.ndarray | None,
    operator: HalfRows,
    beta: np.ndarray,
    b: np.ndarray | None,
    guesses: dict[int, np.ndarray],
    blocks: list[Block],
) -> Sums:
    n = F.shape[1]
    sums = Sums(np.zeros((n, n), order="F"), np.zeros((n, beta.shape[1])))
    in_place = isinstance(F, np.ndarray) and F.flags.c_contiguous and origin is None
    longest = max(block.stop - block.start for block in blocks)
    buffer = np.empty((longest, n)) if in_place else None
    for block in blocks:
        items = operator.order[block.start : block.stop]
        if block.is_piece:
            assert b is not None
            _add_piece(sums, _rows(F, items, guesses[block.first]), b[items], operator, block)
            continue
        if buffer is not None:
            A = buffer[: len(items)]
            queries = Span(block.first, block.last, 0, n)
            half_rows(F, operator, queries, 0, block.start, A)  # type: ignore[arg-type]
        else:
            A = _rows(F, items, origin)
            queries = Span(0, block.last - block.first, 0, n)
            half_rows(A, _of_block(operator, block), queries, 0, -1, A)
        sums.moments += A.T @ beta[items]
        sums.add_squares(A)
    return sums


def _of_block(operator: HalfRows, block: Block) -> HalfRows:
    """The operator of whole queries alone, whose items are numbered in its order."""
    first, last = operator.query_classes[[block.first, block.last]]
    items = operator.order[block.start : block.stop]
    queries = slice(block.first, block.last)
    return HalfRows(
        operator.before[items],
        operator.after[items],
        operator.root[items],
        np.arange(len(items)),
        operator.class_starts[first : last + 1] - block.start,
        operator.query_classes[block.first : block.last + 1] - first,
        operator.class_weight[first:last],
        operator.query_weight[queries],
        operator.scale[queries],
    )


def _add_piece(sums: Sums, Z: np.ndarray, b: np.ndarray, operator: HalfRows, block: Block) -> None:
    """A piece of a long query; Z are its shifted rows, which are overwritten."""
    starts, query = operator.class_starts, block.first
    first = int(np.searchsorted(starts, block.start, side="right")) - 1
    last = int(np.searchsorted(starts, block.stop, side="left"))
    bounds = np.clip(starts[first : last + 1], block.start, block.stop) - block.start
    tied = np.diff(starts[first : last + 1]) > 1
    v = operator.root[operator.order[block.start : block.stop]] ** 2
    own = np.repeat(np.where(tied, operator.class_weight[first:last], 0.0), np.diff(bounds))
    c, V = operator.scale[query], operator.query_weight[query]
    sums.queries.append((query, Z.T @ v))
    sums.moments += Z.T @ b
    if tied.any():
        totals = np.add.reduceat(v[:, None] * Z, bounds[:-1], axis=0)
        divided = (starts[first:last] < block.start) | (starts[first + 1 : last + 1] > block.stop)
        sums.add_squares(totals[tied & ~divided], c)
        for k in np.flatnonzero(tied & divided):
            sums.classes.append((query, first + int(k), totals[k]))
    factors = c * v * np.maximum(V - own, 0.0)
    if (factors == factors[0]).all():
        sums.add_squares(Z, factors[0])
        return
    Z *= np.sqrt(factors)[:, None]
    sums.add_squares(Z)


def _joined(parts: list[Sums], scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    G, moments = parts[0].G, parts[0].moments
    for part in parts[1:]:
        G += part.G
        moments += part.moments
    totals: dict[int, np.ndarray] = {}
    of_class: dict[tuple[int, int], np.ndarray] = {}
    for part in parts:
        for query, t in part.queries:
            totals[query] = totals[query] + t if query in totals else t
        for query, k, t in part.classes:
            of_class[query, k] = of_class[query, k] + t if (query, k) in of_class else t
    for query, t in totals.items():
        G -= scale[query] * np.outer(t, t)
    for (query, _), t in of_class.items():
        G += scale[query] * np.outer(t, t)
    G = G.T
    mirror_upper(G)
    return G, moments
