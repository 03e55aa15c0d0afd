"""rankwise evaluate"""

import json

import numpy as np

from tests.cli_files import run


def test_evaluate_shows_measures_and_queries(folder):
    found = run("evaluate", folder / "model.rw", folder / "test.csv", "--per-query").stdout
    for word in ("ranking error", "NDCG@10", "MAP", "τ_b", "95% interval", "q5"):
        assert word in found
    record = json.loads(
        run("evaluate", folder / "model.rw", folder / "test.csv", "--json", "--per-query").stdout
    )
    each = [row["ranking_error"] for row in record["per_query"]]
    np.testing.assert_allclose(np.mean(each), record["measures"]["ranking_error"]["value"])
