"""The public path of `Interactions`; the code is in rankwise.learners.interactions."""

from rankwise.learners.interactions import Interactions

__all__ = ["Interactions"]
