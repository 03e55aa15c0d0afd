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
