"""Compiled parser of the lines `score [qid:label] [feature:value ...] [# text]`.

Such lines make up LETOR and SVMlight files. A part of a file is parsed in one pass, O(bytes). Parts
are independent of each other, so threads can parse them at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwise.io.decimal import INFINITE, NOT_A_NUMBER, OK, POWERS, UNDECIDED, parse_decimal
from rankwise.numerics.compiled import compiled

LARGEST_ID = 2**31 - 2
"""Largest feature number; columns are counted in 32 bits."""

TAB, NEWLINE, RETURN, SPACE, HASH, MINUS, ZERO, NINE, COLON = b"\t\n\r #-09:"
QID = np.frombuffer(b"qid:", dtype=np.uint8)

NOT_A_SCORE, NOT_A_PAIR, NOT_AN_ID, NOT_A_VALUE, TOO_BIG, QID_LATE, NO_QID, TWICE, BIG_VALUE = (
    range(10, 19)
)
REASONS = {
    NOT_A_SCORE: "expected the score, a number, but found {found!r}.",
    NOT_A_PAIR: "expected feature:value, but found {found!r}.",
    NOT_AN_ID: "expected a feature number before ':', but found {found!r}.",
    NOT_A_VALUE: "expected a number after ':', but found {found!r}.",
    TOO_BIG: f"feature number {{found!r}} is above the largest possible, {LARGEST_ID}.",
    QID_LATE: "qid must come directly after the score, and only once; found {found!r}.",
    NO_QID: "qid: has no label.",
    TWICE: "the feature of {found!r} occurs twice in this line.",
    BIG_VALUE: "{found!r} is beyond the range of floating-point numbers.",
}


class Lines(NamedTuple):
    """The m items of a part, which the compiled parser fills in."""

    y: np.ndarray
    qid: np.ndarray
    """(m,) the labels, if all of them are plain integers."""
    spans: np.ndarray
    """(m, 4) positions in the file: start and end of the label and of the comment, or −1."""
    starts: np.ndarray
    """(m,) the position in the file where each line begins."""
    sizes: np.ndarray
    """(m,) how many features each line has."""
    ids: np.ndarray
    values: np.ndarray


@dataclass
class Part:
    """The items of one part of a file."""

    lines: Lines
    qid_is_plain: bool
    in_order: bool
    """Whether the features of every line are in ascending order."""
    least: int
    largest: int
    """The least and the largest feature number, and where the largest is in the file."""
    largest_at: int


class LineError(Exception):
    """A line that cannot be read: the code of the reason, and the position in the file."""


def parse_part(data: np.ndarray, start: int, stop: int) -> Part:
    """All items of data[start:stop], which begins and ends with whole lines."""
    n_lines, n_pairs = _count(data, start, stop)
    m = n_lines + 1
    y, values = np.empty(m, dtype=np.uint64), np.empty(n_pairs, dtype=np.uint64)
    qid, starts, sizes = (np.empty(m, dtype=np.int64) for _ in range(3))
    spans, ids = np.empty((m, 4), dtype=np.int64), np.empty(n_pairs, dtype=np.int32)
    undecided = np.empty((m + n_pairs, 3), dtype=np.int64)
    arrays = Lines(y, qid, spans, starts, sizes, ids, values)
    code, at, items, pairs, n_undecided, *about = _parse(
        data, start, stop, POWERS, arrays, undecided
    )
    scores, numbers = y.view(np.float64), values.view(np.float64)
    for index, begin, end in undecided[:n_undecided].tolist():
        number = float(data[begin:end].tobytes())
        if not np.isfinite(number):
            raise LineError(BIG_VALUE, begin)
        if index < 0:
            scores[-index - 1] = number
        else:
            numbers[index] = number
    if code != OK:
        raise LineError(code, at)
    by_item = (scores[:items], qid[:items], spans[:items], starts[:items], sizes[:items])
    return Part(Lines(*by_item, ids[:pairs], numbers[:pairs]), *about)


@compiled
def _count(data, start, stop):
    """Line ends and colons: bounds on the numbers of items and of features."""
    lines, colons = 0, 0
    for at in range(start, stop):
        lines += data[at] == NEWLINE
        colons += data[at] == COLON
    return lines, colons


@compiled(inline="always")
def _after_spaces(data, at, end):
    while at < end and (data[at] == SPACE or data[at] == TAB):
        at += 1
    return at


@compiled(inline="always")
def _ends_token(c):
    return c in (SPACE, TAB, HASH, NEWLINE)


@compiled
def _is_qid(data, at, end):
    """Whether the text at this position is "qid:"."""
    matching = 0
    while matching < 4 and at + matching < end and data[at + matching] == QID[matching]:
        matching += 1
    return matching == 4


@compiled
def _plain_integer(data, start, stop):
    """(value, True) if the text is an integer of at most 18 digits, written as str() writes it."""
    at, sign = start, 1
    if at < stop and data[at] == MINUS:
        sign = -1
        at += 1
    if not 1 <= stop - at <= 18:
        return 0, False
    if data[at] == ZERO and (stop - at > 1 or sign < 0):
        return 0, False
    value = 0
    while at < stop:
        if not ZERO <= data[at] <= NINE:
            return 0, False
        value = 10 * value + (data[at] - ZERO)
        at += 1
    return sign * value, True


@compiled
def _parse(data, start, stop, powers, lines, undecided):
    """Fill in `lines` up to the first line that cannot be read; doubles are written as their bits.

    `undecided` takes (index, start, end) of the numbers that only float() can round correctly;
    the index −i − 1 means the score of item i.
    """
    items, pairs, n_undecided = 0, 0, 0
    plain, in_order = True, True
    least, largest, largest_at = LARGEST_ID + 1, -1, 0
    code, at = OK, start
    while at < stop and code == OK:
        begin = at
        at = _after_spaces(data, at, stop)
        end = at
        while end < stop and data[end] != NEWLINE:
            end += 1
        next_line = end + 1
        if end > at and data[end - 1] == RETURN:
            end -= 1
        if at >= end or data[at] == HASH:
            at = next_line
            continue

        number = at
        status, lines.y[items], at = parse_decimal(data, number, end, powers)
        if status == NOT_A_NUMBER or (at < end and not _ends_token(data[at])):
            code, at = NOT_A_SCORE, number
            break
        if status == INFINITE:
            code, at = BIG_VALUE, number
            break
        if status == UNDECIDED:
            undecided[n_undecided] = -items - 1, number, at
            n_undecided += 1

        at = _after_spaces(data, at, end)
        lines.spans[items, :] = -1
        if _is_qid(data, at, end):
            label = at + 4
            at = label
            while at < end and not _ends_token(data[at]):
                at += 1
            if at == label:
                code, at = NO_QID, label - 4
                break
            lines.spans[items, 0], lines.spans[items, 1] = label, at
            lines.qid[items], whole = _plain_integer(data, label, at)
            plain &= whole

        first = pairs
        code, at, pairs, n_undecided, ascending, low, high, high_at = _parse_features(
            data, at, end, powers, lines, undecided, pairs, n_undecided
        )
        in_order &= ascending
        least = min(least, low)
        if high > largest:
            largest, largest_at = high, high_at
        if code != OK:
            break
        if at < end:
            lines.spans[items, 2], lines.spans[items, 3] = at + 1, end
        lines.starts[items], lines.sizes[items] = begin, pairs - first
        items += 1
        at = next_line
    return code, at, items, pairs, n_undecided, plain, in_order, least, largest, largest_at


@compiled
def _parse_features(data, at, end, powers, lines, undecided, pairs, n_undecided):
    """The pairs `feature:value` of a line from `at` on, up to its end or its comment."""
    last, in_order = -1, True
    least, largest, largest_at = LARGEST_ID + 1, -1, 0
    code = OK
    while True:
        at = _after_spaces(data, at, end)
        if at >= end or data[at] == HASH:
            break
        token, feature = at, 0
        while at < end and ZERO <= data[at] <= NINE:
            if feature <= LARGEST_ID:
                feature = 10 * feature + (data[at] - ZERO)
            at += 1
        if at >= end or data[at] != COLON or at == token:
            code, at = _what_is_wrong(data, token, end), token
            break
        if feature > LARGEST_ID:
            code, at = TOO_BIG, token
            break
        number = at + 1
        status, bits, at = parse_decimal(data, number, end, powers)
        if status == NOT_A_NUMBER or (at < end and not _ends_token(data[at])):
            code, at = NOT_A_VALUE, number
            break
        if status == INFINITE:
            code, at = BIG_VALUE, number
            break
        if status == UNDECIDED:
            undecided[n_undecided] = pairs, number, at
            n_undecided += 1
        if feature == last:
            code, at = TWICE, token
            break
        in_order &= feature > last
        least = min(least, feature)
        if feature > largest:
            largest, largest_at = feature, token
        lines.ids[pairs], lines.values[pairs] = feature, bits
        last = feature
        pairs += 1
    return code, at, pairs, n_undecided, in_order, least, largest, largest_at


@compiled
def _what_is_wrong(data, token, end):
    """The code for a token that should be feature:value, but has no feature number or no colon."""
    if _is_qid(data, token, end):
        return QID_LATE
    at = token
    while at < end and data[at] != COLON and not _ends_token(data[at]):
        at += 1
    return NOT_AN_ID if at < end and data[at] == COLON else NOT_A_PAIR
