"""Nodes, labels and edges that have names: matched by name, or refused with the names.

Names are those of the index of a pandas frame. A plain array, a polars frame, or a frame with the
default index has none, and is matched by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Names = list[Any] | None


def index_names(frame: Any, axis: str = "index") -> Names:
    """The names of the rows (or, with axis "columns", of the columns) of a pandas frame."""
    labels = getattr(frame, axis, None)
    if labels is None or not hasattr(frame, "iloc") or not hasattr(labels, "tolist"):
        return None
    return None if type(labels).__name__ == "RangeIndex" else list(labels.tolist())


def square_by_name(K: Any, what: str) -> Any:
    """A frame of a kernel with its columns in the order of its rows, if both have names."""
    rows, columns = index_names(K), index_names(K, "columns")
    if rows is None or columns is None or rows == columns:
        return K
    return K.iloc[:, _places(rows, columns, f"the columns of {what}", f"the rows of {what}")]


def labels_by_name(Y: Any, rows: Names, columns: Names) -> Any:
    """The frame Y in the order of the nodes' names, where both have names."""
    for axis, names, side in (("index", rows, "row"), ("columns", columns, "column")):
        given = index_names(Y, axis)
        if names is None or given is None or given == names:
            continue
        places = _places(names, given, f"the {side}s of Y", f"the {side} nodes")
        Y = Y.iloc[places] if axis == "index" else Y.iloc[:, places]
    return Y


def edges_by_name(edges: Any, rows: Names, columns: Names) -> Any:
    """Node numbers of edges (q, 2) that are given by the names of the nodes."""
    given = np.asarray(edges)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "OUS":
        return edges
    if rows is None or columns is None:
        raise ValueError(
            "edges hold names, but the nodes have none: give the nodes as pandas frames whose "
            "index holds the names, or edges as node numbers."
        )
    numbers = np.empty(given.shape, dtype=np.intp)
    for side, (names, title) in enumerate(((rows, "row"), (columns, "column"))):
        known = _numbered(names, f"the {title} nodes")
        for edge, name in enumerate(given[:, side].tolist()):
            if name not in known:
                raise ValueError(
                    f"edges[{edge}] names the {title} node {name!r}, which is not among the "
                    f"{len(names)} {title} nodes."
                )
            numbers[edge, side] = known[name]
    return numbers


def _numbered(names: Sequence[Any], what: str) -> dict[Any, int]:
    numbers: dict[Any, int] = {}
    for number, name in enumerate(names):
        if name in numbers:
            raise ValueError(f"{what} have the name {name!r} twice, so names do not match them.")
        numbers[name] = number
    return numbers


def _places(wanted: Sequence[Any], given: Sequence[Any], what: str, of: str) -> list[int]:
    """Where each wanted name is among the given ones; a ValueError names what does not match."""
    places, known = _numbered(given, what), _numbered(wanted, of)
    absent = [name for name in wanted if name not in places]
    strange = [name for name in given if name not in known]
    if absent or strange:
        parts = []
        if absent:
            parts.append(f"{what} lack {_listed(absent)} of {of}")
        if strange:
            parts.append(f"{what} hold {_listed(strange)}, unknown to {of}")
        raise ValueError(
            f"names do not match: {'; '.join(parts)}. (Plain arrays are matched by position.)"
        )
    return [places[name] for name in wanted]


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
