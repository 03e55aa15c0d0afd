"""Davis on its published split: concordance over all pairs of the test part, from 4 of 6 parts.

    python -m benchmarks.papers.conditional_davis_split [number of candidates, default 70]

The split has six parts of the 68 × 442 affinities: a test part, and five training parts of which
the first is for validation. All models are trained on the other four parts. Random combinations of
kernels, memory, effects, alpha and a transformation of the labels are scored on the validation
part; the table shows the best one, the mean of the ten best (each score standardised), and the
Kronecker kernel alone with its best alpha. The test part is scored once, for these three, after all
choices.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from benchmarks.papers import data, table
from benchmarks.papers.conditional_drug_target import unit
from rankwise import ConditionalRanker
from rankwise.kernels import InteractionProfile, KernelSum
from rankwise.metrics import concordance

ALPHAS = 2.0 ** np.arange(-4, 4)
WEIGHTS = (0.25, 0.5, 1.0, 2.0)
WIDTHS = (0.3, 1.0, 3.0)
MEMORIES = (0.0, 0.1, 0.3, 1.0)
POWERS = (0.0, 0.25, 0.5, 0.75)
AVERAGED = 10


def main(n_candidates: int = 70) -> None:
    kernels, Y, training, validation, test = davis()
    start = time.perf_counter()
    found = []
    for candidate in candidates(n_candidates):
        scores = fitted_scores(candidate, kernels, Y, training, (validation, test))
        found.append((concordance(Y[tuple(validation.T)], scores[0]), candidate, scores))
    found.sort(key=lambda entry: -entry[0])
    plain = []
    for alpha in ALPHAS:
        candidate = {"alpha": alpha, "kernel": "precomputed"}
        scores = fitted_scores(candidate, kernels, Y, training, (validation, test))
        plain.append((concordance(Y[tuple(validation.T)], scores[0]), candidate, scores))
    plain.sort(key=lambda entry: -entry[0])
    rows = []
    chosen = {
        "Kronecker kernel, alpha chosen": plain[0][2],
        "best candidate": found[0][2],
        f"mean of the {AVERAGED} best": mean_scores([entry[2] for entry in found[:AVERAGED]]),
    }
    for name, scores in chosen.items():
        values = [concordance(Y[tuple(e.T)], s) for e, s in zip((validation, test), scores)]
        rows.append((name, *(f"{value:.4f}" for value in values)))
    print(
        f"{n_candidates} candidates, {time.perf_counter() - start:.0f} s; the best: {found[0][1]}"
    )
    table.show("Davis, published split", ("model", "validation", "test"), rows)


def davis() -> tuple:
    """Kernels of drugs and targets, pKd, and edges of training, validation and test."""
    home = data.folder("drug_target") / "davis"
    if not home.is_dir():
        raise data.MissingData("drug_target/davis is absent.")
    Kd = np.loadtxt(next(home.glob("drug-target*.txt")))
    kernels = tuple(unit(np.loadtxt(next(home.glob(f"{s}*.txt")))) for s in ("drug-d", "target-t"))
    parts = json.loads((home / "train_fold_setting1.txt").read_text(encoding="utf-8"))
    test = json.loads((home / "test_fold_setting1.txt").read_text(encoding="utf-8"))
    edges = np.argwhere(np.ones(Kd.shape))
    training = edges[np.concatenate(parts[1:])]
    return kernels, 9 - np.log10(Kd), training, edges[parts[0]], edges[test]


def candidates(n: int) -> list[dict]:
    """Random combinations; `power` transforms labels to (pKd − 5)^power, 0 being active or not."""
    rng = np.random.default_rng(0)

    def one_of(values):
        return float(rng.choice(values))

    chosen = []
    for _ in range(n):
        sides = tuple(
            KernelSum(
                ["precomputed", InteractionProfile(one_of(WIDTHS), "mean")], [1.0, one_of(WEIGHTS)]
            )
            for _ in range(2)
        )
        chosen.append(
            {
                "alpha": one_of(ALPHAS),
                "kernel": sides,
                "item_effect": (one_of(MEMORIES), one_of(MEMORIES)),
                "effects": [None, "both"][rng.integers(2)],
                "power": one_of(POWERS),
            }
        )
    return chosen


def fitted_scores(candidate: dict, kernels, Y, training, at) -> list[np.ndarray]:
    parameters = dict(candidate)
    power = parameters.pop("power", 1.0)
    y = Y[tuple(training.T)] - 5.0
    y = y**power if power else (y > 0).astype(float)
    model = ConditionalRanker(objective="regression", tol=1e-3, max_iter=300)
    model.set_params(**{"kernel": "precomputed", **parameters}).fit(kernels, y, edges=training)
    return [model.predict_edges(*kernels, edges) for edges in at]


def mean_scores(several: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The mean of standardised scores, for validation and test edges alike."""
    return [np.mean([s / np.std(s) for s in part], axis=0) for part in zip(*several)]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
