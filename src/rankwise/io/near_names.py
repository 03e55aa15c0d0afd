"""Names that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'score'?", or nothing if no known name is near."""
    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.lower(), one)
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[near[0]]!r}?" if near else ""


def no_column(table: str, name: str, role: str, known: Iterable[str]) -> str:
    """The message for a column that a table does not have."""
    names = list(known)
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    return f"{table} has no column {name!r} ({role}); it has {listed}.{did_you_mean(name, names)}"
