"""Arrays on disk: mapped where possible, and never unpickled."""

import numpy as np
import pytest

import rankwise as rw
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
