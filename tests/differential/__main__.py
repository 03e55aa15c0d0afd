"""python -m tests.differential [N] [--seed FIRST]"""

import argparse
from collections import Counter

from .configurations import run

parser = argparse.ArgumentParser(prog="python -m tests.differential")
parser.add_argument("n", nargs="?", type=int, default=2000, help="how many configurations")
parser.add_argument("--seed", type=int, default=100_000, help="the seed of the first one")
arguments = parser.parse_args()
counts: Counter[str] = Counter()
for seed in range(arguments.seed, arguments.seed + arguments.n):
    outcome = run(seed)
    counts["differs" if outcome.differences else outcome.status.split(":")[0]] += 1
    if outcome.differences:
        print(f"seed {seed}: {outcome.description}")
        for difference in outcome.differences:
            print(f"    {difference}")
print(", ".join(f"{count} {status}" for status, count in counts.most_common()))
raise SystemExit(1 if counts["differs"] else 0)
