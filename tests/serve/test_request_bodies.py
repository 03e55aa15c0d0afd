"""Bodies: what is a task, and the status of what is none."""

import pytest

from rankwise.serve.request_bodies import EXPLAIN, RANK, Limits, Refusal, lines, parse, read_task

LIMITS = Limits(rows=3)


def test_tasks():
    task = read_task(parse(b'{"items": [{"a": 1}], "query": 7}'), LIMITS)
    assert task.items == [{"a": 1}] and task.query == 7
    task = read_task({"items": [{}, {}], "a": 1, "b": "x", "top": 3}, LIMITS, EXPLAIN)
    assert (task.a, task.b, task.top) == (1, "x", 3)
    assert lines(b'{"a":1}\n\n  \r\n{"b":2}') == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ([], 400),
        (None, 400),
        ({}, 400),
        ({"items": {"a": 1}}, 400),
        ({"items": [1]}, 400),
        ({"items": [{}, None]}, 400),
        ({"items": []}, 422),
        ({"items": [{}] * 4}, 413),
        ({"items": [{}], "itms": 1}, 400),
        ({"items": [{}], "query": [1]}, 400),
        ({"items": [{}], "a": 1}, 400),
    ],
)
def test_refused(content, status):
    with pytest.raises(Refusal) as refusal:
        read_task(content, LIMITS, RANK)
    assert refusal.value.status == status


@pytest.mark.parametrize("wrong", [{"top": 0}, {"top": True}, {"a": 1.5}, {"b": True}, {"a": []}])
def test_refused_explanations(wrong):
    with pytest.raises(Refusal) as refusal:
        read_task({"items": [{}], **wrong}, LIMITS, EXPLAIN)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"items": [{"a": NaN}]}',
        b'{"a": Infinity}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1 2",
    ],
)
def test_what_is_not_json(body):
    with pytest.raises(Refusal, match="not JSON") as refusal:
        parse(body)
    assert refusal.value.status == 400 and len(str(refusal.value)) < 200
