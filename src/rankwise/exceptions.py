"""Errors of our own. All about data are ValueErrors too, so callers may catch either."""


class ReadError(ValueError):
    """A file that cannot be read: `path`, and where known `line` and `column`, both from 1.

    In tables `column` is the column's name.
    """

    def __init__(
        self,
        reason: str,
        path: str,
        line: int | None = None,
        column: int | str | None = None,
    ):
        self.reason, self.path, self.line, self.column = reason, path, line, column
        where = [path]
        if line is not None:
            where.append(f"line {line}")
        if column is not None:
            where.append(f"column {column!r}" if isinstance(column, str) else f"column {column}")
        super().__init__(f"{', '.join(where)}: {reason}")

    def __reduce__(self) -> tuple:
        return type(self), (self.reason, self.path, self.line, self.column)


class UndefinedMetric(ValueError):
    """A measure was asked to judge data that hold nothing to judge, such as no pair at all."""


class InvalidKernel(ValueError):
    """A precomputed kernel that is asymmetric or indefinite beyond rounding."""


class KernelRepairWarning(UserWarning):
    """A similarity matrix that was changed to be a kernel, as asked; the message says how much."""


class MissingRequirement(ValueError):
    """A solver was given a matrix or a risk that does not offer what the solver requires."""


class TooLarge(ValueError):
    """A dense matrix that would not fit in memory; the message says how large it would be."""


class EstimateWarning(UserWarning):
    """An estimate of performance that is known to be biased or to vary wildly, or says little."""


class DependenceWarning(EstimateWarning):
    """Rows seem to belong together, but no groups were named: the estimate may be too good."""


class GridWarning(EstimateWarning):
    """The best candidate of a given grid lies at its end, so a better one may lie beyond."""


class PreferenceWarning(UserWarning):
    """Statements that leave open what is asked: nothing connects some items, or some never lose."""


class SplitQuery(ValueError):
    """A query whose items lie in several partitions, where only pairs within one are seen."""


class ClusterLost(ConnectionError):
    """The Dask cluster went away, or lost a task for good, in the middle of a fit."""


class VersionWarning(UserWarning):
    """A model file with parts of scikit-learn that another version of scikit-learn wrote."""


class GraphWarning(UserWarning):
    """Graphs whose heavy cycles had to be scaled down, because the sum of their walks diverges.

    Examples
    --------
    >>> import warnings
    >>> from rankwise.exceptions import GraphWarning
    >>> from rankwise.graphs import AllPathsVectorizer, LabelledGraph
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     F = AllPathsVectorizer().fit_transform([LabelledGraph([{"a"}], [(0, 0, 1.5)])])
    >>> [one.category is GraphWarning for one in caught]
    [True]
    """
