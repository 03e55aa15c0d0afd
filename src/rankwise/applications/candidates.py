"""Candidate pairs of entities as the learners see them: graphs, labels, documents, a kernel."""

from __future__ import annotations

import numpy as np

from rankwise.graphs import LabelledGraph, candidate_graph
from rankwise.io.sentences import Corpus, Pair, Sentence
from rankwise.numerics.memory import refuse_too_large


def pairs_of(corpus) -> list[Pair]:
    """All candidates of a Corpus, a Sentence, or a list of sentences or pairs."""
    if isinstance(corpus, Corpus | Sentence):
        return list(corpus.pairs)
    if isinstance(corpus, Pair):
        return [corpus]
    found: list[Pair] = []
    for number, item in enumerate(corpus):
        if not isinstance(item, Pair | Sentence):
            raise ValueError(
                f"corpus must be a Corpus, sentences or pairs; item {number} is a "
                f"{type(item).__name__}."
            )
        found.extend([item] if isinstance(item, Pair) else item.pairs)
    return found


def labelled_pairs(corpus) -> list[Pair]:
    """The candidates whose interaction is known, with some of each kind."""
    pairs = [pair for pair in pairs_of(corpus) if pair.interaction is not None]
    kinds = {pair.interaction for pair in pairs}
    if kinds != {True, False}:
        raise ValueError(
            "corpus must have pairs that interact and pairs that do not; it has "
            f"{len(pairs)} labelled pairs, all of one kind or none."
        )
    return pairs


def graphs_of(pairs: list[Pair]) -> list[LabelledGraph]:
    return [candidate_graph(pair.sentence, pair.entity1, pair.entity2) for pair in pairs]


def labels_of(pairs: list[Pair]) -> np.ndarray:
    """±1."""
    return np.where([bool(pair.interaction) for pair in pairs], 1.0, -1.0)


def documents_of(pairs: list[Pair]) -> np.ndarray:
    return np.array([pair.document for pair in pairs], dtype=object)


def kernel_of(F) -> np.ndarray:
    """F Fᵀ dense, m × m."""
    refuse_too_large(F.shape[0], F.shape[0], "the kernel matrix", "train on fewer candidates")
    return (F @ F.T).toarray()
