"""rankwise train on a cluster writes the model that it writes alone."""

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from numpy.testing import assert_allclose

import rankwise
from rankwise.dask import local_cluster
from tests.cli_files import made_items, run, write_csv, write_letor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One file of each kind, and the same lines in directories, cut within queries."""
    folder = tmp_path_factory.mktemp("parts")
    letor = write_letor(folder / "all.letor").read_text(encoding="utf-8").splitlines()
    header, *table = write_csv(folder / "all.csv").read_text(encoding="utf-8").splitlines()
    for name, lines, first in (("letor", letor, []), ("csv", table, [header])):
        (folder / name).mkdir()
        for part, rows in enumerate(np.array_split(np.arange(len(lines)), 3)):
            text = "\n".join([*first, *(lines[i] for i in rows)]) + "\n"
            (folder / name / f"part-{part}.{name}").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def address():
    with local_cluster(1, silence_logs=50) as cluster, Client(cluster):
        yield cluster.scheduler_address


@pytest.mark.parametrize("kind", ["letor", "csv"])
def test_a_directory_gives_the_model_of_the_whole_file(folder, address, kind):
    found = run("train", folder / kind, "-o", folder / "parts.rw", "--scheduler", address)
    assert "dashboard" in found.stderr
    assert "96 items in 12 queries, 3 features" in found.stderr
    assert "leave-query-out" in found.stderr
    run("train", folder / f"all.{kind}", "-o", folder / "whole.rw", "-q")
    X, _, _ = made_items()
    parts, whole = (rankwise.load(folder / f"{name}.rw") for name in ("parts", "whole"))
    assert parts.record["path"]["chosen"] == whole.record["path"]["chosen"]
    assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-8, atol=1e-12)
    assert parts.record["features"] == whole.record["features"]
    run("predict", folder / "parts.rw", folder / f"all.{kind}")


def test_workers_of_this_machine(folder):
    svm = ("--learner", "rank-svm", "--alpha", "0.01", "--workers", "1")
    run("train", folder / "letor", "-o", folder / "svm.rw", *svm, "-q")
    X, y, qid = made_items()
    local = rankwise.RankSVM(0.01).fit(X, y, qid=qid)
    found = rankwise.load(folder / "svm.rw").ranker
    assert abs(found.objective_ - local.objective_) <= found.gap_ + local.gap_


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scale", "standard"), "--scale"),
        (("--learner", "rank-boost"), "--learner"),
        (("--learner", "rank-svm"), "--alpha"),
        (("--kernel", "rbf"), "--gamma"),
        (("--cv", "5"), "--cv"),
        (("--workers", "2"), "--workers"),
        (("--target", "nothing"), "nothing"),
    ],
)
def test_what_a_cluster_does_not_offer(folder, address, options, words):
    call = ("train", folder / "csv", "-o", folder / "x.rw", "--scheduler", address, *options)
    assert words in run(*call, code=2).stderr


def test_a_scheduler_that_is_not_there(folder, monkeypatch):
    monkeypatch.setattr("rankwise.cli.cluster_training.SCHEDULER_TIMEOUT", 1)
    call = ("train", folder / "csv", "-o", folder / "x.rw", "--scheduler", "tcp://127.0.0.1:9")
    assert "no Dask scheduler answers" in run(*call, code=2).stderr


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Censored outcomes in one file, and the same lines in a directory, cut within strata."""
    folder = tmp_path_factory.mktemp("outcomes")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)).round(3)
    time, lost = 100 * rng.exponential(size=(2, 90)) * np.exp([X[:, 0], np.full(90, 0.5)])
    table = pd.DataFrame(X, columns=["a", "b"])
    table["days"], table["died"] = np.minimum(time, lost).round(2), (time <= lost).astype(int)
    table["centre"] = np.repeat(np.arange(6), 15)
    table.to_csv(folder / "all.csv", index=False)
    (folder / "parts").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(90), 4)):
        table.iloc[rows].to_csv(folder / "parts" / f"{part}.csv", index=False)
    return folder


OUTCOME = ("--time", "days", "--event", "died")


def test_censored_outcomes_in_strata(outcomes, address):
    words = (*OUTCOME, "--query", "centre")
    said = run(
        "train", outcomes / "parts", *words, "-o", outcomes / "p.rw", "--scheduler", address
    ).stderr
    assert "comparable pairs" in said
    run("train", outcomes / "all.csv", *words, "-o", outcomes / "w.rw", "-q")
    parts, whole = (rankwise.load(outcomes / f"{name}.rw") for name in "pw")
    assert parts.record["path"]["chosen"] == whole.record["path"]["chosen"]
    assert_allclose(parts.ranker.coef_, whole.ranker.coef_, rtol=1e-8)
    shown = run("evaluate", outcomes / "p.rw", outcomes / "all.csv").stdout
    assert shown == run("evaluate", outcomes / "w.rw", outcomes / "all.csv").stdout
    svm = ("--learner", "rank-svm", "--alpha", "0.01", "--scheduler", address)
    run("train", outcomes / "parts", *words, *svm, "-o", outcomes / "svm.rw", "-q")


def test_censored_outcomes_of_one_stratum_in_several_files(outcomes, address):
    words = (*OUTCOME, "--ignore", "centre", "--alpha", "2")
    cluster = ("--scheduler", address, "-q")
    run("train", outcomes / "parts", *words, *cluster, "-o", outcomes / "p.rw")
    run("train", outcomes / "all.csv", *words, "-o", outcomes / "w.rw", "-q")
    parts, whole = (rankwise.load(outcomes / f"{name}.rw") for name in "pw")
    assert_allclose(parts.ranker.coef_, whole.ranker.coef_, rtol=1e-8)
    words = (*OUTCOME, "--ignore", "centre", "--learner", "rank-svm", "--alpha", "0.01")
    run("train", outcomes / "parts", *words, *cluster, "-o", outcomes / "p.rw")
    run("train", outcomes / "all.csv", *words, "-o", outcomes / "w.rw", "-q")
    parts, whole = (rankwise.load(outcomes / f"{name}.rw").ranker for name in "pw")
    assert abs(parts.objective_ - whole.objective_) <= parts.gap_ + whole.gap_


def test_outcomes_need_both_columns_of_a_table(outcomes, folder, address):
    call = ("train", outcomes / "parts", "-o", outcomes / "x.rw", "--scheduler", address)
    assert "--event" in run(*call, "--time", "days", code=2).stderr
    call = ("train", folder / "letor", "-o", outcomes / "x.rw", "--scheduler", address)
    assert "LETOR" in run(*call, *OUTCOME, code=2).stderr
