"""What became of one configuration: agreement, a refusal, or a difference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

TOLERANCE = 1e-6


class Undecided(Exception):
    """The truth itself is not defined, or hangs on rounding."""


class Outcome:
    """Collects differences. `may_refuse` says whether a ValueError is a right answer."""

    def __init__(self, description: str, may_refuse: bool):
        self.description, self.may_refuse = description, may_refuse
        self.differences: list[str] = []
        self.scale, self.rounding = 0.0, 0.0
        self.status = "agrees"

    def undecided(self, reason: str) -> Outcome:
        self.status = f"undecided: {reason}"
        return self

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """A ValueError inside counts as a refusal; any other error as a difference."""
        try:
            yield
        except ValueError as error:
            self.status = f"refused: {error}"
            if not self.may_refuse:
                self.differences.append(f"refused without a reason: {error}")
        except Exception as error:
            self.differences.append(f"{type(error).__name__}: {error}")

    def compare(self, what: str, found, expected) -> None:
        """Differences count relative to the largest score, that of the whole fit included."""
        error = compare(found, expected, self.scale)
        if not error <= max(TOLERANCE, self.rounding):
            self.differences.append(f"{what} differs by {error:.2g} of the largest score")


def compare(found, expected, scale=0.0) -> float:
    """The largest difference as a share of the largest expected value; inf where not finite."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or not np.isfinite(found).all():
        return np.inf
    difference = np.abs(found.astype(expected.dtype) - expected).max(initial=0)
    largest = max(scale, np.abs(expected).max(initial=0))
    if largest == 0:
        return float(difference != 0)
    return float(difference / largest)
