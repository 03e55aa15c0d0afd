"""What the lines of the package are: code, signatures, imports, docstrings and blank lines.

python -m benchmarks.house.lines [FOLDER]
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "src" / "rankwise"


def kinds_of(source: str) -> Counter[str]:
    """The number of lines of each kind in one file."""
    lines = source.splitlines()
    kind = ["blank" if not line.strip() else "code" for line in lines]

    def mark(first: int, last: int, name: str) -> None:
        for number in range(first - 1, last):
            if kind[number] != "blank" or name == "docstrings":
                kind[number] = name

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                mark(node.lineno, node.end_lineno or node.lineno, "docstrings")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            mark(node.lineno, node.end_lineno or node.lineno, "imports")
        elif isinstance(node, ast.FunctionDef):
            mark(node.lineno, max(node.lineno, node.body[0].lineno - 1), "signatures")
    return Counter(kind)


def main(folder: Path = FOLDER) -> None:
    files = sorted(folder.rglob("*.py"))
    total = sum((kinds_of(file.read_text(encoding="utf-8")) for file in files), Counter())
    print(f"{len(files)} files, {total.total()} lines")
    for name, count in total.most_common():
        print(f"  {name:12} {count:6}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
