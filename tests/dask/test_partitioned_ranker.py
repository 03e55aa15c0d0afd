"""What all learners on partitions share: scores, and the way back to a local model."""

import pickle

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import rankwise
import rankwise.dask as distributed_rankers
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


@pytest.mark.parametrize("name", ["RankRLS", "RankSVM"])
def test_the_local_model_is_saved(tmp_path, name):
    X, Y, qid, _ = ranking_data(outputs=2)
    model = getattr(distributed_rankers, name)().fit(as_dask(X, qid), Y, qid=qid)
    rankwise.save(model, tmp_path / "model.rw")
    assert_allclose(rankwise.load(tmp_path / "model.rw").predict(X), model.predict(X))
