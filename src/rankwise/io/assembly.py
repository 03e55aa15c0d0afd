"""From what a file says of a sentence to a checked Sentence, with problems named and counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankwise.exceptions import ReadError
from rankwise.io.sentences import (
    Corpus,
    Dependency,
    Entity,
    Problem,
    Sentence,
    Token,
)

ROOTS = {"", "0", "ROOT", "root"}


@dataclass
class RawSentence:
    """A sentence as a file has it, nothing checked yet."""

    id: str
    document: str | None
    text: str
    entities: list[tuple[str, str, str, str]] = field(default_factory=list)
    """(id, offsets, text, type)"""
    pairs: list[tuple[str, str, str, bool | None]] = field(default_factory=list)
    """(id, entity, entity, interaction)"""
    tokens: dict[str, list[tuple[str, str, str, str]]] = field(default_factory=dict)
    """tokenizer -> (id, offsets, text, part of speech)"""
    parses: list[tuple[str, str, list[tuple[str, str, str]]]] = field(default_factory=list)
    """(parser, tokenizer, (governor, dependent, type))"""


class Assembly:
    """Collects the sentences of a corpus; a problem stops it or is listed, as asked."""

    def __init__(self, name: str, stops: bool, unlisted, tokenizer=None, parser=None):
        self.name = name
        self.stops = stops
        self.unlisted = unlisted
        self.tokenizer = tokenizer
        self.parser = parser
        self.sentences: list[Sentence] = []
        self.problems: list[Problem] = []
        self.self_interactions = 0

    def corpus(self) -> Corpus:
        return Corpus(self.name, self.sentences, self.problems, self.self_interactions)

    def report(self, kind: str, where: str, message: str) -> None:
        problem = Problem(kind, where, message)
        if self.stops:
            way_out = 'Read with errors="skip" to leave it out and see it in problems.'
            raise ReadError(f"{problem}. {way_out}", self.name)
        self.problems.append(problem)

    def add(self, raw: RawSentence) -> None:
        """Check a sentence and keep it, without what is wrong with it."""
        if raw.document is None:
            message = "the sentence is in no document"
            return self.report("sentence without document", raw.id, message)
        entities = self._entities(raw)
        analysis = self._analysis(raw)
        if analysis is None:
            return None
        tokens, dependencies = analysis
        sentence = Sentence(raw.id, raw.document, raw.text, tokens, dependencies, ())
        kept = [entity for entity in entities if self._has_token(sentence, entity)]
        sentence.entities = tuple(kept)
        sentence.add_pairs(self._pairs(raw, entities, kept), self.unlisted)
        if sentence.pairs and not dependencies and len(tokens) > 1:
            message = "the sentence has candidates, but its parse is empty"
            return self.report("missing parse", raw.id, message)
        self.sentences.append(sentence)

    def _entities(self, raw: RawSentence) -> list[Entity]:
        found: dict[str, Entity] = {}
        for id, offsets, text, kind in raw.entities:
            spans = _spans(offsets, raw.text, text)
            if spans is None:
                message = f"its offsets {offsets!r} are not within the {len(raw.text)} characters"
                self.report("entity outside the text", id, f"{message} of sentence {raw.id}")
            elif id in found:
                self.report("entity id twice", id, f"sentence {raw.id} has two entities of this id")
            else:
                found[id] = Entity(id, text, spans, kind)
        return list(found.values())

    def _has_token(self, sentence: Sentence, entity: Entity) -> bool:
        if any(entity.covers(token) for token in sentence.tokens):
            return True
        message = f"no token of sentence {sentence.id} lies in it"
        self.report("entity without token", entity.id, message)
        return False

    def _pairs(self, raw: RawSentence, entities, kept) -> dict:
        """Two entity ids -> (pair id, interaction); listed twice, they interact if either says."""
        named = {id for id, *_ in raw.entities}
        usable = {entity.id for entity in kept}
        known: dict[frozenset, tuple[str, bool | None]] = {}
        for id, first, second, interaction in raw.pairs:
            strange = [end for end in (first, second) if end not in named]
            if strange:
                message = f"sentence {raw.id} has no entity {strange[0]!r}"
                self.report("pair of unknown entity", id, message)
            elif first == second:
                self.self_interactions += 1
            elif {first, second} <= usable:
                ends = frozenset((first, second))
                before = known.get(ends, (id, None))
                known[ends] = (before[0], before[1] or interaction)
        return known

    def _analysis(self, raw: RawSentence):
        """(tokens, dependencies) of the wanted analysis; None where there is none."""
        name = self._tokenizer_of(raw)
        parses = [
            parse for parse in raw.parses if parse[1] == name and self.parser in (None, parse[0])
        ]
        if name not in raw.tokens or not parses:
            wanted = self.parser or self.tokenizer
            message = "no parse with its tokens" + (f" named {wanted!r}" if wanted else "")
            return self.report("missing parse", raw.id, message)
        tokens: list[Token] = []
        places: dict[str, int] = {}
        for id, offsets, text, pos in raw.tokens[name]:
            spans = _spans(offsets, raw.text, text)
            if spans is None:
                message = f"token {id} with offsets {offsets!r} is not within the text"
                return self.report("token outside the text", raw.id, message)
            if id in places:
                return self.report("token id twice", raw.id, f"two tokens have the id {id!r}")
            places[id] = len(tokens)
            tokens.append(Token(text, pos, spans[0][0], spans[-1][1]))
        return tuple(tokens), self._dependencies(raw, parses[0][2], places)

    def _tokenizer_of(self, raw: RawSentence) -> str | None:
        if self.tokenizer is not None:
            return self.tokenizer
        parsed = [tokens for parser, tokens, _ in raw.parses if self.parser in (None, parser)]
        return "split" if "split" in parsed else next(iter(parsed), None)

    def _dependencies(self, raw: RawSentence, listed, places) -> tuple[Dependency, ...]:
        found = []
        for governor, dependent, kind in listed:
            if governor in places and dependent in places:
                found.append(Dependency(places[governor], places[dependent], kind))
            elif governor not in ROOTS:
                strange = governor if governor not in places else dependent
                message = f"dependency {kind!r} has the unknown token {strange!r}"
                self.report("dependency of unknown token", raw.id, message)
        return tuple(found)


def _spans(offsets: str, text: str, own_text: str) -> tuple[tuple[int, int], ...] | None:
    """(start, end) pairs of "3-7,9-12", the last character included; None if outside the text.

    Files that do not include the last character are told by the entity's own text.
    """
    spans = []
    for piece in offsets.split(","):
        start, dash, last = piece.strip().partition("-")
        if not (dash and start.isdecimal() and last.isdecimal()):
            return None
        spans.append((int(start), int(last) + 1))
    single = spans[0] if len(spans) == 1 else None
    if single and text[slice(*single)] != own_text and own_text:
        shorter = (single[0], single[1] - 1)
        if text[slice(*shorter)] == own_text:
            spans = [shorter]
    inside = all(start < end <= len(text) for start, end in spans)
    return tuple(spans) if inside else None
