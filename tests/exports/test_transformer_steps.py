"""Transformers of pipelines as steps, and those that are none."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import rankwise as rw
from rankwise.exports.model_steps import checked_steps
from rankwise.features import Interactions
from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.trained_model import TrainedModel
from tests.model_zoo import X_NEW, X, y

PIPELINES = {
    "imputer": (SimpleImputer(), StandardScaler()),
    "scaled twice": (RobustScaler(), MinMaxScaler((-3, 2)), StandardScaler(with_mean=False)),
    "polynomial": (StandardScaler(), PolynomialFeatures(3)),
    "nystroem": (StandardScaler(), Nystroem(n_components=12, random_state=0)),
    "nystroem chi2": (MinMaxScaler((5, 6)), Nystroem("chi2", n_components=12, random_state=0)),
    "map": (rw.KernelMap("poly", basis=9, random_state=0),),
    "linear map": (rw.KernelMap("linear", basis=9, random_state=0),),
    "map of a map": (rw.KernelMap(basis=9, random_state=0), StandardScaler(), rw.KernelMap()),
    "columns": (
        ColumnTransformer(
            [("a", StandardScaler(), [2, 0]), ("b", make_pipeline(SimpleImputer()), [1])],
            remainder="passthrough",
        ),
    ),
    "interactions": (Interactions(1, include=("cosine", "product", "outer"), rank=1),),
    "interactions of any length": (Interactions(1, include=("product",), normalize=False),),
    "our scaler": (ItemScaler("standard", missing="median"),),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(name):
    model = make_pipeline(*PIPELINES[name], rw.RankRLS()).fit(X, y)
    scores = checked_steps(model).scores(X_NEW)[:, 0]
    assert np.allclose(scores, model.predict(X_NEW), rtol=1e-8)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (rw.RankRLS(kernel=lambda a, b: a @ b.T), "code of your own"),
        (make_pipeline(FunctionTransformer(np.abs), rw.RankRLS()), "FunctionTransformer"),
        (make_pipeline(OneHotEncoder(min_frequency=2), rw.RankRLS()), "infrequent"),
        (make_pipeline(SimpleImputer(add_indicator=True), rw.RankRLS()), "add_indicator"),
    ],
)
def test_refused(model, reason):
    with pytest.raises(ValueError, match=reason):
        checked_steps(model.fit(X, y))


@pytest.mark.parametrize(
    "chosen", [slice("b", "c"), slice(None, "b"), slice("b", None), slice("c", "c"), slice(0, 2)]
)
def test_slices_of_names_include_their_end(chosen):
    pandas = pytest.importorskip("pandas")
    names = list("abcdefghijklmnop"[: X.shape[1]])
    columns = ColumnTransformer([("s", StandardScaler(), chosen)], remainder="passthrough")
    model = make_pipeline(columns, rw.RankRLS()).fit(pandas.DataFrame(X, columns=names), y)
    expected = model.predict(pandas.DataFrame(X_NEW, columns=names))
    assert np.allclose(checked_steps(model).scores(X_NEW)[:, 0], expected, rtol=1e-8)


def test_scaling_by_query_is_refused_with_the_way_out():
    qid = np.repeat([1, 2, 3], 10)
    scaler = ItemScaler("query").fit(X, qid=qid)
    model = TrainedModel(rw.RankRLS().fit(scaler.transform(X, qid), y, qid=qid), scaler, {})
    with pytest.raises(ValueError, match=r"within the query.*rankwise serve"):
        checked_steps(model)
