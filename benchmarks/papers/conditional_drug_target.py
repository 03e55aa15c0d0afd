"""Drug-target relations in the four settings of Pahikkala et al. 2013, against per-column RLS.

The data are Davis (pKd of 68 drugs × 442 targets) and Yamanishi's nr, gpcr and ic (targets × drugs,
0/1). The figure is the concordance within each row on the edges held out by five folds of a
setting. The pairwise model is ConditionalRanker with the product of the two similarity kernels,
which are repaired if they are indefinite. Per-column RLS is one kernel ridge regression over the
rows for each column; it cannot predict new columns. Three inner folds of the same setting choose
alpha from 2^-8 .. 2^8.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import data, table
from rankwise import ConditionalRanker, ConditionalRankerCV
from rankwise.exceptions import UndefinedMetric
from rankwise.kernels import repair_kernel
from rankwise.metrics import ranking_error
from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit

SETTINGS = {
    "edges": ("1 seen row, seen column", EdgeSplit),
    "rows": ("2 new row", RowSplit),
    "columns": ("3 new column", ColumnSplit),
    "both": ("4 new row, new column", RowColumnSplit),
}
ALPHAS = 2.0 ** np.arange(-8, 9, 2)
OUTER, INNER = 5, 3


def main() -> None:
    rows = []
    for name, (K_A, K_B, Y) in relations().items():
        for setting, (title, Split) in SETTINGS.items():
            edges = np.argwhere(np.ones(Y.shape))
            results = [
                fold_concordance(K_A, K_B, Y, edges[train], edges[test], setting, Split)
                for train, test in Split(OUTER, 0).split(edges)
            ]
            means = np.mean(results, axis=0)
            cells = [None if np.isnan(mean) else f"{100 * mean:.1f}" for mean in means]
            size = f"{name} {Y.shape[0]} × {Y.shape[1]}" if setting == "edges" else ""
            rows.append((size, title, *cells))
            print(f"  {name}, {title}: {cells}", flush=True)
    header = ("", "setting", "pairwise, ranking", "pairwise, regression", "per-column RLS")
    table.show(f"Concordance of the columns of each row in %, {OUTER} folds", header, rows)


def relations() -> dict:
    """Row kernel, column kernel and labels of every data set; kernels have unit diagonals."""
    home = data.folder("drug_target")
    davis, yamanishi = home / "davis", home / "yamanishi"
    found = {}
    if davis.is_dir():
        Kd = np.loadtxt(next(davis.glob("drug-target*.txt")))
        drugs = np.loadtxt(next(davis.glob("drug-drug*.txt")))
        targets = np.loadtxt(next(davis.glob("target-target*.txt")))
        found["Davis"] = unit(drugs), unit(targets), 9 - np.log10(Kd)
    for name in ("nr", "gpcr", "ic"):
        if (yamanishi / f"{name}_admat_dgc.txt").is_file():
            parts = (f"{name}_simmat_dg.txt", f"{name}_simmat_dc.txt", f"{name}_admat_dgc.txt")
            targets, drugs, Y = (labelled(yamanishi / part) for part in parts)
            found[f"Yamanishi {name}"] = unit(targets), unit(drugs), Y
    if not found:
        raise data.MissingData("drug_target: the folder contains neither davis nor yamanishi.")
    return found


def labelled(path) -> np.ndarray:
    """The numbers of a tab-separated table that has a header line and a name in each line."""
    lines = path.read_text(encoding="utf-8").strip("\n").split("\n")[1:]
    return np.array([line.split("\t")[1:] for line in lines], dtype=float)


def unit(K: np.ndarray) -> np.ndarray:
    """Similarities, symmetrised, clipped to be positive semi-definite and scaled to norm 1."""
    K = repair_kernel(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))
    norms = np.sqrt(np.diag(K))
    return K / np.outer(norms, norms)


def fold_concordance(K_A, K_B, Y, train, test, setting: str, Split) -> tuple[float, float, float]:
    """Concordance of pairwise ranking and regression, and of per-column RLS (nan if undefined)."""
    found = []
    for objective in ("ranking", "regression"):
        ranker = ConditionalRanker(kernel="precomputed", objective=objective, tol=1e-4)
        search = ConditionalRankerCV(ranker, alphas=ALPHAS, cv=Split(INNER, 0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit((K_A, K_B), Y[tuple(train.T)], edges=train)
        scores = search.predict_edges(K_A, K_B, test)
        found.append(concordance(Y, scores, test))
    if setting in ("columns", "both"):
        return (*found, np.nan)
    errors = []
    for inner, validation in Split(INNER, 0).split(train):
        at = train[validation]
        path = per_column(K_A, Y, train[inner])
        errors.append([concordance(Y, S[tuple(at.T)], at) for S in path])
    best = int(np.argmax(np.mean(errors, axis=0)))
    return (*found, concordance(Y, per_column(K_A, Y, train)[best][tuple(test.T)], test))


def per_column(K: np.ndarray, Y: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(alphas, rows, columns) scores of kernel ridge regression of each column on its rows."""
    scores = np.zeros((len(ALPHAS), *Y.shape))
    edges = edges[np.argsort(edges[:, 1], kind="stable")]
    starts = np.searchsorted(edges[:, 1], np.arange(Y.shape[1] + 1))
    for column, (lo, hi) in enumerate(pairwise(starts)):
        seen = edges[lo:hi, 0]
        if len(seen):
            eigenvalues, Q = np.linalg.eigh(K[np.ix_(seen, seen)])
            target = Q.T @ Y[seen, column]
            dual = Q @ (target[:, None] / (eigenvalues[:, None].clip(0) + ALPHAS))
            scores[:, :, column] = (K[:, seen] @ dual).T
    return scores


def concordance(Y: np.ndarray, scores: np.ndarray, edges: np.ndarray) -> float:
    try:
        return 1 - ranking_error(Y[tuple(edges.T)], scores, edges[:, 0])
    except UndefinedMetric:
        return np.nan


if __name__ == "__main__":
    main()
