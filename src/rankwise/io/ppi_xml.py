"""The unified PPI XML as a stream of events: one sentence in memory, no declarations obeyed."""

from __future__ import annotations

from typing import Any, BinaryIO
from xml.parsers import expat

from rankwise.exceptions import ReadError
from rankwise.io.assembly import Assembly, RawSentence

DEEPEST = 64
"""Elements within elements; a corpus has eight."""
LONGEST = 1 << 22
"""Bytes of a single tag or text."""
CHUNK = 1 << 16
TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no"}


def read_xml(start: bytes, stream: BinaryIO, assembly: Assembly) -> None:
    """Feed the stream, whose first bytes are `start`, to the assembly.

    A document type or entity declaration is refused whatever `errors` says: nothing of a corpus
    needs one, and entities that expand to others can fill any memory.
    """
    reader = _Reader(assembly)
    try:
        chunk = start
        while chunk:
            reader.feed(chunk)
            chunk = stream.read(CHUNK)
        reader.finish()
    except expat.ExpatError as error:
        message = f"not well-formed XML at column {error.offset}: "
        assembly.report(
            "malformed file", f"line {error.lineno}", message + expat.errors.messages[error.code]
        )


class _Reader:
    def __init__(self, assembly: Assembly):
        self.assembly = assembly
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_declaration
        self.parser.EntityDeclHandler = self._refuse_declaration
        self.depth = 0
        self.silent = 0
        self.document: str | None = None
        self.sentence: Any = None
        self.tokens: list | None = None
        self.dependencies: list | None = None

    def feed(self, chunk: bytes) -> None:
        self.silent += len(chunk)
        self.parser.Parse(chunk, False)
        if self.silent > LONGEST:
            reason = f"more than {LONGEST >> 20} MB without an element's end."
            raise ReadError(reason, self.assembly.name, self.parser.CurrentLineNumber)

    def finish(self) -> None:
        self.parser.Parse(b"", True)

    def _refuse_declaration(self, *declaration) -> None:
        reason = (
            "document type and entity declarations are refused, for they can expand without bound; "
            "remove them."
        )
        raise ReadError(reason, self.assembly.name, self.parser.CurrentLineNumber)

    def _start(self, tag: str, attributes: dict) -> None:
        self.depth += 1
        self.silent = 0
        if self.depth > DEEPEST:
            reason = f"elements are nested more than {DEEPEST} deep."
            raise ReadError(reason, self.assembly.name, self.parser.CurrentLineNumber)
        handler = getattr(self, f"_on_{tag}", None)
        if handler is not None and (self.sentence is not None or tag in ("document", "sentence")):
            handler(attributes)

    def _end(self, tag: str) -> None:
        self.depth -= 1
        self.silent = 0
        if tag == "sentence" and self.sentence is not None:
            done, self.sentence = self.sentence, None
            self.assembly.add(done)
        elif tag == "document":
            self.document = None
        elif tag == "tokenization":
            self.tokens = None
        elif tag == "parse":
            self.dependencies = None

    def _place(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def _on_document(self, attributes: dict) -> None:
        names = (attributes.get(name) for name in ("id", "origId", "origID", "PMID"))
        self.document = next(filter(None, names), f"document at {self._place()}")

    def _on_sentence(self, attributes: dict) -> None:
        id = attributes.get("id") or f"sentence at {self._place()}"
        self.sentence = RawSentence(id, self.document, attributes.get("text", ""))

    def _on_entity(self, attributes: dict) -> None:
        id = attributes.get("id") or f"entity at {self._place()}"
        values = (attributes.get(name, "") for name in ("charOffset", "text", "type"))
        self.sentence.entities.append((id, *values))

    def _on_pair(self, attributes: dict) -> None:
        id = attributes.get("id") or f"pair at {self._place()}"
        said = attributes.get("interaction", "").strip().lower()
        if said and said not in TRUE | FALSE:
            message = f"interaction={said!r} is neither True nor False"
            self.assembly.report("pair without a label", id, message)
        label = True if said in TRUE else False if said in FALSE else None
        self.sentence.pairs.append((id, attributes.get("e1", ""), attributes.get("e2", ""), label))

    def _on_interaction(self, attributes: dict) -> None:
        self._on_pair({**attributes, "interaction": "True"})

    def _on_tokenization(self, attributes: dict) -> None:
        name = attributes.get("tokenizer", "")
        self.tokens = self.sentence.tokens.setdefault(name, [])

    def _on_token(self, attributes: dict) -> None:
        if self.tokens is not None:
            pos = attributes.get("POS", attributes.get("pos", ""))
            values = (attributes.get(name, "") for name in ("id", "charOffset", "text"))
            self.tokens.append((*values, pos))

    def _on_parse(self, attributes: dict) -> None:
        self.dependencies = []
        tokenizer = attributes.get("tokenizer", "")
        parser = attributes.get("parser", "")
        self.sentence.parses.append((parser, tokenizer, self.dependencies))

    def _on_dependency(self, attributes: dict) -> None:
        if self.dependencies is not None:
            values = (attributes.get(name, "") for name in ("t1", "t2", "type"))
            self.dependencies.append(tuple(values))
