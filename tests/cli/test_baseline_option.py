"""--baseline: an existing ranking that the model must beat, in every command that judges."""

import json

import numpy as np
import pytest

from rankwise import load, metrics
from tests.cli_files import made_items, run, write_letor


def write(path, *, seed=0, noise=1.0, q=12, queries=True):
    """Items with a column "bm25" that orders by one feature with noise."""
    X, y, qid = made_items(q, seed=seed)
    old = X[:, 0] + noise * np.random.default_rng(seed).normal(size=len(X))
    lines = ["id,query,a,b,c,bm25,score" if queries else "id,a,b,c,bm25,score"]
    for i, row in enumerate(X):
        cells = [f"d{i}", *([qid[i]] if queries else []), *(f"{v:.4f}" for v in row)]
        lines.append(",".join([*cells, f"{old[i]:.6f}", str(y[i])]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, y, qid, old.round(6)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline")
    seen, unseen = write(folder / "seen.csv"), write(folder / "unseen.csv", seed=1)
    said = run("train", seen[0], "--baseline", "bm25", "-o", folder / "model.rw").stderr
    return folder, said, unseen


def test_train_says_the_verdict_and_its_price(files):
    folder, said, _ = files
    assert "all choices again in 5 outer folds, about" in said
    assert said.index("outer folds, about") < said.index("Nested, 5 outer folds")
    assert "the choice itself saw" in said
    assert "rank-rls is better than bm25: share of pairs in the right order" in said
    assert "96 items, 3 features" in said
    model = load(folder / "model.rw")
    assert model.record["features"] == ["a", "b", "c"]
    assert model.record["baseline"]["better"] == "yes"
    assert model.record["nested"]["folds"] == 5


def test_evaluate_remembers_the_column(files):
    folder, _, (unseen, y, qid, old) = files
    found = json.loads(run("evaluate", folder / "model.rw", unseen, "--json").stdout)
    expected = metrics.concordance(y, old, qid)
    assert found["baseline"]["baseline_score"] == pytest.approx(expected, abs=1e-9)
    model = load(folder / "model.rw")
    X = np.loadtxt(unseen, delimiter=",", skiprows=1, usecols=(2, 3, 4))
    own = metrics.concordance(y, model.predict(X), qid)
    assert found["baseline"]["model_score"] == pytest.approx(own, abs=1e-9)
    worse = {one["query"] for one in found["baseline"]["worse"]}
    for q in np.unique(qid):
        both = [metrics.concordance(y[qid == q], s[qid == q]) for s in (model.predict(X), old)]
        assert (str(q) in worse) == (both[0] < both[1] - 1e-9)
    text = run("evaluate", folder / "model.rw", unseen, "--scoring", "ndcg@5,tau").stdout
    assert "is better than bm25: NDCG@5" in text


def test_crossval_compares_each_learner(files):
    folder, *_ = files
    words = ("--learner", "rank-rls", "--learner", "rank-boost", "--baseline", "bm25")
    found = run("crossval", folder / "seen.csv", *words)
    assert "rank-rls is" in found.stdout and "rank-boost is" in found.stdout
    assert found.stderr.count("outer folds, about") == 2
    record = json.loads(run("crossval", folder / "seen.csv", *words, "--json").stdout)
    assert [one["baseline"]["model"] for one in record["learners"]] == ["rank-rls", "rank-boost"]


def test_the_report_opens_with_it(files):
    folder, _, (unseen, *_) = files
    page = folder / "report.html"
    run("report", folder / "model.rw", unseen, "-o", page)
    assert 'class="verdict better">rank-rls is better than bm25' in page.read_text(encoding="utf-8")
    run("report", folder / "model.rw", folder / "seen.csv", "-o", page)
    assert "rank-rls is better than bm25" in page.read_text(encoding="utf-8"), (
        "outer folds of the training"
    )
    run("report", folder / "model.rw", folder / "seen.csv", "--baseline", "a", "-o", page)
    assert "It is open whether the model is better than a" in page.read_text(encoding="utf-8")


def test_the_column_is_a_feature_only_if_asked(files, tmp_path):
    folder, *_ = files
    out = tmp_path / "model.rw"
    words = ("--baseline", "bm25", "--baseline-as-feature", "--alpha", "1")
    run("train", folder / "seen.csv", *words, "-o", out)
    assert load(out).record["features"] == ["a", "b", "c", "bm25"]


def test_without_queries(tmp_path):
    path, *_ = write(tmp_path / "items.csv", queries=False)
    said = run("train", path, "--baseline", "bm25", "-o", tmp_path / "m.rw").stderr
    assert "rank-rls is better than bm25" in said and "worse on" not in said


def test_a_feature_of_a_letor_file(tmp_path):
    path = write_letor(tmp_path / "seen.letor")
    model = tmp_path / "model.rw"
    said = run("train", path, "--baseline", "3", "-o", model).stderr
    assert "96 items, 2 features" in said and "better than feature 3" in said
    record = load(model).record
    assert record["features"] == ["feature 1", "feature 2"]
    assert len(run("predict", model, path).stdout.split()) == 96
    assert "feature 3" in run("evaluate", model, path).stdout
    middle = tmp_path / "middle.rw"
    run("train", path, "--baseline", "1", "--alpha", "1", "-o", middle)
    X, y, qid = made_items()
    from rankwise import RankRLS

    expected = RankRLS(1.0).fit(X[:, 1:], y, qid=qid).predict(X[:, 1:])
    got = np.array(run("predict", middle, path).stdout.split(), dtype=float)
    assert np.allclose(got, expected, atol=1e-6)
    for word, message in (("9", "only 3 features"), ("bm25", "the number of a feature")):
        found = run("train", path, "--baseline", word, "-o", model, code=2)
        assert message in found.stderr


def test_a_reversed_baseline_is_pointed_out(tmp_path):
    X, y, qid = made_items()
    lines = ["query,a,b,place,score"]
    lines += [f"{q},{r[0]},{r[1]},{-r[0]},{v}" for q, r, v in zip(qid, X, y)]
    path = tmp_path / "places.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = run("train", path, "--baseline", "place", "-o", tmp_path / "m.rw").stderr
    assert "place orders worse than chance" in said


def test_mistakes_are_named(files, tmp_path):
    folder, *_ = files
    seen, out = folder / "seen.csv", tmp_path / "m.rw"
    assert (
        "no column 'bm26' (--baseline)"
        in run("train", seen, "--baseline", "bm26", "-o", out, code=2).stderr
    )
    broken = tmp_path / "broken.csv"
    lines = seen.read_text(encoding="utf-8").splitlines()
    lines[3] = ",".join([*lines[3].split(",")[:5], "", lines[3].split(",")[-1]])
    broken.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert (
        "a value is missing" in run("train", broken, "--baseline", "bm25", "-o", out, code=2).stderr
    )
    wins = tmp_path / "wins.csv"
    wins.write_text("winner,loser\nd1,d2\nd3,d4\n", encoding="utf-8")
    found = run("train", seen, "--preferences", wins, "--baseline", "bm25", "-o", out, code=2)
    assert "--baseline is for items with scores" in found.stderr
    assert not out.exists()


def test_the_report_lists_scores_to_check(files, tmp_path):
    """An item with a score that is turned round is at the top of the list, with its query."""
    folder, _, (unseen, y, *_) = files
    lines = unseen.read_text(encoding="utf-8").splitlines()
    model = load(folder / "model.rw")
    X = np.loadtxt(unseen, delimiter=",", skiprows=1, usecols=(2, 3, 4))
    worst = int(np.argmax(np.where(y == 0, -model.predict(X), -np.inf)))
    cells = lines[worst + 1].split(",")
    lines[worst + 1] = ",".join([*cells[:-1], "9"])
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("report", folder / "model.rw", wrong, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Scores to check" in page and "should be checked" in page
    assert page.split("Scores to check")[1].split("<tr><th>")[2].startswith(f"d{worst}<")


def test_the_target_is_no_baseline(tmp_path):
    path = write(tmp_path / "items.csv")[0]
    said = run("train", path, "--baseline", "score", "-o", tmp_path / "m.rw", code=2).stderr
    assert "is the target: name an existing ranking" in said and not (tmp_path / "m.rw").exists()
