"""Votes from tables with columns of any name; errors name line and column."""

import io

import pytest

from rankwise.datasets import read_preferences
from rankwise.exceptions import ReadError
from rankwise.io.vote_tables import read_vote_table

TEXT = """day,model_a,model_b,who won,grader,times
1,x,y,model_a,ann,2
1,y,z,model_b,bob,1
2,x,z,tie,ann,1
"""
ROLES = {"a": "model_a", "b": "model_b", "outcome": "who won"}


def table(text=TEXT, roles=ROLES, **options):
    file = io.StringIO(text)
    file.name = "votes.csv"
    return read_vote_table(file, roles, **options)


def said(preferences):
    names = preferences.items
    rows = zip(names[preferences.winner], names[preferences.loser], preferences.tie)
    return [f"{w}{'=' if tie else '>'}{l}" for w, l, tie in rows]


def test_columns_by_any_name():
    found = table(roles={**ROLES, "judge": "grader", "weight": "times"}).preferences()
    assert said(found) == ["x>y", "z>y", "x=z"]
    assert found.judge.tolist() == ["ann", "bob", "ann"] and found.weight.tolist() == [2, 1, 1]
    assert table().labels("day").tolist() == [1, 1, 2]
    assert said(read_preferences(io.StringIO(TEXT), columns=ROLES)) == ["x>y", "z>y", "x=z"]


def test_a_column_with_two_roles():
    text = "winner,loser\nx,y\nz,x\n"
    roles = {"a": "winner", "b": "loser", "outcome": "winner"}
    assert said(table(text, roles).preferences()) == ["x>y", "z>x"]


def test_items_that_were_never_compared():
    found = table().preferences(items=["z", "y", "x", "new"])
    assert said(found) == ["x>y", "z>y", "x=z"]
    assert found.never_compared.tolist() == ["new"] and "1 item never compared" in repr(found)


def test_outcomes_of_another_kind():
    text = "home,away,result\nA,B,1\nB,C,0\nA,C,-1\n"
    roles = {"a": "home", "b": "away", "outcome": "result"}
    with pytest.raises(ReadError, match="line 4, column 'result': '-1' is no outcome"):
        table(text, roles).preferences()
    coded = {"a": "1", "b": "-1", "tie": "0"}
    assert said(table(text, roles, outcomes=coded).preferences()) == ["A>B", "B=C", "C>A"]
    with pytest.raises(ReadError, match=r"line 3.*'0' is no outcome; you said.*'1' \(a\)"):
        table(text, roles, outcomes={"a": "1", "b": "-1"}).preferences()


def test_a_column_called_like_an_item():
    text = "x,y,won\nx,z,x\ny,x,x\n"
    found = table(text, {"a": "x", "b": "y", "outcome": "won"}).preferences()
    assert said(found) == ["x>z", "x>y"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3,x,x,tie,ann,1", "line 5, column 'model_b': item x is compared with itself"),
        ("3,x,y,drawn,ann,1", "line 5, column 'who won': 'drawn' is no outcome"),
        ("3,x,,tie,ann,1", "line 5, column 'model_b': an item has no name"),
        ("3,x,y,tie,,1", "line 5, column 'grader': a label is missing"),
        ("3,x,y,tie,ann,-1", "line 5, column 'times': a weight is negative"),
        ("3,x,y,tie,ann", "line 5: expected 6 columns"),
    ],
)
def test_mistakes_are_named_by_line_and_column(line, message):
    roles = {**ROLES, "judge": "grader", "weight": "times"}
    with pytest.raises(ReadError, match=message):
        table(TEXT + line + "\n", roles).preferences()


@pytest.mark.parametrize(
    ("roles", "options", "message"),
    [
        ({"a": "model_a", "b": "model_b"}, {}, "'outcome' is missing"),
        ({**ROLES, "a": "nobody"}, {}, "no column 'nobody' .*; it has 'day', 'model_a'"),
        ({**ROLES, "a": "model_b"}, {}, "a and b are both the column 'model_b'"),
        ({**ROLES, "colour": "day"}, {}, "no role 'colour'"),
        (ROLES, {"outcomes": {"c": "1"}}, "got 'c'"),
        (ROLES, {"outcomes": {"a": "1", "b": "1"}}, "different ways"),
    ],
)
def test_wrong_roles(roles, options, message):
    with pytest.raises(ValueError, match=message):
        table(roles=roles, **options)


def test_a_name_that_no_item_has():
    with pytest.raises(ReadError, match="line 3, column 'model_b': 'z' is not in the table"):
        table().preferences(items=["x", "y"])
