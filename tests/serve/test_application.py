"""The addresses, asked over HTTP: answers, bad bodies, limits, replaced files."""

import json
import threading
import time

import pytest

import rankwise as rw
from tests.serve.running import NAMES, ask, items_of, serving, trained

pytest.importorskip("uvicorn", reason="the extra for serving is not installed")
MODEL, X = trained(seed=0)
ITEMS = items_of(X[:30])


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "model.rw"
    rw.save(MODEL, path)
    options = ("--max-body", "100000", "--max-items", "200", "--timeout", "4")
    with serving(path, *options) as (process, port):
        yield port
        assert process.poll() is None


def test_rank(port):
    status, content, headers = ask(port, "/rank", {"items": ITEMS, "query": "q"})
    assert status == 200 and set(content) == {"items"}
    expected = MODEL.predict(X[:30])
    assert [row["score"] for row in content["items"]] == sorted(expected.tolist(), reverse=True)
    assert set(content["items"][0]) == {"id", "score", "rank", "index"}
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and "server" not in headers


def test_many_queries_as_lines(port):
    lines = [{"items": ITEMS[:3]}, {"items": []}, {"items": ITEMS[3:5], "query": 2}]
    body = "\n".join(map(json.dumps, lines)) + '\n{"broken\n'
    status, content, headers = ask(port, "/rank", body.encode(), kind="application/x-ndjson")
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson"
    first, second, third, fourth = map(json.loads, content.splitlines())
    assert len(first["items"]) == 3 and len(third["items"]) == 2
    assert "no items" in second["error"] and "not JSON" in fourth["error"]
    assert ask(port, "/rank", b"{}\n" * 30_000, kind="application/x-ndjson")[0] == 413
    body = "\n".join([json.dumps({"items": [{"price": 1, "stars": 1, "age": 1}] * 150})] * 2)
    assert ask(port, "/rank", body.encode(), kind="application/x-ndjson")[0] == 413


def test_explain(port):
    status, content, _ = ask(port, "/explain", {"items": ITEMS, "a": "item 4", "b": 2, "top": 3})
    assert status == 200 and content["a"]["id"] == "item 4" and content["b"]["index"] == 2
    total = sum(part["amount"] for part in content["parts"])
    assert total == pytest.approx(content["difference"])


def test_model_health_and_metrics(port):
    card = ask(port, "/model")[1]
    assert card["features"] == NAMES and card["file"] == "model.rw"
    assert ask(port, "/health")[1]["status"] == "ok"
    ask(port, "/rank", {"items": ITEMS})
    text = ask(port, "/metrics")[1].decode()
    assert 'rankwise_requests_total{path="/rank",status="200"}' in text
    assert "rankwise_items_total" in text


DEEP = b'{"items": [' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}"
BAD = {
    "not json": (b"hello", 400, "not JSON"),
    "empty": (b"", 400, "not JSON"),
    "nan": (b'{"items": [{"price": NaN, "stars": 1, "age": 1}]}', 400, "not JSON"),
    "infinite": (b'{"items": [{"price": 1e999, "stars": 1, "age": 1}]}', None, ""),
    "bytes": (b"\x00\xff" * 100, 400, "not JSON"),
    "deep": (DEEP, 400, "not JSON"),
    "huge": (b'{"items": [' + b" " * 200_000 + b"]}", 413, "100,000 bytes"),
    "rows": (json.dumps({"items": [{}] * 201}).encode(), 413, "at most 200"),
    "list": (b"[1]", 400, '"items"'),
    "no items": (b'{"items": []}', 422, "no items"),
    "columns": (b'{"items": [{"price": 1}]}', 422, "'stars', 'age'"),
    "text": (b'{"items": [{"price": "5", "stars": 1, "age": 1}]}', 422, "items[0]: 'price'"),
    "missing": (b'{"items": [{"price": null, "stars": 1, "age": 1}]}', 422, "'price' is missing"),
    "nested": (b'{"items": [{"price": [1], "stars": 1, "age": 1}]}', 422, "a list"),
    "overflow": (b'{"items": [{"price": -1.79e308, "stars": 1.79e308, "age": 1}]}', None, ""),
    "integer": (b'{"items": [{"price": 9007199254740993, "stars": 1, "age": 1}]}', 422, "float64"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies_are_4xx_with_a_sentence(port, name):
    body, expected, words = BAD[name]
    for path in ("/rank", "/explain"):
        status, content, _ = ask(port, path, body)
        assert 400 <= status < 500 and set(content) == {"error"}, content
        if path == "/rank":
            assert expected in (None, status) and words in content["error"]
    assert ask(port, "/rank", {"items": ITEMS})[0] == 200


def test_twins_keep_their_ids(port):
    content = ask(port, "/rank", {"items": [ITEMS[0], ITEMS[0]]})[1]
    assert [row["id"] for row in content["items"]] == ["item 0", "item 0"]
    assert [row["index"] for row in content["items"]] == [0, 1]
    assert ask(port, "/explain", {"items": [ITEMS[0], ITEMS[0]], "a": "item 0"})[0] == 422


def test_unknown_addresses_and_files(port):
    for path in ("/model.rw", "/page.py", "/../model.rw", "/page/index.html", "/etc/passwd"):
        status, content, headers = ask(port, path)
        assert status == 404 and "POST /rank" in content["error"]
        assert headers["Content-Security-Policy"]
    assert ask(port, "/rank")[0] == 405


def test_requests_while_the_file_is_replaced(tmp_path):
    """Every answer is that of one model or the other, whole."""
    other, _ = trained(seed=1)
    path = tmp_path / "model.rw"
    rw.save(MODEL, path)
    known = [sorted(m.predict(X[:30]).tolist(), reverse=True) for m in (MODEL, other)]
    with serving(path) as (_, port):
        wrong, seen, stop = [], set(), threading.Event()

        def keep_asking():
            while not stop.is_set():
                status, content, _ = ask(port, "/rank", {"items": ITEMS})
                scores = [row["score"] for row in content.get("items", ())]
                if status != 200 or scores not in known:
                    wrong.append((status, content))
                    return
                seen.add(known.index(scores))

        askers = [threading.Thread(target=keep_asking) for _ in range(2)]
        for asker in askers:
            asker.start()
        rw.save(other, path)
        _until(lambda: ask(port, "/health")[1]["reloads"] == 1)
        good = path.read_bytes()
        path.write_bytes(good[: len(good) // 2])
        _until(lambda: ask(port, "/health")[1]["status"] == "stale")
        assert "cannot be loaded" in ask(port, "/health")[1]["problem"]
        assert ask(port, "/rank", {"items": ITEMS})[0] == 200
        rw.save(MODEL, path)
        _until(lambda: ask(port, "/health")[1]["status"] == "ok")
        stop.set()
        for asker in askers:
            asker.join()
    assert wrong == [] and seen == {0, 1}


def _until(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
