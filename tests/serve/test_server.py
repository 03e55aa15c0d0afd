"""The process: signals, slow clients, kills."""

import json
import os
import signal
import socket
import time

import pytest

import rankwise as rw
from tests.serve.running import ask, items_of, serving, trained

pytest.importorskip("uvicorn", reason="the extra for serving is not installed")
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a signal")
MODEL, X = trained()
BODY = json.dumps({"items": items_of(X)}).encode()
HEAD = b"POST /rank HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(BODY)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("server") / "model.rw"
    rw.save(MODEL, path)
    return path


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_open_requests(path, number):
    with serving(path) as (process, port):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as open_request:
            open_request.sendall(HEAD + BODY[:50])
            time.sleep(0.3)
            process.send_signal(number)
            time.sleep(0.3)
            assert process.poll() is None
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1)
            open_request.sendall(BODY[50:])
            answer = b""
            while part := open_request.recv(65536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200") and b'"rank":60' in answer
        assert process.wait(timeout=10) == 0
        assert "Stopped." in process.stderr.read()


def test_slow_clients_are_answered_or_left_and_delay_nobody(path):
    with serving(path, "--timeout", "2") as (_, port):
        bodies = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(20)]
        heads = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(20)]
        for client in bodies:
            client.sendall(HEAD + BODY[:10])
        for client in heads:
            client.sendall(b"POST /rank HT")
        started = time.perf_counter()
        for _ in range(20):
            assert ask(port, "/rank", BODY)[0] == 200
        assert time.perf_counter() - started < 10
        assert all(client.recv(4096).startswith(b"HTTP/1.1 408") for client in bodies)
        assert all(client.recv(4096) == b"" for client in heads)
        for client in (*bodies, *heads):
            client.close()
        assert ask(port, "/health")[0] == 200


@POSIX
def test_clients_that_leave_early_leave_nothing_behind(path):
    with serving(path) as (process, port):
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(HEAD + BODY[:20])
        assert ask(port, "/rank", BODY)[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_killed_server_can_be_started_again_at_once(path):
    with serving(path) as (process, port):
        assert ask(port, "/rank", BODY)[0] == 200
        process.kill()
        process.wait()
        with pytest.raises(OSError):
            ask(port, "/rank", BODY)
    with serving(path, port=port) as (_, again):
        assert again == port and ask(port, "/rank", BODY)[0] == 200


def test_only_this_machine_unless_asked(path):
    with serving(path) as (_, port):
        host = socket.gethostbyname(socket.gethostname())
        if not host.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((host, port), timeout=1)
