"""rankwise crossval"""

import json

from tests.cli_files import run


def test_crossval_compares_and_nests(folder):
    found = run("crossval", folder / "train.csv", "--nested", "3", "--path").stdout
    for word in ("rank-rls", "rank-svm", "rank-boost", "leave-query-out", "Nested, 3"):
        assert word in found
    record = json.loads(
        run("crossval", folder / "train.csv", "--learner", "mprank", "--json").stdout
    )
    assert record["learners"][0]["path"]["parameter"] == "alpha"


def test_a_given_grid_that_ends_too_early_is_named_once(folder):
    words = ("--learner", "mprank", "--alpha", "1e5,1e6")
    found = run("crossval", folder / "train.csv", *words)
    hints = [line for line in found.stderr.splitlines() if "candidate" in line]
    assert len(hints) == 1
    assert hints[0].startswith("Hint: mprank: the smallest candidate won, alpha 1e+05")
    model = folder / "ends_too_early.rw"
    said = run("train", folder / "train.csv", *words, "-o", model).stderr
    assert said.count("the smallest candidate won, alpha 1e+05") == 1
    said = run("train", folder / "train.csv", "--learner", "mprank", "-o", model).stderr
    assert "candidate won" not in said
