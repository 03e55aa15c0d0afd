"""``python -m benchmarks.papers [names...]`` runs every script of this folder, or the named ones.

A script is a module with a ``main()``. The first line of its docstring is its heading. A part of
its name is enough to choose it. A script whose data are missing says so and is skipped.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time

from benchmarks import papers
from benchmarks.papers.data import MissingData

HELPERS = {"__main__", "data", "nystrom_data", "table"}


def main(wanted: list[str]) -> int:
    scripts = [m.name for m in pkgutil.iter_modules(papers.__path__) if m.name not in HELPERS]
    for name in wanted:
        if not any(name in script for script in scripts):
            print(f"no script {name!r}; the scripts are: {', '.join(scripts)}", file=sys.stderr)
            return 2
    for script in scripts:
        if not wanted or any(name in script for name in wanted):
            run(script)
    return 0


def run(script: str) -> None:
    module = importlib.import_module(f"benchmarks.papers.{script}")
    print(f"\n== {script}: {module.__doc__.splitlines()[0]}", flush=True)
    start = time.perf_counter()
    try:
        module.main()
    except MissingData as missing:
        print(f"skipped: {missing}")
    else:
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
