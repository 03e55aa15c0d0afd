"""What a model of a relation has seen: its objects, its pairs, and what is new in other edges."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from rankwise.supervision.relation import RelationTask
from rankwise.workflow.ranking_data import Relation
from rankwise.workflow.recipe import SETTINGS

SEEN = "seen"
"""The kind of an edge whose pair of objects was in the training data."""
KINDS = (SEEN, *SETTINGS)
IN_WORDS = {
    SEEN: "pairs of the training data",
    "edges": "new edges of known objects",
    "rows": "new rows",
    "columns": "new columns",
    "both": "new rows and new columns",
}
LARGEST_GAP = 1e-8
"""Two directions of a pair agree up to this share of the largest value."""


def pairs_record(relation: Relation) -> str:
    """The pairs of the training data as text: the gaps between their numbers, compressed."""
    width = len(relation.domains[1])
    codes = np.unique(relation.edges[:, 0].astype(np.int64) * width + relation.edges[:, 1])
    gaps = np.diff(codes, prepend=0)
    kind = np.uint32 if gaps.max(initial=0) < 2**32 else np.uint64
    data = bytes([np.dtype(kind).itemsize]) + zlib.compress(gaps.astype(kind).tobytes())
    return base64.b64encode(data).decode()


def _codes(record: str) -> np.ndarray:
    data = base64.b64decode(record)
    gaps = np.frombuffer(zlib.decompress(data[1:]), dtype=f"<u{data[0]}")
    return np.cumsum(gaps.astype(np.int64))


def newness(training: Any, relation: Relation) -> np.ndarray | None:
    """For each edge one of KINDS: what of it the model has not seen; None if it cannot be told.

    The objects are compared by name. In one domain, an object that was seen in either role is
    known. Files of earlier versions do not know their pairs, so that none of them counts as seen.
    """
    names = training.get("node_names")
    if not names or not relation.named or not training.get("nodes_named", True):
        return None
    place = [{str(name): number for number, name in enumerate(side)} for side in names]
    numbers = []
    for side, objects in enumerate(relation.domains):
        known = np.array([place[side].get(str(name), -1) for name in objects.names])
        numbers.append(known[relation.edges[:, side]])
    new_row, new_column = (number < 0 for number in numbers)
    kinds = np.full(len(relation), "edges", dtype=object)
    kinds[new_row & ~new_column] = "rows"
    kinds[new_column & ~new_row] = "columns"
    kinds[new_row & new_column] = "both"
    if training.get("pairs"):
        codes = numbers[0] * len(names[1]) + numbers[1]
        seen = np.isin(codes, _codes(training["pairs"])) & ~new_row & ~new_column
        if training.get("recipe", {}).get("relation", "general") != "general":
            turned = numbers[1] * len(names[1]) + numbers[0]
            seen |= np.isin(turned, _codes(training["pairs"])) & ~new_row & ~new_column
        kinds[seen] = SEEN
    return kinds


def refuse_unmirrored(relation: Relation, task: RelationTask) -> None:
    """Raise an error that names two edges which contradict a symmetric or reciprocal relation.

    Of several edges between the same two objects the mean counts. A ranking does not see constants,
    so values that add up to the same number in both directions (probabilities) are reciprocal too.
    """
    if not task.sign or relation.columns is not None:
        return
    first, second = relation.edges.min(axis=1), relation.edges.max(axis=1)
    codes = first * len(relation.rows) + second
    forward = relation.edges[:, 0] == first
    y = np.asarray(relation.y, dtype=float)
    _, group = np.unique(codes, return_inverse=True)
    means, counts = [], []
    for direction in (forward, ~forward):
        count = np.bincount(group, direction)
        total = np.bincount(group, np.where(direction, y, 0.0))
        means.append(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))
        counts.append(count)
    gap = means[0] - task.sign * means[1]
    both = ~np.isnan(gap)
    if task.sign < 0 and task.ranking and both.sum() > 1:
        gap = gap - np.median(gap[both])
    wrong = both & (np.abs(gap) > LARGEST_GAP * np.abs(y).max(initial=0.0))
    if not wrong.any():
        return
    pair = int(np.argmax(wrong))
    a, b = (int(np.flatnonzero((group == pair) & way)[0]) for way in (forward, ~forward))
    one, other = relation.pair(a), relation.pair(b)
    raise ValueError(
        f"{relation.source}, {relation.where(b)}: {other[0]!r} to {other[1]!r} is {y[b]:g}, but "
        f"{relation.where(a)} says {y[a]:g} for {one[0]!r} to {one[1]!r}: the values are not "
        f"{task.relation} ({int(wrong.sum())} such pairs). Correct them, give each pair once, or "
        "use --relation general."
    )
