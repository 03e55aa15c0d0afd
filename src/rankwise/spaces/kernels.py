"""Kernels by name: the one place that compares names of kernels.

A kernel is a name of scikit-learn's pairwise kernels or of OWN_KERNELS, "precomputed", or a
callable of two matrices (dense, or CSR if X is sparse) or else of two rows.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankwise.exceptions import InvalidKernel
from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.memory import refuse_too_large
from rankwise.numerics.tiles import mirror_upper
from rankwise.spaces.definiteness import check_gram, check_square
from rankwise.spaces.gaussian_kernel import gaussian_kernel
from rankwise.spaces.polynomial_kernel import PolynomialFromAnchor
from rankwise.validation import check_positive

OWN_KERNELS: dict[str, Callable[[Matrix, Matrix], np.ndarray]] = {}
"""Kernels that scikit-learn does not have: a function of two matrices for each name."""
POSITIVE_DEFINITE = ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "chi2")
"""Kernels that are semi-definite for every X, unless coef0 is negative."""


class HasKernel(Protocol):
    """An estimator with the four kernel parameters."""

    kernel: str | Callable
    gamma: float | None
    degree: float
    coef0: float


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Parameters
    ----------
    kernel : str or callable
        The name of one of scikit-learn's pairwise kernels, "precomputed", or a callable.
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.

    Examples
    --------
    >>> from rankwise.kernels import Kernel, KernelSum
    >>> KernelSum([Kernel("rbf", gamma=0.1), Kernel("rbf", gamma=1.0)]).kernels[0].gamma
    0.1
    """

    kernel: str | Callable
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1.0

    @classmethod
    def of(cls, estimator: HasKernel) -> Kernel:
        """The kernel of an estimator's constructor arguments; a ValueError if one is invalid."""
        kernel = cls(estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0)
        kernel.check()
        return kernel

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def may_be_indefinite(self) -> bool:
        """Whether only its matrix can show that the kernel is positive semi-definite."""
        return callable(self.kernel) or self.kernel not in POSITIVE_DEFINITE or self.coef0 < 0

    @property
    def name(self) -> str:
        return "the callable kernel" if callable(self.kernel) else f"the kernel {self.kernel!r}"

    def check(self) -> None:
        if not (callable(self.kernel) or self.is_precomputed or self.is_linear):
            self._check_name()
        if self.gamma is not None:
            check_positive("gamma", self.gamma)
        check_positive("degree", self.degree)
        if not isinstance(self.coef0, numbers.Real) or not np.isfinite(float(self.coef0)):
            raise ValueError(f"coef0 must be a finite number; got {self.coef0!r}.")

    def _check_name(self) -> None:
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        names = sorted({*PAIRWISE_KERNEL_FUNCTIONS, *OWN_KERNELS})
        if not (isinstance(self.kernel, str) and self.kernel in names):
            raise ValueError(
                f"kernel must be one of {', '.join(names)}, 'precomputed' or a callable; "
                f"got {self.kernel!r}."
            )

    def matrix(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """k(X, Y) with one row for each row of X and one column for each row of Y.

        A callable takes two matrices, or else two rows.
        """
        if callable(self.kernel):
            K = _call(self.kernel, X, Y)
        elif self.kernel in OWN_KERNELS:
            K = OWN_KERNELS[self.kernel](X, Y)
        elif self.kernel == "rbf":
            with np.errstate(over="ignore", invalid="ignore"):
                K = gaussian_kernel(X, Y, 1.0 / X.shape[1] if self.gamma is None else self.gamma)
        else:
            gamma = self.gamma
            if gamma is None and self.kernel == "chi2":
                gamma = 1.0 / X.shape[1]
            from sklearn.metrics.pairwise import pairwise_kernels

            options = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
            with np.errstate(over="ignore", invalid="ignore"):
                K = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **options)
        K = np.asarray(dense(K), dtype=np.float64)
        self._refuse_overflow(K)
        return K

    def _refuse_overflow(self, K: np.ndarray) -> None:
        if K.size and not (np.isfinite(K.min()) and np.isfinite(K.max())):
            if callable(self.kernel):
                raise InvalidKernel("the callable kernel returned values that are not finite.")
            raise InvalidKernel(f"{self.name} overflows on X: scale its features down.")

    def gram(
        self,
        X: Matrix,
        name: str = "",
        way_out: str = "use basis= for a reduced set",
        *,
        trusted: bool = False,
        view: PolynomialFromAnchor | None = None,
    ) -> np.ndarray:
        """The kernel matrix of the training items, as a new array; InvalidKernel if indefinite.

        For a precomputed kernel X is the matrix itself. `name` replaces its name in errors, and
        `way_out` says what to do if the matrix is too large. A `trusted` matrix was checked before.
        With the `view` of `from_anchor` it is the matrix of the kernel seen from the first item.
        """
        if self.is_precomputed:
            K = np.array(dense(X), order="C")
            if not trusted:
                return check_gram(K, name or PRECOMPUTED, own=True)
            mirror_upper(K)  # as the check does
            return K
        m = X.shape[0]
        refuse_too_large(m, m, name or "the kernel matrix", way_out)
        if view is not None:
            K = view.matrix(X, X)
            self._refuse_overflow(np.append(view.values(X), (K.min(), K.max())))
            mirror_upper(K)
            return K
        K = self.matrix(X, X)
        if self.may_be_indefinite and not trusted:
            check_gram(K, name or f"the matrix of {self.name}", own=True)
        return K

    def from_anchor(self, X: Matrix) -> PolynomialFromAnchor | None:
        """The kernel as losses over pairs see it from the first item; None where the values of the
        kernel itself have enough digits, and for kernels that are not polynomials. O(m n)."""
        if callable(self.kernel) or self.kernel not in ("poly", "polynomial"):
            return None
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        return PolynomialFromAnchor.of(X, float(gamma), float(self.degree), float(self.coef0))

    def between(self, X: Matrix, basis_index: np.ndarray, X_basis: Matrix | None) -> np.ndarray:
        """Kernel values of items to basis items; the rows of X are their own if precomputed."""
        if self.is_precomputed:
            return dense(X)[:, basis_index]
        assert X_basis is not None
        return self.matrix(X, X_basis)

    def square(self, X: Matrix) -> Matrix:
        """X, which must be a square dense matrix if the kernel is precomputed."""
        return check_square(dense(X)) if self.is_precomputed else X


PRECOMPUTED = "the precomputed kernel"


def _call(kernel: Callable, X: Matrix, Y: Matrix) -> np.ndarray:
    """k(X, Y) by one call if the kernel takes matrices, which one pair of items tells."""
    from sklearn.metrics.pairwise import pairwise_kernels

    try:
        takes_matrices = np.shape(kernel(X[:1], Y[:1])) == (1, 1)
    except (ValueError, TypeError, IndexError):
        takes_matrices = False
    K = kernel(X, Y) if takes_matrices else None
    shape = (X.shape[0], Y.shape[0])
    return pairwise_kernels(X, Y, metric=kernel) if K is None or np.shape(K) != shape else K
