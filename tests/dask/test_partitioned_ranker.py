"""What all learners on partitions share: scores, and the way back to a local model."""

import pickle

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Censored, UndefinedMetric
from tests.dask_cases import as_dask, ranking_data


def test_scores_and_a_way_back():
    X, Y, qid, _ = ranking_data(outputs=2)
    lazy = as_dask(X, qid)
    model = distributed_rankers.RankRLS().fit(lazy, Y, qid=qid)
    local = rankwise.RankRLS().fit(X, Y, qid=qid)
    assert_allclose(model.score(lazy, Y, qid=qid), local.score(X, Y, qid=qid))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(lazy, Y)
    back = pickle.loads(pickle.dumps(model))
    assert_allclose(back.predict(X), local.predict(X))
    with pytest.raises(ValueError, match="fit again"):
        back.path([1.0])
    plain = model.to_local()
    assert type(plain) is rankwise.RankRLS
    assert_allclose(plain.predict(X), local.predict(X))
    with pytest.raises(ValueError, match="no training items"):
        plain.leave_query_out()
    whole = distributed_rankers.RankRLS().fit(lazy, Y)
    assert_allclose(whole.score(lazy, Y), rankwise.RankRLS().fit(X, Y).score(X, Y))
    assert clone(model).get_params() == rankwise.RankRLS().get_params()


@pytest.mark.parametrize("told", ["scores", "outputs", "outcomes"])
def test_scores_of_queries_in_several_partitions(told):
    X, y, qid, _ = ranking_data(m=120, n_queries=9, outputs=2 if told == "outputs" else None)
    y = Censored(np.arange(120) % 3 > 0, np.round(np.exp(y))) if told == "outcomes" else y
    names = np.array([f"q{label}" for label in qid])
    lazy = da.from_array(X, chunks=((0, 50, 7, 63), -1))
    model = distributed_rankers.RankRLS().fit(lazy, y, qid=names, spread=np.unique(names))
    local = rankwise.RankRLS().fit(X, y, qid=names)
    assert_allclose(model.score(lazy, y, qid=names), local.score(X, y, qid=names), rtol=1e-9)
    whole = distributed_rankers.RankRLS().fit(lazy, y)
    assert_allclose(whole.score(lazy, y), whole.to_local().score(X, y), rtol=1e-9)
    with pytest.raises(UndefinedMetric, match="no query holds two values"):
        model.score(
            lazy, y[:1].repeat(120, axis=0) if told == "outputs" else np.ones(120), qid=names
        )


@pytest.mark.parametrize("name", ["RankRLS", "RankSVM"])
def test_the_local_model_is_saved(tmp_path, name):
    X, Y, qid, _ = ranking_data(outputs=2)
    model = getattr(distributed_rankers, name)().fit(as_dask(X, qid), Y, qid=qid)
    rankwise.save(model, tmp_path / "model.rw")
    assert_allclose(rankwise.load(tmp_path / "model.rw").predict(X), model.predict(X))
