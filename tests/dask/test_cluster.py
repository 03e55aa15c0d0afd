"""rankwise.dask on a real cluster: worker processes on loopback, and what may go wrong."""

import os
import signal
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster, Security
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
from rankwise.dask import (
    ClusterLost,
    RankRLS,
    RankSVM,
    SplitQuery,
    local_cluster,
    partition_by_query,
)
from rankwise.solvers.cutting_planes import CuttingPlanes
from tests.dask_cases import as_dask, as_delayed, ranking_data, whole_query_chunks

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows ends a process by either name
SECONDS = 120
"""How long anything may take to start or to answer on a busy machine."""


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2, silence_logs=50) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, timeout=SECONDS) as client:
        client.wait_for_workers(2, timeout=SECONDS)
        yield client


def kill_a_worker_at(plane: int, client, monkeypatch):
    """End a worker process when the solver minimises its model for the plane-th time."""
    minimise, calls = CuttingPlanes.minimise, []

    def minimise_and_kill(self, alpha):
        calls.append(alpha)
        if len(calls) == plane:
            os.kill(min(client.run(os.getpid).values()), KILL)
        return minimise(self, alpha)

    monkeypatch.setattr(CuttingPlanes, "minimise", minimise_and_kill)
    return calls


@pytest.mark.parametrize("per_partition", [1, 4, 100])
def test_answers_do_not_depend_on_partitions(client, per_partition):
    """Many small ones, some, and one alone."""
    X, y, qid, weight = ranking_data(m=120, n_queries=12)
    lazy = as_dask(X, qid, per_partition)
    local = rankwise.RankRLS().fit(X, y, qid=qid, sample_weight=weight)
    model = RankRLS().fit(lazy, y, qid=qid, sample_weight=weight)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    assert_allclose(model.predict(lazy).compute(), local.predict(X), rtol=1e-8)
    assert_allclose(model.leave_query_out().compute(), local.leave_query_out(), rtol=1e-7)
    svm = RankSVM(0.1, loss="squared_hinge").fit(lazy, y, qid=qid)
    expected = rankwise.RankSVM(0.1, loss="squared_hinge").fit(X, y, qid=qid)
    assert abs(svm.objective_ - expected.objective_) <= svm.gap_ + expected.gap_


def test_empty_partitions_text_labels_and_csr_blocks(client):
    X, y, qid, _ = ranking_data()
    names = np.array([f"query {q}" for q in qid])
    chunks = [0, *whole_query_chunks(qid), 0, 0]
    blocks = as_delayed(chunks, sparse.csr_matrix(X), y, names)
    model = RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)
    svm = RankSVM(0.1).fit(blocks[0], blocks[1], qid=blocks[2])
    assert abs(svm.objective_ - rankwise.RankSVM(0.1).fit(X, y, qid=qid).objective_) <= 2e-3
    parts = model.predict(blocks[0])
    assert_allclose(np.concatenate(dask.compute(*parts)), model.predict(X))


def test_single_precision_is_kept(client):
    X, y, qid, _ = ranking_data()
    single = X.astype(np.float32)
    reduced = {"kernel": "rbf", "gamma": 0.1, "basis": 10, "random_state": 0}
    for options in ({}, reduced):
        svm = RankSVM(0.1, **options).fit(as_dask(single, qid), y, qid=qid)
        local = rankwise.RankSVM(0.1, **options).fit(single, y, qid=qid)
        assert abs(svm.objective_ - local.objective_) <= svm.gap_ + local.gap_ + 1e-6
    model = RankRLS().fit(as_dask(single, qid), y, qid=qid)
    assert_allclose(model.coef_, rankwise.RankRLS().fit(single, y, qid=qid).coef_, rtol=1e-8)


def test_split_queries_are_refused_and_arranged(client):
    X, y, qid, _ = ranking_data()
    cut = da.from_array(X, chunks=(50, 5))
    for learner in (RankRLS(), RankSVM(0.1)):
        with pytest.raises(SplitQuery, match=r"query \d+ is split between partitions 0 and 1"):
            learner.fit(cut, y, qid=qid)
    scores, labels = da.from_array(y, chunks=50), da.from_array(qid, chunks=50)
    for method in ("sorted", "hash"):
        whole = partition_by_query(cut, scores, qid=labels, method=method)
        model = RankRLS().fit(whole.X, whole.y, qid=whole.qid)
        assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)
    assert_allclose(RankRLS().fit(cut, y).coef_, rankwise.RankRLS().fit(X, y).coef_, rtol=1e-8)


def test_two_runs_agree_to_the_last_bit(client):
    X, y, qid, _ = ranking_data()
    first, second = (RankSVM(0.01).fit(as_dask(X, qid, 2), y, qid=qid).coef_ for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("spread", [False, True])
def test_a_killed_worker_costs_time_not_the_answer(client, monkeypatch, spread):
    """Also if the client counts the pairs of one query over all partitions."""
    X, y, qid, _ = ranking_data()
    told = {} if spread else {"qid": qid}
    undisturbed = RankSVM(0.01).fit(as_dask(X, qid), y, **told)
    calls = kill_a_worker_at(3, client, monkeypatch)
    disturbed = RankSVM(0.01).fit(as_dask(X, qid), y, **told)
    assert len(calls) > 3
    assert np.array_equal(disturbed.coef_, undisturbed.coef_)


def test_a_worker_that_dies_reading_a_partition(client, tmp_path):
    X, y, qid, _ = ranking_data()
    marker = tmp_path / "died"

    @dask.delayed
    def fragile(block):
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), KILL)
        return block

    blocks = as_delayed(whole_query_chunks(qid), X, y, qid)
    blocks[0][2] = fragile(blocks[0][2])
    model = RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    assert marker.exists()
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)


def test_only_loopback_is_listened_on(client):
    here = psutil.Process()
    processes = [here, *(psutil.Process(pid) for pid in client.run(os.getpid).values())]
    addresses = {
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


def test_adaptive_clusters_and_encryption(tmp_path, monkeypatch):
    """Workers that come when there is work, over TLS with a certificate of our own."""
    certificate = make_certificate(tmp_path)
    security = Security(
        tls_ca_file=certificate[0],
        require_encryption=True,
        **{
            f"tls_{role}_{kind}": path
            for role in ("client", "worker", "scheduler")
            for kind, path in zip(("cert", "key"), certificate)
        },
    )
    X, y, qid, _ = ranking_data()
    options = {"security": security, "silence_logs": 50, "threads_per_worker": 1}
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, **options) as cluster,
        Client(cluster, security=security, timeout=SECONDS),
    ):
        assert cluster.scheduler_address.startswith("tls://127.0.0.1")
        cluster.adapt(minimum=0, maximum=1)
        model = RankRLS().fit(as_dask(X, qid), y, qid=qid)
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)


def make_certificate(folder) -> tuple[str, str]:
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-out", certificate, "-keyout", key]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the openssl program to make a certificate")
    return certificate, key


def test_a_lost_scheduler_is_a_clear_error(tmp_path, monkeypatch):
    X, y, qid, _ = ranking_data()
    script = (
        "import sys\n"
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    cluster = LocalCluster(n_workers=1, processes=False, protocol='tcp://',\n"
        "        host='127.0.0.1', dashboard_address=None, silence_logs=50)\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, **pipes)
    minimise, calls = CuttingPlanes.minimise, []

    def minimise_and_kill(self, alpha):
        calls.append(alpha)
        if len(calls) == 2:
            process.kill()
            process.wait()
        return minimise(self, alpha)

    monkeypatch.setattr(CuttingPlanes, "minimise", minimise_and_kill)
    try:
        address = process.stdout.readline().strip()
        settings = {"distributed.comm.timeouts.connect": "2s"}
        with (
            dask.config.set(settings),
            Client(address, timeout=SECONDS),
            pytest.raises(ClusterLost, match="scheduler was lost"),
        ):
            RankSVM(0.001).fit(as_dask(X, qid), y, qid=qid)
    finally:
        process.kill()
        process.communicate()
    assert len(calls) == 2
