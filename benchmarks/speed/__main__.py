"""Runs every speed benchmark, or the named ones: python -m benchmarks.speed [name ...]"""

import importlib
import pkgutil
import sys

import benchmarks.speed

HELPERS = {"harness", "sittings", "text_like", "rank_svm_peers", "rank_svm_liblinear", "__main__"}


def benchmark_names() -> list[str]:
    modules = pkgutil.iter_modules(benchmarks.speed.__path__)
    return sorted(module.name for module in modules if module.name not in HELPERS)


def main() -> None:
    names = sys.argv[1:] or benchmark_names()
    sys.argv = sys.argv[:1]
    for name in names:
        print(f"\n=== {name}")
        importlib.import_module(f"benchmarks.speed.{name}").main()


if __name__ == "__main__":
    main()
