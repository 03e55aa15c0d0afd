"""Errors of our own. All about data are ValueErrors too, so callers may catch either."""


class ReadError(ValueError):
    r"""A file that cannot be read.

    Parameters
    ----------
    reason : str
        What is wrong.
    path : str
        The file.
    line : int, optional
        The line, from 1.
    column : int or str, optional
        The column, from 1; in tables its name.

    Examples
    --------
    >>> import io
    >>> from rankwise import ReadError
    >>> from rankwise.datasets import read_letor
    >>> try:
    ...     read_letor(io.BytesIO(b"1 qid:1 1:0.5\n2 qid:1 1:oops\n"))
    ... except ReadError as error:
    ...     print(error.line, error.column)
    2 11
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
    """A measure was asked to judge data that hold nothing to judge, such as no pair at all.

    Examples
    --------
    >>> from rankwise import UndefinedMetric, metrics
    >>> try:
    ...     metrics.concordance([1, 1, 1], [0.1, 0.2, 0.3])
    ... except UndefinedMetric:
    ...     print("all items have the same score")
    all items have the same score
    """


class InvalidKernel(ValueError):
    """A precomputed kernel that is asymmetric or indefinite beyond rounding.

    Examples
    --------
    >>> from rankwise import InvalidKernel, RankRLS
    >>> try:
    ...     RankRLS(kernel="precomputed").fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    ... except InvalidKernel:
    ...     print("see rankwise.kernels.repair_kernel")
    see rankwise.kernels.repair_kernel
    """


class KernelRepairWarning(UserWarning):
    """A similarity matrix that was changed to be a kernel, as asked; the message says how much."""


class MissingRequirement(ValueError):
    """A solver was given a matrix or a risk that does not offer what the solver requires."""


class TooLarge(ValueError):
    """A dense matrix that would not fit in memory; the message says how large it would be.

    Examples
    --------
    >>> from scipy import sparse
    >>> from rankwise import RankRLS, TooLarge
    >>> X = sparse.eye_array(1_000_000, 5, format="csr")
    >>> try:
    ...     RankRLS(kernel="rbf").fit(X, range(1_000_000))
    ... except TooLarge:
    ...     print("use a reduced set: basis=500")
    use a reduced set: basis=500
    """


class EstimateWarning(UserWarning):
    """An estimate of performance that is known to be biased or to vary wildly, or says little.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rankwise import EstimateWarning, RankRLS
    >>> from rankwise.evaluation import cross_val_auc
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", EstimateWarning)
    ...     try:
    ...         cross_val_auc(RankRLS(), X, y, method="pooled", folds=5)
    ...     except EstimateWarning:
    ...         print("pooling compares scores of different models")
    pooling compares scores of different models
    """


class DependenceWarning(EstimateWarning):
    """Rows seem to belong together, but no groups were named: the estimate may be too good."""


class GridWarning(EstimateWarning):
    """The best candidate of a given grid lies at its end, so a better one may lie beyond."""


class PreferenceWarning(UserWarning):
    """Statements that leave open what is asked: nothing connects some items, or some never lose.

    Examples
    --------
    >>> import warnings
    >>> from rankwise import PreferenceWarning, Preferences, RankLogistic
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = RankLogistic(alpha=0.0).fit(None, preferences=Preferences([0, 1], [1, 2]))
    >>> any(issubclass(one.category, PreferenceWarning) for one in caught)
    True
    """


class SplitQuery(ValueError):
    """A query whose items lie in several partitions, where only pairs within one are seen.

    Examples
    --------
    >>> import dask.array as da
    >>> from rankwise.dask import RankRLS, SplitQuery
    >>> X = da.from_array([[0.0], [1.0], [2.0], [3.0]], chunks=(2, 1))
    >>> try:
    ...     RankRLS().fit(X, [0, 1, 2, 3], qid=["a", "b", "b", "a"])
    ... except SplitQuery:
    ...     print("see partition_by_query")
    see partition_by_query
    """


class ClusterLost(ConnectionError):
    """The Dask cluster went away, or lost a task for good, in the middle of a fit.

    Examples
    --------
    >>> from rankwise.dask import ClusterLost
    >>> issubclass(ClusterLost, ConnectionError)
    True
    """


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
