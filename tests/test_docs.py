"""Every Python block of README and docs runs and prints what is shown; links lead somewhere; the
site builds without a warning; the examples of the gallery run; every public callable is explained
with an example that holds.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import matplotlib
import pytest

import rankwise
from tests.browser import CHROMIUM, browser_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)
SAVED = re.compile(r"savefig\(\"(\w+\.png)\"")
MADE_BY_THE_SITE = ("gallery/", "api/", "../api/", "../gallery/")
PUBLIC_MODULES = [
    "rankwise",
    "rankwise.applications.ppi",
    "rankwise.dask",
    "rankwise.datasets",
    "rankwise.evaluation",
    "rankwise.features",
    "rankwise.graphs",
    "rankwise.kernels",
    "rankwise.metrics",
    "rankwise.scaling",
    "rankwise.selection",
]


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


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
    for picture in SAVED.findall(page.read_text(encoding="utf-8")):
        assert f"figures/{picture})" in page.read_text(encoding="utf-8"), (
            f"{page}: {picture} is not shown"
        )
        assert (tmp_path / picture).stat().st_size > 5000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(MADE_BY_THE_SITE):
            assert (page.parent / target).exists(), target


def test_every_page_has_its_place():
    """In the list of a toctree, so that readers find it."""
    listed = {"index"}
    for page in PAGES:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            folder = page.parent.relative_to(ROOT / "docs")
            listed |= {
                str(folder / line) for line in tree.splitlines() if line[:1] not in ("", ":")
            }
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES[2:]}
    missing = sorted(page for page in pages if not any(fnmatch(page, one) for one in listed))
    assert not missing, f"add to a toctree of guides.md, evidence.md or inside.md: {missing}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy, because the build writes pages; without running the gallery."""
    pytest.importorskip("sphinx_gallery", reason="the documentation's extra is not installed")
    work = tmp_path_factory.mktemp("site")
    made = shutil.ignore_patterns("generated", "gallery", "sg_execution_times.rst", "__pycache__")
    for name in ("docs", "src", "examples"):
        shutil.copytree(ROOT / name, work / name, ignore=made)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    run = subprocess.run(
        [*command, str(work / "docs"), str(work / "site")],
        env={**os.environ, "RANKWISE_GALLERY": "skip"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return work / "site"


def test_site_builds_without_a_warning(site):
    for script in EXAMPLES:
        assert (site / "gallery" / f"{script.stem}.html").exists()
        assert list((site / "_downloads").rglob(f"{script.stem}.ipynb"))
    learner = (site / "api" / "generated" / "rankwise.RankRLS.html").read_text(encoding="utf-8")
    assert all(name in learner for name in ("leave_pair_out", "partial_fit", "query_weight"))
    mails = [page.name for page in site.rglob("*.html") if "mailto:" in page.read_text("utf-8")]
    assert not mails, f"a measure such as ndcg@10 without backticks became an address: {mails}"


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_site_works_from_disk(site, tmp_path):
    """Pages fit a phone, and the search finds a method, without a server."""
    pytest.importorskip("websockets", reason="websockets is not installed")
    with browser_page(tmp_path) as page:
        for name in ("index", "rank_svm", "api/generated/rankwise.RankRLS"):
            page.open((site / f"{name}.html").as_uri(), width=390, dark=True, phone=True)
            assert page.run("document.documentElement.scrollWidth <= window.innerWidth"), name
            assert page.run("document.documentElement.dataset.theme") == "dark"
        page.open((site / "search.html").as_uri() + "?q=leave_pair_out")
        page.wait(
            "document.querySelector('#search-results a[href*=\"rankwise.RankRLS\"]') !== null"
        )
        assert not page.problems
        assert all(address.startswith(("file:", "data:")) for address in page.addresses)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_examples_of_the_gallery_draw_something(script, capsys):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    runpy.run_path(str(script), run_name="__main__")
    assert pyplot.get_fignums(), f"{script.name} drew no figure"
    pyplot.close("all")


def modules() -> list[str]:
    found = pkgutil.walk_packages(rankwise.__path__, "rankwise.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def public_callables() -> dict[str, object]:
    """Each by its shortest public path."""
    found: dict[int, tuple[str, object]] = {}
    for module in PUBLIC_MODULES:
        try:
            room = importlib.import_module(module)
        except ImportError:  # an extra that is not installed
            continue
        for name in room.__all__:
            value = getattr(room, name)
            if callable(value):
                found.setdefault(id(value), (f"{module}.{name}", value))
    return dict(found.values())


PUBLIC = public_callables()


def section(docstring: str, title: str) -> str:
    """The text under an underlined title."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^[A-Z][A-Za-z ]+\n---|\Z)", docstring, re.M | re.S)
    return found[1] if found else ""


def named_in(docstring: str, title: str) -> set[str]:
    """The names of the entries of a section: lines without indent, before ` : `."""
    heads = re.findall(r"^(?! )(\S.*)$", section(docstring, title), re.M)
    return {name for head in heads for name in head.split(" : ")[0].split(", ")}


def arguments_of(value: object) -> set[str]:
    if isinstance(value, type) and issubclass(value, Exception) and "__init__" not in vars(value):
        return set()
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(value).parameters.values()
    return {marks.get(parameter.kind, "") + parameter.name for parameter in parameters}


@pytest.mark.parametrize("path", PUBLIC)
def test_public_callables_have_an_example(path):
    example = section(inspect.getdoc(PUBLIC[path]) or "", "Examples")
    assert ">>>" in example, f"{path}: its docstring needs a section Examples with a doctest"


@pytest.mark.parametrize("path", PUBLIC)
def test_public_callables_explain_their_arguments(path):
    text = inspect.getdoc(PUBLIC[path]) or ""
    told = named_in(text, "Parameters") | named_in(text, "Attributes")
    missing = arguments_of(PUBLIC[path]) - told
    assert not missing, f"{path}: its docstring needs {sorted(missing)} in a section Parameters"


@pytest.mark.parametrize("path", PUBLIC)
def test_public_callables_are_in_the_reference(path):
    """A page of docs/api lists the name below the line `.. currentmodule::` of its module."""
    listed = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif re.fullmatch(r"   [A-Za-z][\w.]*", line):
                listed.add(f"{module}.{line.strip()}")
    assert path in listed, f"add {path} to a page of docs/api"


@pytest.mark.parametrize("path", PUBLIC)
def test_docstrings_are_clean_text_for_the_site(path):
    """Docutils finds nothing to complain about, such as a name_ without `backticks`."""
    core = pytest.importorskip("docutils.core", reason="the documentation's extra is not installed")
    sections = pytest.importorskip("numpydoc.docscrape_sphinx")
    value = PUBLIC[path]
    texts = [inspect.getdoc(value) or ""]
    for name, member in vars(value).items() if isinstance(value, type) else ():
        if inspect.isfunction(member) and not name.startswith("_"):
            texts.append(inspect.getdoc(member) or "")
    complaints = io.StringIO()
    options = {"warning_stream": complaints, "report_level": 2, "halt_level": 5}
    for text in map(sections.SphinxDocString, texts):
        core.publish_doctree(str(text), source_path=path, settings_overrides=options)
    assert not complaints.getvalue(), complaints.getvalue()
