"""Names that a user may have meant."""

from rankwise.io.table_columns import did_you_mean, no_column


def test_near_names_are_offered():
    assert did_you_mean("scroe", ["id", "score"]) == " Did you mean 'score'?"
    assert did_you_mean("SCORE", ["id", "Score"]) == " Did you mean 'Score'?"
    assert did_you_mean("price", ["id", "score"]) == ""


def test_a_table_of_many_columns_is_cut_short():
    told = no_column("t.csv", "f7x", "--ignore", [f"f{j}" for j in range(1000)])
    assert told.endswith("'f18', 'f19', .... Did you mean 'f7'?") and "--ignore" in told
