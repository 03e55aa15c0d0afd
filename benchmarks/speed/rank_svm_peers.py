"""RankSVM and similar libraries: time and held-out ranking error on the same data.

    python -m benchmarks.speed.rank_svm_peers [rows of the linear task]

The other libraries (scikit-survival, LightGBM, XGBoost) are installed by pip, at first use, in an
environment of their own under ``$XDG_CACHE_HOME/rankwise`` (default ~/.cache/rankwise); they are
never dependencies of the package. Each method runs in a process of its own, and its second fit is
timed. Boosted trees need grades and bounded queries, so their scores are cut into 31 quantiles and
their rows into lists of up to 5,000; LightGBM considers only the head of a list.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

from benchmarks.papers.table import show
from benchmarks.speed.text_like import dense_low_dimensional
from rankwise.losses.hinge import ScoreSquaredHinge
from rankwise.metrics import ranking_error
from rankwise.supervision.queries import Queries

PEERS = ["scikit-survival", "lightgbm", "xgboost"]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankwise" / "peers"

RANK_SVM = "from rankwise.learners.rank_svm import RankSVM; model = RankSVM(alpha, {})"
OURS = {
    "hinge": RANK_SVM.format("loss='hinge'"),
    "squared hinge": RANK_SVM.format("loss='squared_hinge'"),
    "rbf": RANK_SVM.format("kernel='rbf', gamma=gamma"),
    "rbf, squared": RANK_SVM.format("loss='squared_hinge', kernel='rbf', gamma=gamma"),
}
SURVIVAL = """
from sksurv.svm import {name}
from sksurv.util import Surv
target = Surv.from_arrays(np.ones(len(y), dtype=bool), y - y.min() + 1.0)
sign = -1  # it predicts risks: a high risk means a short survival
# it minimises ½‖w‖² + alpha'/2 · (sum over the N pairs of the squared hinge): alpha' is 1/(alpha N)
model = {name}(alpha=1 / (alpha * pairs), rank_ratio=1.0, optimizer={optimizer!r},
               max_iter=50, tol=1e-3 {more})
"""
GRADES = "grades = np.digitize(y, np.quantile(y, np.linspace(0, 1, 32)[1:-1]))\n"
THEIRS = {
    "scikit-survival, rbtree": SURVIVAL.format(
        name="FastSurvivalSVM", optimizer="rbtree", more=", fit_intercept=False"
    ),
    "scikit-survival, avltree": SURVIVAL.format(
        name="FastSurvivalSVM", optimizer="avltree", more=", fit_intercept=False"
    ),
    "LightGBM lambdarank": GRADES
    + "from lightgbm import LGBMRanker; model = LGBMRanker(n_estimators=100, verbose=-1, "
    "label_gain=list(range(32))); target = grades; extra = dict(group=groups)",
    "XGBoost rank:pairwise": GRADES
    + "from xgboost import XGBRanker; model = XGBRanker(objective='rank:pairwise', "
    "n_estimators=100, lambdarank_pair_method='mean'); target = grades; extra = dict(group=groups)",
}
KERNEL_PEERS = {
    "scikit-survival kernel, rbtree": SURVIVAL.format(
        name="FastKernelSurvivalSVM", optimizer="rbtree", more=", kernel='rbf', gamma=gamma"
    ),
    "scikit-survival kernel, avltree": SURVIVAL.format(
        name="FastKernelSurvivalSVM", optimizer="avltree", more=", kernel='rbf', gamma=gamma"
    ),
}
RUN = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
data = np.load(sys.argv[1])
X, y, X_test = data["X"], data["y"], data["X_test"]
alpha, gamma, pairs = float(data["alpha"]), float(data["gamma"]), len(y) * (len(y) - 1) / 2
# gradient boosting limits the items of a query, so rows are cut into groups of up to 5,000
groups = [len(part) for part in np.array_split(y, -(-len(y) // 5000))]
target, extra, sign, times = y, {}, 1, []
exec(sys.argv[2])
for _ in range(2):
    start = time.perf_counter()
    model.fit(X, target, **extra)
    times.append(time.perf_counter() - start)
s, seen = sign * model.predict(X_test), sign * model.predict(X)
# ‖w‖²: of the weights of a linear model, or aᵀ K a, where K a are the scores of the training items
norm = None
if hasattr(model, "dual_coef_"):
    norm = float(model.dual_coef_ @ seen[model.basis_index_])
elif hasattr(model, "coef_"):
    linear = len(model.coef_) == X.shape[1]
    norm = float(model.coef_ @ model.coef_ if linear else abs(model.coef_ @ seen))
print(json.dumps([times[1], s.tolist(), seen.tolist(), norm]))
"""


def peers_python() -> Path:
    """The interpreter of the other libraries' environment, which is made at first use."""
    python = CACHE / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (CACHE / "ready").exists():
        print(f"installing {', '.join(PEERS)} once, in the cache folder", flush=True)
        venv.create(CACHE, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "pandas<3", *PEERS]
        subprocess.run(install, check=True)
        (CACHE / "ready").touch()
    return python


def compare(title: str, X, y, methods: dict[str, tuple[Path, str]], alpha: float) -> None:
    """Half of the rows are for training, half for testing.

    Models with weights are also compared by the objective of the squared hinge, on the training
    half, which the first row minimises: a time means nothing without the accuracy it buys.
    """
    half = len(y) // 2
    squared = ScoreSquaredHinge(y[:half], Queries.from_labels(None, half))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        gamma = 1.0 / X.shape[1]
        train = {"X": X[:half], "y": y[:half], "X_test": X[half:]}
        np.savez(path, **train, alpha=alpha, gamma=gamma)
        for name, (python, code) in methods.items():
            command = [str(python), "-c", RUN, str(path), code]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1][:60]
                rows.append((name, "failed", reason, None, None))
                continue
            seconds, s, seen, norm = json.loads(done.stdout.splitlines()[-1])
            error = ranking_error(y[half:], np.array(s))
            objective = None
            if norm is not None:
                objective = f"{squared.at(np.array(seen)).value + alpha * norm:.6f}"
            ratio = seconds / rows[0][4] if rows else seconds
            rows.append((name, f"{seconds:.2f}", error, objective, ratio))
    first = rows[0][4]
    rows = [(*row[:4], 1.0 if i == 0 else row[4]) for i, row in enumerate(rows)]
    show(
        f"{title} (first row: {first:.2f} s)",
        ("", "seconds", "test error", "squared hinge objective", "ratio"),
        rows,
    )


def main(m: int = 40_000) -> None:
    theirs = peers_python()
    ours = Path(sys.executable)
    versions = subprocess.run(
        [str(theirs), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True
    ).stdout.split()
    shown = [v for v in versions if v.split("==")[0] in (*PEERS, "numpy")]
    print(f"{platform.machine()}, {os.cpu_count()} processors; {', '.join(shown)}")
    X, y = dense_low_dimensional(m, 20)
    linear = {name: (ours, OURS[name]) for name in ("squared hinge", "hinge")}
    linear |= {name: (theirs, code) for name, code in THEIRS.items()}
    compare(f"{m // 2:,} rows x 20 features, real scores, alpha 1e-3", X, y, linear, 1e-3)
    X, y = dense_low_dimensional(4_000, 8)
    kernel = {name: (ours, OURS[name]) for name in ("rbf, squared", "rbf")}
    kernel |= {name: (theirs, code) for name, code in KERNEL_PEERS.items()}
    compare("2,000 rows x 8 features, rbf kernel, alpha 1e-3", X, y, kernel, 1e-3)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
