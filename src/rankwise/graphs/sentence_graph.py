"""The graph of a candidate pair of entities: dependencies and word order of its sentence."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rankwise.graphs.labelled_graph import LabelledGraph

if TYPE_CHECKING:
    from rankwise.io.sentences import Entity, Sentence

ON_PATH, OFF_PATH, IN_ORDER = 0.9, 0.3, 0.9
"""Weights of edges on the shortest paths, elsewhere in the parse, and from word to word."""


def candidate_graph(
    sentence: Sentence, entity1: Entity | str, entity2: Entity | str, *, directed: bool = False
) -> LabelledGraph:
    """The two-part graph of a candidate pair, O(tokens + dependencies).

    Airola et al. (2008), "Graph encoding of sentence structure", Figure 2. The first part has one
    vertex per token, labelled with its text and part of speech, and one
    vertex per dependency, labelled with its type, with edges governor → dependency → dependent. On
    the shortest undirected paths between the two entities, labels end in ``_IP`` and edges weigh
    0.9; all other edges weigh 0.3.

    The second part has the tokens again, chained in their order by edges of weight 0.9. Their
    labels end in ``_B``, ``_M`` or ``_A`` (before, in the middle of, after the pair).

    Tokens of the two entities have only the label PROT1 or PROT2 (both, if the entities overlap),
    tokens of other entities only PROT. In the second part PROT1 and PROT2 have no ending, because
    they are the pair itself. The vertices are the tokens, then the dependencies, then the tokens
    again.

    Parameters
    ----------
    sentence : Sentence
        A parsed sentence.
    entity1, entity2 : Entity or str
        Entities of the sentence, or their ids. The pair is unordered: PROT1 is the entity that
        begins first.
    directed : bool
        Whether PROT1 is always entity1.

    Examples
    --------
    >>> from rankwise.datasets import Dependency, Entity, Sentence, Token
    >>> from rankwise.graphs import candidate_graph
    >>> tokens = (Token("A", "NN", 0, 1), Token("binds", "VBZ", 2, 7), Token("B", "NN", 8, 9))
    >>> links = (Dependency(1, 0, "nsubj"), Dependency(1, 2, "dobj"))
    >>> entities = (Entity("e1", "A", ((0, 1),)), Entity("e2", "B", ((8, 9),)))
    >>> sentence = Sentence("s1", "d1", "A binds B", tokens, links, entities)
    >>> candidate_graph(sentence, "e1", "e2")
    LabelledGraph(8 vertices, 6 edges)
    """
    pair = [sentence.entity(entity1), sentence.entity(entity2)]
    if pair[0] == pair[1]:
        raise ValueError(f"entity {pair[0].id!r} cannot be both sides of a candidate pair.")
    if not directed:
        pair.sort(key=lambda entity: (min(entity.spans), entity.spans))
    first, second = (_tokens_of(sentence, entity) for entity in pair)
    names = _token_labels(sentence, first, second)
    tokens_on_path, dependencies_on_path = _shortest_paths(sentence, first, second)
    labels = [_with_ending(own, "_IP" if on else "") for own, on in zip(names, tokens_on_path)]
    n, edges = len(sentence.tokens), []
    for dependency, on in zip(sentence.dependencies, dependencies_on_path):
        weight = ON_PATH if on else OFF_PATH
        edges.append((dependency.governor, len(labels), weight))
        edges.append((len(labels), dependency.dependent, weight))
        labels.append({dependency.type + "_IP" if on else dependency.type})
    start, inside = len(labels), {*first, *second}
    low, high = min(inside), max(inside)
    for position, own in enumerate(names):
        ending = "_B" if position < low else "_A" if position > high else "_M"
        labels.append(own if position in inside else _with_ending(own, ending))
    edges.extend((vertex, vertex + 1, IN_ORDER) for vertex in range(start, start + n - 1))
    return LabelledGraph(labels, edges)


def _tokens_of(sentence: Sentence, entity: Entity) -> list[int]:
    positions = sentence.tokens_of(entity)
    if not positions:
        raise ValueError(f"no token of sentence {sentence.id!r} lies in entity {entity.id!r}.")
    return positions


def _with_ending(labels: set[str], ending: str) -> set[str]:
    return {label + ending for label in labels}


def _token_labels(sentence: Sentence, first: list[int], second: list[int]) -> list[set[str]]:
    labels = [{token.text, token.pos} - {""} for token in sentence.tokens]
    for entity in sentence.entities:
        for position in sentence.tokens_of(entity):
            labels[position] = {"PROT"}
    for position in first:
        labels[position] = {"PROT1"}
    for position in second:
        labels[position] = (labels[position] & {"PROT1"}) | {"PROT2"}
    return labels


def _shortest_paths(
    sentence: Sentence, first: list[int], second: list[int]
) -> tuple[list[bool], list[bool]]:
    """Which tokens and which dependencies lie on a shortest undirected path between two sets."""
    neighbours: list[list[int]] = [[] for _ in sentence.tokens]
    for dependency in sentence.dependencies:
        neighbours[dependency.governor].append(dependency.dependent)
        neighbours[dependency.dependent].append(dependency.governor)
    near, far = _distances(neighbours, first), _distances(neighbours, second)
    length = min(far[position] for position in first)
    if length == float("inf"):
        return [False] * len(sentence.tokens), [False] * len(sentence.dependencies)
    tokens = [a + b == length for a, b in zip(near, far)]
    ends = [(dependency.governor, dependency.dependent) for dependency in sentence.dependencies]
    dependencies = [min(near[g] + far[d], near[d] + far[g]) + 1 == length for g, d in ends]
    return tokens, dependencies


def _distances(neighbours: list[list[int]], starts: list[int]) -> list[float]:
    """The number of dependencies between each token and the nearest of `starts`."""
    distance = [float("inf")] * len(neighbours)
    for token in starts:
        distance[token] = 0
    waiting = deque(starts)
    while waiting:
        token = waiting.popleft()
        for other in neighbours[token]:
            if distance[other] == float("inf"):
                distance[other] = distance[token] + 1
                waiting.append(other)
    return distance
