"""Modules that are imported at the first use of one of their names."""

import subprocess
import sys

import pytest

DEFER = "import sys; from rankwise.cli.deferred_imports import defer_import; defer_import('{}'); "
LOADED = "; print('{}' in sys.modules)"


def printed(code: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_scikit_learn_does_not_load_what_it_does_not_use():
    code = DEFER.format("scipy.stats") + "import sklearn.base" + LOADED.format("scipy.stats._mgc")
    assert printed(code) == ["False"]


@pytest.mark.parametrize(
    "use",
    [
        "import scipy.stats; print(scipy.stats.rankdata([2, 1]).sum())",
        "from scipy import stats; print(stats.rankdata([2, 1]).sum())",
        "from scipy.stats import rankdata; print(rankdata([2, 1]).sum())",
        "import scipy.stats as s; s.norm; import scipy.stats; print(scipy.stats is not s, 3.0)",
        "import scipy.stats._stats_py as s; print(s.rankdata([2, 1]).sum())",
        "from scipy.stats import *; print(rankdata([2, 1]).sum())",
    ],
)
def test_every_way_to_import_gives_the_module(use):
    said = printed(DEFER.format("scipy.stats") + use + LOADED.format("scipy.stats._mgc"))
    assert said[-2:] == ["3.0", "True"]


def test_a_name_that_the_module_does_not_have():
    code = DEFER.format("json.decoder") + "import json.decoder as d; print(hasattr(d, 'nothing'))"
    assert printed(code) == ["False"]
    code = DEFER.format("json.decoder") + "import json.decoder as d; print(hasattr(d, '__odd__'))"
    assert printed(code) == ["False"]


def test_a_module_that_is_loaded_stays():
    code = "import json.decoder as d; " + DEFER.format("json.decoder")
    assert printed(code + "print(sys.modules['json.decoder'] is d)") == ["True"]


def test_linear_predictions_need_no_statistics(tmp_path):
    table = "a,b,score\n" + "\n".join(f"{i},{i * i % 7},{i}" for i in range(20)) + "\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    model, items = str(tmp_path / "model.rw"), str(tmp_path / "items.csv")
    call = "import sys; from rankwise.cli import main; main(sys.argv[1:], standalone_mode=False)"
    printed(call, "train", items, "--target", "score", "-o", model, "-q")
    said = printed(call + LOADED.format("scipy.stats._mgc"), "predict", model, items)
    assert len(said) == 21 and said[-1] == "False"
