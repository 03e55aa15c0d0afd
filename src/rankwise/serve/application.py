"""The addresses of a served model, as an ASGI application.

| address | answer |
|---|---|
| POST /rank | {"items": [{"id", "score", "rank", "index"}, ...]} best first |
| POST /explain | why one of two items is above the other |
| GET /model | the card of the model |
| GET /health | whether the model of the file is the one that is served |
| GET /metrics | counters in the text format of Prometheus |
| GET / | the page |

Errors are {"error": "one sentence"}. No part of a request names a file. Small requests are computed
at once; large ones in a thread, so that they do not delay the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rankwise.io.plain_text import one_line
from rankwise.serve.model_watch import ModelWatch
from rankwise.serve.request_bodies import EXPLAIN, Limits, Refusal, Task, lines, parse, read_task
from rankwise.serve.served_model import ServedModel
from rankwise.serve.traffic import Traffic

LOOK_EVERY = 1.0
"""Seconds between two looks at the model file."""
SMALL = 20_000
"""The largest cost (of ServedModel) of a request that is computed at once, without a thread."""
THREADS = 2
NDJSON = "application/x-ndjson"
PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Work = Callable[[ServedModel, Task], Any]
log = logging.getLogger("rankwise.serve")


def build_application(watch: ModelWatch, limits: Limits | None = None) -> Starlette:
    """The application that serves the model of `watch`, and follows its file while it runs."""
    service = Service(watch, Limits() if limits is None else limits)
    answers: dict[tuple[str, str], Callable[[Request], Awaitable[Response]]] = {
        ("POST", "/rank"): service.rank,
        ("POST", "/explain"): service.explain,
        ("GET", "/model"): service.model,
        ("GET", "/health"): service.health,
        ("GET", "/metrics"): service.metrics,
    }
    answers |= {("GET", path): partial(_file, *found) for path, found in PAGE.items()}
    routes = [
        Route(path, service.guarded(path, answer), methods=[method])
        for (method, path), answer in answers.items()
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(watch.follow(LOOK_EVERY))
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    return Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _unknown_address}
    )


class Service:
    """The answers to requests about the model of a file."""

    def __init__(self, watch: ModelWatch, limits: Limits):
        self.watch, self.limits, self.traffic = watch, limits, Traffic()
        self._threads = asyncio.Semaphore(THREADS)

    def guarded(
        self, path: str, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """The answer within the limit of time, with errors as JSON, and counted."""

        async def respond(request: Request) -> Response:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self.limits.seconds):
                    response = await answer(request)
            except Refusal as refusal:
                response = _error(refusal.status, str(refusal))
            except TimeoutError:
                response = _error(503, f"it took longer than {self.limits.seconds:g} seconds.")
            except ClientDisconnect:
                response = _error(400, "the client left before its request was complete.")
            except Exception:
                log.exception("a request to %s failed", path)
                response = _error(500, "an error of the server, which its log describes.")
            self.traffic.count(path, response.status_code, time.perf_counter() - started)
            response.headers.update(HEADERS)
            return response

        return respond

    async def _body(self, request: Request) -> bytes:
        limit = self.limits.body
        too_large = Refusal(413, f"the body is larger than {limit:,} bytes.")
        stated = request.headers.get("content-length", "")
        if stated.isdigit() and int(stated) > limit:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds / 2):
                async for part in request.stream():
                    body += part
                    if len(body) > limit:
                        raise too_large
        except TimeoutError:
            raise Refusal(408, "the body did not arrive in time.") from None
        return bytes(body)

    async def rank(self, request: Request) -> Response:
        """One ranking, or one line per line if the request is NDJSON."""
        body = await self._body(request)
        if request.headers.get("content-type", "").split(";")[0].strip() != NDJSON:
            return _json({"items": await self._work(_ranking, read_task(parse(body), self.limits))})
        answers, total = [], 0
        for number, line in enumerate(lines(body), 1):
            try:
                task = read_task(parse(line), self.limits)
                total += len(task.items)
                answers.append(orjson.dumps({"items": await self._work(_ranking, task)}))
            except Refusal as refusal:
                answers.append(orjson.dumps({"error": str(refusal)}))
            if max(total, number) > self.limits.rows:
                raise Refusal(413, f"there are more than {self.limits.rows:,} lines or items.")
            if number % 20 == 0:
                await asyncio.sleep(0)  # other requests need not wait for all lines
        return Response(b"\n".join([*answers, b""]), media_type=NDJSON)

    async def explain(self, request: Request) -> Response:
        task = read_task(parse(await self._body(request)), self.limits, EXPLAIN)
        return _json(await self._work(_explanation, task))

    async def _work(self, work: Work, task: Task) -> Any:
        """Computed at once or in a thread; what `predict` refuses is refused in its words."""
        model = self.watch.current
        try:
            if len(task.items) * model.cost <= SMALL:
                result = work(model, task)
            else:
                async with self._threads:
                    result = await asyncio.to_thread(work, model, task)
        except ValueError as error:
            raise Refusal(422, one_line(str(error))) from None
        self.traffic.items += len(task.items)
        return result

    async def model(self, request: Request) -> Response:
        about = {"loaded": self.watch.loaded_at, "file": self.watch.path.name}
        limits = {"body": self.limits.body, "items": self.limits.rows}
        return _json({**self.watch.current.card(), **about, "limits": limits})

    async def health(self, request: Request) -> Response:
        watch = self.watch
        return _json(
            {
                "status": "ok" if watch.problem is None else "stale",
                "problem": watch.problem,
                "loaded": watch.loaded_at,
                "reloads": watch.reloads,
            }
        )

    async def metrics(self, request: Request) -> Response:
        watch = self.watch
        more = {
            "process_cpu_seconds_total": ("CPU time.", "counter", time.process_time()),
            "rankwise_model_reloads_total": ("Model files taken up.", "counter", watch.reloads),
            "rankwise_model_reload_failures_total": (
                "Model files that could not be loaded.",
                "counter",
                watch.failures,
            ),
            "rankwise_model_loaded_timestamp_seconds": (
                "When the model was loaded.",
                "gauge",
                watch.loaded,
            ),
        }
        return Response(self.traffic.text(more), media_type="text/plain; version=0.0.4")


def _ranking(model: ServedModel, task: Task) -> list[dict[str, Any]]:
    return model.rank(task.items, task.query)


def _explanation(model: ServedModel, task: Task) -> dict[str, Any]:
    return model.explain(task.items, task.a, task.b, task.query, task.top)


def _json(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")


def _error(status: int, why: str) -> Response:
    response = _json({"error": why}, status)
    if status in (408, 413):  # the rest of the body may still be on its way
        response.headers["Connection"] = "close"
    return response


async def _file(name: str, kind: str, request: Request) -> Response:
    return Response(PAGE_FILES[name], media_type=kind)


async def _unknown_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = "POST /rank, POST /explain, GET /model, GET /health, GET /metrics, GET /"
    response = _error(error.status_code, f"{error.detail}: there are {known}.")
    response.headers.update(HEADERS)
    return response


PAGE_FILES = {
    name: (files("rankwise.serve") / "page" / name).read_bytes() for name, _ in PAGE.values()
}
