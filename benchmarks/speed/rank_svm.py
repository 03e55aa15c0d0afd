"""The time of RankSVM in units of (two CSR products + one argsort) of the same size, in one run.

    python -m benchmarks.speed.rank_svm [iteration] [growth] [pairs] [training] [alphas] [planes]
                                        [unscaled] [preferences] [memory]

Each figure is the ratio of two medians. The unit and the measured code are timed in turns.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numba
import numpy as np
import piqp
import scipy
from scipy import sparse

from benchmarks.papers import table
from benchmarks.speed import harness
from benchmarks.speed.text_like import dense_low_dimensional, text_like
from rankwise import Preferences
from rankwise.learners.rank_svm import RankSVM
from rankwise.losses.losses_by_name import HINGE_LOSSES
from rankwise.losses.margin_window import ScoreRanks
from rankwise.losses.risk import Evaluation, Risk
from rankwise.numerics.products import Products
from rankwise.numerics.threads import n_threads, one_blas_thread
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.cutting_planes import CuttingPlanes
from rankwise.supervision.queries import Queries

RATIOS = ("units", "ratio")
"""Headers of the columns that hold ratios."""
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


def show(title: str, header: tuple[str, ...], rows: list[tuple]) -> None:
    """Print a table, and record the rows whose last number is a ratio, for the sittings."""
    table.show(title, header, rows)
    names = [name for name in header if name in RATIOS]
    for row in rows if names else ():
        cells = dict(zip(header, row))
        limit = cells.get("limit")
        harness.record(
            title,
            str(row[0]),
            cells[names[0]],
            _seconds(cells),
            float(limit) if limit else None,
        )


def _seconds(cells: dict) -> float:
    """The median that `spread` wrote first; not a number if the table has no column of times."""
    for name, seconds in (("seconds", 1.0), ("milliseconds", 1e-3), ("ours, ms", 1e-3)):
        if name in cells:
            return seconds * float(cells[name].split()[0])
    return float("nan")


def risk_of(y: np.ndarray, loss: str) -> Risk:
    """The risk over all pairs of a single query."""
    of_scores, _ = HINGE_LOSSES[loss]
    return of_scores(y, Queries.from_labels(None, len(y)))


class PairHinge(Risk):
    """PairRSVM: compiled code that compares all pairs to get the counts of equations 5 and 6."""

    name = "the hinge loss over all pairs"

    def __init__(self, y: np.ndarray):
        self._y, self.n_items = y, len(y)
        self._pairs = ScoreRanks(y, Queries.from_labels(None, len(y))).pairs[0]

    def at(self, p: np.ndarray) -> Evaluation:
        c, d = _all_pairs(self._y, p)
        gradient = (c - d) / self._pairs
        return Evaluation(float(gradient @ p + c.sum() / self._pairs), gradient)


@numba.njit(cache=True, nogil=True)
def _all_pairs(y, p):
    c, d = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int64)
    for i in range(len(y)):
        for j in range(len(y)):
            c[i] += (y[i] < y[j]) & (p[i] > p[j] - 1.0)
            d[i] += (y[i] > y[j]) & (p[j] > p[i] - 1.0)
    return c, d


class Case:
    """One data set, with the unit and one iteration (lines 5 to 7) as functions to time."""

    def __init__(self, X, y, loss="hinge", risk=None):
        self.X, self.y = X, y
        self.products = Products(X)
        self.risk = risk or risk_of(y, loss)
        w = np.random.default_rng(0).standard_normal(X.shape[1])
        p = X @ w
        self.w, self.g = w / p.std(), p

    def unit(self) -> None:
        p = self.X @ self.w
        self.X.T @ self.g
        np.argsort(p)

    def iteration(self) -> None:
        with one_blas_thread():
            self.products.pullback(self.risk.at(self.products.scores(self.w)).gradient)


def in_turns(candidates: list, rounds: int) -> np.ndarray:
    """Seconds (rounds, candidates) after one round that compiles and warms up."""
    seconds = np.empty((rounds + 1, len(candidates)))
    for row in seconds:
        for k, run in enumerate(candidates):
            start = time.perf_counter()
            run()
            row[k] = time.perf_counter() - start
    return seconds[1:]


def spread(values) -> str:
    low, middle, high = np.quantile(values, [0, 0.5, 1])
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]"


def iteration(m: int = 512_000, rounds: int = 9) -> None:
    case = Case(*text_like(m))
    unit, ours = in_turns([case.unit, case.iteration], rounds).T
    ratio = np.median(ours) / np.median(unit)
    show(
        f"one iteration, {m:,} rows, {case.X.nnz / m:.0f} nonzeros per row: limit 2 units",
        ("", "milliseconds", "units"),
        [("unit", spread(1e3 * unit), 1.0), ("iteration", spread(1e3 * ours), float(ratio))],
    )


def growth(sizes=(8_000, 32_000, 128_000, 512_000, 2_000_000), rounds: int = 5) -> None:
    rows, medians = [], []
    for m in sizes:
        case = Case(*text_like(m))
        unit, ours = in_turns([case.unit, case.iteration], rounds).T
        medians.append(np.median(ours))
        rows.append((f"{m:,}", spread(1e3 * ours), float(np.median(ours) / np.median(unit))))
    exponent = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    show(
        f"iteration cost grows as m^{exponent:.2f}: limit 1.1",
        ("rows", "milliseconds", "units"),
        rows,
    )


def pairs(sizes=(250, 500, 1_000, 2_000, 4_000, 8_000, 32_000, 128_000)) -> None:
    rows = []
    for m in sizes:
        X, y = text_like(m)
        tree, pair = Case(X, y), Case(X, y, risk=PairHinge(y))
        rounds = 5 if m <= 8_000 else 1
        ours, slow = in_turns([tree.iteration, pair.iteration], rounds).T
        ratio = float(np.median(slow) / np.median(ours))
        rows.append((f"{m:,}", spread(1e3 * ours), spread(1e3 * slow), ratio))
    show(
        "iteration against PairRSVM on the same solver (all pairs, compiled)",
        ("rows", "ours, ms", "PairRSVM, ms", "ratio"),
        rows,
    )


def training(sizes=(128_000, 512_000), alpha: float = 1e-5, rounds: int = 3) -> None:
    rows = []
    for m in sizes:
        X, y = text_like(m)
        for loss in HINGE_LOSSES:
            case = Case(X, y)
            model = RankSVM(alpha, loss=loss, tol=1e-3)
            unit, ours = in_turns([case.unit, partial(model.fit, X, y)], rounds).T
            units = float(np.median(ours) / np.median(unit))
            rows.append((f"{m:,} {loss}", spread(ours), model.n_iter_, f"{model.gap_:.1e}", units))
    show(
        f"whole training, alpha {alpha:g}, to gap 1e-3 or relative gradient 1e-3: limit 40 units",
        ("rows, loss", "seconds", "iterations", "gap", "units"),
        rows,
    )


UNIT_LIMITS = {
    ("squared_hinge", 1e-4): 30,
    ("squared_hinge", 1e-6): 50,
    ("hinge", 1e-4): 20,
    ("hinge", 1e-5): 20,
}


def alphas(m: int = 128_000, rounds: int = 3) -> None:
    """Whole trainings from a large to a small alpha, each beside the unit."""
    X, y = text_like(m)
    case, rows = Case(X, y), []
    for loss in HINGE_LOSSES:
        for alpha in (1e-4, 1e-5, 1e-6, 1e-7):
            model = RankSVM(alpha, loss=loss)
            unit, ours = in_turns([case.unit, partial(model.fit, X, y)], rounds).T
            units = float(np.median(ours) / np.median(unit))
            limit = UNIT_LIMITS.get((loss, alpha), "")
            rows.append(
                (f"{loss} {alpha:g}", spread(ours), model.n_iter_, model.gap_, units, limit)
            )
    show(
        f"whole training, {m:,} rows, to the default tol",
        ("loss, alpha", "seconds", "iterations", "gap", "units", "limit"),
        rows,
    )


def unscaled(alpha: float = 1e-3) -> None:
    """Iterations on features as they come against the same features divided by their spread."""
    rows = []
    for kind, share in (("dense", 1.0), ("sparse", 0.3)):
        X, y, qid = web_search(share)
        spread_of = X.std(axis=0)
        even = X / np.where(spread_of > 0, spread_of, 1.0)
        for loss in HINGE_LOSSES:
            forms = (X, even) if kind == "dense" else map(sparse.csr_array, (X, even))
            raw, scaled = (RankSVM(alpha, loss=loss).fit(form, y, qid=qid) for form in forms)
            ratio = raw.n_iter_ / scaled.n_iter_
            rows.append((f"{kind} {loss}", raw.n_iter_, scaled.n_iter_, raw.gap_, ratio))
    show(
        f"features of scales 1e-3 to 2e8, alpha {alpha:g}: limit 3 times the iterations",
        ("data, loss", "iterations", "after scaling", "gap", "ratio"),
        rows,
    )


def web_search(share: float, n_queries: int = 200, per_query: int = 100, n: int = 136):
    """Log-normal features of scales 1e-3 to 2e8, of which `share` are not zero; grades 0 to 4."""
    rng = np.random.default_rng(0)
    m = n_queries * per_query
    qid = np.repeat(np.arange(n_queries), per_query)
    logs = rng.standard_normal((m, 12)) @ rng.standard_normal((12, n)) / 3.5
    logs += 0.5 * rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((n_queries, n))[qid]
    X = np.exp(logs * rng.uniform(0.3, 1.5, n)) * 10 ** rng.uniform(-3, 8.3, n)
    worth = logs @ rng.standard_normal(n) * 0.15 + 1.5 * rng.standard_normal(m)
    X[rng.random(X.shape) > share] = 0.0
    return X, np.digitize(worth, np.quantile(worth, [0.55, 0.8, 0.93, 0.98])), qid


def preferences(players: int = 3_000, games: int = 40_000, alpha: float = 1e-7) -> None:
    """Players as sparse identity features: the hinge against the squared hinge."""
    rng = np.random.default_rng(0)
    strength = rng.standard_normal(players)
    a = rng.integers(0, players, games)
    b = (a + rng.integers(1, players, games)) % players
    wins = rng.random(games) < 1 / (1 + np.exp(2 * (strength[b] - strength[a])))
    told = Preferences(np.where(wins, a, b), np.where(wins, b, a))
    X = sparse.eye_array(players, format="csr")
    models = [RankSVM(alpha, loss=loss) for loss in ("squared_hinge", "hinge")]
    squared, hinge = in_turns([partial(m.fit, X, preferences=told) for m in models], 5).T
    rows = [
        (
            model.loss,
            spread(1e3 * times),
            model.n_iter_,
            model.gap_,
            float(np.median(times / squared)),
        )
        for model, times in zip(models, (squared, hinge))
    ]
    show(
        f"{games:,} games of {players:,} players, alpha {alpha:g}, to gap 1e-3: limit 5 times",
        ("loss", "milliseconds", "iterations", "gap", "ratio"),
        rows,
    )


def plain_bundle(X, risk, alpha: float, tol: float = 1e-3, max_iter: int = 2000) -> int:
    """The number of planes that Algorithm 1 needs without a line search."""
    products, planes = Products(X), CuttingPlanes()
    w, best, bound = np.zeros(X.shape[1]), np.inf, 0.0
    for t in range(max_iter):
        found = risk.at(products.scores(w))
        best = min(best, found.value + alpha * w @ w)
        if best - bound <= tol:
            return t
        slope = products.pullback(found.gradient)
        planes.add(slope, found.value - slope @ w)
        w, bound = planes.minimise(alpha)
    return max_iter


def planes(tol: float = 1e-3) -> None:
    sets = {"text-like, 8,000 rows": text_like(8_000)}
    sets["dense, 8,000 x 8"] = dense_low_dimensional(8_000)
    sets["dense, 8,000 x 20"] = dense_low_dimensional(8_000, 20)
    for name, (X, y) in sets.items():
        risk = risk_of(y, "hinge")
        ours = [BundleSolver(X, risk).solve(alpha, tol=tol).n_iter for alpha in ALPHAS]
        plain = [plain_bundle(X, risk, alpha, tol) for alpha in ALPHAS]
        rows = [(f"{alpha:g}", a, b) for alpha, a, b in zip(ALPHAS, ours, plain)]
        rows.append(("sum", sum(ours), sum(plain)))
        ratio = sum(ours) / sum(plain)
        title = f"planes to gap {tol:g}, {name}: {ratio:.2f} times plain BMRM (limit 0.5)"
        show(title, ("alpha", "ours", "plain BMRM"), rows)


def memory(m: int = 512_000) -> None:
    rows = []
    X, y = text_like(m)
    for precision in (np.float64, np.float32):
        for loss in HINGE_LOSSES:
            size, peak = peak_memory(X.astype(precision), y, loss)
            name = f"{np.dtype(precision).name} {loss}"
            rows.append((name, size / 1e6, peak / 1e6, peak / size))
    show(
        f"peak memory of a fit, {m:,} rows: limit 1.6 x the CSR matrix",
        ("", "CSR, MB", "peak, MB", "ratio"),
        rows,
    )


def peak_memory(X, y, loss: str) -> tuple[float, float]:
    """Bytes of the CSR matrix, and peak bytes of matrix and fit, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npz"
        sparse.save_npz(path, X, compressed=False)
        np.save(path.with_suffix(".y.npy"), y)
        command = [sys.executable, "-m", "benchmarks.speed.rank_svm", "fit", str(path), loss]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    size, peak = map(float, done.stdout.split()[-2:])
    return size, peak


def fit_and_report_memory(path: str, loss: str) -> None:
    """The part of `peak_memory` that runs in the separate process; Linux only."""
    warm = text_like(2_000)
    RankSVM(1e-3, loss=loss).fit(warm[0].astype(np.load(path)["data"].dtype), warm[1])
    before = _status("VmRSS")
    X = sparse.csr_matrix(sparse.load_npz(path))
    y = np.load(Path(path).with_suffix(".y.npy"))
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    RankSVM(1e-5, loss=loss).fit(X, y)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(size, _status("VmHWM") - before)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


PARTS_IN_ORDER = (
    iteration,
    growth,
    pairs,
    training,
    alphas,
    planes,
    unscaled,
    preferences,
    memory,
)
PARTS = {f.__name__: f for f in PARTS_IN_ORDER}


def main() -> None:
    wanted = sys.argv[1:]
    if wanted[:1] == ["fit"]:
        fit_and_report_memory(*wanted[1:])
        return
    print(f"{platform.machine()}, {os.cpu_count()} processors, {n_threads()} threads")
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"numba {numba.__version__}, PIQP {piqp.__version__}"
    )
    print("medians [fastest, slowest]; unit: SciPy's X @ w and X.T @ g, and numpy.argsort")
    for name in wanted or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
