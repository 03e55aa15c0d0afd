"""Candidate pairs of entities as the learners see them: graphs, features, labels, documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rankwise.graphs import AllPathsVectorizer, LabelledGraph, candidate_graph
from rankwise.io.sentences import Corpus, Pair, Sentence
from rankwise.numerics.memory import refuse_too_large

Candidates = Corpus | Sentence | Pair | Iterable[Sentence | Pair]


class TrainingCandidates(NamedTuple):
    """The labelled candidates of a corpus: features F, whose products are the kernel, labels ±1 and
    documents."""

    vectorizer: AllPathsVectorizer
    F: sparse.csr_matrix
    y: np.ndarray
    documents: np.ndarray


def training_candidates(
    corpus: Candidates, combine: str = "max", normalize: bool = True, **options: Any
) -> TrainingCandidates:
    """The features of the labelled candidates; the arguments are those of AllPathsVectorizer."""
    pairs = labelled_pairs(corpus)
    vectorizer = AllPathsVectorizer(combine, normalize, **options)
    F = vectorizer.fit_transform(graphs_of(pairs))
    return TrainingCandidates(vectorizer, F, labels_of(pairs), documents_of(pairs))


def pairs_of(corpus: Candidates) -> list[Pair]:
    """All candidates of a Corpus, a Sentence, or a list of sentences or pairs."""
    if isinstance(corpus, Corpus | Sentence):
        return list(corpus.pairs)
    if isinstance(corpus, Pair):
        return [corpus]
    pairs: list[Pair] = []
    for number, item in enumerate(corpus):
        if not isinstance(item, Pair | Sentence):
            raise ValueError(
                f"corpus must be a Corpus, sentences or pairs; item {number} is a "
                f"{type(item).__name__}."
            )
        pairs.extend([item] if isinstance(item, Pair) else item.pairs)
    return pairs


def labelled_pairs(corpus: Candidates) -> list[Pair]:
    """The candidates whose interaction is known; refused unless some interact and some do not."""
    pairs = [pair for pair in pairs_of(corpus) if pair.interaction is not None]
    if {pair.interaction for pair in pairs} != {True, False}:
        raise ValueError(
            "corpus must have pairs that interact and pairs that do not; it has "
            f"{len(pairs)} labelled pairs, all of one kind or none."
        )
    return pairs


def graphs_of(pairs: list[Pair]) -> list[LabelledGraph]:
    return [candidate_graph(pair.sentence, pair.entity1, pair.entity2) for pair in pairs]


def labels_of(pairs: list[Pair]) -> np.ndarray:
    """1 for pairs that interact, −1 for the others."""
    return np.where([bool(pair.interaction) for pair in pairs], 1.0, -1.0)


def documents_of(pairs: list[Pair]) -> np.ndarray:
    return np.array([pair.document for pair in pairs], dtype=object)


def kernel_of(F: sparse.csr_matrix) -> np.ndarray:
    """The dense m × m matrix F Fᵀ."""
    way_out = "use basis=, or train on fewer candidates"
    refuse_too_large(F.shape[0], F.shape[0], "the kernel matrix", way_out)
    return (F @ F.T).toarray()
