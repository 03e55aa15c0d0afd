"""Directories of files read lazily give what reading them whole gives."""

import dask
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.utils.fixes import parse_version

import rankwise
from rankwise.dask import RankRLS, partition_by_query, read_letor, read_table
from rankwise.exceptions import ReadError
from tests.dask_cases import ranking_data


def write_lines(path, X, y, qid, first=1):
    lines = []
    for row, score, label in zip(X, y, qid):
        query = "" if label is None else f" qid:{label}"
        values = " ".join(f"{j + first}:{x!r}" for j, x in enumerate(row.tolist()) if x)
        lines.append(f"{score:g}{query} {values} # row")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_directory_of_letor_files(tmp_path, first, share):
    X, y, qid, _ = ranking_data(m=90, n=6, n_queries=9)
    X = np.where(np.random.default_rng(1).random(X.shape) < share, X, 0.0)
    X[:, 5] = 0.0
    X[85, 5] = 1.0
    X[80:, 0] = 0.0
    names = [str(label) if label != qid[-1] else "last" for label in qid]
    for part, rows in enumerate(np.array_split(np.arange(90), 4)):
        write_lines(tmp_path / f"part-{part}", X[rows], y[rows], [names[i] for i in rows], first)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-9").touch()
    data = read_letor(tmp_path)
    assert data.X.chunks[0] == (23, 23, 22, 22)
    blocks = data.X.compute()
    assert sparse.issparse(blocks) == (share < 0.25)
    assert_allclose(blocks.toarray() if sparse.issparse(blocks) else blocks, X)
    assert_allclose(data.y.compute(), y)
    assert data.qid.compute().tolist() == names
    assert set(data.comments.compute()) == {"row"}
    whole = partition_by_query(data.X, data.y, qid=data.qid)
    model = RankRLS().fit(whole.X, whole.y, qid=whole.qid)
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=names).coef_, rtol=1e-8)


def test_query_files_and_files_without_queries(tmp_path):
    X, y, _, _ = ranking_data(m=20, n=3)
    nobody = [None] * 20
    for part in range(2):
        write_lines(tmp_path / f"{part}.txt", X[10 * part : 10 * part + 10], y, nobody)
    assert read_letor(tmp_path).qid is None
    for part in range(2):
        (tmp_path / f"{part}.txt.query").write_text("4\n6\n", encoding="utf-8")
    data = read_letor(str(tmp_path / "*.txt"))
    assert len(set(data.qid.compute())) == 4
    write_lines(tmp_path / "2.txt", X, y, ["a"] * 20)
    (tmp_path / "0.txt.query").unlink()
    with pytest.raises(ReadError, match=r"0\.txt"):
        read_letor(tmp_path)
    with pytest.raises(ReadError, match="no file"):
        read_letor(tmp_path / "nowhere-*")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_directory_of_tables(tmp_path, kind):
    X, y, qid, _ = ranking_data(m=90, n=3, n_queries=9)
    frame = pd.DataFrame(X, columns=list("abc")).assign(grade=y, query=qid)
    for part, rows in enumerate(np.array_split(np.arange(90), 4)):
        piece = frame.iloc[rows]
        path = tmp_path / f"part-{part}.{kind}"
        piece.to_parquet(path) if kind == "parquet" else piece.to_csv(path, index=False)
    data = read_table(tmp_path, target="grade", query="query")
    if kind == "parquet" and parse_version(dask.__version__) < parse_version("2025"):
        with pytest.raises(ValueError, match="must be cut alike"):  # it joins small files
            partition_by_query(data.X, data.y, qid=data.qid)
        return
    whole = partition_by_query(data.X, data.y, qid=data.qid)
    model = RankRLS().fit(whole.X, whole.y, qid=whole.qid)
    local = rankwise.RankRLS().fit(frame[list("abc")], y, qid=qid)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    assert list(model.feature_names_in_) == list("abc")
    with pytest.raises(ValueError, match="target='score' is no column"):
        read_table(tmp_path, target="score")
    with pytest.raises(ReadError, match="expected"):
        (tmp_path / "readme.txt").write_text("x", encoding="utf-8")
        read_table(tmp_path, target="grade")
