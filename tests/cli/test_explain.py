"""rankwise explain"""

import json

import numpy as np
import pytest

from tests.cli_files import run


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--kernel", "rbf", "--scale", "query"),
        ("--learner", "rank-boost"),
        ("--learner", "rank-svm", "--kernel", "poly", "--basis", "20"),
    ],
)
def test_explanations_add_up(folder, tmp_path, options):
    model = tmp_path / "m.rw"
    run("train", folder / "train.csv", "-o", model, "-q", *options)
    query = ("explain", model, folder / "test.csv", "--query", "q3")
    record = json.loads(run(*query, "--json", "--top", "5").stdout)
    total = sum(part["amount"] for part in record["parts"]) + record["rest"]
    assert record["difference"] >= 0
    np.testing.assert_allclose(total, record["difference"], rtol=1e-9, atol=1e-12)
    shown = run(*query, "--above", "d25", "--below", "4").stdout
    assert "d25 (A)" in shown and "which is the sum of" in shown
