"""`load` on damaged, foreign and forged files: a ReadError that says why."""

import hashlib
import io
import json

import numpy as np
import pytest
import safetensors.numpy
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from tests.model_zoo import X, y


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
    assert "not written by rankwise.save" in _refused(other)
    assert "does not begin like" in _refused(b"\x80\x04\x95" + b"." * 40)
    assert "too few" in _refused(b"")
    assert "does not begin like" in _refused((2**63).to_bytes(8, "little") + b"{}")
    assert "cut short" in _refused((99_999_999).to_bytes(8, "little") + b"{}")


def forged(about, tensors=None) -> bytes:
    """A file with a right checksum and any contents."""
    about = {
        "format": 1,
        "checksum": "0" * 64,
        "versions": {"rankwise": "0", "scikit-learn": sklearn.__version__},
        **about,
    }
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
    model = rw.load(io.BytesIO(forged(_rank_rls(coef_=COEF), {"0": np.ones(2)})))
    assert model.predict([[1.0, 2.0]]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("about", "tensors", "reason"),
    [
        ({"format": 3, "model": None}, {}, "format 3"),
        ({"model": None}, {}, "no model"),
        ({"model": {"is": "os.system", "state": {}}}, {}, "not a class"),
        ({"model": {"is": "Queries", "state": {}}}, {}, "must have exactly"),
        ({"model": {"is": ["x"]}}, {}, "not a class"),
        ({"model": {"is": "RankRLS", "state": []}}, {}, "expected an object"),
        ({"model": {"is": "RankRLS", "state": {}}}, {}, "not fitted"),
        (_rank_rls(coef_=COEF), {}, "array '0' is not in the file"),
        (_rank_rls(coef_=COEF, predict=1), {"0": np.ones(2)}, "no attribute 'predict'"),
        (_rank_rls(coef_=COEF, __class__=1), {"0": np.ones(2)}, "no attribute '__class__'"),
        (_rank_rls(coef_=CSR), SPARSE, "do not fit its shape"),
        (_rank_rls(coef_={**CSR, "shape": [-1, 2]}), SPARSE, "shape"),
        (_rank_rls(coef_={**CSR, "shape": [2**40, 9]}), SPARSE, "do not fit its shape"),
        (_rank_rls(coef_={"is": "float", "value": "1"}), {}, "float"),
        (_rank_rls(coef_={"is": "texts", "shape": [10**12], "items": []}), {}, "shape"),
        (_rank_rls(coef_={"is": "set", "items": [[1]]}), {}, "unhashable"),
    ],
)
def test_forged_contents_are_refused(about, tensors, reason):
    assert reason in _refused(forged(about, tensors))


def test_a_small_file_cannot_ask_for_much():
    record = {"is": "record", "fields": {"a": {"is": "array", "name": "0"}}}
    about = _rank_rls(coef_=[record] * 1000)
    assert "too often" in _refused(forged(about, {"0": np.ones(20_000)}))


def test_strange_json_is_refused():
    deep = "[" * 100_000 + "]" * 100_000
    head = '{"format":1,"checksum":"%s","model":' % ("0" * 64)
    assert "deep" in _refused(forged({"text": head + deep + "}"}))
    assert "twice" in _refused(forged({"text": head + '{"is":"a","is":"b"}}'}))
    assert "NaN" in _refused(forged({"text": head + "NaN}"}))
    assert "JSON" in _refused(forged({"text": head + "1" * 10_000 + "}"}))
    nested = "[" * 200 + "]" * 200
    assert "deep" in _refused(forged({"text": head + nested + "}"}))


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
    about = {"format": 1, "checksum": "0" * 64, "versions": {}, "model": None}
    header = json.dumps({"__metadata__": {"rankwise": json.dumps(about)}, **entries}).encode()
    data = len(header).to_bytes(8, "little") + header + b"\0" * 8
    data = data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)
    assert "the arrays do not fit the header" in _refused(data)
