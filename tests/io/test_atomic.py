"""Files are written completely or not at all, also under kill -9 and on a full disk."""

import os
import subprocess
import sys

import pytest

import rankwise as rw
from rankwise.io import atomic
from tests.model_zoo import X, y


def test_folders_that_are_not_there(tmp_path):
    model = rw.RankRLS().fit(X, y)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        rw.save(model, tmp_path / "absent" / "model")
    with pytest.raises(IsADirectoryError, match="a folder"):
        rw.save(model, tmp_path)
    rw.save(model, tmp_path / ("x" * 250))
    assert rw.load(tmp_path / ("x" * 250)).alpha == 1.0


KILL_SAVES = """
import os, random, signal, sys, time
import numpy as np, rankwise as rw
random.seed(0)
path, folder = sys.argv[1], os.path.dirname(sys.argv[1])
X = np.arange(60_000.0).reshape(-1, 3) % 7
models = [rw.RankRLS(a).fit(X, X[:, 0]) for a in (1.0, 2.0)]
rw.save(models[0], path)
cut = 0
for _ in range(30):
    begun, begin = os.pipe()
    child = os.fork()
    if not child:
        while True:
            for model in models:
                rw.save(model, path, training_data=True)
                os.write(begin, b".")
    os.read(begun, 1)
    time.sleep(random.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(begin)
    found = rw.load(path)
    assert found.alpha in (1.0, 2.0)
    for name in set(os.listdir(folder)) - {"model"}:
        assert name.startswith(".model.") and name.endswith(".part"), name
        os.unlink(os.path.join(folder, name))
        cut += 1
print("cut", cut)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_9_at_random_moments_during_save_leaves_a_whole_model(tmp_path):
    command = [sys.executable, "-c", KILL_SAVES, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 0, "no kill fell into a save"


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    rw.save(rw.RankRLS().fit(X, y), path)
    before = path.read_bytes()
    os.chmod(path, 0o640)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "fsync", full)
        rw.save(rw.RankRLS(2.0).fit(X, y), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    rw.save(rw.RankRLS(2.0).fit(X, y), path)
    if os.name == "posix":  # Windows knows only whether a file may be written
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_reader_that_blocks_is_waited_for(tmp_path, monkeypatch):
    """As on Windows: the first attempts to replace the file fail."""
    target, attempts = tmp_path / "model.rw", []
    target.write_bytes(b"old")
    real = os.replace

    def blocked(source, path):
        attempts.append(source)
        if len(attempts) < 4:
            raise PermissionError(13, "Access is denied")
        real(source, path)

    monkeypatch.setattr(atomic, "READERS_BLOCK", True)
    monkeypatch.setattr(atomic, "STEP", 0.001)
    monkeypatch.setattr(os, "replace", blocked)
    atomic.write_atomically(target, [b"new"])
    assert target.read_bytes() == b"new" and len(attempts) == 4
    monkeypatch.setattr(atomic, "PATIENCE", 0.01)
    attempts[:] = []
    monkeypatch.setattr(os, "replace", lambda *_: blocked_for_ever())
    with pytest.raises(PermissionError, match="another program may have it open"):
        atomic.write_atomically(target, [b"newer"])
    assert target.read_bytes() == b"new" and os.listdir(tmp_path) == ["model.rw"]


def blocked_for_ever():
    raise PermissionError(13, "Access is denied")
