"""parse_decimal gives the same double as Python's float(), or says that only float() can."""

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.io.decimal import INFINITE, OK, POWERS, UNDECIDED, parse_decimal


def bits_of(number: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", number))[0]


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?[0-9]{1,21}\.[0-9]{0,21}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.builds("{}e{}".format, st.integers(0, 2**64), st.integers(-360, 330)),
    st.builds(lambda m, k: str((2 * m + 1) << k), st.integers(2**52, 2**53), st.integers(0, 10)),
)


@given(DECIMALS)
def test_decimals_are_the_nearest_doubles(text):
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    status, bits, end = parse_decimal(data, 0, len(data), POWERS)
    assert end == len(data)
    if status == OK:
        assert int(bits) == bits_of(float(text))
    elif status == INFINITE:
        assert abs(float(text)) == np.inf
    else:
        assert status == UNDECIDED
