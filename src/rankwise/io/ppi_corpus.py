"""read_ppi_corpus: sentences, entities and candidate pairs from unified PPI XML or CoNLL-U."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from rankwise.exceptions import ReadError
from rankwise.io.conllu import read_conllu
from rankwise.io.corpus_builder import CorpusBuilder
from rankwise.io.ppi_xml import read_xml
from rankwise.io.sentences import Corpus
from rankwise.io.source import BYTE_ORDER_MARK, DAMAGED, open_unpacked
from rankwise.validation import check_choice

FORMATS = {"auto": "by the first character", "xml": "unified PPI XML", "conllu": "CoNLL-U"}
ERRORS = {"raise": "stop at the first problem", "skip": "leave out what it concerns, and list it"}
UNLISTED = {"unknown": None, "negative": False}


def read_ppi_corpus(
    path: str | os.PathLike,
    *,
    errors: str = "raise",
    tokenizer: str | None = None,
    parser: str | None = None,
    unlisted: str = "unknown",
    format: str = "auto",
) -> Corpus:
    """A corpus of parsed sentences, with one candidate for each pair of entities of a sentence.

    Reads the unified PPI XML of Pyysalo et al. 2008, or CoNLL-U (docs/graphs.md says how it names
    entities and pairs); gzip, xz and bzip2 are recognised by content. The file is read as a stream:
    besides the corpus, only one sentence is in memory. Pairs of an entity with itself are left out
    and counted.

    Parameters
    ----------
    path
        The file.
    errors
        "raise" refuses malformed files, entities and tokens outside of their text, entities without
        a token, pairs and dependencies with unknown ends, and candidates without a parse; "skip"
        leaves out the entity, pair, dependency or sentence (or all that follows the position where
        the file breaks) and lists the problem in `problems`.
    tokenizer, parser
        Which analysis to take if there are several; by default the tokenisation named "split"
        (tokens are cut at entities), else the first, with its first parse.
    unlisted
        The label of a pair that the file does not list: "unknown" (None) or "negative" (False).
    format : {"auto", "xml", "conllu"}

    Returns
    -------
    Corpus
        `sentences` (each with tokens, dependencies, entities, pairs, document), `documents`,
        `entities`, `pairs`, `problems`, `problem_counts`, `self_interactions`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankwise.datasets import read_ppi_corpus
    >>> sentence = '''<corpus source="small"><document id="d1"><sentence id="s1" text="A binds B">
    ... <entity id="e1" charOffset="0-0" text="A"/><entity id="e2" charOffset="8-8" text="B"/>
    ... <pair id="p1" e1="e1" e2="e2" interaction="True"/>
    ... <sentenceanalyses><tokenizations><tokenization tokenizer="split">
    ... <token id="t1" charOffset="0-0" text="A" POS="NN"/>
    ... <token id="t2" charOffset="2-6" text="binds" POS="VBZ"/>
    ... <token id="t3" charOffset="8-8" text="B" POS="NN"/></tokenization></tokenizations>
    ... <parses><parse tokenizer="split" parser="any">
    ... <dependency id="l1" t1="t2" t2="t1" type="nsubj"/>
    ... <dependency id="l2" t1="t2" t2="t3" type="dobj"/></parse></parses>
    ... </sentenceanalyses></sentence></document></corpus>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.xml"
    ...     characters = path.write_text(sentence)
    ...     corpus = read_ppi_corpus(path)
    >>> [(pair.entity1.text, pair.entity2.text, pair.interaction) for pair in corpus.pairs]
    [('A', 'B', True)]
    """
    check_choice("errors", errors, ERRORS)
    check_choice("unlisted", unlisted, UNLISTED)
    check_choice("format", format, FORMATS)
    path = Path(path)
    builder = CorpusBuilder(path.name, errors == "raise", UNLISTED[unlisted], tokenizer, parser)
    with open_unpacked(path) as stream:
        try:
            _read(stream, builder, format)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            builder.report("malformed file", path.name, f"broken compression: {error}")
    if not builder.sentences and not builder.problems:
        raise ReadError("the file holds no sentence.", path.name)
    return builder.corpus()


def _read(stream: IO[bytes], builder: CorpusBuilder, format: str) -> None:
    start = stream.read(4096)
    if format == "auto":
        is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        is_tag = start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"<")
        format = "xml" if is_tag or is_utf16 else "conllu"
    (read_xml if format == "xml" else read_conllu)(start, stream, builder)
