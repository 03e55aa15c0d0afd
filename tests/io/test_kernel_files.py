"""read_kernel: similarities with names in any order, and what is refused."""

import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_kernel

K = np.array([[1.0, 0.5, 0.25], [0.5, 2.0, 0.0], [0.25, 0.0, 3.0]])


def _file(text):
    return io.BytesIO(text.encode())


def test_names_are_matched_in_any_order(tmp_path):
    found = read_kernel(_file("n,c,a,b\na,0.25,1,0.5\nb,0,0.5,2\nc,3,0.25,0\n"))
    assert np.array_equal(found.K, K) and found.names.tolist() == ["a", "b", "c"]
    assert found.column_names.tolist() == ["a", "b", "c"]
    chosen = read_kernel(_file("n;c;a;b\na;0,25;1;0,5\nb;0;0,5;2\nc;3;0,25;0\n"), names=["c", "a"])
    assert np.array_equal(chosen.K, K[np.ix_([2, 0], [2, 0])])
    new = read_kernel(_file("c\ta\nx\t0.1\t0.2\ny\t0.3\t0.4\n"), known=["a", "c"])
    assert new.K.tolist() == [[0.2, 0.1], [0.4, 0.3]] and new.names.tolist() == ["x", "y"]
    np.savez(tmp_path / "k.npz", K=K, row_names=["a", "b", "c"])
    assert np.array_equal(
        read_kernel(tmp_path / "k.npz", names=["b"], known=["c", "b"]).K, [[0, 2]]
    )
    np.save(tmp_path / "k.npy", K)
    for plain in (read_kernel(tmp_path / "k.npy"), read_kernel(_file("1 0\n0 1\n"))):
        assert plain.names is None and plain.K.shape[0] == plain.K.shape[1]


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("n,a,b\na,1,0\nc,0,1\n", {}, "different names: 'b' is no row"),
        ("n,a,b\na,1,0\nb,,1\n", {}, "line 3, column 'a': row 'b': a value is missing"),
        ("n,a\na,1\nb,0\n", {}, "no column 'b'"),
        ("n,a,b\nx,1,0\n", {"known": ["a", "c", "d"]}, "no column 'c', 'd'"),
        ("n,EGFR,b\nx,1,0\n", {"known": ["egfr"]}, "Did you mean 'EGFR'"),
        ("n,a,b\nx,1,0\n", {"known": ["a"], "names": ["y"]}, "no row 'y'"),
        ("1 2 3\n4 5 6\n", {}, "a kernel is square"),
        ("", {}, "empty"),
    ],
)
def test_kernels_that_cannot_be_read(text, options, reason):
    with pytest.raises(rw.ReadError, match=reason):
        read_kernel(_file(text), **options)


def test_arrays_without_names_must_fit(tmp_path):
    np.save(tmp_path / "k.npy", np.ones((2, 3)))
    with pytest.raises(rw.ReadError, match="a kernel is square"):
        read_kernel(tmp_path / "k.npy")
    with pytest.raises(rw.ReadError, match="3 columns without names, but 2 objects"):
        read_kernel(tmp_path / "k.npy", known=["a", "b"])
    assert read_kernel(tmp_path / "k.npy", known=["a", "b", "c"]).K.shape == (2, 3)
