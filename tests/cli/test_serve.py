"""rankwise serve: mistakes before anything is served. tests/serve has the rest."""

import socket

import pytest

import rankwise as rw
from tests.cli_files import run
from tests.model_zoo import X, y

pytest.importorskip("uvicorn", reason="the extra for serving is not installed")


def test_mistakes_are_one_line(tmp_path):
    path = tmp_path / "m.rw"
    assert "No such file" in run("serve", tmp_path / "absent.rw", code=2).stderr
    path.write_text("no model", encoding="utf-8")
    assert "m.rw" in run("serve", path, code=2).stderr
    rw.save(rw.ConditionalRanker().fit(X, X @ X.T), path)
    assert "pairs of objects" in run("serve", path, code=2).stderr
    assert "standard input" in run("serve", "-", code=2).stderr
    rw.save(rw.RankRLS().fit(X, y), path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in run("serve", path, "--port", port, code=2).stderr
