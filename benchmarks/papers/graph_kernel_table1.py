"""Airola et al. 2008, Table 1: interactions by the all-paths graph kernel, documents left out.

    python -m benchmarks.papers.graph_kernel_table1 [corpora=LLL,AIMed] [parts=kernels,learners]
        [combine=max,sum] [normalize=no,yes] [powers=-4,-2,0] [basis=4000] [split=FILE] [NAME=PATH]

The figures are averages and standard deviations over ten folds of documents. Within each training
part, leaving out one document at a time chooses alpha (largest AUC) and the threshold (largest F).
NAME=PATH adds a corpus; for BioInfer=PATH the paper's figures are shown too. split=FILE gives the
AIMed folds, with one document per line: fold, tab, document id; without it folds are random.
powers= are the exponents of alpha: powers of two in units of the kernel's mean diagonal; the
default is −14 to 6, and −4, −2, 0, 2 for a corpus of more than 3000 candidates.

kernels: both combinations (max of the erratum, sum of the article), plain and normalised.
learners: with max, normalised: least squares, 4000 basis vectors (if there are more candidates),
RankRLS, and random folds of candidates instead of documents.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.papers import data, table
from rankwise.applications.alpha_and_threshold import default_alphas, squares
from rankwise.applications.candidate_pairs import (
    documents_of,
    graphs_of,
    labelled_pairs,
    labels_of,
)
from rankwise.applications.ppi_evaluation import Evaluation, cross_validate_features, cut_folds
from rankwise.datasets import Corpus, read_ppi_corpus
from rankwise.graphs import AllPathsVectorizer

NAMES = ("LLL", "HPRD50", "IEPA", "AIMed")
PAPER = {
    "AIMed": (52.9, 61.8, 56.4, 5.0, 84.8, 2.3, 17.8, 30.1),
    "BioInfer": (56.7, 67.2, 61.3, 5.2, 81.9, 4.9, 26.6, 41.7),
    "HPRD50": (64.3, 65.8, 63.4, 11.4, 79.7, 6.3, 38.9, 55.4),
    "IEPA": (69.6, 82.7, 75.1, 7.0, 85.1, 5.1, 40.8, 57.6),
    "LLL": (72.5, 87.2, 76.8, 17.8, 83.4, 12.2, 55.9, 70.3),
}
"""P, R, F, σ of F, AUC, σ of AUC, and P and F of the co-occurrence baseline."""
HEADER = ("corpus", "", "P", "R", "F", "±", "AUC", "±", "co-occurrence P", "F")
LARGE, LARGE_POWERS = 3000, (-4, -2, 0, 2)
"""A corpus of more candidates has only these powers of two in its grid."""


def corpora(words: dict[str, str]) -> dict[str, Corpus]:
    """The corpora named by corpora=A,B, from the data folder, and those given by NAME=PATH."""
    paths = {name: Path(path) for name, path in words.items() if name[0].isupper()}
    wanted = words["corpora"].split(",") if words.get("corpora") else NAMES
    home = data.folder("ppi") if any(name not in paths for name in wanted) else Path()
    known = {name: home / f"{name}.xml.xz" for name in wanted if name not in paths}
    return {name: read_ppi_corpus(path) for name, path in (known | paths).items()}


def main(**words: str) -> None:
    parts = words.get("parts", "kernels,learners").split(",")
    kernels: list[tuple] = []
    learners: list[tuple] = []
    for name, corpus in corpora(words).items():
        folds = given_split(words["split"]) if name == "AIMed" and "split" in words else 10
        powers = (
            [float(power) for power in words["powers"].split(",")] if "powers" in words else None
        )
        study = Study(name, corpus, folds, powers)
        if "kernels" in parts:
            combine = words.get("combine", "max,sum").split(",")
            normalize = words.get("normalize", "no,yes").split(",")
            kernels += study.kernels([(c, n == "yes") for c in combine for n in normalize])
        if "learners" in parts:
            learners += study.learners(int(words.get("basis", 4000)))
    for title, rows in (("Kernels", kernels), ("Learners on max, normalised", learners)):
        if rows:
            table.show(f"{title}; figures in %", HEADER, rows)


class Study:
    """One corpus with its candidates and folds, and the tables about them."""

    def __init__(self, name: str, corpus: Corpus, folds, powers=None):
        pairs = labelled_pairs(corpus)
        if powers is None and len(pairs) > LARGE:
            powers = LARGE_POWERS
        self.name, self.folds, self.powers = name, folds, powers
        self.graphs, self.y, self.documents = (
            graphs_of(pairs),
            labels_of(pairs),
            documents_of(pairs),
        )

    def features(self, combine: str, normalize: bool):
        return AllPathsVectorizer(combine, normalize).fit_transform(self.graphs)

    def row(self, title: str, F, groups=None, **options):
        groups = self.documents if groups is None else groups
        start = time.perf_counter()
        tests = cut_folds(groups, self.folds if groups is self.documents else 10)
        alphas, unit = default_alphas(F), squares(F) / F.shape[0]
        if self.powers is not None:
            alphas = 2.0 ** np.array(self.powers) * unit
        found = cross_validate_features(F, self.y, groups, tests, alphas, **options)
        chosen = sorted({fold.alpha / unit for fold in found.folds})
        print(f"  {self.name} {title}: alpha / mean K_ii in", *(f"{a:.2g}" for a in chosen))
        left = len(found.folds) - len(found.aucs)
        if left:
            print(f"  {left} folds contain only one class and have no AUC")
        print(f"  {figures(found)}, {time.perf_counter() - start:.0f} s", flush=True)
        return self.name, title, *figures(found)

    def kernels(self, variants: list[tuple[str, bool]]) -> list[tuple]:
        rows = [
            self.row(
                f"{combine}{', normalised' if normalize else ''}", self.features(combine, normalize)
            )
            for combine, normalize in variants
        ]
        if self.name in PAPER:
            rows.append((self.name, "*paper*", *(f"{value:.1f}" for value in PAPER[self.name])))
        return rows

    def learners(self, basis: int) -> list[tuple]:
        F = self.features("max", True)
        rows = [self.row("least squares", F)]
        if len(self.y) > basis:
            rows.append(self.row(f"{basis} basis vectors", F, basis=basis))
        rows.append(self.row("RankRLS", F, learner="rank_rls"))
        rows.append(self.row("candidates at random", F, groups=range(len(self.y))))
        return rows


def figures(found: Evaluation) -> list[str]:
    baseline = found.cooccurrence
    values = (found.precision, found.recall, found.f, found.f_spread, found.auc, found.auc_spread)
    return [f"{100 * value:.1f}" for value in (*values, baseline.precision, baseline.f)]


def given_split(path: str) -> list[list[str]]:
    """Document ids of each fold, from lines with fold, tab, document."""
    folds: dict[str, list[str]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip():
            fold, document = line.split("\t")
            folds.setdefault(fold.strip(), []).append(document.strip())
    return list(folds.values())


if __name__ == "__main__":
    main(**dict(word.split("=", 1) for word in sys.argv[1:]))
