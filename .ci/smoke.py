"""The first things a user does, in an environment with rankwise and nothing else of ours.

python .ci/smoke.py core     the core alone: extras must be asked for by name, never crash
python .ci/smoke.py full     all extras are installed
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rankwise
from rankwise import Preferences, RankLogistic, RankRLSCV, RankSVM, evaluation, metrics

RNG = np.random.default_rng(0)


def run(*words: str | Path, code: int = 0) -> str:
    """What the command prints; it must end with this exit code."""
    command = [sys.executable, "-m", "rankwise.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == code, f"{words}: {done.returncode} {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def refused(call: Callable, extra: str) -> None:
    """The call raises an ImportError that names the extra."""
    with contextlib.suppress(ImportError):
        try:
            call()
        except ImportError as error:
            assert f"rankwise[{extra}]" in str(error), error
            raise
        raise AssertionError(f"{extra} is installed, or the error is missing")


def python_works(folder: Path) -> RankRLSCV:
    X = RNG.normal(size=(60, 4))
    qid = np.repeat(np.arange(6), 10)
    y = X @ [2.0, 1.0, 0.0, -1.0] + 0.1 * RNG.normal(size=60)
    model = RankRLSCV().fit(X, y, qid=qid)
    assert metrics.concordance(y, model.predict(X), qid) > 0.9
    RankSVM().fit(X, y, qid=qid)
    RankLogistic().fit(X, preferences=Preferences.from_scores(y, qid))
    rankwise.save(model, folder / "model.rw")
    assert np.array_equal(rankwise.load(folder / "model.rw").predict(X), model.predict(X))
    rankwise.export(model, folder / "model.json", "json")
    return model


def command_works(folder: Path) -> None:
    version = importlib.metadata.version("rankwise")
    assert version == rankwise.__version__ and version in run("--version")
    lines = ["query,a,b,score"]
    for i in range(40):
        a, b = RNG.normal(size=2)
        lines.append(f"q{i // 8},{a},{b},{round(2 * a - b)}")
    table = folder / "items.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = folder / "items.rw"
    run("train", table, "--target", "score", "--query", "query", "-o", model)
    assert len(run("predict", model, table).split()) == 40
    assert "ranking error" in run("evaluate", model, table)
    run("report", model, table, "-o", folder / "report.html")
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def extras_are_named(model: RankRLSCV, folder: Path) -> None:
    X = RNG.normal(size=(30, 2))
    curve = evaluation.regularisation_curve(rankwise.RankRLS(), X, X[:, 0])
    refused(curve.draw, "plot")
    refused(curve.plot, "plot")
    refused(lambda: __import__("rankwise.dask"), "dask")
    refused(lambda: rankwise.export(model, folder / "model.onnx", "onnx"), "onnx")
    assert "rankwise[serve]" in run("serve", folder / "items.rw", code=2)
    table, scores = folder / "items.csv", folder / "scores.parquet"
    assert "rankwise[frames]" in run("predict", folder / "items.rw", table, "-o", scores, code=2)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        fitted = python_works(Path(name))
        command_works(Path(name))
        if sys.argv[1:] == ["core"]:
            extras_are_named(fitted, Path(name))
    print("smoke test passed: rankwise", rankwise.__version__, "in", sys.prefix)
