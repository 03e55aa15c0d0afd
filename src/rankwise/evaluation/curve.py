"""A curve of held-out scores with their errors, and its picture.

matplotlib is imported when something is drawn and not before (extra `plot`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from rankwise.io.atomic import write_atomically
from rankwise.metrics.scorers import read_scoring
from rankwise.model_selection.choosing import largest_of_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SHARE = read_scoring(None).title


@dataclass(repr=False)
class Curve:
    """Held-out score, with standard errors, over a parameter or over the size of the data.

    Attributes
    ----------
    name, measure : str
        What `x` is, and what the score is.
    x, score, score_se : (c,) arrays
        The values, the held-out scores and their standard errors.
    training : (c,) array or None
        The score on the training items, or None if it was not computed.
    units : int or None
        Each score is a mean over as many queries or folds, or over as many pairs without a common
        item.
    log_base : int or None
        The base of the logarithmic axis of a picture; None for a linear one.
    best : float
        The x of the highest score.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.evaluation import Curve
    >>> Curve("alpha", np.array([1.0, 2.0]), np.array([0.7, 0.8]), np.array([0.02, 0.02])).best
    2.0
    """

    name: str
    x: np.ndarray
    score: np.ndarray
    score_se: np.ndarray
    training: np.ndarray | None = None
    log_base: int | None = None
    measure: str = SHARE
    units: int | None = None

    def __repr__(self) -> str:
        at = largest_of_best(self.x, self.score)
        return (
            f"<Curve of {self.measure} over {self.name}: {len(self.x)} values from {self.x[0]:.4g} "
            f"to {self.x[-1]:.4g}, best {self.score[at]:.3f} ± {self.score_se[at]:.3f} at "
            f"{self.x[at]:.4g}>"
        )

    @property
    def best(self) -> float:
        """The x of the best score; of equal scores the largest x."""
        return float(self.x[largest_of_best(self.x, self.score)])

    def draw(self, axes: Axes | None = None, label: str = "unseen data") -> Axes:
        """Draw the curve with its error bars on `axes`, or on a new figure; returns the axes."""
        if axes is None:
            axes = new_axes()
            if self.measure in (SHARE, "AUC"):
                axes.axhline(0.5, color="grey", lw=0.8, ls=":")
        (line,) = axes.plot(self.x, self.score, "o-", ms=3.5, label=f"{label} ± standard error")
        low, high = self.score - self.score_se, self.score + self.score_se
        axes.fill_between(self.x, low, high, color=line.get_color(), alpha=0.18, lw=0)
        if self.training is not None:
            axes.plot(self.x, self.training, "--", color="grey", label="training data")
        if self.log_base is not None:
            axes.set_xscale("log", base=self.log_base)
        if self.training is not None:
            axes.set_xticks(self.x, [f"{size}" for size in self.x])
            axes.minorticks_off()
        axes.set(xlabel=self.name, ylabel=self.measure)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return axes

    def plot(self, axes: Axes | None = None, label: str = "unseen data") -> Axes:
        """Draw the curve on `axes`, or on the current axes of pyplot, which notebooks show."""
        return self.draw(current_axes() if axes is None else axes, label)

    def save(self, path: str | PathLike) -> Path:
        """Write the figure to a file, in the format of the file's extension."""
        path, picture = Path(path), io.BytesIO()
        figure = cast("Figure", self.draw().figure)
        figure.savefig(picture, dpi=120, format=path.suffix[1:] or "png")
        write_atomically(path, [picture.getbuffer()])
        return path


@contextmanager
def _naming_the_extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"drawing needs matplotlib ({error}): install it with pip install 'rankwise[plot]'."
        ) from error


def new_axes(width: float = 6.4, height: float = 4.0) -> Axes:
    """The axes of a new figure, which needs no display and which pyplot does not know."""
    with _naming_the_extra():
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained").subplots()


def current_axes() -> Axes:
    """The current axes of pyplot, which notebooks show."""
    with _naming_the_extra():
        from matplotlib import pyplot
    return pyplot.gca()
