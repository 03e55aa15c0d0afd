"""Threads: order and errors of results, forked children, and Ctrl-C at any moment."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from rankwise.numerics import threads

INTERRUPTED = """
import sys, time
import numpy as np
from rankwise import RankSVM
from rankwise.numerics import threads
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60000, 40)), rng.normal(size=60000)
RankSVM(max_iter=1).set_params(tol=1e-12).fit(X[:5000], y[:5000])
print("ready", flush=True)
try:
    while True:
        threads.run([lambda: np.sort(y) for _ in range(64)])
        RankSVM(alpha=1e-9, tol=1e-15, max_iter=3).fit(X, y)
except KeyboardInterrupt:
    pass
print("still works:", sum(threads.run([lambda i=i: i for i in range(10)])), flush=True)
"""


def test_results_come_in_the_order_of_the_tasks(monkeypatch):
    monkeypatch.setenv("RANKWISE_THREADS", "4")
    tasks = [partial(lambda i: (time.sleep(0.001 * (9 - i)), i)[1], i) for i in range(10)]
    assert threads.run(tasks) == list(range(10))
    assert threads.run([]) == []


def test_the_first_error_is_raised_and_later_runs_work(monkeypatch):
    monkeypatch.setenv("RANKWISE_THREADS", "2")

    def fail(number):
        raise ValueError(f"task {number}")

    with pytest.raises(ValueError, match="task 0"):
        threads.run([partial(fail, 0), lambda: 1, partial(fail, 2)])
    assert threads.run([lambda: 1, lambda: 2]) == [1, 2]


NESTED = """
from rankwise.numerics import threads

def outer(i):
    return sum(threads.run([lambda j=j: i * j for j in range(4)]))

print(threads.run([lambda i=i: outer(i) for i in range(8)]))
"""


def test_tasks_may_run_tasks():
    environment = os.environ | {"RANKWISE_THREADS": "2"}
    command = [sys.executable, "-c", NESTED]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert found.stdout == f"{[6 * i for i in range(8)]}\n"


def test_limits_count_as_in_scikit_learn(monkeypatch):
    monkeypatch.setenv("RANKWISE_THREADS", "4")
    for n_jobs, expected in [(None, 4), (-1, 4), (-2, 3), (-9, 1), (1, 1), (3, 3), (8, 4)]:
        with threads.limit_threads(n_jobs):
            assert threads.n_threads() == expected
    with threads.single_thread(), threads.limit_threads(3):
        assert threads.n_threads() == 1
    assert threads.n_threads() == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("RANKWISE_THREADS", "2")
    threads.run([lambda: 1, lambda: 2])
    child = os.fork()
    if child == 0:
        os._exit(sum(threads.run([lambda: 3, lambda: 4])))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("delay", [0.0, 0.13])
def test_ctrl_c_ends_the_process_and_leaves_the_threads_usable(delay):
    environment = os.environ | {"RANKWISE_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, env=environment, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        for _ in range(200):  # RankSVM.fit answers one Ctrl-C with its best model so far
            if process.poll() is not None or _readable(process.stdout):
                break
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "still works: 45" in out
    assert process.returncode == 0


def _readable(stream) -> bool:
    import select

    return bool(select.select([stream], [], [], 0)[0])
