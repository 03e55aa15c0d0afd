"""Arrays on disk: mapped where possible, and never unpickled."""

import numpy as np
import pytest
from scipy import sparse

import rankwise as rw
from rankwise.datasets import read_edges, read_kernel
from rankwise.io.array_files import as_features, read_arrays


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint16, bool])
@pytest.mark.parametrize("by_columns", [False, True])
def test_arrays_are_mapped(tmp_path, kind, by_columns):
    array = (10 * np.random.default_rng(0).random((7, 3))).astype(kind)
    array = np.asfortranarray(array) if by_columns else array
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", first=array, second=array[:, 1])
    np.savez_compressed(tmp_path / "c.npz", first=array, second=array[:, 1])
    (found,) = read_arrays(tmp_path / "a.npy").values()
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, array)
    for name in ("a.npz", "c.npz"):
        arrays = read_arrays(tmp_path / name)
        assert list(arrays) == ["first", "second"] and arrays["second"].shape == (7, 1)
        np.testing.assert_array_equal(arrays["first"], array)
    assert isinstance(read_arrays(tmp_path / "a.npz")["first"], np.memmap)
    np.testing.assert_array_equal(as_features(found, "a", rows_at_once=2), array.astype(float))


def test_objects_are_refused_wherever_they_lie(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", good=np.ones(2), bad=objects)
    np.savez_compressed(tmp_path / "c.npz", bad=objects)
    for name in ("a.npy", "a.npz", "c.npz"):
        with pytest.raises(rw.ReadError, match="never unpickled"):
            read_arrays(tmp_path / name)


def test_damaged_files(tmp_path):
    array = np.arange(60.0).reshape(20, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array)
    for name in ("a.npy", "a.npz"):
        whole = (tmp_path / name).read_bytes()
        for length in range(0, len(whole), 17):
            (tmp_path / "cut").write_bytes(whole[:length])
            with pytest.raises(ValueError, match="not a"):
                read_arrays(tmp_path / "cut")
        rng = np.random.default_rng(0)
        for _ in range(100):
            damaged = bytearray(whole)
            damaged[rng.integers(len(whole))] = rng.integers(256)
            (tmp_path / "hit").write_bytes(bytes(damaged))
            try:
                found = read_arrays(tmp_path / "hit")
                [as_features(one, "hit") for one in found.values()]
            except ValueError as error:
                assert str(error)
    with pytest.raises(rw.ReadError, match="column 1 is inf"):
        as_features(np.array([[1.0, np.inf]]), "x")


def test_edges_matrices_and_sparse_matrices_are_the_same_relation(tmp_path):
    Y = np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, 4.0]])
    edges = np.argwhere(~np.isnan(Y))
    y = Y[tuple(edges.T)]
    names = {"row_names": ["a", "b"], "column_names": ["x", "y", "z"]}
    np.savez(tmp_path / "edges.npz", edges=edges, y=y, **names)
    np.savez_compressed(tmp_path / "matrix.npz", Y=Y, **names)
    for kind in ("csr", "csc"):
        stored = sparse.coo_array((y, tuple(edges.T)), shape=Y.shape).asformat(kind)
        sparse.save_npz(tmp_path / f"{kind}.npz", stored)
    np.save(tmp_path / "plain.npy", Y)
    order = {"rows": ["b", "a"], "columns": ["z", "y", "x"]}
    for name in ("edges.npz", "matrix.npz"):
        found = read_edges(tmp_path / name)
        assert np.array_equal(found.edges, edges) and np.array_equal(found.y, y)
        assert found.row_names.tolist() == ["a", "b"] and found.lines is None
        renamed = read_edges(tmp_path / name, **order)
        assert renamed.edges.tolist() == [[1 - i, 2 - j] for i, j in edges]
        turned = read_edges(tmp_path / name, rows=order["columns"], columns=order["rows"])
        assert turned.edges.tolist() == [[2 - j, 1 - i] for i, j in edges]
    for name in ("csr.npz", "csc.npz", "plain.npy"):
        found = read_edges(tmp_path / name)
        by_row = np.lexsort(found.edges.T[::-1])
        assert np.array_equal(found.edges[by_row], edges) and found.row_names is None
        assert np.array_equal(found.y[by_row], y)
        assert np.array_equal(read_edges(tmp_path / name, **order).edges, found.edges)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"edges": np.zeros((2, 3), int)}, "must be \\(q, 2\\) integers"),
        ({"edges": np.zeros((2, 2))}, "must be \\(q, 2\\) integers"),
        ({"edges": np.zeros((2, 2), int), "y": np.zeros(3)}, "one number per edge"),
        ({"edges": np.zeros((0, 2), int)}, "no edges"),
        ({"a": np.eye(2), "b": np.eye(2)}, "expected one matrix .* found 'a', 'b'"),
        ({"a": np.zeros(3)}, "found none"),
        ({"a": np.eye(2), "row_names": np.array(["x"])}, "1 names for 2 rows"),
        ({"a": np.eye(2), "row_names": np.array([1.5, 2.5])}, "list of names"),
        ({"a": np.array([[{}]])}, "never unpickled"),
        ({"a": np.full((2, 2), np.nan)}, "every cell"),
        ({"edges": np.zeros((1, 2), int), "y": np.array([np.inf])}, "edge 0 is not finite"),
    ],
)
def test_arrays_that_cannot_be_read(tmp_path, arrays, reason):
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(rw.ReadError, match=reason):
        read_edges(tmp_path / "odd.npz")


def test_damaged_relation_files(tmp_path):
    np.savez(tmp_path / "k.npz", K=np.eye(3))
    data = (tmp_path / "k.npz").read_bytes()
    (tmp_path / "k.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(rw.ReadError, match=r"not a \.npy or \.npz file"):
        read_kernel(tmp_path / "k.npz")
    stored = sparse.csr_array(np.eye(3))
    for change in ({"indices": np.array([0, 1, 7])}, {"indptr": np.array([0, 1, 2])}):
        arrays = {"indices": stored.indices, "indptr": stored.indptr, "data": stored.data}
        arrays |= {"shape": np.array([3, 3]), "format": np.array(b"csr"), **change}
        np.savez(tmp_path / "s.npz", **arrays)
        with pytest.raises(rw.ReadError, match="sparse matrix"):
            read_edges(tmp_path / "s.npz")


def test_more_objects_than_names(tmp_path):
    np.save(tmp_path / "y.npy", np.eye(3))
    with pytest.raises(rw.ReadError, match="3 rows without names, but rows has 2"):
        read_edges(tmp_path / "y.npy", rows=["a", "b"])
