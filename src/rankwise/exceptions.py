"""Errors of our own. Each is a ValueError too, so callers may catch either."""


class UndefinedMetric(ValueError):
    """A measure was asked to judge data that hold nothing to judge, such as no pair at all."""


class InvalidKernel(ValueError):
    """A precomputed kernel that is asymmetric or indefinite beyond rounding."""


class TooLarge(ValueError):
    """A dense matrix that would not fit in memory; the message says how large it would be."""


class EstimateWarning(UserWarning):
    """An estimate of performance that is known to be biased or to vary wildly, or says little."""
