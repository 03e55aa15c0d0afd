"""Which column of a list of edges is which."""

import numpy as np
import pytest

from rankwise.io.edge_columns import Reading, is_header, roles_of
from rankwise.io.table_columns import Columns


def table(**columns):
    values = {name: np.array(cells, dtype=object) for name, cells in columns.items()}
    return Columns("edges.csv", values, np.arange(2, 9))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"drug": "ab", "target": "xy", "pKi": "12"}, ("drug", "target", "pKi")),
        ({"target": "ab", "drug": "xy", "pKi": "12"}, ("drug", "target", "pKi")),
        ({"user": "12", "film": "34", "stars": "56"}, ("user", "film", "stars")),
        ({"y": "12", "a": "34", "b": "56"}, ("a", "b", "y")),
        ({"from": "ab", "to": "xy"}, ("from", "to", None)),
    ],
)
def test_roles(columns, expected):
    found = roles_of(table(**{name: list(cells) for name, cells in columns.items()}), Reading())
    assert tuple(found.get(role) for role in ("row", "column", "value")) == expected


def test_names_of_training_are_preferred_where_they_exist():
    wanted = Reading(usual={"row": "compound", "column": "protein", "value": "pKd"})
    cells = {"protein": ["x"], "compound": ["a"], "pKi": ["1"], "pKd": ["2"]}
    assert roles_of(table(**cells), wanted) == {
        "row": "compound",
        "column": "protein",
        "value": "pKd",
    }
    del cells["pKd"]
    assert roles_of(table(**cells), wanted)["value"] == "pKi"
    assert is_header(["compound", "x"], [["a", "b"]], wanted)
    assert not is_header(["a", "x"], [["a", "b"]], wanted)
