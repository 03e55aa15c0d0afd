"""Censored outcomes beside scikit-survival: time, peak memory, objective and concordance.

    python -m benchmarks.speed.censored [largest number of rows, default 1000000]

Each learner runs in a process of its own, and its second fit of the same data is timed, so that
everything is compiled and imported. Memory is the peak of the process, the data included, above
what it held before the data were made; the data have 20 features of 8 bytes. scikit-survival's
learners (extra `survival`) are skipped if they are not installed, and are not tried any more after
LIMIT seconds. Both minimise the squared hinge loss over the comparable pairs: their
½‖w‖² + alpha'/2 · (sum over N pairs) is our mean + alpha‖w‖² with alpha = 1/(alpha' N), and the
column of objectives is the latter for both.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.speed.harness import print_machine, record
from rankwise import Censored, RankRLS, RankSVM, metrics
from rankwise.losses.losses_by_name import hinge_risks
from rankwise.supervision.censored import CensoredItems
from rankwise.supervision.queries import Queries

N_FEATURES = 20
PRICE, KERNEL_PRICE = 1.0, 1e-4
"""alpha' of linear models, scikit-survival's default, and of kernels, which would overfit at 1."""
GAMMA = 0.02
SIZES = (1_000, 10_000, 100_000, 1_000_000)
KERNEL_SIZES = (1_000, 4_000)
LIMIT = 300.0
GOALS = {"linear at 10,000 rows": 5.0, "seconds for 1,000,000 rows": 30.0, "memory": 3.0}
THEIRS = importlib.util.find_spec("sksurv") is not None


def make_data(m: int, seed: int = 0) -> tuple[np.ndarray, Censored]:
    """Exponential times with a linear predictor, a third of them censored."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, N_FEATURES))
    w = np.random.default_rng(1).normal(size=N_FEATURES) / np.sqrt(N_FEATURES)
    time, lost = rng.exponential(size=m) * np.exp(X @ w), 2 * rng.exponential(size=m)
    return X, Censored(time <= lost, np.minimum(time, lost))


def risk_of(y: Censored, query_weight: str = "queries"):
    items = CensoredItems(y, Queries.from_labels(None, len(y)), np.ones(len(y)))
    return hinge_risks("squared_hinge", items, query_weight)[0]


def our_alpha(y: Censored, price: float = PRICE) -> float:
    """1/(alpha' N): the total weight is the number of pairs if each of them weighs 1."""
    return 1.0 / (price * risk_of(y, "pairs").total_weight)


def resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def ours(loss: str, tol: float):
    return lambda y: RankSVM(our_alpha(y), loss=loss, tol=tol)


def theirs(name: str, **options):
    shared = {"alpha": PRICE, "rank_ratio": 1.0, "optimizer": "avltree"}
    shared |= {"max_iter": 100, "tol": 1e-4, "random_state": 0}

    def make(y: Censored):
        from sksurv import svm

        return getattr(svm, name)(**{**shared, **options})

    return make


CASES = {
    "RankRLS unit": lambda y: RankRLS(loss="unit"),
    "RankSVM hinge": ours("hinge", 1e-3),
    "RankSVM squared hinge": ours("squared_hinge", 1e-4),
    "FastSurvivalSVM": theirs("FastSurvivalSVM"),
    "RankSVM rbf": lambda y: RankSVM(
        our_alpha(y, KERNEL_PRICE), loss="squared_hinge", kernel="rbf", gamma=GAMMA, tol=1e-4
    ),
    "FastKernelSurvivalSVM": theirs(
        "FastKernelSurvivalSVM", kernel="rbf", gamma=GAMMA, alpha=KERNEL_PRICE
    ),
}
KERNELS = ("RankSVM rbf", "FastKernelSurvivalSVM")
SQUARED = ("RankSVM squared hinge", "FastSurvivalSVM", *KERNELS)
"""The cases that minimise the squared hinge loss."""


def predictions(model, X: np.ndarray) -> np.ndarray:
    """Higher for longer survival: scikit-survival predicts risks."""
    s = model.predict(X)
    return s if type(model).__module__.startswith("rankwise") else -s


def run_case(name: str, m: int) -> dict[str, float]:
    """One timed fit in this process, as plain numbers."""
    small, outcome = make_data(500)
    CASES[name](outcome).fit(small, np.asarray(outcome))
    before = resident_mb()
    X, y = make_data(m)
    model, told = CASES[name](y), np.asarray(y)
    for _ in range(2 if m < SIZES[-1] else 1):
        start = time.perf_counter()
        model.fit(X, told)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    tested = make_data(5_000, seed=2)
    found = {"seconds": seconds, "MB": peak, "data MB": X.nbytes / 2**20}
    found["concordance"] = metrics.concordance(tested[1], predictions(model, tested[0]))
    if name in SQUARED:
        price = KERNEL_PRICE if name in KERNELS else PRICE
        seen = predictions(model, X)
        found["objective"] = risk_of(y).at(seen).value + our_alpha(y, price) * _norm(model, seen)
    return found


def _norm(model, seen: np.ndarray) -> float:
    """‖w‖²: of the weights, or aᵀ K a, where K a are the scores of the training items."""
    if hasattr(model, "dual_coef_"):
        return float(model.dual_coef_ @ seen[model.basis_index_])
    if len(model.coef_) == N_FEATURES:
        return float(model.coef_ @ model.coef_)
    return float(abs(model.coef_ @ seen))


def in_own_process(name: str, m: int) -> dict[str, float] | None:
    """None if the fit takes more than LIMIT seconds."""
    words = [sys.executable, "-m", "benchmarks.speed.censored", "--case", name, str(m)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(f"  {name}, {m:,} rows: failed: {done.stderr.strip().splitlines()[-1][:90]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare_sizes(names: list[str], sizes: list[int]) -> dict[tuple[str, int], dict[str, float]]:
    results: dict[tuple[str, int], dict[str, float]] = {}
    tired: set[str] = set()
    head = ("seconds", "peak MB", "of the data", "objective", "concordance")
    print(f"{'':38}" + "".join(f"{word:>13}" for word in head))
    for m in sizes:
        for name in names:
            if name in tired:
                continue
            found = in_own_process(name, m)
            if found is None:
                tired.add(name)
                print(f"  {name:24}{m:>10,}  not within {LIMIT:.0f} s")
                continue
            results[name, m] = found
            share = found["MB"] / found["data MB"]
            objective = f"{found['objective']:.6f}" if "objective" in found else "–"
            print(
                f"  {name:24}{m:>12,}{found['seconds']:>13.3f}{found['MB']:>13.0f}{share:>12.2f}x"
                f"{objective:>13}{found['concordance']:>13.4f}",
                flush=True,
            )
            record("Censored outcomes", f"{name}, {m:,} rows", share, found["seconds"])
    return results


def compare_folds() -> None:
    """Harrell's concordance over 5 × 5 folds of the GBSG2 data, with one alpha for all."""
    from sklearn.model_selection import RepeatedKFold
    from sklearn.preprocessing import StandardScaler
    from sksurv.column import encode_categorical
    from sksurv.datasets import load_gbsg2

    frame, told = load_gbsg2()
    X, y = encode_categorical(frame).to_numpy(dtype=float), Censored(told["cens"], told["time"])
    makers = {name: CASES[name] for name in SQUARED}
    scores: dict[str, list[float]] = {name: [] for name in makers}
    seconds = dict.fromkeys(makers, 0.0)
    for train, test in RepeatedKFold(n_splits=5, n_repeats=5, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        for name, make in makers.items():
            model, start = make(y[train]), time.perf_counter()
            model.fit(scaler.transform(X[train]), np.asarray(y[train]))
            seconds[name] += time.perf_counter() - start
            found = predictions(model, scaler.transform(X[test]))
            scores[name].append(metrics.concordance(y[test], found))
    print("\nGBSG2, 686 patients, 5 x 5 folds: Harrell's concordance, seconds of 25 fits")
    for name, values in scores.items():
        print(
            f"  {name:24}{np.mean(values):>10.4f} ± {np.std(values) / 5:.4f}{seconds[name]:>10.2f}"
        )


def print_goals(results: dict[tuple[str, int], dict[str, float]]) -> None:
    sides = ("RankSVM squared hinge", "FastSurvivalSVM")
    mine, other = (results.get((name, 10_000)) for name in sides)
    if mine and other:
        ratio, goal = other["seconds"] / mine["seconds"], GOALS["linear at 10,000 rows"]
        word = "holds" if ratio >= goal else "MISSED"
        print(f"  {ratio:.1f} times as fast at 10,000 rows linear; goal {goal:g}: {word}")
        gap = mine["objective"] - other["objective"]
        print(f"  objective minus theirs: {gap:.1e}")
    for name in ("RankSVM hinge", "RankSVM squared hinge"):
        if large := results.get((name, 1_000_000)):
            share = large["MB"] / large["data MB"]
            fast = large["seconds"] <= GOALS["seconds for 1,000,000 rows"]
            small = share <= GOALS["memory"]
            print(
                f"  {name}, 1,000,000 rows: {large['seconds']:.1f} s, {share:.2f} x the data; "
                f"goals 30 s and 3 x: {'hold' if fast and small else 'MISSED'}"
            )


def main() -> None:
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(run_case(sys.argv[2], int(sys.argv[3]))))
        return
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    print_machine()
    own = ["RankRLS unit", "RankSVM hinge", "RankSVM squared hinge"]
    print(f"\nLinear, {N_FEATURES} features")
    names = [*own, "FastSurvivalSVM"] if THEIRS else own
    results = compare_sizes(names, [m for m in SIZES if m <= largest])
    print("\nGaussian kernel, all items in the basis")
    kernels = list(KERNELS if THEIRS else KERNELS[:1])
    compare_sizes(kernels, [m for m in KERNEL_SIZES if m <= largest])
    if THEIRS:
        compare_folds()
    else:
        print("\nscikit-survival is not installed: pip install rankwise[peers] compares with it.")
    print()
    print_goals(results)


if __name__ == "__main__":
    main()
