"""read_ppi_corpus: sentences, entities and candidate pairs from unified PPI XML or CoNLL-U."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path
from typing import BinaryIO

from rankwise.exceptions import ReadError
from rankwise.io.assembly import Assembly
from rankwise.io.conllu import read_conllu
from rankwise.io.ppi_xml import read_xml
from rankwise.io.sentences import Corpus
from rankwise.validation import check_choice

FORMATS = {"auto": "by the first character", "xml": "unified PPI XML", "conllu": "CoNLL-U"}
ERRORS = {"raise": "stop at the first problem", "skip": "leave out what it concerns, and list it"}
UNLISTED = {"unknown": None, "negative": False}


def read_ppi_corpus(
    path,
    *,
    errors: str = "raise",
    tokenizer: str | None = None,
    parser: str | None = None,
    unlisted: str = "unknown",
    format: str = "auto",
) -> Corpus:
    """A corpus of parsed sentences with one candidate a pair of entities in the same sentence.

    Reads the unified PPI XML of Pyysalo et al. 2008 or CoNLL-U (see docs/graphs.md for how it
    carries entities and pairs), plain or compressed by gzip or xz, as a stream: beside the corpus
    itself only one sentence is held. Pairs of an entity with itself are left out and counted.

    Parameters
    ----------
    errors : "raise" refuses malformed files, entities and tokens outside their text, entities
        without a token, pairs and dependencies of unknown ends and candidates without a parse;
        "skip" leaves out the entity, pair, dependency or sentence (or what follows the place where
        the file breaks) and lists it in `problems`
    tokenizer, parser : which analysis of several; by default the tokenisation named "split" if
        there is one (tokens cut at entities), else the first, with the first parse of it
    unlisted : what a pair that the file does not list is: "unknown" (None) or "negative" (False)
    format : "auto", "xml" or "conllu"

    Returns
    -------
    Corpus : `sentences` (each with tokens, dependencies, entities, pairs, document), `documents`,
        `entities`, `pairs`, `problems`, `problem_counts`, `self_interactions`
    """
    check_choice("errors", errors, ERRORS)
    check_choice("unlisted", unlisted, UNLISTED)
    check_choice("format", format, FORMATS)
    path = Path(os.fspath(path))
    assembly = Assembly(path.name, errors == "raise", UNLISTED[unlisted], tokenizer, parser)
    with _open(path) as stream:
        try:
            _read(stream, assembly, format)
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
            assembly.report("malformed file", path.name, f"broken compression: {error}")
    if not assembly.sentences and not assembly.problems:
        raise ReadError("the file holds no sentence.", path.name)
    return assembly.corpus()


def _open(path: Path) -> BinaryIO:
    """The file's bytes, unpacked where its first bytes say so."""
    with path.open("rb") as stream:
        start = stream.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if start.startswith(b"\xfd7zXZ"):
        return lzma.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _read(stream: BinaryIO, assembly: Assembly, format: str) -> None:
    start = stream.read(4096)
    if format == "auto":
        marks = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        is_wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        format = "xml" if marks.startswith(b"<") or is_wide else "conllu"
    (read_xml if format == "xml" else read_conllu)(start, stream, assembly)
