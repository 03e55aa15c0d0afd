"""The README's transcript of the command: every line is run, its output compared."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli_files import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "command.md"]


def steps(page: Path) -> list[tuple[str, str]]:
    """(command, what it prints) of all transcripts of a page, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def printed(command: str) -> str:
    command, _, head = command.partition(" | head -")
    words = shlex.split(command)
    if words[0] == "head":
        text, head = Path(words[2]).read_text(encoding="utf-8"), words[1][1:]
    else:
        assert words[0] == "rankwise"
        text = run(*words[1:]).output
    lines = text.splitlines()
    return "\n".join(lines[: int(head)] if head else lines)


def plain(text: str) -> list[str]:
    """Lines without blanks at their ends, the time a fit took, and the last digits of scores."""
    text = re.sub(r"in \d+\.\d s", "in … s", text)
    text = re.sub(r"\d+\.\d{9,}", lambda found: f"{float(found.group()):.8g}", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_transcripts(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shown = steps(page)
    assert shown
    for command, expected in shown:
        assert plain(printed(command)) == plain(expected), command
