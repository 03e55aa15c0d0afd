"""The progress bar: on terminals only, and never in the way of the work."""

import io
import sys

import pytest

from rankwise.numerics import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, steps", [(Terminal, 60), (Terminal, 3), (io.StringIO, 60)])
def test_a_bar_for_many_steps_on_a_terminal(monkeypatch, stream, steps):
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(progress.track(iter(range(steps)), steps, "waiting")) == list(range(steps))
    with progress.progress_bar(steps, "waiting") as advance:
        for _ in range(steps):
            advance()
    assert ("waiting" in sys.stderr.getvalue()) == (stream is Terminal and steps == 60)
