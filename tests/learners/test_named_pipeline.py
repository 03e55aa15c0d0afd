"""NamedPipeline: a Pipeline in every way, but for the columns of frames."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.learners.named_pipeline import NamedPipeline
from tests.cli_files import made_items

pd = pytest.importorskip("pandas")


def test_only_the_order_of_columns_is_free(tmp_path):
    X, y, _ = made_items()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), rw.RankRLS()).fit(frame, y)
    rw.save(model, tmp_path / "m.rw")
    named = rw.load(tmp_path / "m.rw")
    assert type(named) is NamedPipeline and not hasattr(named, "transform")
    other = frame.assign(d=0.0)[["d", "c", "a", "b"]]
    for one in (named, pickle.loads(pickle.dumps(named)), NamedPipeline.of(model)):
        np.testing.assert_allclose(one.predict(other), model.predict(frame), rtol=0, atol=1e-14)
        assert one.score(other, y) == model.score(frame, y)
    with pytest.raises(ValueError, match="missing"):
        named.predict(other[["a", "b", "d"]])
    refitted = clone(named).fit(frame[["c", "b", "a"]], y)
    np.testing.assert_allclose(refitted.predict(frame), model.predict(frame))
    assert named[-1].coef_.tolist() == model[-1].coef_.tolist()


def test_a_relation_between_two_frames(tmp_path):
    rng = np.random.default_rng(0)
    A = pd.DataFrame(rng.normal(size=(8, 2)), columns=["a", "b"])
    B = pd.DataFrame(rng.normal(size=(9, 3)), columns=["x", "y", "z"])
    model = rw.ConditionalRanker(kernel="rbf").fit((A, B), rng.normal(size=(8, 9)))
    rw.save(model, tmp_path / "m.rw")
    for one in (model, rw.load(tmp_path / "m.rw")):
        found = one.predict(A[["b", "a"]], B.assign(w=1)[["w", "z", "x", "y"]])
        np.testing.assert_array_equal(found, model.predict(A, B))
        with pytest.raises(ValueError, match=r"the frame of column nodes lacks 1 .* 'y'"):
            one.predict(A, B[["x", "z"]])
    model.fit((A.to_numpy(), B.to_numpy()), rng.normal(size=(8, 9)))
    assert not hasattr(model, "feature_names_in_")
