"""Files of relations: any names of columns, matrices, arrays, kernels; what is refused and how."""

import numpy as np
import pytest

import rankwise
from tests.cli.relation_files_made import write_kernel, write_relation
from tests.cli_files import run, scores

NODES = ("--row-nodes", "drugs.csv", "--column-nodes", "targets.csv")
KERNELS = ("--row-nodes", "kd.csv", "--column-nodes", "kt.csv", "--kernel", "precomputed")
LEARNER = ("--learner", "conditional", "--alpha", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relation")
    return folder, write_relation(folder)


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made[0])
    return made[0]


def predictions(*train, data="all.csv", nodes=NODES):
    run("train", *train, "-o", "m.rw", "-q")
    return scores(run("predict", "m.rw", data, *nodes).stdout)


def test_every_form_of_the_same_relation_gives_the_same_model(folder, made):
    expected = predictions("known.csv", *NODES, *LEARNER)
    assert np.allclose(predictions("matrix.csv", *NODES, *LEARNER), expected)
    lines = (folder / "known.csv").read_text(encoding="utf-8").splitlines()[1:]
    (folder / "nameless.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert np.allclose(predictions("nameless.csv", *NODES, *LEARNER), expected)
    swapped = [",".join([b, a, v, "7"]) for a, b, v in (line.split(",") for line in lines)]
    (folder / "swapped.csv").write_text(
        "protein,compound,pKi,year\n" + "\n".join(swapped) + "\n", encoding="utf-8"
    )
    named = ("--value", "pKi", "--row-column", "compound", "--column-column", "protein")
    assert np.allclose(predictions("swapped.csv", *NODES, *LEARNER, *named), expected)
    assert np.allclose(predictions("swapped.csv", *NODES, *LEARNER, "--target", "pKi"), expected)
    A, B, _ = made[1]
    numbers = [(int(a[1:]), int(b[1:]), float(v)) for a, b, v in (x.split(",") for x in lines)]
    edges = np.array([pair[:2] for pair in numbers])
    np.savez("edges.npz", edges=edges, y=[value for *_, value in numbers])
    np.savez("a.npz", X=A, row_names=[f"d{i}" for i in range(20)])
    np.save("b.npy", B)
    arrays = ("--row-nodes", "a.npz", "--column-nodes", "b.npy")
    run("train", "edges.npz", *arrays, *LEARNER, "-o", "n.rw", "-q")
    pairs = np.argwhere(np.ones((20, 16)))
    np.savez("pairs.npz", edges=pairs)
    found = scores(run("predict", "n.rw", "pairs.npz", *arrays).stdout)
    assert np.allclose(found, expected)


def test_kernels_are_matched_by_name(folder):
    expected = predictions("known.csv", *NODES, *LEARNER)
    nodes = KERNELS[:4]
    found = predictions("known.csv", *KERNELS, *LEARNER, nodes=nodes)
    assert np.allclose(found, expected, atol=1e-5)
    model = rankwise.load("m.rw")
    assert model.record["node_names"][0] == [f"d{i}" for i in range(16)]
    assert model.record["reading"]["edges"]["value"] == "pKi"


def test_kernel_without_names_by_number(folder, made):
    A, B, Y = made[1]
    np.save("kd.npy", A @ A.T)
    np.save("kt.npy", B @ B.T)
    nodes = ("--row-nodes", "kd.npy", "--column-nodes", "kt.npy")
    edges = np.argwhere(np.ones((20, 16)))
    np.savez("all.npz", edges=edges, y=Y.ravel())
    run("train", "all.npz", *nodes, "--kernel", "precomputed", *LEARNER, "-o", "k.rw", "-q")
    found = run("predict", "k.rw", *nodes, "--top", "1").stdout.splitlines()
    assert len(found) == 21 and found[1].startswith("0,")
    held_out = run("evaluate", "k.rw", "all.npz", *nodes, "--new", "rows")
    assert "5 folds of rows held out" in held_out.stdout
    np.savez("part.npz", edges=edges[:99], y=Y.ravel()[:99])
    said = run("evaluate", "k.rw", "part.npz", *nodes, "--new", "rows", code=2).stderr
    assert "--new needs nodes with names" in said
    np.savetxt("matrix.txt", Y)
    run("train", "matrix.txt", *nodes, "--kernel", "precomputed", *LEARNER, "-o", "t.rw", "-q")
    assert run("predict", "t.rw", *nodes, "--top", "1").stdout.splitlines() == found


def test_objects_without_an_edge_are_told(folder):
    said = run("train", "known.csv", *NODES, *LEARNER, "-o", "m.rw").stderr
    assert "drugs.csv: no edge of known.csv names 'd16', 'd17', 'd18', 'd19'" in said
    assert rankwise.load("m.rw").record["node_names"][1] == [f"t{j}" for j in range(13)]


MISTAKES = {
    "unknown node": ("odd.csv", NODES, "odd.csv, line 3, column 'protein': 'T2' is not in targets"),
    "unknown value column": ("known.csv --value pKd", NODES, "Did you mean 'pKi'?"),
    "no values": ("bare.csv", NODES, "every edge needs a value"),
    "nodes twice": ("known.csv --nodes drugs.csv", NODES, "--nodes for one domain"),
    "one side only": ("known.csv", NODES[:2], "--column-nodes"),
    "a kernel of other names": ("known.csv", ("--row-nodes", "kt.csv", *KERNELS[2:]), "not in kt"),
    "rows and columns differ": (
        "known.csv",
        ("--row-nodes", "broken.csv", *KERNELS[2:]),
        "'d1' is no row",
    ),
    "a missing similarity": (
        "known.csv",
        ("--row-nodes", "hole.csv", *KERNELS[2:]),
        "hole.csv, line 3, column 'd0': row 'd1': a value is missing",
    ),
    "symmetric in two domains": ("known.csv --relation symmetric", NODES, "needs one domain"),
    "a side for one domain": (
        "games.csv --kernel rbf:linear",
        ("--nodes", "drugs.csv"),
        "same nodes",
    ),
    "two kernels for items": ("known.csv --learner rank-rls --kernel rbf:linear", (), "relations"),
    "precomputed items": ("known.csv --learner rank-rls --kernel precomputed", (), "relations"),
    "nodes for items": ("known.csv --learner rank-rls", NODES, "--row-nodes is for relations"),
    "values of items": ("known.csv --learner rank-rls --value pKi", (), "--value is for relations"),
    "three kernels": ("known.csv --kernel rbf:rbf:rbf", NODES, "is not one of"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(folder, name):
    words, nodes, expected = MISTAKES[name]
    (folder / "odd.csv").write_text("compound,protein,pKi\nd1,t1,1\nd2,T2,2\n", encoding="utf-8")
    (folder / "bare.csv").write_text("row,column\nd1,t1\nd2,t2\n", encoding="utf-8")
    (folder / "broken.csv").write_text(",d0,d1\nd0,1,0\nd2,0,1\n", encoding="utf-8")
    (folder / "hole.csv").write_text(",d0,d1\nd0,1,0\nd1,,1\n", encoding="utf-8")
    (folder / "games.csv").write_text(
        "row,column,value\nd0,d1,1\nd1,d0,-1\nd0,d2,1\nd2,d0,-1\n", encoding="utf-8"
    )
    (folder / "old.rw").write_text("what was there", encoding="utf-8")
    data, *rest = words.split()
    found = run("train", data, *LEARNER, *nodes, *rest, "-o", "old.rw", code=2)
    assert expected in found.stderr
    assert (folder / "old.rw").read_text(encoding="utf-8") == "what was there"


def test_values_that_contradict_the_relation(folder):
    symmetric = ("--nodes", "drugs.csv", "--relation", "symmetric", *LEARNER, "-o", "s.rw")
    (folder / "sym.csv").write_text(
        "a,b,value\nd0,d1,1\nd1,d0,2\nd1,d2,3\nd2,d0,1\n", encoding="utf-8"
    )
    said = run("train", "sym.csv", *symmetric, code=2).stderr
    assert "sym.csv, line 3: 'd1' to 'd0' is 2, but line 2 says 1 for 'd0' to 'd1'" in said
    (folder / "sym.csv").write_text(
        "a,b,value\nd0,d1,1\nd1,d0,1\nd1,d2,3\nd2,d0,1\n", encoding="utf-8"
    )
    run("train", "sym.csv", *symmetric)
    reciprocal = tuple("reciprocal" if word == "symmetric" else word for word in symmetric)
    assert "not reciprocal" in run("train", "sym.csv", *reciprocal, code=2).stderr
    (folder / "sym.csv").write_text(
        "a,b,value\nd0,d1,.9\nd1,d0,.1\nd1,d2,.3\nd2,d1,.7\nd2,d0,.5\n", encoding="utf-8"
    )
    run("train", "sym.csv", *reciprocal)
    regression = (*reciprocal, "--loss", "regression")
    assert "not reciprocal" in run("train", "sym.csv", *regression, code=2).stderr


def test_a_kernel_taken_for_features_is_pointed_out(folder):
    nodes = ("--row-nodes", "kd.csv", "--column-nodes", "kt.csv")
    said = run("train", "known.csv", *nodes, *LEARNER, "-o", "m.rw").stderr
    assert "kd.csv looks like a matrix of similarities" in said
    assert "--kernel precomputed" in said


def in_python(folder, made, model):
    """Scores of all pairs by a model that was fitted in Python to the edges of known.csv."""
    A, B, _ = made[1]
    lines = [
        line.split(",")
        for line in (folder / "known.csv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    edges = np.array([(int(a[1:]), int(b[1:])) for a, b, _ in lines])
    y = np.array([float(value) for *_, value in lines])
    return model.fit((A[:16], B[:13]), y, edges=edges).predict(A, B).ravel()


MODELS = {
    "nearest --neighbours 3": rankwise.NearestNodes(3, kernel="linear"),
    "kernel-filter --kernel rbf --gamma 0.5": rankwise.KernelFilter(gamma=0.5),
    "conditional --alpha 2 --pairwise linear": rankwise.ConditionalRanker(2.0, pairwise="linear"),
    "conditional --alpha 2 --item-effect 0.5": rankwise.ConditionalRanker(2.0, item_effect=0.5),
    "conditional --alpha 2 --loss regression --effects both": rankwise.ConditionalRanker(
        2.0, objective="regression", effects="both"
    ),
}


@pytest.mark.parametrize("words", MODELS)
def test_options_reach_the_learner(folder, made, words):
    found = predictions("known.csv", *NODES, "--learner", *words.split())
    np.testing.assert_allclose(found, in_python(folder, made, MODELS[words]), rtol=1e-4, atol=1e-4)


def test_baselines_are_judged_as_other_learners(folder):
    words = ("known.csv", *NODES, "--learner", "nearest")
    run("train", *words, "-o", "near.rw", "-q")
    held_out = run("evaluate", "near.rw", "known.csv", *NODES, "--new", "rows").stdout
    assert "5 folds of rows held out" in held_out
    said = run("crossval", *words, "--learner", "kernel-filter", "--new", "rows", "--nested", "3")
    assert "nearest" in said.stdout and "kernel-filter" in said.stdout
    run("report", "near.rw", "known.csv", *NODES, "-o", "near.html")
    assert "neighbours 5, as given" in (folder / "near.html").read_text(encoding="utf-8")
    failed = run("explain", "near.rw", "known.csv", *NODES, "--query", "d0", code=None)
    assert failed.exit_code and "a baseline has no weights to explain" in failed.output


def test_mistakes_with_options_of_learners(folder):
    words = ("train", "known.csv", *NODES, "-o", "no.rw", "--learner")
    said = run(*words, "conditional", "--effects", "rows", code=2).stderr
    assert "--effects needs --loss regression" in said
    said = run(*words, "conditional", "--neighbours", "3", code=2).stderr
    assert "conditional has no --neighbours; nearest has it" in said
    said = run(*words, "kernel-filter", "--filter", "similarity", code=2).stderr
    assert "needs one domain" in said
    assert not (folder / "no.rw").exists()


@pytest.mark.parametrize("learner", ["conditional", "two-step", "kernel-filter", "nearest"])
def test_every_learner_repairs_similarities(folder, made, learner):
    A, _, _ = made[1]
    write_kernel(folder / "bad.csv", A @ A.T - 1.0, "d", range(20))
    nodes = ("--row-nodes", "bad.csv", *KERNELS[2:])
    words = ("train", "known.csv", *nodes, "--learner", learner, "-o", "fixed.rw")
    words += ("--alpha", "1") if learner in ("conditional", "two-step") else ()
    said = run(*words, code=2).stderr
    assert "indefinite" in said and "--repair clip" in said
    said = run(*words, "--repair", "clip").stderr
    assert "the kernel of the row nodes was repaired" in said
    ranker = rankwise.load("fixed.rw").ranker
    assert ranker.repair == "clip" and len(ranker.repairs_) == 1
    found = scores(run("predict", "fixed.rw", "all.csv", *nodes[:4]).stdout)
    assert len(found) == 320 and np.isfinite(found).all()
