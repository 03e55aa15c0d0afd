"""The two kinds of matrices that hold items, and how one becomes the other."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense array or a CSR matrix."""


def dense(X: Matrix) -> np.ndarray:
    return np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()
