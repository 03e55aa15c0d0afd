"""Text from data that is safe to show: it cannot command a terminal, and hides nothing."""

from __future__ import annotations

import re
import shlex
import unicodedata
from urllib.parse import quote

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of control characters, of marks that change direction, of halves of characters."""
JOINERS = "\u200c\u200d"
"""Marks of that kind which some scripts and emoji cannot do without."""


def plain(text: str, keep: str = "") -> str:
    r"""The text with every unseen character written as its escape: ESC becomes \x1b.

    The characters of `keep` stay. Nothing else changes, so ordinary text of any script is itself.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(repr(c)[1:-1] if _is_unseen(c) and c not in keep else c for c in text)


def one_line(text: str) -> str:
    """The text with line breaks as spaces, and plain."""
    return plain(" ".join(text.splitlines()))


def unseen_escaped(text: str) -> str:
    """The text as one word: blanks, unseen characters and % as the %20 of web addresses."""
    escaped = (_escape(c) if c == "%" or _is_blank_or_unseen(c) else c for c in text)
    return "".join(escaped) or "%"


def _escape(character: str) -> str:
    return quote(character, safe="", errors="surrogatepass")


def is_one_word(text: str) -> bool:
    """Whether the text is not empty, and without blanks and unseen characters."""
    if text.isascii():
        return text.isprintable() and " " not in text and text != ""
    return not any(map(_is_blank_or_unseen, text))


def _is_blank_or_unseen(character: str) -> bool:
    return character.isspace() or _is_unseen(character)


def shell_line(words: list[str]) -> str:
    r"""The words as one line for a shell; unseen characters as bash reads them: $'\x1b'.

    A byte of a file name that is no text in UTF-8 is written as this byte.
    """
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if plain(word) == word:
        return shlex.quote(word)
    inside = plain(word.replace("\\", "\\\\").replace("'", "\\'"))
    return "$'" + re.sub(r"\\udc([89a-f][0-9a-f])", r"\\x\1", inside) + "'"


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in UNSEEN and character not in JOINERS
