"""Every Python block of README and docs runs and prints what is shown; links lead somewhere; the
site builds without a warning, its gallery included; docstring examples hold.
"""

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

import rankwise

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


PEERS = ("choix", "lightgbm", "sksurv")
"""Other libraries that pages compare with; their pages are run where they are installed."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks_print_what_is_shown(page, tmp_path, monkeypatch):
    code = "".join(code for code, _ in blocks(page))
    for peer in PEERS:
        if re.search(rf"^(from|import) {peer}\b", code, re.M):
            pytest.importorskip(peer, reason=f"{page.name} compares with {peer}, which is absent")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict = {"__name__": "page"}
    for code, expected in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    made_by_the_site = ("gallery/", "api/", "../api/", "../gallery/")
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith(made_by_the_site):
            assert (page.parent / target).exists(), target


def test_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the documentation's extra is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr
    for script in (ROOT / "examples").glob("*.py"):
        assert (tmp_path / "gallery" / f"{script.stem}.png").stat().st_size > 5000
    learners = (tmp_path / "api" / "learners.html").read_text()
    assert all(name in learners for name in ("RankRLS", "leave_pair_out", "staged_predict"))


def modules() -> list[str]:
    found = pkgutil.walk_packages(rankwise.__path__, "rankwise.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
