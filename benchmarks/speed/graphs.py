"""Time to vectorise graphs, in units of the dense inverses of the textbook formula, in one run.

    python -m benchmarks.speed.graphs [vectorise] [folds] [corpus=PATH] [basis=4000] [alphas=11]

vectorise: all candidates of AIMed, or of the given corpus; if AIMed is missing, of synthetic
sentences of similar size. The unit is numpy's inverse of I − A for the two parts of every graph,
with equal sizes stacked. folds: one fold of ten with basis vectors, where leaving out documents
chooses alpha; and all ten folds without a basis, from one inverse per alpha, timed for one alpha.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.papers.data import MissingData, folder
from benchmarks.speed.harness import print_machine, print_ratios
from rankwise.applications.alpha_and_threshold import choose, default_alphas
from rankwise.applications.candidate_pairs import (
    documents_of,
    graphs_of,
    labelled_pairs,
    labels_of,
)
from rankwise.applications.ppi_evaluation import cross_validate_features, cut_folds
from rankwise.datasets import Corpus, Dependency, Entity, Sentence, Token, read_ppi_corpus
from rankwise.graphs import AllPathsVectorizer
from rankwise.numerics.threads import one_blas_thread


def corpus_of(path: str | None) -> Corpus:
    if path:
        return read_ppi_corpus(path)
    try:
        return read_ppi_corpus(folder("ppi") / "AIMed.xml.xz")
    except (MissingData, FileNotFoundError):
        return made_corpus()


def made_corpus(n_documents=225, per_document=4, seed=0) -> Corpus:
    """Sentences of 20 to 50 words with random dependency trees and 2 to 6 entities."""
    rng = np.random.default_rng(seed)
    sentences = []
    for d in range(n_documents):
        for s in range(per_document):
            n = int(rng.integers(20, 50))
            words = [f"w{rng.zipf(1.5) % 5000}" for _ in range(n)]
            starts = np.cumsum([0] + [len(word) + 1 for word in words[:-1]]).tolist()
            tokens = tuple(Token(w, f"P{len(w)}", a, a + len(w)) for w, a in zip(words, starts))
            arcs = tuple(Dependency(int(rng.integers(i)), i, f"t{i % 9}") for i in range(1, n))
            places = rng.choice(n, int(rng.integers(2, 7)), replace=False)
            entities = tuple(
                Entity(f"e{p}", words[p], ((tokens[p].start, tokens[p].end),))
                for p in sorted(places)
            )
            sentence = Sentence(f"{d}.{s}", f"d{d}", " ".join(words), tokens, arcs, entities)
            sentence.add_pairs({}, None)
            known = {
                frozenset((pair.entity1.id, pair.entity2.id)): (pair.id, bool(rng.integers(6) == 0))
                for pair in sentence.pairs
            }
            sentence.add_pairs(known, None)
            sentences.append(sentence)
    return Corpus("made", sentences)


def vectorise(pairs) -> None:
    graphs = graphs_of(pairs)
    blocks: dict[int, list] = {}
    for graph, pair in zip(graphs, pairs):
        A, cut = graph.adjacency(), graph.n_vertices - len(pair.sentence.tokens)
        for part in (A[:cut, :cut], A[cut:, cut:]):
            blocks.setdefault(len(part), []).append(np.eye(len(part)) - part)
    stacks = [np.stack(parts) for parts in blocks.values()]
    timed = {
        "numpy.linalg.inv of all parts, stacked": lambda: [np.linalg.inv(s) for s in stacks],
        "AllPathsVectorizer, sum": lambda: AllPathsVectorizer("sum").fit_transform(graphs),
        "AllPathsVectorizer, max": lambda: AllPathsVectorizer("max").fit_transform(graphs),
        "candidate_graph of every pair": lambda: graphs_of(pairs),
    }
    limits = {"AllPathsVectorizer, sum": 2.0, "AllPathsVectorizer, max": 2.0}
    with one_blas_thread():
        print_ratios(f"{len(graphs)} candidates", timed, limits, rounds=3)


def folds(pairs, basis: int, n_alphas: int) -> None:
    F = AllPathsVectorizer("max", True).fit_transform(graphs_of(pairs))
    y, documents = labels_of(pairs), documents_of(pairs)
    tests = cut_folds(documents, 10)
    alphas = default_alphas(F)[:n_alphas]
    start = time.perf_counter()
    cross_validate_features(F, y, documents, tests, alphas[-1:])
    once = time.perf_counter() - start
    print(f"\nten folds, documents left out in each, one alpha: {once:.1f} s")
    if len(y) <= basis * 10 / 9:
        return
    training = np.setdiff1d(np.arange(len(y)), tests[0])
    names = documents[training]
    within = [np.flatnonzero(names == name) for name in np.unique(names.astype(str))]
    start = time.perf_counter()
    choose(F[training], y[training], within, alphas, "rls", basis, 0)
    fold = time.perf_counter() - start
    print(f"one fold, {basis} basis vectors, {len(alphas)} alphas: {fold:.1f} s")


def main() -> None:
    words = sys.argv[1:]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    parts = [word for word in words if "=" not in word] or ["vectorise", "folds"]
    path = options.get("corpus")
    pairs = labelled_pairs(corpus_of(str(Path(path)) if path else None))
    print_machine()
    if "vectorise" in parts:
        vectorise(pairs)
    if "folds" in parts:
        folds(pairs, int(options.get("basis", 4000)), int(options.get("alphas", 11)))


if __name__ == "__main__":
    main()
