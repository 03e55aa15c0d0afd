"""Tables in the pages: the text between two markers is the table that a script wrote.

    <!-- table: NAME -->            all tables of the script NAME
    <!-- table: NAME 1 3 -->        its first and third table
    <!-- end of table -->

    <!-- scripts without tables -->   the scripts that pages wait for, and those copied by hand
    <!-- end of list -->

`fill` replaces what stands between the markers by the contents of the file tables/NAME.md beside
this module. Until a script has written that file, a note stands there, or a table of an earlier run
that was copied by hand and says so. Both readers of plain Markdown and the site see the tables, and
the markers are invisible. A test compares pages and tables, so that they cannot drift apart.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from benchmarks.papers.table import write

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = Path(__file__).resolve().parent / "tables"
PART = "<!-- part {} -->"
BLOCK = re.compile(
    r"(?P<head><!-- table: (?P<name>[\w]+)(?P<parts>(?: \d+)*) -->\n)(?P<body>.*?)"
    r"(?P<end><!-- end of table -->)",
    re.DOTALL,
)
LIST = re.compile(
    r"(?P<head><!-- scripts without tables -->\n)(?P<body>.*?)(?P<end><!-- end of list -->)",
    re.DOTALL,
)
NOTE = "Not run yet: `python -m benchmarks.papers {}`."
BY_HAND = "*Copied by hand from an earlier run of* `python -m benchmarks.papers {}`."
LIBRARIES = ("rankwise", "numpy", "scipy", "scikit-learn")


def save(name: str, parts: list[str], folder: Path = TABLES) -> Path:
    """Write the tables of a script, with the command and the versions that made them."""
    versions = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
    head = f"<!-- Written by: python -m benchmarks.papers {name}\n     Versions: {versions} -->\n"
    body = "".join(f"\n{PART.format(k)}\n\n{part}" for k, part in enumerate(parts, start=1))
    path = folder / f"{name}.md"
    write(path, head + body)
    return path


def load(name: str, folder: Path = TABLES) -> list[str]:
    """The tables of a script, as they were shown."""
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    return [part.strip("\n") + "\n" for part in re.split(r"<!-- part \d+ -->", text)[1:]]


def filled(text: str, folder: Path = TABLES) -> str:
    """A page with the current tables in all its blocks whose script has written some."""

    def block(match: re.Match) -> str:
        if not (folder / f"{match['name']}.md").is_file():
            return match[0]
        parts = load(match["name"], folder)
        wanted = [int(number) for number in match["parts"].split()] or range(1, len(parts) + 1)
        body = "\n".join(parts[number - 1] for number in wanted)
        return f"{match['head']}\n{body}\n{match['end']}"

    def waiting(match: re.Match) -> str:
        names, copied = not_run(folder), by_hand()
        lists = {
            "Not run yet": [name for name in names if name not in copied],
            "Copied by hand from an earlier run": [name for name in names if name in copied],
        }
        body = "\n".join(
            f"{title}: {', '.join(f'`{name}`' for name in listed) or 'none'}.\n"
            for title, listed in lists.items()
        )
        return f"{match['head']}\n{body}\n{match['end']}"

    return LIST.sub(waiting, BLOCK.sub(block, text))


def not_run(folder: Path = TABLES) -> list[str]:
    """The scripts that have a block on some page, but no tables."""
    names = {block["name"] for block in blocks()}
    return sorted(name for name in names if not (folder / f"{name}.md").is_file())


def by_hand() -> set[str]:
    """The scripts with tables of an earlier run on some page, copied by hand."""
    return {b["name"] for b in blocks() if b["body"].lstrip().startswith(BY_HAND.format(b["name"]))}


def blocks() -> list[re.Match]:
    pages = (page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md")))
    return [block for text in pages for block in BLOCK.finditer(text)]


def with_tables() -> list[Path]:
    """The pages of the documentation that have blocks."""
    pages = sorted(DOCS.rglob("*.md"))
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    return [page for page, text in texts.items() if BLOCK.search(text) or LIST.search(text)]


def fill() -> list[Path]:
    """Fill all pages; those that changed."""
    changed = []
    for page in with_tables():
        old = page.read_text(encoding="utf-8")
        new = filled(old)
        if new != old:
            write(page, new)
            changed.append(page)
    return changed
