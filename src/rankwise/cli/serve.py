"""rankwise serve"""

from __future__ import annotations

import click

from rankwise.cli.console import Mistake, say


@click.command()
@click.argument("model")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free."
)
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=8_000_000,
    show_default=True,
    help="Bytes of a request.",
)
@click.option(
    "--max-items",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Items of a request.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    help="Seconds of a request.",
)
def serve(model: str, host: str, port: int, max_body: int, max_items: int, timeout: float) -> None:
    """Serve MODEL over HTTP, with a page to try it at /.

    \b
    Examples:
      rankwise serve model.rw
      curl 127.0.0.1:8000/rank -d '{"items": [{"id": "a", "price": 3}, {"id": "b", "price": 5}]}'

    POST /rank and /explain, GET /model, /health and /metrics. Only programs on this machine can
    connect, unless --host says otherwise; there is no password. If the file of MODEL is replaced,
    the new model is taken up; a file that cannot be loaded leaves the old model in place. Ctrl-C
    and SIGTERM finish open requests. Needs rankwise[serve].
    """
    try:
        from rankwise.serve.application import build_application
        from rankwise.serve.model_watch import ModelWatch
        from rankwise.serve.request_bodies import Limits
        from rankwise.serve.server import listening_socket
        from rankwise.serve.server import serve as serve_until_stopped
    except ImportError as error:
        raise Mistake(f"{error.name} is not installed: pip install 'rankwise[serve]'.") from error

    if model == "-":
        raise Mistake("serve needs a model file, which it watches: standard input is none.")
    limits = Limits(max_body, max_items, timeout)
    watch = ModelWatch(model)
    listening = listening_socket(host, port)
    port = listening.getsockname()[1]
    shown_host = f"[{host}]" if ":" in host else host
    card = watch.current.card()
    about = f"{card['learner']}, {len(card['features'])} features"

    def announce() -> None:
        say(f"Serving {model} ({about}) on http://{shown_host}:{port}. Ctrl-C stops.")

    serve_until_stopped(build_application(watch, limits), listening, limits, announce)
    say("Stopped.")
