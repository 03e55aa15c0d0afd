"""matplotlib, which is imported when something is drawn and not before (extra `plot`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def _naming_the_extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"drawing needs matplotlib ({error}): install it with pip install 'rankwise[plot]'."
        ) from error


def new_axes() -> Axes:
    """The axes of a new figure, which needs no display and which pyplot does not know."""
    with _naming_the_extra():
        from matplotlib.figure import Figure
    return Figure(figsize=(6.4, 4.0), layout="constrained").subplots()


def current_axes() -> Axes:
    """The current axes of pyplot, which notebooks show."""
    with _naming_the_extra():
        from matplotlib import pyplot
    return pyplot.gca()
