"""What model files of earlier versions hold, turned into the objects of today.

rankwise.io.model_schemas names these functions by their import path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import KernelPart
from rankwise.spaces.nystrom_map import NystromMap
from rankwise.supervision.supervision import ComparedItems, ScoredItems


def scored_items(Y: Any, queries: Any, weight: Any, **_: Any) -> ScoredItems:
    """The loss, which older files hold too, is an argument of the learner."""
    return ScoredItems(Y, queries, weight)


def compared_items(preferences: Any, queries: Any, weight: Any, **_: Any) -> ComparedItems:
    return ComparedItems(preferences, queries, weight)


def kernel_map(state: dict[str, Any]) -> dict[str, Any]:
    """Older files hold the parts of the map as attributes of KernelMap."""
    if "_map" in state or "basis_index_" not in state:  # of today, or not fitted
        return state
    own = {name: value for name, value in state.items() if not name.startswith("_")}
    parameters = (own[name] for name in ("kernel", "gamma", "degree", "coef0"))
    map = NystromMap(Kernel(*parameters), own["basis_index_"], exact=own["basis"] is None)
    map.embedding = own.pop("embedding_")
    parts = {name.removeprefix("_"): state[name] for name in state.keys() - own.keys()}
    eigenvalues, Q = parts.pop("eigenvalues"), parts.pop("Q")
    map.basis_features = Q * np.sqrt(eigenvalues)
    for name in ("X_basis", "K_MR", "scale", "basis_to_features"):
        setattr(map, name, parts.get(name))
    return {**own, "_map": map}


def kernel_parts(kernel: str, parameters: dict[str, Any]) -> list[KernelPart]:
    """The kernels of nodes: older files hold the name and the parameters of one."""
    return [KernelPart(Kernel(kernel, **parameters))]
