"""The two kinds of matrices that hold items, and how one becomes the other."""

from __future__ import annotations

import numpy as np
from scipy import sparse

Matrix = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense array or a CSR matrix."""


def dense(X: Matrix) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
