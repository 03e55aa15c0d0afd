"""The table of classes that a model file may hold."""

import io
import subprocess
import sys

import numpy as np
import pytest

import rankwise as rw
from rankwise.io import model_schemas
from rankwise.io.model_schemas import SCHEMAS, Estimator, Part, schema_of
from rankwise.io.sklearn_schemas import Foreign
from rankwise.supervision.queries import Queries
from tests.io.test_damaged_models import forged
from tests.model_zoo import models

MODELS = models()


@pytest.mark.parametrize("name", MODELS)
def test_every_private_attribute_is_decided_upon(name):
    """A new attribute belongs to the model, to its training data or to its caches."""
    model, _ = MODELS[name]
    schema = schema_of(model)
    if isinstance(schema, Foreign):
        return
    decided = {*schema.model, *schema.training, *schema.caches}
    private = {name for name in vars(model) if name.startswith("_")}
    remembered = {"_fitted", "_X_checksum"}  # by learners/fit_memory.py, and made anew by `build`
    assert private <= decided | remembered | {"_sklearn_output_config"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_path_names_a_class(name):
    cls = SCHEMAS[name].imported()
    assert isinstance(cls, type) and cls.__name__ == name


def test_classes_are_imported_only_when_they_are_needed():
    code = """if True:
        import sys, rankwise.io.saved_models
        rooms = ("losses", "spaces", "metrics", "learners", "graphs", "applications", "workflow")
        print([m for m in sys.modules if m.startswith(tuple(f"rankwise.{r}" for r in rooms))])
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


class _Labels:
    """Stands for a class that replaced another."""

    def __init__(self, names):
        self.names = names

    @classmethod
    def from_queries(cls, codes, labels):
        return cls(labels[codes])


def test_old_parts_are_built_by_what_replaced_them(monkeypatch):
    part = Part(f"{__name__}:_Labels.from_queries", ("codes", "labels"))
    monkeypatch.setitem(model_schemas.LEGACY, "OldQueries", part)
    monkeypatch.delitem(model_schemas.FIELDS, "_supervision")
    arrays = {"0": np.ones(2), "1": np.array([1, 0]), "2": np.array([7, 9])}
    node = {name: {"is": "array", "name": key} for name, key in (("codes", "1"), ("labels", "2"))}
    state = {
        "n_features_in_": 2,
        "coef_": {"is": "array", "name": "0"},
        "_supervision": {"is": "OldQueries", "state": node},
    }
    model = rw.load(io.BytesIO(forged({"model": {"is": "RankRLS", "state": state}}, arrays)))
    assert vars(model)["_supervision"].names.tolist() == [9, 7]
    with pytest.raises(ValueError, match="must have exactly codes, labels"):
        del node["codes"]
        rw.load(io.BytesIO(forged({"model": {"is": "RankRLS", "state": state}}, arrays)))


def renamed(state):
    return {name.replace("_old", "_new"): value for name, value in state.items()}


def test_old_names_of_attributes_and_missing_arguments():
    options = {"older": f"{__name__}:renamed", "fitted": ("coef_",)}
    schema = Estimator("rankwise:RankRLS", ("_new",), ("_X",), **options)
    model = schema.build({"alpha": 3.0, "_old": 5, "coef_": np.ones(2)})
    assert (model.alpha, model.ties) == (3.0, "keep")
    assert (vars(model)["_new"], vars(model)["_X"]) == (5, None)
    with pytest.raises(ValueError, match="RankRLS has no attribute '_other'"):
        schema.build({"_other": 5})


def test_an_attribute_may_be_kept_with_another():
    schema = Estimator("rankwise:RankRLS", ("_sums",), ("_X",), kept_with={"_X": "_sums"})
    model = rw.RankRLS()
    vars(model).update(_sums=None, _X=1)
    assert "_X" not in schema.state(model, False) and "_X" in schema.state(model, True)
    vars(model).update(_sums=2)
    assert schema.state(model, False)["_X"] == 1


def test_queries_are_checked():
    schema = schema_of(Queries.from_labels(None, 3))
    for codes in (np.array([0, 2]), np.array([-1, 0]), np.array([0.5])):
        with pytest.raises(ValueError, match=r"queries|Queries\.codes"):
            schema.build({"codes": codes, "labels": np.array(["a", "b"])})
