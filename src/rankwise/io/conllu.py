"""CoNLL-U with entities and pairs, read as a stream of sentences.

    # newdoc id = d1
    # sent_id = s1
    # text = GerE binds sigK .
    # pair = e1 e2 True
    1   GerE    gerE    NOUN    NN    _   2   nsubj   _   Entity=e1
    2   binds   bind    VERB    VBZ   _   0   root    _   _
    3   sigK    sigK    NOUN    NN    _   2   obj     _   Entity=e2:gene

Columns are separated by tabs. The tokens of an entity name it in the column MISC: several names are
separated by commas, and each may have a type. The third word of a pair, True or False, is missing
if the label is unknown. The enhanced dependencies (DEPS) are used if a sentence has any, otherwise
HEAD and DEPREL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain
from typing import IO

from rankwise.io.corpus_builder import CorpusBuilder, RawSentence
from rankwise.io.sentences import Span
from rankwise.io.source import BYTE_ORDER_MARK

LONGEST_LINE = 1 << 20
CHUNK = 1 << 16
NAME = "conllu"


def read_conllu(start: bytes, stream: IO[bytes], builder: CorpusBuilder) -> None:
    """Give the sentences of the stream, whose first bytes are `start`, to the builder."""
    builder.tokenizer = builder.parser = None
    sentence = _Sentence(builder)
    document = None
    for number, raw in enumerate(chain(_lines(start, stream, builder), [b""]), start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            builder.report("malformed file", f"line {number}", "not UTF-8")
            sentence.begun = sentence.broken = True
            continue
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() in ("newdoc", "newdoc id"):
                document = value.strip() or f"document at line {number}"
            else:
                sentence.add_comment(key.strip(), value.strip(), number)
        elif line.strip():
            sentence.add_word(line, number)
        elif sentence.begun:
            sentence.finish(document, number)
            sentence = _Sentence(builder)


def _lines(start: bytes, stream: IO[bytes], builder: CorpusBuilder) -> Iterator[bytes]:
    """The lines of the stream without their ends."""
    rest, number = start.removeprefix(BYTE_ORDER_MARK), 0
    while True:
        *whole, rest = rest.split(b"\n")
        number += len(whole)
        yield from (line.rstrip(b"\r") for line in whole)
        chunk = stream.read(CHUNK) if len(rest) <= LONGEST_LINE else b""
        if not chunk:
            break
        rest += chunk
    if len(rest) > LONGEST_LINE:
        builder.report("malformed file", f"line {number + 1}", "the line has no end")
    elif rest:
        yield rest.rstrip(b"\r")


class _Sentence:
    def __init__(self, builder: CorpusBuilder):
        self.builder = builder
        self.begun = self.broken = False
        self.id = self.text = ""
        self.pairs: list[tuple[str, str, str, bool | None]] = []
        self.words: list[tuple[str, str, str, list]] = []
        self.basic: list[tuple[str, str, str]] = []
        self.enhanced: list[tuple[str, str, str]] = []

    def add_comment(self, key: str, value: str, number: int) -> None:
        if key == "sent_id":
            self.id = value
        elif key == "text":
            self.text = value
        elif key == "pair":
            words = value.split()
            label = {"true": True, "false": False}.get(words[2].lower()) if words[2:] else None
            if len(words) not in (2, 3) or (words[2:] and label is None):
                message = f"{value!r} is not two entities and True, False or nothing"
                return self.builder.report("malformed line", f"line {number}", message)
            self.pairs.append((f"pair at line {number}", words[0], words[1], label))

    def add_word(self, line: str, number: int) -> None:
        """Add a line of ten columns; multiword ranges (1-2) and empty nodes (1.1) have no text."""
        self.begun = True
        columns = line.split("\t")
        if len(columns) != 10:
            self.broken = True
            message = f"expected 10 columns, separated by tabs, but found {len(columns)}"
            return self.builder.report("malformed line", f"line {number}", message)
        id, form, _, upos, xpos, _, head, relation, deps, misc = columns
        if not id.isdecimal():
            return None
        marks = [item[7:] for item in misc.split("|") if item.startswith("Entity=")]
        names = [name.partition(":")[::2] for mark in marks for name in mark.split(",") if name]
        self.words.append((id, form, upos if xpos == "_" else xpos, names))
        self.basic.append((head, id, relation))
        if deps != "_":
            arcs = (arc.partition(":")[::2] for arc in deps.split("|"))
            self.enhanced.extend((governor, id, kind) for governor, kind in arcs if kind)

    def finish(self, document: str | None, number: int) -> None:
        """Give the sentence to the builder, unless one of its lines was malformed."""
        if self.broken:
            return
        id = self.id or f"sentence before line {number}"
        text, spans = self._aligned()
        raw = RawSentence(id, document or "document", text, pairs=self.pairs)
        raw.tokens[NAME] = [
            (word[0], f"{start}-{end - 1}", word[1], word[2])
            for word, (start, end) in zip(self.words, spans)
        ]
        words = {word[0] for word in self.words}
        enhanced = [arc for arc in self.enhanced if arc[0] in words]
        raw.parses.append((NAME, NAME, enhanced or self.basic))
        for name, (kind, pieces) in self._entities(spans).items():
            offsets = ",".join(f"{start}-{end - 1}" for start, end in pieces)
            raw.entities.append((name, offsets, " ".join(text[a:b] for a, b in pieces), kind))
        self.builder.add(raw)

    def _aligned(self) -> tuple[str, list[Span]]:
        """The text, and the position of each word in it.

        If the words do not make up the text, the text is replaced by the words with spaces between.
        """
        spans, at = [], 0
        for _, form, *_ in self.words:
            start = self.text.find(form, at) if self.text else -1
            if start < 0 or self.text[at:start].strip():
                forms = [word[1] for word in self.words]
                ends = [end - 1 for end in accumulate(len(form) + 1 for form in forms)]
                return " ".join(forms), [(end - len(form), end) for form, end in zip(forms, ends)]
            at = start + len(form)
            spans.append((start, at))
        return self.text, spans

    def _entities(self, spans: list[Span]) -> dict[str, tuple[str, list[Span]]]:
        """The type and the spans of each entity; neighbouring words share one span."""
        entities: dict[str, tuple[str, list[Span]]] = {}
        last_word: dict[str, int] = {}
        for number, ((_, _, _, names), span) in enumerate(zip(self.words, spans)):
            for name, kind in names:
                known, pieces = entities.setdefault(name, (kind, []))
                if last_word.get(name) == number - 1 and pieces:
                    pieces[-1] = (pieces[-1][0], span[1])
                else:
                    pieces.append(span)
                entities[name] = (known or kind, pieces)
                last_word[name] = number
        return entities
