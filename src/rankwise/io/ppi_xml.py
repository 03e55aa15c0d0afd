"""The unified PPI XML, read as a stream of events; only one sentence is in memory."""

from __future__ import annotations

from typing import IO, Any, NoReturn
from xml.parsers import expat

from rankwise.exceptions import ReadError
from rankwise.io.corpus_builder import CorpusBuilder, RawSentence

DEEPEST = 64
"""Levels of nested elements; a corpus has eight."""
LONGEST = 1 << 22
"""Bytes of one tag or text."""
CHUNK = 1 << 16
TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no"}


def read_xml(start: bytes, stream: IO[bytes], builder: CorpusBuilder) -> None:
    """Give the sentences of the stream, whose first bytes are `start`, to the builder.

    A document type or entity declaration is always refused, also with errors="skip": no corpus
    needs one, and entities that expand to other entities can fill the memory.
    """
    reader = _Reader(builder)
    try:
        chunk = start
        while chunk:
            reader.feed(chunk)
            chunk = stream.read(CHUNK)
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        message = f"not well-formed XML at column {error.offset}: {reason}"
        builder.report("malformed file", f"line {error.lineno}", message)


class _Reader:
    """Collects the elements of one sentence; the methods `_on_tag` handle the tags of that name."""

    def __init__(self, builder: CorpusBuilder):
        self.builder = builder
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_declaration
        self.parser.EntityDeclHandler = self._refuse_declaration
        self.depth = 0
        self.bytes_since_tag = 0
        self.document: str | None = None
        self.sentence: Any = None
        self.tokens: list | None = None
        self.dependencies: list | None = None

    def feed(self, chunk: bytes) -> None:
        self.bytes_since_tag += len(chunk)
        self.parser.Parse(chunk, False)
        if self.bytes_since_tag > LONGEST:
            self._refuse(f"more than {LONGEST >> 20} MB without a tag.")

    def _refuse(self, reason: str) -> NoReturn:
        raise ReadError(reason, self.builder.name, self.parser.CurrentLineNumber)

    def _refuse_declaration(self, *declaration: Any) -> None:
        way_out = "because they can expand without limit: remove them."
        self._refuse(f"document type and entity declarations are refused, {way_out}")

    def _start(self, tag: str, attributes: dict) -> None:
        self.depth += 1
        self.bytes_since_tag = 0
        if self.depth > DEEPEST:
            self._refuse(f"elements are nested more than {DEEPEST} levels deep.")
        handler = getattr(self, f"_on_{tag}", None)
        if handler is not None and (self.sentence is not None or tag in ("document", "sentence")):
            handler(attributes)

    def _end(self, tag: str) -> None:
        self.depth -= 1
        self.bytes_since_tag = 0
        if tag == "sentence" and self.sentence is not None:
            sentence, self.sentence = self.sentence, None
            self.builder.add(sentence)
        elif tag == "document":
            self.document = None
        elif tag == "tokenization":
            self.tokens = None
        elif tag == "parse":
            self.dependencies = None

    def _where(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def _on_document(self, attributes: dict) -> None:
        names = (attributes.get(name) for name in ("id", "origId", "origID", "PMID"))
        self.document = next(filter(None, names), f"document at {self._where()}")

    def _on_sentence(self, attributes: dict) -> None:
        id = attributes.get("id") or f"sentence at {self._where()}"
        self.sentence = RawSentence(id, self.document, attributes.get("text", ""))

    def _on_entity(self, attributes: dict) -> None:
        id = attributes.get("id") or f"entity at {self._where()}"
        self.sentence.entities.append((id, *_values(attributes, "charOffset", "text", "type")))

    def _on_pair(self, attributes: dict) -> None:
        id = attributes.get("id") or f"pair at {self._where()}"
        text = attributes.get("interaction", "").strip().lower()
        if text and text not in TRUE | FALSE:
            message = f"interaction={text!r} is neither True nor False"
            self.builder.report("pair without a label", id, message)
        label = True if text in TRUE else False if text in FALSE else None
        self.sentence.pairs.append((id, *_values(attributes, "e1", "e2"), label))

    def _on_interaction(self, attributes: dict) -> None:
        self._on_pair({**attributes, "interaction": "True"})

    def _on_tokenization(self, attributes: dict) -> None:
        self.tokens = self.sentence.tokens.setdefault(attributes.get("tokenizer", ""), [])

    def _on_token(self, attributes: dict) -> None:
        if self.tokens is not None:
            pos = attributes.get("POS", attributes.get("pos", ""))
            self.tokens.append((*_values(attributes, "id", "charOffset", "text"), pos))

    def _on_parse(self, attributes: dict) -> None:
        self.dependencies = []
        names = _values(attributes, "parser", "tokenizer")
        self.sentence.parses.append((*names, self.dependencies))

    def _on_dependency(self, attributes: dict) -> None:
        if self.dependencies is not None:
            self.dependencies.append(_values(attributes, "t1", "t2", "type"))


def _values(attributes: dict[str, str], *names: str) -> tuple[str, ...]:
    return tuple(attributes.get(name, "") for name in names)
