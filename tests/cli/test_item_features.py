"""--features: embeddings in .npy and .npz files beside a table."""

import numpy as np
import pytest

import rankwise
from tests.cli_files import made_items, run, scores, write_csv


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    write_csv(folder / "train.csv")
    _, y, qid = made_items()
    rng = np.random.default_rng(0)
    E = (y[:, None] * [1.0, -1.0] + rng.normal(size=(96, 2))).astype(np.float16)
    np.save(folder / "e.npy", E)
    np.savez(folder / "e.npz", title=E.astype(np.float32), body=E[:, 0].astype(float))
    np.savez_compressed(folder / "packed.npz", title=E, body=E[:, 0])
    np.save(folder / "short.npy", E[:50])
    np.save(folder / "wide.npy", np.hstack([E, E]))
    np.save(folder / "objects.npy", np.array([{"a": 1}] * 96), allow_pickle=True)
    np.save(folder / "words.npy", np.array(["x"] * 96))
    np.save(folder / "holes.npy", np.where(np.arange(192).reshape(96, 2) == 41, np.nan, E))
    np.save(folder / "cube.npy", np.zeros((96, 2, 2)))
    (folder / "half.npy").write_bytes((folder / "e.npy").read_bytes()[:200])
    (folder / "half.npz").write_bytes((folder / "e.npz").read_bytes()[:300])
    (folder / "text.npy").write_text("a,b\n1,2\n", encoding="utf-8")
    lines = ["id,query,score"] + [f"d{i},{qid[i]},{y[i]}" for i in range(96)]
    (folder / "bare.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("train", folder / "train.csv", "--features", folder / "e.npy", "-o", folder / "m.rw", "-q")
    return folder


def test_arrays_are_features_and_asked_for_again(folder):
    model = rankwise.load(folder / "m.rw")
    assert model.record["features"] == ["a", "b", "c", "features_0", "features_1"]
    given = ("--features", folder / "e.npy")
    found = scores(run("predict", folder / "m.rw", folder / "train.csv", *given).stdout)
    X = np.hstack([made_items()[0], np.load(folder / "e.npy")])
    np.testing.assert_allclose(found, X @ model.ranker.coef_, rtol=1e-12)
    told = run("predict", folder / "m.rw", folder / "train.csv", code=2).stderr
    assert "trained with 2 features of the array 'features'" in told
    run("evaluate", folder / "m.rw", folder / "train.csv", *given)
    run("explain", folder / "m.rw", folder / "train.csv", "--query", "q1", *given)


@pytest.mark.parametrize("name", ["e.npz", "packed.npz"])
def test_arrays_have_the_names_of_their_keys(folder, tmp_path, name):
    model = tmp_path / "m.rw"
    run("train", folder / "bare.csv", "--features", folder / name, "-o", model, "-q")
    assert rankwise.load(model).record["features"] == ["title_0", "title_1", "body_0"]
    run("predict", model, folder / "bare.csv", "--features", folder / "e.npz")
    both = ("--features", f"one={folder / 'e.npy'}", "--features", f"two={folder / 'e.npz'}")
    run("train", folder / "bare.csv", *both, "-o", model, "-q")
    assert rankwise.load(model).record["features"][2:4] == ["two.title_0", "two.title_1"]
    run("predict", model, folder / "bare.csv", *both[2:], *both[:2])


def test_arrays_beside_letor(folder, tmp_path):
    from tests.cli_files import write_letor

    data = write_letor(tmp_path / "t.letor")
    given = ("--features", folder / "e.npy")
    run("train", data, *given, "-o", tmp_path / "m.rw", "-q")
    assert rankwise.load(tmp_path / "m.rw").ranker.coef_.shape == (5,)
    run("predict", tmp_path / "m.rw", data, *given)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("short.npy", "has 50 rows, but"),
        ("objects.npy", "never unpickled"),
        ("words.npy", "not real numbers"),
        ("holes.npy", "row 20 (from 0), column 1 is nan"),
        ("cube.npy", "one row per item"),
        ("half.npy", "not a .npy or .npz file"),
        ("half.npz", "not a .npy or .npz file"),
        ("text.npy", "not a .npy or .npz file"),
        ("absent.npy", "No such file"),
        ("-", "names a file"),
    ],
)
def test_arrays_that_are_refused(folder, tmp_path, file, expected):
    path = file if file == "-" else folder / file
    command = ("train", folder / "train.csv", "--features", path, "-o", tmp_path / "m.rw")
    assert expected in run(*command, code=2).stderr
    assert not (tmp_path / "m.rw").exists()


def test_other_arrays_than_in_training(folder):
    model, data = folder / "m.rw", folder / "train.csv"
    told = run("predict", model, data, "--features", folder / "wide.npy", code=2).stderr
    assert "4 columns, but the model was trained on 2" in told
    two = ("--features", folder / "e.npy", "--features", folder / "wide.npy")
    assert "without the array 'features2'" in run("predict", model, data, *two, code=2).stderr
    told = run("predict", model, data, "--features", folder / "e.npz", code=2).stderr
    assert "'features'" in told and "title, body is given" in told
