"""read_edges: lists with columns of any name, matrices with missing cells, and odd files."""

import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_edges


def _file(text):
    return io.BytesIO(text.encode())


def test_edges_by_number_and_by_name():
    found = read_edges(_file("0 1 2.5\n3 0 -1\n"))
    assert found.edges.tolist() == [[0, 1], [3, 0]]
    assert found.y.tolist() == [2.5, -1.0]
    assert found.row_names is None
    named = read_edges(_file("drug,target,value\nb,t9,1\na,t1,2\n"))
    assert named.edges.tolist() == [[1, 1], [0, 0]]
    assert named.row_names.tolist() == ["a", "b"]
    given = read_edges(_file("b,t9,1\n"), rows=["b", "a"], columns=["t1", "t9"])
    assert given.edges.tolist() == [[0, 1]]
    shared = read_edges(_file("b c\na b\n"), one_domain=True)
    assert shared.edges.tolist() == [[1, 2], [0, 1]]
    assert shared.y is None
    with pytest.raises(rw.ReadError, match="line 1, column 'column': 't9' is not in columns"):
        read_edges(_file("b,t9,1\n"), columns=["t1"])
    with pytest.raises(rw.ReadError, match="line 2, column 'value': 'x' is not a number"):
        read_edges(_file("a b 1\nb a x\n"))


@pytest.mark.parametrize(
    "text",
    [
        "drug,target,pKi\na,t1,5.5\nb,t2,6\n",
        "compound,protein,pKi\na,t1,5.5\nb,t2,6\n",
        "pKi;compound;protein\n5,5;a;t1\n6;b;t2\n",
        "# measured\nvalue\tcolumn\trow\n5.5\tt1\ta\n6\tt2\tb\n",
        "compound,protein,assay,pKi\na,t1,x,5.5\nb,t2,y,6\n",
        "drug,t1,t2\na,5.5,\nb,NA,6\n",
        "\tt1\tt2\na\t5.5\t?\nb\t\t6\n",
        "t1 t2\na 5.5 nan\nb - 6\n",
    ],
)
def test_lists_with_any_names_and_matrices(text):
    found = read_edges(_file(text))
    assert found.edges.tolist() == [[0, 0], [1, 1]]
    assert found.y.tolist() == [5.5, 6.0]
    assert (found.row_names.tolist(), found.column_names.tolist()) == (["a", "b"], ["t1", "t2"])
    assert found.lines[1] == found.lines[0] + 1


def test_columns_that_are_named():
    text = "id,compound,protein,pKi,pKd\n1,a,t1,5.5,1\n2,b,t2,6,2\n"
    with pytest.raises(rw.ReadError, match=r"which column holds the values.* 'pKi', 'pKd'"):
        read_edges(_file(text))
    with pytest.raises(rw.ReadError, match=r"no column 'pkd' .*Did you mean 'pKd'"):
        read_edges(_file(text), value="pkd")
    with pytest.raises(rw.ReadError, match="same column"):
        read_edges(_file(text), row_column="pKi", value="pKi")
    found = read_edges(_file(text), value="pKd", row_column="protein", column_column="compound")
    assert found.row_names.tolist() == ["t1", "t2"] and found.y.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "text", ["protein,compound,pKi\nt2,a,1\nt1,b,2\n", "x,a,b\nt2,1,\nt1,,2\n"]
)
def test_names_decide_which_side_is_which(text):
    found = read_edges(_file(text), rows=["b", "a"], columns=["t1", "t2", "t3"])
    assert found.edges.tolist() == [[1, 1], [0, 0]]
    assert found.column_names.tolist() == ["t1", "t2", "t3"]


def test_numbers_as_names_and_without():
    numbers = read_edges(_file("user,item,stars\n1,20,3\n7,5,4\n"))
    assert numbers.edges.tolist() == [[1, 20], [7, 5]] and numbers.row_names is None
    named = read_edges(_file("user,item,stars\n1,20,3\n7,5,4\n"), rows=["7", "1"], columns=[5, 20])
    assert named.edges.tolist() == [[1, 1], [0, 0]]
    assert read_edges(_file("drug,17,18\na,5.5,6\nb,,7\n")).column_names.tolist() == ["17", "18"]


def test_one_domain_from_a_matrix():
    found = read_edges(_file("x,b,c\na,1,2\nb,,3\n"), one_domain=True)
    assert found.row_names.tolist() == found.column_names.tolist() == ["a", "b", "c"]
    assert found.edges.tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize(
    ("text", "options", "line", "reason"),
    [
        ("drug,t1,t2,t3\na,5.5,,\na,NA,6,\n", {}, 3, "also the row of line 2"),
        ("drug,t1,t1\na,5.5,1\n", {"form": "matrix"}, 1, "two columns"),
        ("drug,t1,t2\na,5.5,x\n", {"form": "matrix"}, 2, "'x' is not a number"),
        ("drug,t1,t2\na,,\n", {"form": "matrix"}, None, "every cell is missing"),
        ("drug,t1,t2\n,1,2\n", {"form": "matrix"}, 2, "no name"),
        ("drug,t1,t2\na,1\n", {"form": "matrix"}, 2, "columns"),
        ("a,b,c,d\nx,y,z,w\n", {}, 1, "found 4 columns"),
        ("compound,protein,pKi\na,t1,5.5\nb,T1,6\n", {"columns": ["t1"]}, 3, "Did you mean 't1'"),
        ("compound,protein,pKi\na,t1,\n", {"value": "pKi"}, 2, "missing"),
        ("compound,protein,pKi\n,t1,1\n", {"value": "pKi"}, 2, "a label is missing"),
        ("row,column,value\n", {}, None, "nothing else"),
        ("", {}, None, "empty"),
    ],
)
def test_files_that_cannot_be_read(text, options, line, reason):
    with pytest.raises(rw.ReadError, match=reason) as caught:
        read_edges(_file(text), **options)
    assert caught.value.line == line


def test_a_wrong_form_is_refused():
    with pytest.raises(ValueError, match="form must be one of"):
        read_edges(_file("a b 1\n"), form="graph")


def test_a_large_matrix_equals_its_list(tmp_path):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((30, 40)) < 0.3, np.nan, rng.normal(size=(30, 40)))
    names = [f"r{i}" for i in range(30)], [f"c{j}" for j in range(40)]
    cells = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in Y]
    matrix = tmp_path / "m.csv"
    matrix.write_text(
        "," + ",".join(names[1]) + "\n" + "\n".join(f"{n},{c}" for n, c in zip(names[0], cells)),
        encoding="utf-8",
    )
    listed = [f"r{i},c{j},{float(Y[i, j])!r}" for i, j in np.argwhere(~np.isnan(Y))]
    found = read_edges(matrix, rows=names[0], columns=names[1])
    other = read_edges(_file("\n".join(listed)), rows=names[0], columns=names[1])
    assert np.array_equal(found.edges, other.edges) and np.array_equal(found.y, other.y)
