"""Every reader and `load` on damaged and hostile bytes: a right answer or a ValueError."""

import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
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
from tests.model_zoo import X, y

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


def _model_bytes(tmp_path, **options) -> bytes:
    rw.save(rw.RankRLS(**options).fit(X, y), tmp_path / "model")
    return (tmp_path / "model").read_bytes()


def _refused(data: bytes) -> str:
    with pytest.raises(rw.ReadError) as caught:
        rw.load(io.BytesIO(data))
    return str(caught.value)


def test_models_cut_at_every_length_or_altered_at_every_byte(tmp_path):
    seed = _model_bytes(tmp_path)
    for length in range(len(seed)):
        _refused(seed[:length])
    for place in range(len(seed)):
        altered = bytearray(seed)
        altered[place] ^= 1 << (place % 8)
        _refused(bytes(altered))
    assert "checksum" in _refused(seed[:-1] + bytes([seed[-1] ^ 1]))
    assert "checksum" in _refused(seed + b"\0")


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_random_bytes_are_no_model(data):
    _refused(data)


def test_foreign_files_are_told_apart(tmp_path):
    other = safetensors.numpy.save({"a": np.ones(3)})
    assert "not one that rankwise.save wrote" in _refused(other)
    assert "does not begin as" in _refused(b"\x80\x04\x95" + b"." * 40)
    assert "too few" in _refused(b"")
    assert "does not begin as" in _refused((2**63).to_bytes(8, "little") + b"{}")
    assert "cut short" in _refused((99_999_999).to_bytes(8, "little") + b"{}")


def _forged(about, tensors=None) -> bytes:
    """A file with a right checksum and any contents."""
    import hashlib

    about = {"format": 1, "checksum": "0" * 64, "versions": {"rankwise": "0"}, **about}
    text = about.pop("text", None) or json.dumps(about)
    data = safetensors.numpy.save(tensors or {}, {"rankwise": text})
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


def _rank_rls(**state) -> dict:
    return {"model": {"is": "RankRLS", "state": {"n_features_in_": 2, **state}}}


COEF = {"is": "array", "name": "0"}
CSR = {
    "is": "csr",
    "shape": [1, 2],
    "data": {"is": "array", "name": "f"},
    "indices": {"is": "array", "name": "i"},
    "indptr": {"is": "array", "name": "p"},
}
SPARSE = {"f": np.ones(1), "i": np.array([5]), "p": np.array([0, 1])}


def test_a_forged_model_is_built_where_it_is_right():
    model = rw.load(io.BytesIO(_forged(_rank_rls(coef_=COEF), {"0": np.ones(2)})))
    assert model.predict([[1.0, 2.0]]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("about", "tensors", "reason"),
    [
        ({"format": 2, "model": None}, {}, "format 2"),
        ({"model": None}, {}, "no model"),
        ({"model": {"is": "os.system", "state": {}}}, {}, "no class"),
        ({"model": {"is": "Queries", "state": {}}}, {}, "lacks"),
        ({"model": {"is": ["x"]}}, {}, "no class"),
        ({"model": {"is": "RankRLS", "state": []}}, {}, "expected an object"),
        ({"model": {"is": "RankRLS", "state": {}}}, {}, "not fitted"),
        (_rank_rls(coef_=COEF), {}, "array '0' is not in the file"),
        (_rank_rls(coef_=COEF, predict=1), {"0": np.ones(2)}, "no attribute 'predict'"),
        (_rank_rls(coef_=COEF, __class__=1), {"0": np.ones(2)}, "no attribute '__class__'"),
        (_rank_rls(coef_=CSR), SPARSE, "indices do not fit"),
        (_rank_rls(coef_={**CSR, "shape": [-1, 2]}), SPARSE, "shape"),
        (_rank_rls(coef_={**CSR, "shape": [2**40, 9]}), SPARSE, "indices do not fit"),
        (_rank_rls(coef_={"is": "float", "value": "1"}), {}, "float"),
        (_rank_rls(coef_={"is": "texts", "shape": [10**12], "items": []}), {}, "shape"),
        (_rank_rls(coef_={"is": "set", "items": [[1]]}), {}, "unhashable"),
    ],
)
def test_forged_contents_are_refused(about, tensors, reason):
    assert reason in _refused(_forged(about, tensors))


def test_a_small_file_cannot_ask_for_much():
    record = {"is": "record", "fields": {"a": {"is": "array", "name": "0"}}}
    about = _rank_rls(coef_=[record] * 1000)
    assert "too often" in _refused(_forged(about, {"0": np.ones(20_000)}))


def test_packed_files_that_blow_up_are_refused(monkeypatch):
    import gzip

    bomb = gzip.compress(b"1 1:1\n" * 6_000_000, 9)
    monkeypatch.setattr("rankwise.numerics.memory.available_memory", lambda: 40_000_000)
    for reader in SEEDS:
        with pytest.raises(rw.TooLarge, match="split it"):
            reader(io.BytesIO(bomb))
    with pytest.raises(rw.TooLarge, match="dense=False"):
        read_letor(io.BytesIO(b"1 2000000000:1\n"), dense=True)


def test_folders_that_are_not_there(tmp_path):
    model = rw.RankRLS().fit(X, y)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        rw.save(model, tmp_path / "absent" / "model")
    with pytest.raises(IsADirectoryError, match="a folder"):
        rw.save(model, tmp_path)
    rw.save(model, tmp_path / ("x" * 250))
    assert rw.load(tmp_path / ("x" * 250)).alpha == 1.0


def test_strange_json_is_refused():
    deep = "[" * 100_000 + "]" * 100_000
    head = '{"format":1,"checksum":"%s","model":' % ("0" * 64)
    assert "deep" in _refused(_forged({"text": head + deep + "}"}))
    assert "twice" in _refused(_forged({"text": head + '{"is":"a","is":"b"}}'}))
    assert "NaN" in _refused(_forged({"text": head + "NaN}"}))
    assert "JSON" in _refused(_forged({"text": head + "1" * 10_000 + "}"}))
    nested = "[" * 200 + "]" * 200
    assert "deep" in _refused(_forged({"text": head + nested + "}"}))


@pytest.mark.parametrize(
    "entries",
    [
        {"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}} | {"b": {}},
        {"a": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F64", "shape": [10**9], "data_offsets": [0, 8 * 10**9]}},
        {
            "a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
            "b": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
        },
        {"a": {"dtype": "X9", "shape": [1], "data_offsets": [0, 8]}},
    ],
)
def test_arrays_that_overlap_or_lie_about_their_size(entries):
    import hashlib

    about = {"format": 1, "checksum": "0" * 64, "versions": {}, "model": None}
    header = json.dumps({"__metadata__": {"rankwise": json.dumps(about)}, **entries}).encode()
    data = len(header).to_bytes(8, "little") + header + b"\0" * 8
    data = data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)
    assert "arrays are not what the header says" in _refused(data)


def test_memory_stays_bounded():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in HOSTILE:
        for reader in SEEDS:
            _try(reader, data)
    _refused((99_999_999).to_bytes(8, "little") + b"{" + b" " * 1000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000, f"{grown} kB"


FIXTURE = Path(__file__).parent / "data" / "model_format_1.rankwise"


def test_a_file_of_format_1_stays_readable():
    model = rw.load(FIXTURE)
    assert [name for name, _ in model.steps] == ["standardscaler", "rankrls"]
    found = model.predict([[0.0, 0.0], [1.0, 2.0], [-1.0, 3.0]])
    np.testing.assert_allclose(found, [0.40759175, 1.28869841, 0.02661386], atol=5e-8)
    assert model[-1].get_params()["kernel"] == "rbf"
    assert model[-1]._has_queries


KILL_SAVES = """
import os, random, signal, sys, time
import numpy as np, rankwise as rw
random.seed(0)
path, folder = sys.argv[1], os.path.dirname(sys.argv[1])
X = np.arange(60_000.0).reshape(-1, 3) % 7
models = [rw.RankRLS(a).fit(X, X[:, 0]) for a in (1.0, 2.0)]
rw.save(models[0], path)
cut = 0
for _ in range(30):
    begun, begin = os.pipe()
    child = os.fork()
    if not child:
        while True:
            for model in models:
                rw.save(model, path, training_data=True)
                os.write(begin, b".")
    os.read(begun, 1)
    time.sleep(random.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(begin)
    found = rw.load(path)
    assert found.alpha in (1.0, 2.0)
    for name in set(os.listdir(folder)) - {"model"}:
        assert name.startswith(".model.") and name.endswith(".part"), name
        os.unlink(os.path.join(folder, name))
        cut += 1
print("cut", cut)
"""


def test_kill_9_at_random_moments_during_save_leaves_a_whole_model(tmp_path):
    command = [sys.executable, "-c", KILL_SAVES, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 0, "no kill fell into a save"


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    rw.save(rw.RankRLS().fit(X, y), path)
    before = path.read_bytes()
    os.chmod(path, 0o640)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "fsync", full)
        rw.save(rw.RankRLS(2.0).fit(X, y), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    rw.save(rw.RankRLS(2.0).fit(X, y), path)
    assert path.stat().st_mode & 0o777 == 0o640
