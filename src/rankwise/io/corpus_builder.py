"""Checks the sentences of a corpus while they are read; problems stop it or are listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rankwise.exceptions import ReadError
from rankwise.io.sentences import (
    Corpus,
    Dependency,
    Entity,
    KnownPairs,
    Problem,
    Sentence,
    Span,
    Token,
)

ROOTS = {"", "0", "ROOT", "root"}

Analysis = tuple[tuple[Token, ...], tuple[Dependency, ...]]
Parse = tuple[str, str, list[tuple[str, str, str]]]
"""(parser, tokenizer, dependencies), a dependency being (governor, dependent, type)."""


@dataclass
class RawSentence:
    """A sentence as a file gives it, before any check. Offsets are text such as "3-7,9-12"."""

    id: str
    document: str | None
    text: str
    entities: list[tuple[str, str, str, str]] = field(default_factory=list)
    """(id, offsets, text, type)"""
    pairs: list[tuple[str, str, str, bool | None]] = field(default_factory=list)
    """(id, entity, entity, interaction)"""
    tokens: dict[str, list[tuple[str, str, str, str]]] = field(default_factory=dict)
    """tokenizer -> (id, offsets, text, part of speech)"""
    parses: list[Parse] = field(default_factory=list)


@dataclass
class CorpusBuilder:
    """Collects the checked sentences of a corpus.

    A problem raises a ReadError if `stops` is true. Otherwise it is listed, and the part of the
    corpus that it concerns is left out.
    """

    name: str
    stops: bool
    unlisted: bool | None
    tokenizer: str | None = None
    parser: str | None = None
    sentences: list[Sentence] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    self_interactions: int = 0

    def corpus(self) -> Corpus:
        return Corpus(self.name, self.sentences, self.problems, self.self_interactions)

    def report(self, kind: str, where: str, message: str) -> None:
        problem = Problem(kind, where, message)
        if self.stops:
            way_out = 'Read with errors="skip" to leave it out and see it in problems.'
            raise ReadError(f"{problem}. {way_out}", self.name)
        self.problems.append(problem)

    def add(self, raw: RawSentence) -> None:
        """Check a sentence, and keep the parts of it that are right."""
        if raw.document is None:
            message = "the sentence is not in a document"
            return self.report("sentence without document", raw.id, message)
        entities, analysis = self._entities(raw), self._analysis(raw)
        if analysis is None:
            return None
        tokens, dependencies = analysis
        sentence = Sentence(raw.id, raw.document, raw.text, tokens, dependencies, ())
        sentence.entities = tuple(e for e in entities if self._has_token(sentence, e))
        sentence.add_pairs(self._known_pairs(raw, sentence.entities), self.unlisted)
        if sentence.pairs and not dependencies and len(tokens) > 1:
            message = "the sentence has candidates, but its parse is empty"
            return self.report("missing parse", raw.id, message)
        self.sentences.append(sentence)

    def _entities(self, raw: RawSentence) -> list[Entity]:
        entities: dict[str, Entity] = {}
        for id, offsets, text, kind in raw.entities:
            spans = _spans(offsets, raw.text, text)
            if spans is None:
                message = f"its offsets {offsets!r} are not within the {len(raw.text)} characters"
                self.report("entity outside the text", id, f"{message} of sentence {raw.id}")
            elif id in entities:
                message = f"sentence {raw.id} has two entities with this id"
                self.report("entity id twice", id, message)
            else:
                entities[id] = Entity(id, text, spans, kind)
        return list(entities.values())

    def _has_token(self, sentence: Sentence, entity: Entity) -> bool:
        if any(entity.covers(token) for token in sentence.tokens):
            return True
        message = f"no token of sentence {sentence.id} lies in it"
        self.report("entity without token", entity.id, message)
        return False

    def _known_pairs(self, raw: RawSentence, kept: Sequence[Entity]) -> KnownPairs:
        """The listed pairs of the kept entities; a pair listed twice may be True in one entry."""
        named = {id for id, *_ in raw.entities}
        usable = {entity.id for entity in kept}
        known: KnownPairs = {}
        for id, first, second, interaction in raw.pairs:
            unknown = [end for end in (first, second) if end not in named]
            if unknown:
                message = f"sentence {raw.id} has no entity {unknown[0]!r}"
                self.report("pair of unknown entity", id, message)
            elif first == second:
                self.self_interactions += 1
            elif {first, second} <= usable:
                ends = frozenset((first, second))
                earlier_id, earlier = known.get(ends, (id, None))
                known[ends] = (earlier_id, earlier or interaction)
        return known

    def _analysis(self, raw: RawSentence) -> Analysis | None:
        """The tokens and dependencies of the wanted parse; None if the sentence has none."""
        name = self._tokenizer_of(raw)
        parses = [arcs for parser, tokens, arcs in self._wanted(raw) if tokens == name]
        if name not in raw.tokens or not parses:
            wanted = self.parser or self.tokenizer
            message = "no parse with its tokens" + (f" named {wanted!r}" if wanted else "")
            self.report("missing parse", raw.id, message)
            return None
        tokens: list[Token] = []
        numbers: dict[str, int] = {}
        for id, offsets, text, pos in raw.tokens[name]:
            spans = _spans(offsets, raw.text, text)
            if spans is None:
                message = f"token {id} with offsets {offsets!r} is not within the text"
                self.report("token outside the text", raw.id, message)
                return None
            if id in numbers:
                self.report("token id twice", raw.id, f"two tokens have the id {id!r}")
                return None
            numbers[id] = len(tokens)
            tokens.append(Token(text, pos, spans[0][0], spans[-1][1]))
        return tuple(tokens), self._dependencies(raw, parses[0], numbers)

    def _wanted(self, raw: RawSentence) -> list[Parse]:
        return [parse for parse in raw.parses if self.parser in (None, parse[0])]

    def _tokenizer_of(self, raw: RawSentence) -> str | None:
        if self.tokenizer is not None:
            return self.tokenizer
        parsed = [tokens for _, tokens, _ in self._wanted(raw)]
        return "split" if "split" in parsed else next(iter(parsed), None)

    def _dependencies(
        self, raw: RawSentence, arcs: list[tuple[str, str, str]], numbers: dict[str, int]
    ) -> tuple[Dependency, ...]:
        dependencies = []
        for governor, dependent, kind in arcs:
            if governor in numbers and dependent in numbers:
                dependencies.append(Dependency(numbers[governor], numbers[dependent], kind))
            elif governor not in ROOTS:
                unknown = governor if governor not in numbers else dependent
                message = f"dependency {kind!r} has the unknown token {unknown!r}"
                self.report("dependency of unknown token", raw.id, message)
        return tuple(dependencies)


def _spans(offsets: str, text: str, own_text: str) -> tuple[Span, ...] | None:
    """(start, end) pairs of "3-7,9-12", where 7 and 12 are included; None if outside of the text.

    Some files do not include the last character: the entity's own text shows which.
    """
    spans = []
    for piece in offsets.split(","):
        start, dash, last = piece.strip().partition("-")
        if not (dash and start.isdecimal() and last.isdecimal()):
            return None
        spans.append((int(start), int(last) + 1))
    if len(spans) == 1 and own_text:
        first, end = spans[0]
        if text[first:end] != own_text and text[first : end - 1] == own_text:
            spans = [(first, end - 1)]
    inside = all(first < end <= len(text) for first, end in spans)
    return tuple(spans) if inside else None
