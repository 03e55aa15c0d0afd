"""What a start imports: help, version and completion wait for no learner and no compiler."""

import importlib.metadata
import subprocess
import sys

import pytest

import rankwise
from rankwise.cli import COMMANDS
from rankwise.learners import item_scaler
from rankwise.losses.losses_by_name import HINGE_LOSSES, QUADRATIC_LOSSES
from rankwise.losses.query_weights import QUERY_WEIGHTS
from rankwise.solvers import unpenalised_effects
from rankwise.spaces import node_kernels, pairwise_kernels
from rankwise.spaces.kernels import OWN_KERNELS
from rankwise.workflow import recipe

HEAVY = ("scipy", "sklearn", "numba", "matplotlib", "pandas", "piqp", "dask")
CALL = "import sys; from rankwise.cli import main; main(sys.argv[1:], standalone_mode=False)"
LOADED = f"; print('loaded:', *(name for name in {HEAVY} if name in sys.modules))"


def heavy_modules(code: str, *arguments: str) -> list[str]:
    """The heavy packages that a new interpreter has imported after the code."""
    command = [sys.executable, "-c", code + LOADED, *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("code", ["import sys, rankwise", "import sys, rankwise.cli"])
def test_an_import_is_light(code):
    assert heavy_modules(code) == []


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_is_light(command):
    assert heavy_modules(CALL, *command, "--help") == []


def test_the_version_is_light_and_that_of_the_package():
    assert heavy_modules(CALL, "--version") == []
    assert rankwise.__version__ == importlib.metadata.version("rankwise")


@pytest.mark.parametrize("words, found", [("rankwise tr", "train"), ("rankwise train --ke", "--k")])
def test_completion_is_light(words, found):
    code = (
        "import sys; from click.shell_completion import BashComplete; from rankwise.cli import main"
        f"; print([item.value for item in BashComplete(main, {{}}, 'rankwise', '_X')"
        f".get_completions({words.split()[1:-1]!r}, {words.split()[-1]!r})])"
    )
    command = [sys.executable, "-c", code + LOADED]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found in said and said.splitlines()[-1] == "loaded:"


def test_the_names_that_help_shows_are_those_of_the_learners():
    """workflow/recipe.py lists them, because help must not import the tables of the learners."""
    assert list(recipe.LEARNERS["rank-rls"].losses) == list(QUADRATIC_LOSSES)
    assert list(recipe.LEARNERS["rank-svm"].losses) == list(HINGE_LOSSES)
    assert list(QUERY_WEIGHTS) == list(recipe.QUERY_WEIGHTS)
    assert set(OWN_KERNELS) <= set(recipe.KERNELS)
    assert set(recipe.PAIRWISE) == set(pairwise_kernels.PAIRWISE)
    assert (recipe.EFFECTS, recipe.REPAIRS) == (unpenalised_effects.EFFECTS, node_kernels.REPAIRS)
    assert (recipe.SCALES, recipe.MISSING) == (item_scaler.SCALES, item_scaler.MISSING)
    assert all(isinstance(method.estimator, type) for method in recipe.LEARNERS.values())
