"""Cells of text as numbers: decimal commas, thousands, percent signs, yes and no, dates.

How a column is written is found from all of its cells, never from one cell alone: "1,234" is a
thousand in one table and a little more than one in another. What cannot be told is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "--", "."}
YES_OR_NO = [
    {yes: 1.0, no: 0.0} for yes, no in (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))
]
DECIMALS = ("auto", ".", ",")
KINDS = ("number", "percent", "truth", "date", "date d/m/y", "date m/d/y", "category")

MINUS = str.maketrans({"\u2212": "-", "\ufe63": "-", "\uff0d": "-"})
BLANK_GROUPS = re.compile(r"[-+]?\d{1,3}(?:([ \u00a0\u2009\u202f'\u2019])\d{3})(?:\1\d{3})*(?!\d)")
ISO = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)"
    r" ?(Z|[-+]\d{2}:?\d{2})?)?"
)
DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?: (\d{1,2}:\d{2}(?::\d{2})?))?")
SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?: (\d{1,2}:\d{2}(?::\d{2})?))?")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Style(NamedTuple):
    """How the numbers of a column are written; kind "auto" and decimal "auto" are to be found."""

    kind: str = "auto"
    decimal: str = "auto"


class CellError(ValueError):
    """The first cell (its text) that cannot be read, and why."""

    def __init__(self, cell: str, reason: str):
        super().__init__(reason)
        self.cell, self.reason = cell, reason


def is_missing(text: str) -> bool:
    return text.lower() in MISSING


def plain_number(text: str) -> float | None:
    """The number as Python writes it, true and false as 1 and 0; None if it is none."""
    if text.lower() in YES_OR_NO[0]:
        return YES_OR_NO[0][text.lower()]
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def read_cells(cells: Iterable[str], style: Style) -> tuple[dict[str, float], Style]:
    """{cell: number} for the distinct stripped cells, nan for missing ones, and their style.

    A date becomes the days since 1970-01-01 (UTC, if a zone is given), a percentage its hundredth.
    A CellError names the first cell that does not fit.
    """
    distinct = list(dict.fromkeys(cells))
    present = [cell for cell in distinct if not is_missing(cell)]
    kind = style.kind if style.kind != "auto" else _kind_of(present)
    if kind == "percent":
        without = [_without_percent(cell) for cell in present]
        found, decimal = _decimal_numbers(without, style.decimal, present)
        values = {cell: found[text] / 100 for cell, text in zip(present, without)}
    elif kind == "truth":
        values, decimal = _truths(present), style.decimal
    elif kind.startswith("date"):
        kind, values = _dates(present, kind)
        decimal = style.decimal
    else:
        values, decimal = _decimal_numbers(present, style.decimal, present)
    return dict.fromkeys(distinct, math.nan) | values, Style(kind, decimal)


def _kind_of(present: Sequence[str]) -> str:
    """What the first cell that is not a plain number looks like."""
    odd = next((cell for cell in present if plain_number(cell) is None), None)
    if odd is None:
        return "number"
    if odd.endswith("%"):
        return "percent"
    if any(odd.lower() in words for words in YES_OR_NO):
        return "truth"
    if ISO.fullmatch(odd) or DOTTED.fullmatch(odd) or SLASHED.fullmatch(odd):
        return "date"
    return "number"


def _without_percent(cell: str) -> str:
    if not cell.endswith("%"):
        raise CellError(cell, "has no percent sign, but other cells of the column have")
    return cell[:-1].rstrip(" \u00a0\u202f")


def _truths(present: Sequence[str]) -> dict[str, float]:
    """Yes and no, in one pair of words for the whole column."""
    lower = [cell.lower() for cell in present]
    pair = next((words for cell in lower for words in YES_OR_NO if cell in words), YES_OR_NO[0])
    known = {**pair, "1": 1.0, "0": 0.0}
    for cell, word in zip(present, lower):
        if word not in known:
            raise CellError(cell, f"is neither {' nor '.join(map(repr, pair))}")
    return {cell: known[word] for cell, word in zip(present, lower)}


def _decimal_numbers(
    texts: Sequence[str], decimal: str, cells: Sequence[str]
) -> tuple[dict[str, float], str]:
    """{text: number}, and which decimal sign it takes to read them all.

    "auto" stays "auto" where plain numbers of Python leave nothing to be told.
    """
    plain = {text: plain_number(text) for text in texts}
    if decimal == "auto" and all(value is not None for value in plain.values()):
        return {text: value for text, value in plain.items() if value is not None}, "auto"
    signs = (".", ",") if decimal == "auto" else (decimal,)
    read = {sign: [number_with(sign, text) for text in texts] for sign in signs}
    whole = [sign for sign in signs if None not in read[sign]]
    if not whole:
        for position, cell in enumerate(cells):
            if all(values[position] is None for values in read.values()):
                raise CellError(cell, _not_a_number(decimal))
        best = max(signs, key=lambda sign: _first_failure(read[sign]))
        raise CellError(cells[_first_failure(read[best])], _not_a_number(best))
    if len(whole) == 2:
        for cell, point, comma in zip(cells, read["."], read[","]):
            if point != comma:
                raise CellError(cell, f"may be {point:g} or {comma:g}: {AMBIGUOUS}")
    values = read[whole[0]]
    return {text: value for text, value in zip(texts, values) if value is not None}, whole[0]


AMBIGUOUS = 'say which with decimal=",", or decimal="."'


def _first_failure(values: Sequence[float | None]) -> int:
    return next(position for position, value in enumerate(values) if value is None)


def _not_a_number(decimal: str) -> str:
    return "is not a number" + (" with a decimal comma" if decimal == "," else "")


def number_with(sign: str, text: str) -> float | None:
    """The number whose decimal sign is `sign`; the other sign may separate thousands."""
    text = text.translate(MINUS)
    if BLANK_GROUPS.match(text):
        text = re.sub(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))", "", text)
    if _GROUPED[sign].fullmatch(text):
        text = text.replace("," if sign == "." else ".", "")
    elif sign == "," and "." in text:
        return None
    return plain_number(text if sign == "." else text.replace(",", "."))


_GROUPED = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?(?:[eE][-+]?\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?(?:[eE][-+]?\d+)?"),
}


def _dates(present: Sequence[str], kind: str) -> tuple[str, dict[str, float]]:
    slashed = [found for cell in present if (found := SLASHED.fullmatch(cell))]
    if slashed and kind == "date":
        day_first = any(int(found[1]) > 12 for found in slashed)
        month_first = any(int(found[2]) > 12 for found in slashed)
        if day_first == month_first:
            cell = slashed[0].string
            raise CellError(cell, "may begin with the day or the month: write 2024-05-31")
        kind = "date d/m/y" if day_first else "date m/d/y"
    order: Callable[[str, str], tuple[str, str]] = lambda a, b: (a, b)  # noqa: E731
    if kind == "date d/m/y":
        order = lambda a, b: (b, a)  # noqa: E731
    return kind, {cell: _days(cell, order) for cell in present}


def _days(cell: str, order: Callable[[str, str], tuple[str, str]]) -> float:
    """Days since 1970-01-01; `order` gives month and day of a date with slashes."""
    zone = ""
    if found := ISO.fullmatch(cell):
        year, _, month, day, time, zone = found.groups()
    elif found := DOTTED.fullmatch(cell):
        day, month, year, time = found.groups()
    elif found := SLASHED.fullmatch(cell):
        (month, day), year, time = order(found[1], found[2]), found[3], found[4]
    else:
        raise CellError(cell, "is not a date, but other cells of the column are")
    clock = (time or "0:00").rjust(5, "0") if time is None or ":" in time[:2] else time
    text = f"{year}-{int(month):02}-{int(day):02}T{clock}{(zone or '').replace('Z', '+00:00')}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CellError(cell, "is not a date of the calendar") from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - EPOCH).total_seconds() / 86400
