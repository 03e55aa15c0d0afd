"""What a request asks for, read within limits: one JSON object, or one per line (NDJSON)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from rankwise.serve.item_rows import Item, shown


class Refusal(Exception):
    """An answer with a status of 4xx or 5xx and one sentence that says why."""

    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Limits:
    """The largest body in bytes, the most items of a request, and its longest time in seconds."""

    body: int = 8_000_000
    rows: int = 10_000
    seconds: float = 10.0


@dataclass(frozen=True)
class Task:
    """The items of one query, and what is asked about them."""

    items: list[Item]
    query: Any = None
    a: Any = None
    b: Any = None
    top: int = 12


RANK, EXPLAIN = ("items", "query"), ("items", "query", "a", "b", "top")


def parse(body: bytes) -> Any:
    """The JSON of a body; nan, infinity, cut texts and nesting beyond 1,024 levels are refused."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None


def read_task(content: Any, limits: Limits, known: tuple[str, ...] = RANK) -> Task:
    """The checked task of a JSON value."""
    if not isinstance(content, dict) or not isinstance(content.get("items"), list):
        raise Refusal(400, 'the body must be an object with a list "items": {"items": [{...}]}.')
    unknown = [name for name in content if name not in known]
    if unknown:
        raise Refusal(400, f"{shown(unknown[0])} is not one of {', '.join(map(repr, known))}.")
    items = content["items"]
    if not items:
        raise Refusal(422, "there are no items to rank.")
    if len(items) > limits.rows:
        raise Refusal(
            413, f"there are {len(items):,} items, but at most {limits.rows:,} are taken."
        )
    for i, item in enumerate(items):
        if type(item) is not dict:
            raise Refusal(
                400, f"items[{i}] must be an object of values by name, not {shown(item)}."
            )
    query, top = content.get("query"), content.get("top", 12)
    if isinstance(query, dict | list):
        raise Refusal(400, "query must be a text or a number.")
    if type(top) is not int or not 1 <= top <= 1000:
        raise Refusal(400, f"top must be a number from 1 to 1,000, not {shown(top)}.")
    for name in ("a", "b"):
        if isinstance(content.get(name), dict | list | float | bool):
            raise Refusal(400, f"{name} must be the position of an item or its id.")
    return Task(items, query, content.get("a"), content.get("b"), top)


def lines(body: bytes) -> list[bytes]:
    """The lines of NDJSON that are not empty."""
    return [line for line in body.split(b"\n") if line.strip()]
