"""CoNLL-U with entities and pairs, a stream of sentences.

    # newdoc id = d1
    # sent_id = s1
    # text = GerE binds sigK .
    # pair = e1 e2 True
    1   GerE    gerE    NOUN    NN    _   2   nsubj   _   Entity=e1
    2   binds   bind    VERB    VBZ   _   0   root    _   _
    3   sigK    sigK    NOUN    NN    _   2   obj     _   Entity=e2:gene

Columns are separated by tabs. The tokens of an entity name it in MISC, several names separated by
commas, each with an optional type. A pair's third word, True or False, may be missing (unknown).
The enhanced dependencies (DEPS) are taken where a sentence has any, else HEAD and DEPREL.
"""

from __future__ import annotations

from itertools import chain
from typing import BinaryIO

from rankwise.io.assembly import Assembly, RawSentence

LONGEST_LINE = 1 << 20
NAME = "conllu"


def read_conllu(start: bytes, stream: BinaryIO, assembly: Assembly) -> None:
    """Feed the stream, whose first bytes are `start`, to the assembly."""
    assembly.tokenizer = assembly.parser = None
    sentence = _Sentence(assembly)
    document = None
    for number, line in enumerate(chain(_lines(start, stream, assembly), [""]), start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() in ("newdoc", "newdoc id"):
                document = value.strip() or f"document at line {number}"
            else:
                sentence.comment(key.strip(), value.strip(), number)
        elif line.strip():
            sentence.word(line, number)
        elif sentence.begun:
            sentence.finish(document, number)
            sentence = _Sentence(assembly)


def _lines(start: bytes, stream: BinaryIO, assembly: Assembly):
    """Lines without their ends; the first chunk was read before."""
    rest, number = start.removeprefix(b"\xef\xbb\xbf"), 0
    while True:
        *whole, rest = rest.split(b"\n")
        for raw in whole:
            number += 1
            yield _decoded(raw, number, assembly)
        chunk = stream.read(1 << 16) if len(rest) <= LONGEST_LINE else b""
        if not chunk:
            break
        rest += chunk
    if len(rest) > LONGEST_LINE:
        assembly.report("malformed file", f"line {number + 1}", "the line has no end")
    elif rest:
        yield _decoded(rest, number + 1, assembly)


def _decoded(raw: bytes, number: int, assembly: Assembly) -> str:
    try:
        return raw.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        assembly.report("malformed file", f"line {number}", "not UTF-8")
        return "\t"


class _Sentence:
    def __init__(self, assembly: Assembly):
        self.assembly = assembly
        self.begun = self.broken = False
        self.id = self.text = ""
        self.pairs: list = []
        self.words: list[tuple[str, str, str, list]] = []
        self.basic: list[tuple[str, str, str]] = []
        self.enhanced: list[tuple[str, str, str]] = []

    def comment(self, key: str, value: str, number: int) -> None:
        if key == "sent_id":
            self.id = value
        elif key == "text":
            self.text = value
        elif key == "pair":
            words = value.split()
            label = {"true": True, "false": False}.get(words[2].lower()) if words[2:] else None
            if len(words) not in (2, 3) or (words[2:] and label is None):
                message = f"{value!r} is not two entities and True, False or nothing"
                return self.assembly.report("malformed line", f"line {number}", message)
            self.pairs.append((f"pair at line {number}", words[0], words[1], label))

    def word(self, line: str, number: int) -> None:
        """A line of ten columns; multiword ranges (1-2) and empty nodes (1.1) have no text."""
        self.begun = True
        columns = line.split("\t")
        if len(columns) != 10:
            self.broken = True
            message = f"{len(columns)} columns in place of 10, separated by tabs"
            return self.assembly.report("malformed line", f"line {number}", message)
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
        self.assembly.add(raw)

    def _aligned(self) -> tuple[str, list[tuple[int, int]]]:
        """The text and each word's place in it; the words with spaces where they do not fit."""
        spans, at = [], 0
        for _, form, *_ in self.words:
            start = self.text.find(form, at) if self.text else -1
            if start < 0 or self.text[at:start].strip():
                forms = [word[1] for word in self.words]
                starts = [sum(map(len, forms[:i])) + i for i in range(len(forms))]
                return " ".join(forms), [(a, a + len(form)) for a, form in zip(starts, forms)]
            at = start + len(form)
            spans.append((start, at))
        return self.text, spans

    def _entities(self, spans) -> dict[str, tuple[str, list[tuple[int, int]]]]:
        """Entity -> type and spans, neighbouring words joined."""
        found: dict[str, tuple[str, list[tuple[int, int]]]] = {}
        last: dict[str, int] = {}
        for place, ((_, _, _, names), span) in enumerate(zip(self.words, spans)):
            for name, kind in names:
                known, pieces = found.setdefault(name, (kind, []))
                if last.get(name) == place - 1 and pieces:
                    pieces[-1] = (pieces[-1][0], span[1])
                else:
                    pieces.append(span)
                found[name] = (known or kind, pieces)
                last[name] = place
        return found
