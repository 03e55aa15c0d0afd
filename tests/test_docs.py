"""The README's code blocks run and print what it says; docstring examples hold."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

import rankwise.learners.rank_rls

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_readme_blocks_print_what_is_shown():
    code = re.findall(r"```python\n(.*?)```", README, re.S)
    shown = re.findall(r"```text\n(.*?)```", README, re.S)
    assert len(code) == len(shown) > 0
    names: dict = {}
    for block, expected in zip(code, shown):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_docstring_examples():
    assert doctest.testmod(rankwise.learners.rank_rls).failed == 0
