"""Model files of format 1 that an earlier version wrote: all of them load and answer the same.

tests/data/format_1 holds one file per model, all in models.zip, and their inputs and answers in
expected.json; both were made by fitting the models that the file names describe to ten random
items, calling `save` (with training_data=True where the name ends in "items") and recording what
CALLS returned after `load`, with the code of commit 31f8a67.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import MaxAbsScaler

import rankwise as rw
from rankwise.datasets import read_ppi_corpus
from rankwise.graphs import LabelledGraph

FOLDER = Path(__file__).parents[1] / "data" / "format_1"
with zipfile.ZipFile(FOLDER / "models.zip") as archive:
    FILES = {name: archive.read(name) for name in sorted(archive.namelist())}
GRAPHS = [
    LabelledGraph([{"a"}, {"b"}, {"a", "c"}], [(0, 1, 0.5), (1, 2, 0.5)]),
    LabelledGraph([{"c"}, {"a"}], [(0, 1, 0.25), (1, 0, 0.5)]),
]


def _predict(model, items):
    return model.predict(*items)


def _transform(model, items):
    F = model.transform(*items)
    return F if isinstance(F, np.ndarray) else F.toarray()


def _without(model, items):
    """Products of the map's rows, which do not depend on the signs of eigenvectors."""
    F = model.without([0, 3])
    return F[:2] @ F.T


def _more(model, items):
    """Predictions after the items were added to the stream."""
    labels = {"qid": ["new"] * len(items[0])} if isinstance(model, rw.RankRLS) else {}
    scores = np.asarray(items[0])[:, 0]
    if model.predict(*items).ndim == 2:
        scores = np.asarray(items[0])[:, :2]
    return model.partial_fit(*items, scores, **labels).predict(*items)


CALLS = {
    "predict": _predict,
    "transform": _transform,
    "without": _without,
    "decision_function": lambda model, _: model.decision_function(_sentences()),
    "leave_one_out": lambda model, _: model.leave_one_out(),
    "leave_query_out": lambda model, _: model.leave_query_out(),
    "leave_pair_out": lambda model, _: model.leave_pair_out([[0, 1], [5, 4], [2, 3]]),
    "holdout": lambda model, _: model.holdout([1, 2, 8]),
    "path": lambda model, _: model.path([0.5, 3.0]),
    "pairwise_loo": lambda model, _: model.pairwise_loo(),
    "bound": lambda model, _: model.stability_bound()["bound"],
    "best_score": lambda model, _: model.best_score_,
    "best_cost": lambda model, _: model.best_cost_,
    "more": _more,
}


def _sentences():
    return read_ppi_corpus(FOLDER / "sentences.conllu")


def _inputs(expected: dict, name: str) -> list:
    if expected["models"][name]["items"] == "graphs":
        return [GRAPHS]
    return [np.array(X) for X in expected["inputs"][expected["models"][name]["items"]]]


@pytest.fixture(scope="module")
def expected() -> dict:
    return json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def test_every_file_has_its_answers(expected):
    assert sorted(expected["models"]) == list(FILES) and FILES


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", FILES)
def test_models_written_before_answer_the_same(name, expected):
    if "MaxAbsScaler" in name and not hasattr(MaxAbsScaler(), "clip"):
        pytest.skip("the file was written with a scikit-learn whose MaxAbsScaler has `clip`")
    items = _inputs(expected, name)
    for call, values in expected["models"][name]["answers"].items():
        model = rw.load(io.BytesIO(FILES[name]))
        found, tolerance = CALLS[call](model, items), 1e-12
        if call == "path" and hasattr(model, "dual_coef_"):
            # With a singular kernel only the predictions of a path are determined.
            K = model.representation.of(*items)
            found, values, tolerance = K @ found.T, K @ np.array(values).T, 1e-9
        if call == "more" and hasattr(model, "dual_coef_"):
            tolerance = 1e-5  # a stream with a kernel stops at its own tol
        np.testing.assert_allclose(found, values, rtol=tolerance, atol=tolerance, err_msg=call)


def test_a_pipeline_of_the_first_version_stays_readable():
    model = rw.load(FOLDER / "pipeline.rankwise")
    assert [name for name, _ in model.steps] == ["standardscaler", "rankrls"]
    found = model.predict([[0.0, 0.0], [1.0, 2.0], [-1.0, 3.0]])
    np.testing.assert_allclose(found, [0.40759175, 1.28869841, 0.02661386], atol=5e-8)
    assert model[-1].get_params()["kernel"] == "rbf"
    with pytest.raises(ValueError, match="fitted with queries"):
        model[-1].score([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
