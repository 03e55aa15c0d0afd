"""Small files for the tests of the command, and a way to run it."""

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from rankwise.cli import main


def run(*arguments, code=0, input=None):
    """The command's result; its exit code is checked unless None, and it shows no traceback."""
    found = CliRunner().invoke(main, [str(a) for a in arguments], input=input)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert code in (None, found.exit_code), found.output + found.stderr
    assert "Traceback" not in found.output
    return found


def made_items(q=12, size=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(q * size, 3)).round(4)
    y = np.digitize(X @ [1.0, -0.5, 0.0] + 0.3 * rng.normal(size=len(X)), [-0.5, 0.5]).astype(int)
    return X, y, np.repeat([f"q{i}" for i in range(q)], size)


def write_csv(path: Path, *, q=12, seed=0, target=True, columns=("a", "b", "c")) -> Path:
    X, y, qid = made_items(q, seed=seed)
    lines = [",".join(["id", "query", *columns, *(["score"] if target else [])])]
    for i, row in enumerate(X):
        cells = [f"d{i}", qid[i], *(f"{v:.4f}" for v in row)]
        lines.append(",".join(cells + ([str(y[i])] if target else [])))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_letor(path: Path, *, q=12, seed=0) -> Path:
    X, y, qid = made_items(q, seed=seed)
    lines = []
    for i, row in enumerate(X):
        features = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(row))
        lines.append(f"{y[i]} qid:{qid[i][1:]} {features} #docid = D{i} inc = 1")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def scores(text: str) -> np.ndarray:
    """The scores that predict printed."""
    return np.array([float(line) for line in text.split()])
