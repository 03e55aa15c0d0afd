"""Simulate examples/votes.csv and examples/systems.csv: invented names, invented judges.

    python -m benchmarks.simulated_votes

Judges compare the answers of two systems. The strength of a system grows with its size, it has a
part of its own, and judges have tastes of their own. The system that is shown first has a small
advantage, and popular systems are asked about more often. The two newest systems have no votes.
"""

from pathlib import Path

import numpy as np

NAMES = ["Alder", "Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple"]
NAMES += ["Oak", "Pine"]
NEW = ["Rowan", "Spruce"]
ORDER_EFFECT, TIES, TASTE = 0.4, 0.12, 0.8


def simulate(n_votes: int = 1500, n_judges: int = 40, seed: int = 7):
    """Rows of systems.csv and of votes.csv, and the true strengths."""
    rng = np.random.default_rng(seed)
    names = NAMES + NEW
    size = np.round(np.exp(rng.uniform(np.log(2), np.log(90), len(names))), 1)
    price = np.round(size**0.8 * np.exp(0.3 * rng.normal(size=len(names))), 2)
    strength = 0.9 * np.log(size / 10) + 0.3 * rng.normal(size=len(names))
    systems = [f"{n},{s},{p}" for n, s, p in zip(names, size, price)]
    taste = TASTE * rng.normal(size=(n_judges, len(NAMES)))
    popular = rng.dirichlet(np.full(len(NAMES), 2.0))
    votes = []
    for _ in range(n_votes):
        a, b = rng.choice(len(NAMES), 2, replace=False, p=popular)
        judge = int(n_judges * rng.random() ** 1.5)
        topic = rng.choice(["code", "letters", "history"], p=[0.5, 0.3, 0.2])
        difference = strength[a] - strength[b] + taste[judge, a] - taste[judge, b] + ORDER_EFFECT
        won = "left" if rng.random() < 1 / (1 + np.exp(-difference)) else "right"
        won = "tie" if rng.random() < TIES else won
        votes.append(f"judge {judge + 1},{topic},{names[a]},{names[b]},{won}")
    return systems, votes, strength


if __name__ == "__main__":
    systems, votes, _ = simulate()
    folder = Path(__file__).parents[1] / "examples"
    (folder / "systems.csv").write_text(
        "name,size,price\n" + "\n".join(systems) + "\n", encoding="utf-8"
    )
    header = "judge,topic,left,right,won\n"
    (folder / "votes.csv").write_text(header + "\n".join(votes) + "\n", encoding="utf-8")
