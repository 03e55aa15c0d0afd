"""Lines `score [qid:label] [feature:value ...] [# text]` of LETOR and SVMlight to arrays, compiled.

A part of the file is parsed in one pass, O(bytes); parts are independent, so they run in threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from rankwise.io.decimal import (
    ASK_PYTHON,
    INFINITE,
    NOT_A_NUMBER,
    OK,
    POWERS,
    parse_decimal,
)

LARGEST_ID = 2**31 - 2
"""Largest feature number; columns are counted in 32 bits."""

NOT_A_SCORE, NOT_A_PAIR, NOT_AN_ID, NOT_A_VALUE, TOO_BIG, QID_LATE, NO_QID, TWICE, BIG_VALUE = (
    range(10, 19)
)
REASONS = {
    NOT_A_SCORE: "expected the score, a number, but found {found!r}.",
    NOT_A_PAIR: "expected feature:value, but found {found!r}.",
    NOT_AN_ID: "expected a feature number before ':', but found {found!r}.",
    NOT_A_VALUE: "expected a number after ':', but found {found!r}.",
    TOO_BIG: f"feature number {{found!r}} is beyond the largest, {LARGEST_ID}.",
    QID_LATE: "qid must come right after the score, once; found {found!r}.",
    NO_QID: "qid: without a label.",
    TWICE: "the feature of {found!r} comes twice in this line.",
    BIG_VALUE: "{found!r} is beyond the range of floating-point numbers.",
}


@dataclass
class Part:
    """What one part of a file holds; spans are byte positions (start, end) in the whole file."""

    y: np.ndarray
    qid: np.ndarray
    """(m,) labels that are plain integers, where `qid_is_plain`."""
    qid_is_plain: bool
    qid_span: np.ndarray
    comment_span: np.ndarray
    starts: np.ndarray
    """(m,) where each item's line begins."""
    sizes: np.ndarray
    """(m,) numbers of features given."""
    ids: np.ndarray
    values: np.ndarray
    in_order: bool
    least: int
    largest: int
    largest_at: int


class LineError(Exception):
    """Code of what is wrong, and the byte where."""

    def __init__(self, code: int, at: int):
        super().__init__(code, at)
        self.code, self.at = code, at


def parse_part(data: np.ndarray, start: int, stop: int) -> Part:
    """All items of data[start:stop], which begins and ends with whole lines."""
    n_lines, n_pairs = _count(data, start, stop)
    m = n_lines + 1
    y, qid = np.empty(m, dtype=np.uint64), np.empty(m, dtype=np.int64)
    spans = np.empty((m, 4), dtype=np.int64)
    starts, sizes = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    ids, values = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.uint64)
    asked = np.empty((m + n_pairs, 3), dtype=np.int64)
    outputs = (y, qid, spans, starts, sizes, ids, values, asked)
    counts = _parse(data, start, stop, POWERS, *outputs)
    code, at, items, pairs, n_asked, plain, in_order, least, largest, largest_at = counts
    scores, numbers = y.view(np.float64), values.view(np.float64)
    for place, begin, end in asked[:n_asked].tolist():
        number = float(data[begin:end].tobytes())
        if not np.isfinite(number):
            raise LineError(BIG_VALUE, begin)
        if place < 0:
            scores[-place - 1] = number
        else:
            numbers[place] = number
    if code != OK:
        raise LineError(code, at)
    return Part(
        scores[:items],
        qid[:items],
        plain,
        spans[:items, :2],
        spans[:items, 2:],
        starts[:items],
        sizes[:items],
        ids[:pairs],
        numbers[:pairs],
        in_order,
        least,
        largest,
        largest_at,
    )


@njit(cache=True, nogil=True)
def _count(data, start, stop):
    lines, colons = 0, 0
    for at in range(start, stop):
        lines += data[at] == 10
        colons += data[at] == 58
    return lines, colons


@njit(cache=True, nogil=True, inline="always")
def _is_space(c):
    return c == 32 or c == 9


@njit(cache=True, nogil=True, inline="always")
def _ends_token(c):
    return c == 32 or c == 9 or c == 35 or c == 10


@njit(cache=True, nogil=True)
def _is_qid(data, at, end):
    """Does "qid:" stand here?"""
    return (
        at + 4 <= end
        and data[at] == 113
        and data[at + 1] == 105
        and data[at + 2] == 100
        and data[at + 3] == 58
    )


@njit(cache=True, nogil=True)
def _plain_integer(data, start, stop):
    """(value, True) of the canonical text of an integer of at most 18 digits, as str() gives it."""
    at, sign = start, 1
    if at < stop and data[at] == 45:
        sign = -1
        at += 1
    if not 1 <= stop - at <= 18:
        return 0, False
    if data[at] == 48 and (stop - at > 1 or sign < 0):
        return 0, False
    value = 0
    while at < stop:
        if not 48 <= data[at] <= 57:
            return 0, False
        value = 10 * value + (data[at] - 48)
        at += 1
    return sign * value, True


@njit(cache=True, nogil=True)
def _parse(data, start, stop, powers, y, qid, spans, starts, sizes, ids, values, asked):
    items, pairs, n_asked = 0, 0, 0
    plain, in_order = True, True
    least, largest, largest_at = LARGEST_ID + 1, -1, 0
    code, at = OK, start
    while at < stop and code == OK:
        begin = at
        while at < stop and _is_space(data[at]):
            at += 1
        end = at
        while end < stop and data[end] != 10:
            end += 1
        after = end + 1
        if end > at and data[end - 1] == 13:
            end -= 1
        if at >= end or data[at] == 35:
            at = after
            continue

        number = at
        status, bits, at = parse_decimal(data, at, end, powers)
        if status == NOT_A_NUMBER or (at < end and not _ends_token(data[at])):
            code, at = NOT_A_SCORE, number
            break
        if status == INFINITE:
            code, at = BIG_VALUE, number
            break
        if status == ASK_PYTHON:
            asked[n_asked, 0], asked[n_asked, 1], asked[n_asked, 2] = -items - 1, number, at
            n_asked += 1
        y[items] = bits
        while at < end and _is_space(data[at]):
            at += 1

        spans[items, :] = -1
        if _is_qid(data, at, end):
            label = at + 4
            at = label
            while at < end and not _ends_token(data[at]):
                at += 1
            if at == label:
                code, at = NO_QID, label - 4
                break
            spans[items, 0], spans[items, 1] = label, at
            qid[items], whole = _plain_integer(data, label, at)
            plain &= whole

        last, first_pair = -1, pairs
        while True:
            while at < end and _is_space(data[at]):
                at += 1
            if at >= end or data[at] == 35:
                break
            token, feature = at, 0
            while at < end and 48 <= data[at] <= 57:
                if feature <= LARGEST_ID:
                    feature = 10 * feature + (data[at] - 48)
                at += 1
            if at >= end or data[at] != 58 or at == token:
                code = QID_LATE if _is_qid(data, token, end) else NOT_A_PAIR
                while at < end and data[at] != 58 and not _ends_token(data[at]):
                    at += 1
                if code == NOT_A_PAIR and at < end and data[at] == 58:
                    code = NOT_AN_ID
                at = token
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
            if status == ASK_PYTHON:
                asked[n_asked, 0], asked[n_asked, 1], asked[n_asked, 2] = pairs, number, at
                n_asked += 1
            if feature == last:
                code, at = TWICE, token
                break
            in_order &= feature > last
            least = min(least, feature)
            if feature > largest:
                largest, largest_at = feature, token
            ids[pairs], values[pairs] = feature, bits
            last = feature
            pairs += 1
        if code != OK:
            break
        if at < end:
            spans[items, 2], spans[items, 3] = at + 1, end
        starts[items], sizes[items] = begin, pairs - first_pair
        items += 1
        at = after
    return code, at, items, pairs, n_asked, plain, in_order, least, largest, largest_at
