"""The files around the package agree with each other: versions, citations, workflows, extras."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import rankwise

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra dask")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict:
    return tomllib.loads(text_of("pyproject.toml"))


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!;~ ]", requirement, maxsplit=1)[0].lower()


def test_the_version_is_written_once():
    about = project()
    assert about["project"]["dynamic"] == ["version"]
    assert about["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rankwise.__version__"}
    assert f'__version__ = "{rankwise.__version__}"' in text_of("src/rankwise/__init__.py")
    for name in ("pyproject.toml", "CITATION.cff", "docs/stability.md", "MANIFEST.in"):
        assert f"version: {rankwise.__version__}" not in text_of(name)
        assert f'version = "{rankwise.__version__}"' not in text_of(name)


def test_the_changelog_starts_with_this_version():
    versions = re.findall(r"^## (\S+)", text_of("CHANGELOG.md"), re.M)
    assert versions[0] == rankwise.__version__
    assert len(set(versions)) == len(versions)


def test_extras_are_small():
    about = project()["project"]
    core = {name_of(each) for each in about["dependencies"]}
    assert not core & {"matplotlib", "pandas", "polars", "pyarrow", "dask", "onnx", "starlette"}
    extras = about["optional-dependencies"]
    assert {name_of(each) for each in extras["frames"]} == {"pandas", "pyarrow"}
    assert {name_of(each) for each in extras["plot"]} == {"matplotlib"}
    assert {"frames", "plot", "dask", "serve", "onnx", "docs", "test", "lint"} <= set(extras)


def test_the_oldest_versions_are_those_that_are_allowed():
    """.ci/oldest.txt pins every dependency of the core and of the tested extras to its bound."""
    lines = [line.split("#")[0].strip() for line in text_of(".ci/oldest.txt").splitlines()]
    pins = {name_of(line): line.split("==")[1] for line in lines if line}
    about = project()["project"]
    extras = about["optional-dependencies"]
    bounded = [*about["dependencies"]]
    for extra in ("frames", "plot", "dask", "serve", "onnx"):
        bounded += extras[extra]
    for requirement in bounded:
        bound = re.search(r">=([\d.]+)", requirement)
        assert bound, f"{requirement} has no lower bound"
        pinned = pins.get(name_of(requirement))
        assert pinned is not None, f"{requirement} is not in .ci/oldest.txt"
        assert (pinned + ".").startswith(bound[1] + "."), f"{requirement} is tested as {pinned}"


def test_the_citation_names_the_five_papers():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors", "references"} <= set(citation)
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["license"] == project()["project"]["license"]
    assert len(citation["references"]) == 5
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        assert "doi" in reference or "isbn" in reference
        assert all({"family-names", "given-names"} == set(each) for each in reference["authors"])
        doi = reference.get("doi")
        assert doi is None or re.fullmatch(r"10\.\d{4,9}/\S+", doi)
        assert (doi or reference["isbn"]) in text_of("paper/paper.bib")
    known = {reference.get("doi") for reference in citation["references"]}
    linked = {url.removeprefix("https://doi.org/") for url in project()["project"]["urls"].values()}
    assert linked <= known


def test_the_paper_cites_what_it_lists():
    paper, bibliography = text_of("paper/paper.md"), text_of("paper/paper.bib")
    _, front, body = paper.split("---\n", 2)
    about = yaml.safe_load(front)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(about)
    cited, listed = (
        set(re.findall(r"@(\w+)", body)),
        set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M)),
    )
    assert cited == listed
    assert 250 <= len(body.split()) <= 1750
    for heading in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"\n# {heading}\n" in body


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_read(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60 and job["steps"]


def test_actionlint_has_no_complaint():
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is not installed")
    run = subprocess.run([program, *map(str, WORKFLOWS)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_tested_versions_of_python_are_those_that_are_named():
    matrix = yaml.safe_load(text_of(".github/workflows/tests.yml"))["jobs"]["tests"]["strategy"]
    tested = matrix["matrix"]["python"]
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", text_of("pyproject.toml"))
    assert tested == named and project()["project"]["requires-python"] == f">={named[0]}"
    assert len(matrix["matrix"]["system"]) == 3


def test_hooks_are_tools_of_the_lint_extra():
    hooks = [
        hook
        for repository in yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
        for hook in repository["hooks"]
    ]
    assert all(hook["language"] == "system" for hook in hooks)
    tools = {name_of(each) for each in project()["project"]["optional-dependencies"]["lint"]}
    command_of = {"import-linter": "lint-imports"}
    assert {hook["entry"].split()[0] for hook in hooks} == {command_of.get(t, t) for t in tools}


@pytest.mark.parametrize("name", ["bug.yml", "wish.yml"])
def test_issue_forms_ask_something(name):
    form = yaml.safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}"))
    assert {"name", "description", "body"} <= set(form)
    assert any(each.get("validations", {}).get("required") for each in form["body"])


def test_the_files_of_trust_exist():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE"):
        assert len(text_of(name).split()) > 100
    assert (ROOT / ".github/pull_request_template.md").exists()
