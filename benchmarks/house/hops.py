"""How many files of the package a fit enters, and how often one file calls another.

python -m benchmarks.house.hops
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import rankwise
from rankwise import ConditionalRanker, RankRLS, RankRLSCV, RankSVM

ROOT = str(Path(rankwise.__file__).parent)


def hops(run: Callable[[], object]) -> tuple[int, int]:
    """The number of files entered, and of calls whose caller is in another file of the package."""
    run()  # so that imports, compilation and caches are not counted
    entered, crossings = set(), 0

    def profile(frame, event, _):
        nonlocal crossings
        if event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        own = frame.f_code.co_filename
        entered.add(own)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != own:
            crossings += 1

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(entered), crossings


def fits() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 5)), rng.normal(size=60), np.repeat(np.arange(6), 10)
    edges = np.column_stack((rng.integers(0, 20, 100), rng.integers(0, 20, 100)))
    values = rng.normal(size=100)
    folder = Path(tempfile.mkdtemp())
    table = folder / "items.csv"
    rows = "\n".join(",".join(map(str, (*x, s, q))) for x, s, q in zip(X.round(3), y.round(3), qid))
    table.write_text("a,b,c,d,e,score,query\n" + rows + "\n", encoding="utf-8")

    def train():
        from rankwise.cli import main

        arguments = ["train", str(table), "--target", "score", "--query", "query"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main([*arguments, "-o", str(folder / "model")], standalone_mode=False)

    return {
        "RankRLS rbf": lambda: RankRLS(kernel="rbf").fit(X, y),
        "RankRLSCV with qid": lambda: RankRLSCV().fit(X, y, qid=qid),
        "RankSVM sparse": lambda: RankSVM().fit(sparse.csr_array(X), y),
        "ConditionalRanker edges": lambda: ConditionalRanker().fit(X[:20], values, edges=edges),
        "rankwise train": train,
    }


if __name__ == "__main__":
    for name, run in fits().items():
        files, crossings = hops(run)
        print(f"{name:28} {files:3} files, {crossings:4} calls across files")
