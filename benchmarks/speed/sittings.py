"""Benchmarks in several sittings, each a new process on a quiet machine; one table for all.

    python -m benchmarks.speed.sittings [--sittings 3] [--show] [NAME ...]

A name may bring arguments: "kernel_fits fits items=1000,2000". `--show` prints all that runs print.
A sitting starts when other programs use less than a tenth of the processors, and says so if that
does not happen within some minutes. Other benchmarks run between two sittings of the same one, so
that the sittings see different minutes of the machine. The table is Markdown: for each row the
median over sittings of the median over rounds, and the range over sittings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.__main__ import benchmark_names
from benchmarks.speed.harness import print_machine

QUIET, PATIENCE = 0.1, 300.0
"""The busy share of the processors below which a sitting starts, and the seconds to wait for it."""


def busy_share(seconds: float = 2.0) -> float:
    """The share of all processors' time that was not idle during some seconds; 0 if unknown."""

    def ticks() -> np.ndarray:
        with open("/proc/stat", encoding="ascii") as file:
            return np.array(file.readline().split()[1:9], dtype=float)

    try:
        before = ticks()
        time.sleep(seconds)
        passed = ticks() - before
    except OSError:
        return 0.0
    return float(1 - (passed[3] + passed[4]) / passed.sum())


def wait_until_quiet() -> None:
    deadline = time.monotonic() + PATIENCE
    while (share := busy_share()) > QUIET:
        if time.monotonic() > deadline:
            print(f"(other programs use {share:.0%} of the processors)", flush=True)
            return


def sitting(call: str, rows: Path, show: bool) -> None:
    """Run one benchmark in a process of its own; its rows are added to the file `rows`."""
    wait_until_quiet()
    name, *arguments = call.split()
    environment = os.environ | {"RANKWISE_BENCHMARK_ROWS": str(rows)}
    start = time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.speed.{name}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    note = "" if done.returncode == 0 else f": FAILED\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    print(f"{call}: {time.monotonic() - start:.0f} s{note}", flush=True)
    if show:
        print(done.stdout, flush=True)


def markdown(entries: list[dict]) -> str:
    """One table for each title, its rows in the order in which they first appeared."""
    tables: dict[str, dict[str, list[dict]]] = {}
    for entry in entries:
        tables.setdefault(entry["table"], {}).setdefault(entry["row"], []).append(entry)
    lines = []
    for title, rows in tables.items():
        lines += [f"\n{title}\n", "| row | ms | ratio | range over sittings | limit |"]
        lines.append("|---|---|---|---|---|")
        for name, found in rows.items():
            ratios = [entry["ratio"] for entry in found]
            milliseconds = 1e3 * float(np.median([entry["seconds"] for entry in found]))
            limit = found[0]["limit"]
            lines.append(
                f"| {name} | {milliseconds:.4g} | {np.median(ratios):.2f} | {min(ratios):.2f} to "
                f"{max(ratios):.2f} | {'' if limit is None else f'{limit:g}'} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.sittings")
    parser.add_argument("names", nargs="*", help="benchmarks; all of them if none is named")
    parser.add_argument("--sittings", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print what each run prints")
    arguments = parser.parse_args()
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        rows.touch()
        try:
            for number in range(arguments.sittings):
                print(f"sitting {number + 1} of {arguments.sittings}", flush=True)
                for name in arguments.names or benchmark_names():
                    sitting(name, rows, arguments.show)
        except KeyboardInterrupt:
            print("interrupted: the table holds the sittings so far")
        print(
            markdown([json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()])
        )


if __name__ == "__main__":
    main()
