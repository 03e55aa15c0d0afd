"""The public function: formats, files, mistakes."""

import builtins

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import rankwise as rw

rng = np.random.default_rng(0)
MODEL = rw.RankRLS().fit(rng.normal(size=(20, 2)), rng.normal(size=20))


def test_the_public_name_stays_a_function():
    import rankwise.exports.writing

    assert rw.export is rankwise.exports.writing.export and "export" in rw.__all__


def test_an_older_file_survives_a_refusal(tmp_path):
    path = tmp_path / "model.json"
    rw.export(MODEL, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot call a feature"):
        rw.export(MODEL, path, "solr", features=["a b", *"cdefgh"][: MODEL.n_features_in_])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="format must be one of 'json', 'onnx'"):
        rw.export(MODEL, tmp_path / "m", "pmml")
    with pytest.raises(ValueError, match="list of names"):
        rw.export(MODEL, tmp_path / "m", features="ab")
    with pytest.raises(NotFittedError):
        rw.export(rw.RankRLS(), tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        rw.export(MODEL, tmp_path / "nowhere" / "m")


def test_onnx_names_its_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without_onnx(name, *args, **options):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_onnx)
    with pytest.raises(ImportError, match=r"rankwise\[onnx\]"):
        rw.export(MODEL, tmp_path / "m", "onnx")
