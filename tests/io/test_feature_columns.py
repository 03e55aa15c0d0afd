"""Columns as features, and the same columns again: read_table(like=...)."""

import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_table
from rankwise.io.feature_columns import FeatureColumn


def _file(text):
    return io.BytesIO(text.encode())


TRAIN = "city;price;share\nBonn;1,5;5%\nRome;2;7,5%\nBonn;1.234;1%\n"


def test_categories_and_signs():
    found = read_table(_file(TRAIN), categorical=["city"])
    assert found.feature_names == ["city=Bonn", "city=Rome", "price", "share"]
    # 1.234 is a thousand and more: the other cells have decimal commas
    np.testing.assert_allclose(found.X, [[1, 0, 1.5, 0.05], [0, 1, 2, 0.075], [1, 0, 1234, 0.01]])
    new = read_table(_file("share;price;city\n2%;7;Oslo\n3%;1,25;Rome\n"), like=found)
    np.testing.assert_allclose(new.X, [[0, 0, 7, 0.02], [0, 1, 1.25, 0.03]])
    assert new.feature_names == found.feature_names
    with pytest.raises(rw.ReadError, match="no percent sign"):
        read_table(_file("share;price;city\n2;7;Oslo\n"), like=found)
    with pytest.raises(ValueError, match="lacks 1 of the model's 3 features: 'price'"):
        read_table(_file("share;prize;city\n2%;7;Oslo\n"), like=found)


def test_a_sure_column_settles_a_doubtful_one():
    found = read_table(_file("a;b;c\n1,234;0,5;1.500\n2,500;1;2.000\n"))
    assert found.X.tolist() == [[1.234, 0.5, 1500], [2.5, 1, 2000]]
    with pytest.raises(rw.ReadError, match=r"line 2, column 'a': '1,234' may be 1234 or 1\.234"):
        read_table(_file("a;b\n1,234;0.5\n"))
    assert read_table(_file("a;b\n1,234;0.5\n"), decimal=".").X.tolist() == [[1234, 0.5]]


def test_missing_categories():
    found = read_table(_file("city,x\nBonn,1\n,2\n"), categorical=["city"], missing="nan")
    assert found.X[0, 0] == 1 and np.isnan(found.X[1, 0])
    with pytest.raises(rw.ReadError, match="line 3, column 'city': a value is missing"):
        read_table(_file("city,x\nBonn,1\n,2\n"), categorical=["city"])
    with pytest.raises(rw.ReadError, match="every value is missing"):
        read_table(_file("city,x\n?,1\n,2\n"), categorical=["city"])
    with pytest.raises(ValueError, match="Did you mean 'city'"):
        read_table(_file("city,x\nBonn,1\n"), categorical=["City"])
    with pytest.raises(ValueError, match="would be called 'a=b=c'"):
        read_table(_file("a,a=b\nb=c,c\n"), categorical=["a", "a=b"])


def test_records_are_plain_and_checked():
    for column in (FeatureColumn("x"), FeatureColumn("c", "category", "auto", ("a", "b"))):
        assert FeatureColumn.from_record(column.record()) == column
    assert FeatureColumn("x").record() == {"name": "x"}
    with pytest.raises(ValueError, match="unknown here"):
        FeatureColumn.from_record({"name": "x", "kind": "colour"})


def test_encodings():
    text = "città,x\nKöln,1\nRom,2\n"
    for encoding, option in (
        *(("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("utf-32", None)),
        *(("cp1252", "cp1252"), ("utf-16-be", "utf-16-be"), ("latin-1", "latin-1")),
    ):
        found = read_table(
            io.BytesIO(text.encode(encoding)), categorical=["città"], encoding=option
        )
        assert found.feature_names == ["città=Köln", "città=Rom", "x"]
    with pytest.raises(rw.ReadError, match=r"line 1, column 5: byte 0xe0 .*cp1252"):
        read_table(io.BytesIO(text.encode("cp1252")), categorical=["città"])
    with pytest.raises(rw.ReadError, match="not utf-16"):
        read_table(io.BytesIO(b"\xff\xfea"))
    with pytest.raises(ValueError, match="no encoding that is known"):
        read_table(_file(text), encoding="klingon")
