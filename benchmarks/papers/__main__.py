"""``python -m benchmarks.papers [names...] [options]`` makes the papers' tables.

It runs every script of this folder, or those whose name contains one of the given names. Each one
says beforehand about how long it takes. Its tables are printed, written into
benchmarks/papers/tables and copied into the pages.

An interrupted run resumes: a script that has finished since it was last changed is skipped, unless
--again is given. --missing runs only the scripts that pages still wait for, the shortest first;
--list shows scripts, durations and what is done; --fill only copies the tables into the pages. A
script whose data are missing says so and is skipped. A script is a module with a ``main()``; the
first line of its docstring is its heading.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from pathlib import Path

from benchmarks import papers
from benchmarks.papers import pages, table
from benchmarks.papers.data import REPOSITORY, MissingData

HELPERS = {"__main__", "data", "nystrom_data", "pages", "table"}
DONE = REPOSITORY / "build" / "papers"
"""The tables of finished scripts; newer than the script means up to date."""
MINUTES = {
    "conditional_figure5_scaling": 4,
    "conditional_four_settings": 3,
    "conditional_table2_newsgroups": 12,
    "evaluation_auc": 6,
    "evaluation_intervals": 4,
    "graph_kernel_table1": 10,
    "graph_kernel_table2": 5,
    "graph_kernel_transfer": 3,
    "magnitude_tables": 5,
    "nystrom_tables": 4,
    "rank_svm_figures": 4,
    "rank_svm_tables": 3,
    "rankrls_table4_reuters": 3,
    "rankrls_table6_jester": 8,
    "survival_estimates": 10,
    "votes_coverage": 4,
    "votes_estimates": 5,
    "votes_next_pairs": 3,
    "votes_transitivity": 3,
}
"""About how long a script takes on two cores, if it takes more than two minutes."""


def main(words: list[str]) -> int:
    options = {word for word in words if word.startswith("--")}
    wanted = [word for word in words if not word.startswith("--")]
    scripts = [m.name for m in pkgutil.iter_modules(papers.__path__) if m.name not in HELPERS]
    if unknown := options - {"--again", "--missing", "--list", "--fill"}:
        print(f"unknown option {sorted(unknown)[0]}\n{__doc__}", file=sys.stderr)
        return 2
    for name in wanted:
        if not any(name in script for script in scripts):
            print(f"no script {name!r}; the scripts are: {', '.join(scripts)}", file=sys.stderr)
            return 2
    chosen = [s for s in scripts if not wanted or any(name in s for name in wanted)]
    if "--missing" in options:
        missing = set(pages.not_run())
        chosen = sorted((s for s in chosen if s in missing), key=lambda s: MINUTES.get(s, 1))
    if "--list" in options:
        show_list(chosen)
    elif "--fill" not in options:
        run_all(chosen, "--again" in options)
    for page in pages.fill():
        print(f"filled {page.relative_to(REPOSITORY)}")
    return 0


def duration(script: str) -> str:
    minutes = MINUTES.get(script)
    return f"about {minutes} minutes" if minutes else "less than 2 minutes"


def show_list(scripts: list[str]) -> None:
    for script in scripts:
        state = "done" if is_done(script) else "to do"
        print(f"{script:32} {duration(script):22} {state}")


def is_done(script: str) -> bool:
    found, source = DONE / f"{script}.md", Path(__file__).parent / f"{script}.py"
    return found.is_file() and found.stat().st_mtime > source.stat().st_mtime


def run_all(scripts: list[str], again: bool) -> None:
    done = [] if again else [script for script in scripts if is_done(script)]
    left = [script for script in scripts if script not in done]
    if done:
        print(f"done before, skipped without --again: {', '.join(done)}")
    for number, script in enumerate(left, start=1):
        rest = sum(MINUTES.get(other, 1) for other in left[number - 1 :])
        print(
            f"\n== {number} of {len(left)}: {script} ({duration(script)}; all: {rest})", flush=True
        )
        run(script)


def run(script: str) -> None:
    module = importlib.import_module(f"benchmarks.papers.{script}")
    print(module.__doc__.splitlines()[0], flush=True)
    start = time.perf_counter()
    try:
        with table.collecting() as parts:
            module.main()
    except MissingData as missing:
        print(f"skipped: {missing}")
        return
    if parts:
        pages.save(script, parts)
    pages.save(script, parts, DONE)
    pages.fill()
    print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
