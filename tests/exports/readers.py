"""What other programs make of an exported file: the reader of docs/export.md, ONNX Runtime, and
the formulas of the two search engines.
"""

import json
import re
from pathlib import Path

import numpy as np

import rankwise

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


def documented_reader() -> dict:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (code,) = (block for block in blocks if "def score(" in block)
    names: dict = {}
    exec(code[: code.index("\nscores =")], names)
    return names


READER = documented_reader()


def read_json(path, X: np.ndarray) -> np.ndarray:
    model = json.loads(path.read_text(encoding="utf-8"))
    return np.array([READER["score"](model, row) for row in X.tolist()])


def read_onnx(path, X: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"items": X})[0]


def read_elasticsearch(path, X: np.ndarray, kind=float) -> np.ndarray:
    """Σ weight · (value − mean) / standard deviation, features by name."""
    content = json.loads(path.read_text(encoding="utf-8"))
    names = [feature["name"] for feature in content["featureset"]["features"]]
    model = content["model"]["model"]
    assert model["type"] == "model/linear"
    total = np.zeros(len(X), dtype=kind)
    for j, name in enumerate(names):
        value = X[:, j].astype(kind)
        norm = model.get("feature_normalizers", {}).get(name, {}).get("standard")
        if norm:
            value = (value - kind(norm["mean"])) / kind(norm["standard_deviation"])
        total += kind(model["definition"][name]) * value
    return total


def read_solr(path, X: np.ndarray, kind=float) -> np.ndarray:
    content = json.loads(path.read_text(encoding="utf-8"))
    names = [feature["name"] for feature in content["features"]]
    total = np.zeros(len(X), dtype=kind)
    for feature in content["model"]["features"]:
        value = X[:, names.index(feature["name"])].astype(kind)
        if "norm" in feature:
            params = feature["norm"]["params"]
            value = (value - kind(params["avg"])) / kind(params["std"])
        total += kind(content["model"]["params"]["weights"][feature["name"]]) * value
    return total


READERS = {
    "json": read_json,
    "onnx": read_onnx,
    "elasticsearch": read_elasticsearch,
    "solr": read_solr,
}


def exported_scores(model, X: np.ndarray, format: str, folder, **options) -> np.ndarray:
    path = Path(folder) / f"model.{format}"
    rankwise.export(model, path, format, **options)
    return READERS[format](path, X)
