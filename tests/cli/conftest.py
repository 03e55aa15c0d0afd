"""Small data files and a model, for the tests of every command."""

import pytest

from tests.cli_files import run, write_csv, write_letor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_csv(folder / "train.csv")
    write_csv(folder / "test.csv", q=6, seed=1)
    write_csv(folder / "new.csv", q=4, seed=2, target=False)
    write_letor(folder / "train.letor")
    run("train", folder / "train.csv", "-o", folder / "model.rw", "-q")
    return folder
