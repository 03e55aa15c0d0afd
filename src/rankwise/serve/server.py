"""From an application to a process: the socket, signals, and a stop that finishes open requests."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from threadpoolctl import threadpool_limits

from rankwise.serve.request_bodies import Limits

CONNECTIONS = 512
"""More open connections than this are answered with 503."""


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def serve(
    application: Starlette,
    listening: socket.socket,
    limits: Limits,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the open requests and return.

    `started` is called when requests are answered. A second signal ends open requests too.
    """
    # Features are matched by name before a model sees them, so scikit-learn need not warn.
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        http=_protocol(limits.seconds),
        lifespan="on",
        ws="none",
    )
    # Requests share the cores; none of them should wait for threads that spin on all cores.
    with (
        threadpool_limits(1, user_api="blas"),
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(_run(_Server(config), listening, started))


class _Server(uvicorn.Server):
    """Ends by its own signals: uvicorn would raise them again after an orderly stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(each, self.handle_exit) for each in signals]
        try:
            yield
        finally:
            for each, handler in zip(signals, before):
                signal.signal(each, handler)


async def _run(server: _Server, listening: socket.socket, started: Callable[[], None]) -> None:
    async def announce() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        started()

    announcing = asyncio.create_task(announce())
    try:
        await server.serve(sockets=[listening])
    finally:
        announcing.cancel()


def _protocol(seconds: float) -> Any:
    """uvicorn's protocol with a limit for the head of a request, which may come byte by byte."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Impatient(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._leave_unless_asked)

        def _leave_unless_asked(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Impatient
