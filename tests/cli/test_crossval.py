"""rankwise crossval"""

import json

import numpy as np

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


def test_preferences_do_not_leak(tmp_path):
    """Items without any use in their features, and every random outcome told five times."""
    rng = np.random.default_rng(4)
    columns = [f"x{i}" for i in range(40)]
    lines = [f"i{row}," + ",".join("01"[row == j] for j in range(40)) for row in range(40)]
    (tmp_path / "items.csv").write_text(
        "\n".join(["name," + ",".join(columns), *lines]), encoding="utf-8"
    )
    votes = [rng.choice(40, 2, replace=False) for _ in range(300)]
    wins = [f"i{a},i{b}" for a, b in votes for _ in range(5)]
    (tmp_path / "wins.csv").write_text("winner,loser\n" + "\n".join(wins), encoding="utf-8")
    files = (tmp_path / "items.csv", "--id", "name", "--preferences", tmp_path / "wins.csv")
    record = json.loads(run("crossval", *files, "--alpha", "0.1,1", "--json").stdout)
    held_out = {each["learner"]: each["path"]["by"] for each in record["learners"]}
    assert held_out == {
        "rank-rls": "leave-preference-out",
        "rank-svm": "10 folds of pairs of items",
        "rank-logistic": "10 folds of pairs of items",
    }
    for each in record["learners"]:
        for score, error in zip(each["path"]["score"], each["path"]["score_se"]):
            assert abs(score - 0.5) < 4 * error < 0.25
