"""Model files replaced while they are served."""

import os

import pytest

import rankwise as rw
from rankwise.exceptions import ReadError
from rankwise.serve.model_watch import ModelWatch
from tests.serve.running import items_of, trained


def test_a_new_file_is_taken_up_and_a_broken_one_is_not(tmp_path):
    path, (first, X) = tmp_path / "m.rw", trained(seed=0)
    second, _ = trained(seed=1)
    rw.save(first, path)
    watch = ModelWatch(path)
    before = watch.current
    watch.refresh()
    assert watch.current is before and watch.reloads == 0
    rw.save(second, path)
    watch.refresh()
    assert watch.reloads == 1 and watch.problem is None
    assert watch.current.rank(items_of(X))[0]["score"] == second.predict(X).max()
    served = watch.current
    path.write_bytes(path.read_bytes()[:100])
    watch.refresh()
    assert watch.current is served and "cannot be loaded" in watch.problem and watch.failures == 1
    watch.refresh()
    assert watch.failures == 1
    os.unlink(path)
    watch.refresh()
    assert watch.current is served and "gone" in watch.problem
    rw.save(first, path)
    watch.refresh()
    assert watch.problem is None and watch.current is not served


def test_a_model_that_cannot_be_served_does_not_replace_one_that_can(tmp_path):
    path, (model, X) = tmp_path / "m.rw", trained()
    rw.save(model, path)
    watch = ModelWatch(path)
    rw.save(rw.ConditionalRanker().fit(X, X @ X.T), path)
    watch.refresh()
    assert "pairs of objects" in watch.problem and watch.current.features


def test_the_first_file_must_load(tmp_path):
    (tmp_path / "m.rw").write_text("no model", encoding="utf-8")
    with pytest.raises(ReadError):
        ModelWatch(tmp_path / "m.rw")
    with pytest.raises(OSError, match="No such file"):
        ModelWatch(tmp_path / "absent.rw")
