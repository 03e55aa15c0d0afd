"""The data of a ranking task with their names: items with features, or edges between objects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.supervision.censored import Censored
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

FINGERPRINT_ROWS = 1000


@dataclass
class Items:
    """Each row of X (m, n) is one item; y, qid and names hold one entry per item where known.

    y holds scores, or is a Censored with the outcomes of the items, for which qid labels strata.
    `features` names the columns of X. If `preferences` is given, it replaces the scores y. `named`
    says whether the items came with names; otherwise they are called "row 1", "row 2", ...
    `baseline` are the scores of an existing ranking, which `baseline_name` names.
    `description` replaces what `describe` would say. `line_of` finds an item's line in its file.
    """

    X: Any
    y: Any = None
    qid: Any = None
    names: Any = None
    features: list[str] = field(default_factory=list)
    source: str = "data"
    preferences: Preferences | None = None
    groups: Any = None
    baseline: Any = None
    baseline_name: str = "baseline"
    description: str = ""
    line_of: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        self.named = self.names is not None
        if self.names is None:
            self.names = np.array([f"row {i + 1}" for i in range(self.X.shape[0])])
        if not self.features:
            self.features = numbered("feature", self.X.shape[1])

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def queries(self) -> Queries:
        return Queries.from_labels(self.qid, len(self))

    @property
    def supervision(self) -> dict[str, Any]:
        """The arguments by which `fit` of a learner is told the order of the items."""
        if self.preferences is not None:
            return {"preferences": self.preferences, "qid": self.qid}
        return {"y": self.y, "qid": self.qid}

    def take(self, index: np.ndarray) -> Items:
        """The items at these row numbers, without preferences."""
        taken: dict[str, Any] = {"preferences": None, "line_of": None}
        for name in ("X", "y", "qid", "names", "groups", "baseline"):
            value = getattr(self, name)
            taken[name] = None if value is None else value[index]
        return replace(self, **taken)

    def with_statements(self, statements: np.ndarray) -> Items:
        """The same items with some of their preferences."""
        assert self.preferences is not None
        return replace(self, preferences=self.preferences.subset(statements))

    def members(self, label: str) -> np.ndarray:
        """Row numbers of the query with this label."""
        if self.qid is None:
            raise ValueError(f"{self.source} has no queries: leave the query out.")
        members = np.flatnonzero(np.array([str(q) == str(label) for q in self.qid]))
        if not len(members):
            labels = [str(q) for q in self.queries.labels]
            shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
            raise ValueError(f"{self.source} has no query {label!r}; it has {shown}.")
        return members

    def refuse_missing(self, way_out: str) -> None:
        """Raise an error that names the first item and feature without a value."""
        is_sparse = sparse.issparse(self.X)
        if not np.isnan(self.X.data if is_sparse else self.X).any():
            return
        row, column = np.argwhere(np.isnan(self.X.toarray() if is_sparse else self.X))[0]
        line = "" if self.line_of is None else f", line {self.line_of(int(row))}"
        raise ValueError(
            f"{self.source}{line}: {self.features[column]!r} of {self.names[row]} is missing. "
            f"{way_out}"
        )

    def describe(self) -> str:
        """One line: the numbers of items, features and queries, and the scores or preferences."""
        if self.description:
            return self.description
        parts = [counted(len(self), "item"), counted(self.X.shape[1], "feature")]
        if self.qid is not None:
            parts.append(counted(len(self.queries), "query", "queries"))
        if self.groups is not None:
            parts.append(counted(len(np.unique(np.asarray(self.groups, dtype=str))), "group"))
        if self.preferences is not None:
            parts.append(counted(len(self.preferences), "preference"))
            if self.preferences.n_ties:
                parts.append(counted(self.preferences.n_ties, "tie"))
            if self.preferences.judge is not None:
                parts.append(counted(len(np.unique(self.preferences.judge)), "judge"))
            if len(never := self.preferences.never_compared):
                parts.append(f"{counted(len(never), 'item')} never compared")
        elif isinstance(self.y, Censored):
            time = self.y.time
            parts.append(counted(int(self.y.event.sum()), "event"))
            parts.append(f"times {time.min():g} to {time.max():g}" if len(time) else "no times")
        elif self.y is not None:
            levels = np.unique(self.y)
            if len(levels) <= 6:
                parts.append("scores " + ", ".join(f"{level:g}" for level in levels))
            else:
                parts.append(f"scores {levels[0]:g} to {levels[-1]:g}")
        return ", ".join(parts)

    def about(self) -> dict[str, Any]:
        """The training data in the record of a model."""
        queries = None if self.qid is None else len(self.queries)
        counts = {"items": len(self), "queries": queries, "features": self.X.shape[1]}
        known = {"source": self.source, "summary": self.describe()}
        found = {**known, "fingerprint": self.fingerprint(), **counts}
        if self.preferences is not None:
            found["statements"] = self.statement_fingerprint()
        return found

    def fingerprint(self, with_scores: bool = True) -> str:
        """A hash of the scores and of up to 1000 rows of X, by which the same data are recognised.

        It does not depend on the name of the file, nor on whether X is sparse. Preferences are
        not part of it: the items are.
        """
        rows = np.unique(np.linspace(0, len(self) - 1, FINGERPRINT_ROWS).astype(int))
        X = self.X[rows[: len(self)]]
        X = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=float) + 0.0
        digest = hashlib.sha256(repr(self.X.shape).encode())
        digest.update(X.tobytes())
        if with_scores and isinstance(self.y, Censored):
            digest.update(self.y.time.tobytes() + self.y.event.tobytes())
        elif with_scores and self.y is not None and self.preferences is None:
            digest.update(np.ascontiguousarray(self.y, dtype=float).tobytes())
        return digest.hexdigest()

    def statement_fingerprint(self) -> str | None:
        """A hash of the preferences in their order; None if there are none."""
        said = self.preferences
        if said is None:
            return None
        digest = hashlib.sha256()
        for values in (said.winner, said.loser, said.tie, said.weight):
            digest.update(np.ascontiguousarray(values, dtype=float).tobytes())
        return digest.hexdigest()


@dataclass
class Relation:
    """q edges between named objects: `edges` (q, 2) holds numbers of row and column objects.

    `y` (q,) holds the values of the edges, or is None. `columns` is None if both ends of an edge
    belong to the same domain. The features X of objects are their similarities to the objects of
    training where a kernel is precomputed. `line_of` finds an edge's line in its file.
    """

    rows: Items
    columns: Items | None
    edges: np.ndarray
    y: Any
    source: str = "data"
    line_of: Callable[[int], int] | None = None

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def domains(self) -> tuple[Items, Items]:
        """The row objects and the column objects; the same objects twice in one domain."""
        return self.rows, self.rows if self.columns is None else self.columns

    @property
    def nodes(self) -> Any:
        """The features of the objects, in the form that ConditionalRanker.fit takes."""
        return self.rows.X if self.columns is None else (self.rows.X, self.columns.X)

    @property
    def named(self) -> bool:
        """Whether the objects of both sides came with names."""
        return all(objects.named for objects in self.domains)

    def pair(self, edge: int) -> tuple[str, str]:
        """The names of the two objects of an edge."""
        names = (side.names[k] for side, k in zip(self.domains, self.edges[edge]))
        return tuple(str(name) for name in names)  # type: ignore[return-value]

    def where(self, edge: int) -> str:
        """The edge's place in its file in words."""
        return f"edge {edge}" if self.line_of is None else f"line {self.line_of(edge)}"

    def take(self, index: np.ndarray) -> Relation:
        """Some of the edges, between the same objects."""
        line_of, numbers = self.line_of, np.asarray(index)
        found = None if line_of is None else (lambda edge: line_of(int(numbers[edge])))
        y = None if self.y is None else self.y[index]
        return replace(self, edges=self.edges[index], y=y, line_of=found)

    def as_items(self, condition: str) -> Items:
        """The edges as items: each condition is a query over its candidates.

        Their two features are the numbers of the row and of the column object.
        """
        given, ranked = (
            self.domains[side].names[self.edges[:, side]] for side in sides_of(condition)
        )
        X, features = self.edges.astype(float), ["row", "column"]
        about = self.describe()
        return Items(X, self.y, given, ranked, features, self.source, description=about)

    def describe(self) -> str:
        """One line: the numbers of edges and of objects."""
        parts = [counted(len(self), "edge")]
        if self.columns is None:
            parts.append(counted(len(self.rows), "node"))
        else:
            parts.append(counted(len(self.rows), "row node"))
            parts.append(counted(len(self.columns), "column node"))
        return ", ".join(parts)

    def about(self) -> dict[str, Any]:
        """The training data in the record of a model."""
        known = {"source": self.source, "summary": self.describe()}
        return {**known, "fingerprint": self.as_items("row").fingerprint(), "items": len(self)}


def sides_of(condition: str) -> tuple[int, int]:
    """The position in an edge of the object that is given, and of the object that is ranked."""
    return (0, 1) if condition == "row" else (1, 0)


def numbered(name: str, n: int) -> list[str]:
    """`feature 1`, `feature 2`, ...: names for what has none."""
    return [f"{name} {j + 1}" for j in range(n)]


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 item`, `2,000 items`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
