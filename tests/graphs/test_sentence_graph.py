"""The graph of a candidate pair of entities is the one of the paper."""

import numpy as np
import pytest

from rankwise.datasets import Dependency, Entity, Sentence, Token
from rankwise.graphs import AllPathsVectorizer, candidate_graph


def example():
    """X activates P1 with P2 and P3; a second way from P1 to P2 of the same length."""
    words = ["X", "activates", "P1", "with", "P2", "and", "P3"]
    starts = np.cumsum([0] + [len(word) + 1 for word in words[:-1]]).tolist()
    tokens = tuple(Token(w, "POS" + w[0], s, s + len(w)) for w, s in zip(words, starts))
    arcs = [
        (1, 0, "nsubj"),
        (1, 2, "dobj"),
        (1, 4, "prep_with"),
        (3, 2, "a"),
        (3, 4, "b"),
        (4, 6, "conj"),
    ]
    entities = tuple(Entity(words[i], words[i], ((starts[i], starts[i] + 2),)) for i in (2, 4, 6))
    arcs = tuple(Dependency(*arc) for arc in arcs)
    return Sentence("s", "d", " ".join(words), tokens, arcs, entities)


def test_candidate_graph_is_that_of_the_paper():
    sentence = example()
    graph = candidate_graph(sentence, "P1", sentence.entities[1])
    parse, order = graph.labels[:13], graph.labels[13:]
    assert parse[:7] == tuple(
        map(
            frozenset,
            [
                {"X", "POSX"},
                {"activates_IP", "POSa_IP"},
                {"PROT1_IP"},
                {"with_IP", "POSw_IP"},
                {"PROT2_IP"},
                {"and", "POSa"},
                {"PROT"},
            ],
        )
    )
    assert [next(iter(labels)) for labels in parse[7:]] == [
        "nsubj", "dobj_IP", "prep_with_IP", "a_IP", "b_IP", "conj"
    ]  # fmt: skip
    assert order == tuple(
        map(
            frozenset,
            [
                {"X_B", "POSX_B"},
                {"activates_B", "POSa_B"},
                {"PROT1"},
                {"with_M", "POSw_M"},
                {"PROT2"},
                {"and_A", "POSa_A"},
                {"PROT_A"},
            ],
        )
    )
    weights = {(a, b): w for a, b, w in graph.edges}
    assert weights[1, 7] == weights[7, 0] == weights[4, 12] == weights[12, 6] == 0.3
    assert weights[1, 8] == weights[8, 2] == weights[3, 11] == 0.9
    assert all(weights[13 + i, 14 + i] == 0.9 for i in range(6)) and len(weights) == 12 + 6


def test_candidates_are_unordered_unless_told():
    sentence = example()
    assert candidate_graph(sentence, "P2", "P1") == candidate_graph(sentence, "P1", "P2")
    turned = candidate_graph(sentence, "P2", "P1", directed=True)
    assert turned.labels[2] == {"PROT2_IP"} and turned.labels[4] == {"PROT1_IP"}


def test_entities_that_overlap_or_have_no_path():
    sentence = example()
    wide = Entity("wide", "P1 with P2", (sentence.entities[0].spans[0], (20, 27)))
    sentence.entities = (*sentence.entities, wide)
    graph = candidate_graph(sentence, "P1", "wide")
    assert graph.labels[2] == {"PROT1_IP", "PROT2_IP"} and graph.labels[4] == {"PROT2"}
    sentence.dependencies = ()
    graph = candidate_graph(sentence, "P2", "P3")
    assert not any("_IP" in label for labels in graph.labels for label in labels)
    assert AllPathsVectorizer().fit_transform([graph]).nnz > 0


def test_bad_candidates():
    sentence = example()
    with pytest.raises(ValueError, match="cannot be both sides"):
        candidate_graph(sentence, "P1", "P1")
    with pytest.raises(ValueError, match="has no entity 'P9'"):
        candidate_graph(sentence, "P1", "P9")
    sentence.entities = (*sentence.entities, Entity("out", "", ((100, 102),)))
    with pytest.raises(ValueError, match="no token of sentence 's' lies in entity 'out'"):
        candidate_graph(sentence, "P1", "out")
