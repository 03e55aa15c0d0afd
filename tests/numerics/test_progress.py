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


def test_a_listener_hears_about_every_step_of_nested_loops(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    heard = []
    with progress.progress_told_to(heard.append):
        for _ in progress.track("ab", 2, "outer folds"):
            assert list(progress.track("xyz", 3, "folds")) == ["x", "y", "z"]
    assert heard[0] == "outer folds 1 of 2"
    assert "outer folds 1 of 2, folds 3 of 3" in heard
    assert "outer folds 2 of 2, folds 1 of 3" in heard
    assert sys.stderr.getvalue() == ""


def test_a_loop_that_fails_is_forgotten():
    heard = []
    with progress.progress_told_to(heard.append):
        with pytest.raises(ZeroDivisionError):
            for _ in progress.track("ab", 2, "broken"):
                1 / 0  # noqa: B018
        list(progress.track("ab", 2, "whole"))
    assert heard[-1] == "whole 2 of 2"
