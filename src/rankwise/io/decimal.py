"""Compiled conversion of decimal text to the nearest double, bit for bit as Python's float().

For a number w·10^q with w < 2^64, the product of w and the leading 128 bits of 5^q gives the bits
of the significand: the algorithm of Lemire (2021), "Number parsing at a gigabyte per second". If
these bits do not decide the rounding, or if there are more than 19 digits, the status is UNDECIDED
and the caller must use float().
"""

from __future__ import annotations

import numpy as np

from rankwise.numerics.compiled import compiled

SMALLEST, LARGEST = -342, 308
"""Below and above these exponents q, w·10^q is 0 or infinite for every w < 2^64."""

OK, NOT_A_NUMBER, UNDECIDED, INFINITE = 0, 1, 2, 3


def _powers_of_five() -> np.ndarray:
    """(number of q, 2) the leading 128 bits of 5^q as two words, rounded up for q < 0."""
    table = np.empty((LARGEST - SMALLEST + 1, 2), dtype=np.uint64)
    for q in range(SMALLEST, LARGEST + 1):
        if q >= 0:
            power = 5**q
            shift = 128 - power.bit_length()
            bits = power << shift if shift >= 0 else power >> -shift
        else:
            power = 5**-q
            bits = (1 << (power.bit_length() + 127)) // power + 1
            bits >>= bits.bit_length() - 128
        table[q - SMALLEST] = bits >> 64, bits & (2**64 - 1)
    return table


POWERS = _powers_of_five()
_U = np.uint64
_LOW, _ALL = _U(0xFFFFFFFF), _U(0xFFFFFFFFFFFFFFFF)
_HIDDEN = _U(1 << 52)


@compiled(inline="always")
def _multiply(a, b):
    """The high and the low word of the product of two 64-bit numbers."""
    half = _U(32)
    a0, a1, b0, b1 = a & _LOW, a >> half, b & _LOW, b >> half
    low, middle, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    carry = (low >> half) + (middle & _LOW) + (other & _LOW)
    return (
        high + (middle >> half) + (other >> half) + (carry >> half),
        (carry << half) | (low & _LOW),
    )


@compiled(inline="always")
def _leading_zeros(w):
    count = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if w >> _U(64 - shift) == _U(0):
            w <<= _U(shift)
            count += shift
    return count


@compiled
def nearest_double(w, q, powers):
    """(status, bits) of the double nearest to w·10^q; a tie goes to the even significand."""
    if w == _U(0) or q < SMALLEST:
        return OK, _U(0)
    if q > LARGEST:
        return INFINITE, _U(0)
    zeros = _leading_zeros(w)
    w <<= _U(zeros)
    high, low = _multiply(w, powers[q - SMALLEST, 0])
    if high & _U(0x1FF) == _U(0x1FF):
        more, _ = _multiply(w, powers[q - SMALLEST, 1])
        low += more
        if low < more:
            high += _U(1)
    if low == _ALL and (q < -27 or q > 55):
        return UNDECIDED, _U(0)
    upper = high >> _U(63)
    significand = high >> (upper + _U(9))
    exponent = ((217706 * q) >> 16) + 1086 + np.int64(upper) - zeros
    if exponent <= 0:
        return UNDECIDED, _U(0)
    halfway = low <= _U(1) and -4 <= q <= 23 and significand & _U(3) == _U(1)
    if halfway and significand << (upper + _U(9)) == high:
        significand &= ~_U(1)
    significand = (significand + (significand & _U(1))) >> _U(1)
    if significand >= _U(1 << 53):
        significand = _HIDDEN
        exponent += 1
    if exponent >= 2047:
        return INFINITE, _U(0)
    return OK, (significand & ~_HIDDEN) | (_U(exponent) << _U(52))


@compiled
def parse_decimal(data, start, stop, powers):
    """(status, bits, end) of the number `[+-] digits [. digits] [e digits]` that begins at `start`.

    With NOT_A_NUMBER, `end` is the position of the first byte that fits no number.
    """
    at = start
    negative = _U(0)
    if at < stop and (data[at] == 45 or data[at] == 43):
        negative = _U(1 << 63) if data[at] == 45 else negative
        at += 1
    w, q, kept, digits = _U(0), 0, 0, 0
    point, lost = False, False
    while at < stop:
        c = data[at]
        if 48 <= c <= 57:
            digits += 1
            if kept < 19:
                w = w * _U(10) + _U(c - 48)
                kept += w != _U(0)
                q -= point
            else:
                lost |= c != 48
                q += not point
        elif c == 46 and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return NOT_A_NUMBER, _U(0), at
    if at < stop and (data[at] == 101 or data[at] == 69):
        at += 1
        sign = 1
        if at < stop and (data[at] == 45 or data[at] == 43):
            sign = -1 if data[at] == 45 else 1
            at += 1
        if at >= stop or not 48 <= data[at] <= 57:
            return NOT_A_NUMBER, _U(0), at
        written = 0
        while at < stop and 48 <= data[at] <= 57:
            if written < 100_000_000:
                written = 10 * written + (data[at] - 48)
            at += 1
        q += sign * written
    if lost:
        return UNDECIDED, negative, at
    status, bits = nearest_double(w, q, powers)
    return status, bits | negative, at
