"""A served model as a process, and a small client."""

import http.client
import json
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

import rankwise as rw
from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.trained_model import TrainedModel

COMMAND = [sys.executable, "-m", "rankwise.cli", "serve"]
NAMES = ["price", "stars", "age"]


def trained(seed=0, learner=None, features=NAMES, **record):
    """A model as the command trains it, with a scaler."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, len(features))) * [10.0, 1.0, 3.0] + [50.0, 3.0, 9.0]
    y = X @ [-0.1, 1.0, 0.05] + 0.1 * rng.normal(size=60)
    scaler = ItemScaler().fit(X)
    ranker = (learner or rw.RankRLS()).fit(scaler.transform(X), y)
    return TrainedModel(ranker, scaler, {"features": list(features), **record}), X


def items_of(X, names=NAMES):
    return [{"id": f"item {i}", **dict(zip(names, row))} for i, row in enumerate(X.tolist())]


@contextmanager
def serving(path, *options, port=0):
    """The process and its port; the process ends with the context."""
    process = subprocess.Popen(
        [*COMMAND, str(path), "--port", str(port), *options], stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        assert "Serving" in line, line + process.stderr.read()
        yield process, int(line.split("http://")[1].split(". ")[0].rsplit(":", 1)[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def ask(port, path, body=None, *, kind="application/json", timeout=20):
    """(status, content, headers) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        if body is None:
            connection.request("GET", path)
        else:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("POST", path, data, {"Content-Type": kind})
        answer = connection.getresponse()
        content = answer.read()
        if answer.headers["Content-Type"] == "application/json":
            content = json.loads(content)
        return answer.status, content, answer.headers
    finally:
        connection.close()
