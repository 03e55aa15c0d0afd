"""A served model under load: requests of 30 items at a fixed rate, from a client process.

    python -m benchmarks.speed.serve [seconds] [requests per second]

The goal is 500 requests per second with 99% of the answers within 20 ms, server and client together
on two cores, for 60 seconds. The client sends on a schedule, whether earlier answers have come or
not, and a request waits from its scheduled moment on: a server that stalls is not excused. All
traffic goes to 127.0.0.1, and ends after the given time.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

import rankwise as rw
from benchmarks.speed.harness import print_machine, record
from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.trained_model import TrainedModel

ITEMS, RATE, SECONDS, CONNECTIONS = 30, 500, 60, 32
GOAL = 0.020
CASES = {
    "linear, 10 features": (10, rw.RankRLS()),
    "linear, 136 features": (136, rw.RankRLS()),
    "Gaussian kernel, 500 basis items, 10 features": (10, rw.RankRLS(kernel="rbf", basis=500)),
}


def write_model(path: Path, n: int, learner: object) -> bytes:
    """A model file, and the body of a request."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, n)) * 10 + 3
    names = [f"feature_{j}" for j in range(n)]
    scaler = ItemScaler().fit(X)
    ranker = learner.fit(scaler.transform(X), X[:, 0] + rng.normal(size=2000))  # type: ignore
    rw.save(TrainedModel(ranker, scaler, {"features": names}), path)
    rows = X[:ITEMS].round(4).tolist()
    items = [{"id": f"d{i}", **dict(zip(names, row))} for i, row in enumerate(rows)]
    return json.dumps({"items": items}).encode()


async def _connection(port: int, request: bytes, moments: asyncio.Queue, waits: list) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (moment := await moments.get()) is not None:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        waits.append(time.perf_counter() - moment)
    writer.close()


async def _load(port: int, body: bytes, seconds: float, rate: float) -> list[float]:
    head = f"POST /rank HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    moments: asyncio.Queue = asyncio.Queue()
    waits: list[float] = []
    request = head.encode() + body
    clients = [
        asyncio.create_task(_connection(port, request, moments, waits)) for _ in range(CONNECTIONS)
    ]
    start = time.perf_counter() + 0.5
    for number in range(int(rate * seconds)):
        moment = start + number / rate
        await asyncio.sleep(max(0.0, moment - time.perf_counter()))
        moments.put_nowait(moment)
    for _ in clients:
        moments.put_nowait(None)
    await asyncio.gather(*clients)
    return waits


def client(port: str, body: str, seconds: str, rate: str) -> None:
    """The client process: prints quantiles of the waiting times as JSON."""
    import uvloop

    work = _load(int(port), Path(body).read_bytes(), float(seconds), float(rate))
    started = time.perf_counter()
    waits = uvloop.run(work)
    shares = (0.5, 0.9, 0.99, 0.999, 1.0)
    print(
        json.dumps(
            {
                "requests": len(waits),
                "seconds": time.perf_counter() - started - 0.5,
                "waits": dict(zip(map(str, shares), np.quantile(waits, shares).tolist())),
            }
        )
    )


def cpu_seconds(port: str) -> float:
    """The CPU time of the server so far, from its /metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds"))


def measure(name: str, n: int, learner: object, seconds: float, rate: float) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        body = write_model(folder / "model.rw", n, learner)
        (folder / "body.json").write_bytes(body)
        serve = [sys.executable, "-m", "rankwise.cli", "serve", "model.rw", "--port", "0"]
        server = subprocess.Popen(serve, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            port = server.stderr.readline().split("127.0.0.1:")[1].split(".")[0]
            for length in (2.0, seconds):  # the first run warms up
                before = cpu_seconds(port)
                words = ["--client", port, str(folder / "body.json"), str(length), str(rate)]
                command = [sys.executable, "-m", "benchmarks.speed.serve", *words]
                found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
                cpu = (cpu_seconds(port) - before) / found["requests"]
        finally:
            server.terminate()
            server.wait()
    waits = found["waits"]
    slow, per_second = waits["0.99"], found["requests"] / found["seconds"]
    print(
        f"  {name:48}{len(body) / 1000:6.0f} kB  {per_second:6.0f} per second"
        f"   median {1e3 * waits['0.5']:5.1f} ms   99% {1e3 * slow:6.1f} ms   99.9% "
        f"{1e3 * waits['0.999']:6.1f} ms   longest {1e3 * waits['1.0']:6.1f} ms   server "
        f"{1e3 * cpu:4.2f} ms CPU per request   limit 20 ms: "
        f"{'holds' if slow <= GOAL else 'EXCEEDED'}"
    )
    record("Served requests; the ratio is the 99% wait / 20 ms", name, slow / GOAL, slow, 1.0)


def main(seconds: float = SECONDS, rate: float = RATE) -> None:
    print_machine()
    print(f"\n{rate:g} requests of {ITEMS} items per second for {seconds:g} seconds, on a schedule")
    for name, (n, learner) in CASES.items():
        measure(name, n, learner, seconds, rate)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client(*sys.argv[2:])
    else:
        main(*map(float, sys.argv[1:]))
