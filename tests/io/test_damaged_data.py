"""Every reader on damaged and hostile bytes: a right answer or a ValueError."""

import gzip
import io
import resource

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.datasets import (
    read_edges,
    read_letor,
    read_preferences,
    read_ratings,
    read_table,
)

SEEDS = {
    read_letor: b"1 qid:1 1:0.5 2:1e-3 #doc a\r\n-2.5 qid:2 1:3 7:1e22\n# c\n0 qid:2\n",
    read_table: b'a,b,"c d"\n1,2.5,-3e4\n\n4,"5",6\n',
    read_preferences: b"winner,loser,weight\n0,1,2\n3,1,0.5\n",
    read_edges: b"0 1 2.5\n1 0 -1\n2 2 1e3\n",
    read_ratings: b"1::2::3.5::99\n4::5::6::98\n",
}
HOSTILE = [
    b"",
    b"\n" * 1000,
    b"\x00" * 100,
    b"\xff\xfe1\x00",
    b"\xef\xbb\xbf",
    b"1 " + b"9" * 100_000 + b":1",
    b"1 1:" + b"9" * 100_000,
    b"1 1:1e" + b"9" * 100_000,
    b"1 1:0." + b"0" * 100_000 + b"1",
    b"1 1:" + b"-" * 1000,
    b"1 qid:" + b"x" * 100_000 + b" 1:1\n" + b"1 qid:1 1:1\n" * 10,
    b"1 2147483646:1\n" * 3,
    b":" * 10_000,
    b"," * 10_000,
    b'"' * 9_999,
    b"1 " + b" ".join(b"%d:1" % i for i in range(20_000, 0, -1)),
    b"a,b\n" + b"1,2\n" * 10 + b"1," + b"3" * 200_000 + b"\n",
    b"9" * 5000 + b" " + b"9" * 5000 + b" " + b"9" * 5000,
    b"\x1f\x8b" + b"\x00" * 50,
    b"\xfd7zXZ\x00" + b"\x01" * 50,
    b"BZh9" + b"\x02" * 50,
    b"PAR1" + b"\x03" * 50 + b"PAR1",
    bytes(range(256)) * 20,
]


def _try(reader, data: bytes):
    try:
        found = reader(io.BytesIO(data))
    except ValueError as error:
        assert str(error)
        return None
    if reader is read_preferences:
        assert len(found) > 0
    else:
        assert np.isfinite(found.y).all() if found.y is not None else True
    return found


@pytest.mark.parametrize("reader", SEEDS, ids=lambda reader: reader.__name__)
def test_readers_survive_cuts_flips_and_hostile_bytes(reader):
    seed = SEEDS[reader]
    assert _try(reader, seed) is not None
    for length in range(len(seed)):
        _try(reader, seed[:length])
    for data in HOSTILE:
        _try(reader, data)
        _try(reader, seed + data)
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(seed)
        for place in rng.integers(len(seed), size=rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        _try(reader, bytes(damaged))


@settings(max_examples=60)
@given(st.sampled_from(list(SEEDS)), st.binary(max_size=80))
def test_readers_survive_random_bytes(reader, data):
    _try(reader, data)


@settings(max_examples=150)
@given(st.sampled_from(list(SEEDS)), st.text("0123456789.eE+-:# \t\r\n,;\"qidnaf_'", max_size=40))
def test_readers_survive_nearly_right_text(reader, text):
    _try(reader, text.encode())


def test_damaged_parquet(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"a": np.arange(30.0), "b": np.arange(30), "c": [str(i) for i in range(30)]}
    )
    frame.to_parquet(tmp_path / "t", compression=None)
    seed = (tmp_path / "t").read_bytes()
    for length in range(0, len(seed), 7):
        _try(read_table, seed[:length])
    rng = np.random.default_rng(0)
    for _ in range(400):
        damaged = bytearray(seed)
        for place in rng.integers(4, len(seed), size=rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        found = _try(lambda data: read_table(data, drop=["c"]), bytes(damaged))
        if found is not None:
            assert len(found.X) > 0


def test_packed_files_that_blow_up_are_refused(monkeypatch):
    bomb = gzip.compress(b"1 1:1\n" * 6_000_000, 9)
    monkeypatch.setattr("rankwise.numerics.memory.available_memory", lambda: 40_000_000)
    for reader in SEEDS:
        with pytest.raises(rw.TooLarge, match="split it"):
            reader(io.BytesIO(bomb))
    with pytest.raises(rw.TooLarge, match="dense=False"):
        read_letor(io.BytesIO(b"1 2000000000:1\n"), dense=True)


def test_memory_stays_bounded():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in HOSTILE:
        for reader in SEEDS:
            _try(reader, data)
    with pytest.raises(rw.ReadError):
        rw.load(io.BytesIO((99_999_999).to_bytes(8, "little") + b"{" + b" " * 1000))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000, f"{grown} kB"
