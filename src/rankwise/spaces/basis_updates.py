"""Basis items that join or leave an empirical kernel map, O(r²) each.

The map T of a basis has T Tᵀ = K_RR⁻¹. A new item appends one feature, that part of its kernel
function which the others do not span. An item leaves by a reflection H after which only the last
feature depends on it: the last row of T H is zero but for its last entry.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.nystrom_map import NystromMap

SPANNED = 1e-10
"""An item adds nothing to a basis if a smaller share of its squared norm is new."""


def with_basis_item(
    map: NystromMap, index: int, row: Matrix
) -> tuple[NystromMap, np.ndarray, float]:
    """The map with one more basis item, c and ρ: its feature is (k(x, item) − F c)/ρ.

    ValueError if the item is a combination of the basis items, to rounding.
    """
    assert map.X_basis is not None
    alone = np.array([0])
    k = map.kernel.between(row, map.basis_index, map.X_basis)[0]
    square = float(map.kernel.between(row, alone, row)[0, 0])
    T = map.basis_to_features
    c = T.T @ k
    rest = square - float(c @ c)
    if rest <= SPANNED * square:
        raise ValueError(
            f"item {index} is a combination of the basis items, up to rounding: it adds nothing."
        )
    rho, norm = np.sqrt(rest), np.sqrt(square)
    r, d = T.shape
    larger = NystromMap(map.kernel, np.append(map.basis_index, index))
    larger.X_basis = stack_rows(map.X_basis, row)
    larger.scale = np.append(map.scale, norm)
    larger.basis_to_features = np.zeros((r + 1, d + 1))
    larger.basis_to_features[:r, :d] = T
    larger.basis_to_features[:r, d] = -(T @ c) / rho
    larger.basis_to_features[r, d] = 1.0 / rho
    larger.basis_features = np.zeros((r + 1, d + 1))
    larger.basis_features[:r, :d] = map.basis_features
    larger.basis_features[r] = np.append(c, rho) / norm
    return larger, c, rho


def without_basis_item(map: NystromMap, position: int) -> tuple[NystromMap, np.ndarray]:
    """The map without one basis item, and v of the reflection that precedes the cut."""
    assert map.X_basis is not None
    if map.is_singular:
        raise ValueError(
            "some basis items are combinations of others, up to rounding, so that none can leave "
            "by an update: fit again with the basis= that you want."
        )
    staying = np.delete(np.arange(len(map.basis_index)), position)
    t = map.basis_to_features[position]
    v = t.copy()
    v[-1] += np.copysign(np.linalg.norm(t), t[-1] if t[-1] else 1.0)
    smaller = NystromMap(map.kernel, map.basis_index[staying])
    smaller.X_basis, smaller.scale = map.X_basis[staying], map.scale[staying]
    smaller.basis_to_features = _reflected(map.basis_to_features[staying], v)[:, :-1]
    smaller.basis_features = _reflected(map.basis_features[staying], v)[:, :-1]
    return smaller, v


def _reflected(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    return A - np.outer((2.0 / float(v @ v)) * (A @ v), v)


def stack_rows(X: Matrix, more: Matrix) -> Matrix:
    return sparse.vstack([X, more], format="csr") if sparse.issparse(X) else np.vstack([X, more])
