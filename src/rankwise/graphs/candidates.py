"""The graph of a candidate pair of entities: its sentence's dependencies and its order of words."""

from __future__ import annotations

from collections import deque

from rankwise.graphs.labelled import LabelledGraph
from rankwise.io.sentences import Sentence

ON_PATH, OFF_PATH, IN_ORDER = 0.9, 0.3, 0.9
"""Weights of edges on the shortest paths, elsewhere in the parse, and from word to word."""


def candidate_graph(sentence: Sentence, entity1, entity2, *, directed=False) -> LabelledGraph:
    """The two-part graph of a candidate pair (Airola et al. 2008, "Graph encoding of sentence
    structure", Figure 2); O(tokens + dependencies).

    First part: a vertex a token, labelled with its text and part of speech, and a vertex a
    dependency, labelled with its type, with edges governor → dependency → dependent. What lies on
    a shortest undirected path between the two entities has labels ending in ``_IP`` and edges of
    weight 0.9, all else 0.3. Second part: the tokens again, chained in their order with weight 0.9,
    labels ending in ``_B``, ``_M`` or ``_A`` (before, in the middle of, after the pair). Tokens of
    the two entities have the one label PROT1 or PROT2 (both where the entities overlap), those of
    other entities PROT; in the second part PROT1 and PROT2, being the pair, have no ending.

    `entity1` and `entity2` are entities of the sentence or their ids. The pair is unordered: PROT1
    is the one that begins first. With directed=True PROT1 is entity1.

    The vertices are the tokens, then the dependencies, then the tokens again.
    """
    first, second = sentence.entity(entity1), sentence.entity(entity2)
    if first == second:
        raise ValueError(f"entity {first.id!r} cannot be both sides of a candidate pair.")
    if not directed and _begins(second) < _begins(first):
        first, second = second, first
    places = [sentence.tokens_of(entity) for entity in (first, second)]
    for entity, own in zip((first, second), places):
        if not own:
            raise ValueError(f"no token of sentence {sentence.id!r} lies in entity {entity.id!r}.")
    names = _token_labels(sentence, places)
    tokens_on_path, dependencies_on_path = _shortest_paths(sentence, *places)
    labels = [_marked(own, "_IP" if on else "") for own, on in zip(names, tokens_on_path)]
    n, edges = len(sentence.tokens), []
    for vertex, (dependency, on) in enumerate(
        zip(sentence.dependencies, dependencies_on_path), start=n
    ):
        labels.append({dependency.type + "_IP" if on else dependency.type})
        weight = ON_PATH if on else OFF_PATH
        edges.append((dependency.governor, vertex, weight))
        edges.append((vertex, dependency.dependent, weight))
    start = len(labels)
    pair = set(places[0]) | set(places[1])
    low, high = min(pair), max(pair)
    for place, words in enumerate(names):
        ending = "_B" if place < low else "_A" if place > high else "_M"
        labels.append(words if place in pair else _marked(words, ending))
    edges.extend((vertex, vertex + 1, IN_ORDER) for vertex in range(start, start + n - 1))
    return LabelledGraph(labels, edges)


def _begins(entity) -> tuple:
    return min(entity.spans), entity.spans


def _marked(labels: set[str], ending: str) -> set[str]:
    return {label + ending for label in labels}


def _token_labels(sentence: Sentence, places) -> list[set[str]]:
    labels = [{token.text, token.pos} - {""} for token in sentence.tokens]
    for entity in sentence.entities:
        for place in sentence.tokens_of(entity):
            labels[place] = {"PROT"}
    for name, own in zip(("PROT1", "PROT2"), places):
        for place in own:
            labels[place] = (labels[place] & {"PROT1"}) | {name}
    return labels


def _shortest_paths(sentence: Sentence, from_places, to_places) -> tuple[list[bool], list[bool]]:
    """Which tokens and which dependencies lie on a shortest undirected path between two sets."""
    neighbours: list[list[int]] = [[] for _ in sentence.tokens]
    for dependency in sentence.dependencies:
        neighbours[dependency.governor].append(dependency.dependent)
        neighbours[dependency.dependent].append(dependency.governor)
    here, there = _distances(neighbours, from_places), _distances(neighbours, to_places)
    length = min(there[place] for place in from_places)
    if length == float("inf"):
        return [False] * len(sentence.tokens), [False] * len(sentence.dependencies)
    tokens = [a + b == length for a, b in zip(here, there)]
    dependencies = [
        length
        in (here[d.governor] + 1 + there[d.dependent], here[d.dependent] + 1 + there[d.governor])
        for d in sentence.dependencies
    ]
    return tokens, dependencies


def _distances(neighbours: list[list[int]], places) -> list[float]:
    """Dependencies between each token and the nearest of `places`."""
    distance = [float("inf")] * len(neighbours)
    for place in places:
        distance[place] = 0
    waiting = deque(places)
    while waiting:
        place = waiting.popleft()
        for other in neighbours[place]:
            if distance[other] == float("inf"):
                distance[other] = distance[place] + 1
                waiting.append(other)
    return distance
