"""64-bit hashes of query labels. They agree between processes, and for equal labels of any type."""

from __future__ import annotations

import numbers

import numpy as np
from pandas.util import hash_array

EXACT_INTEGERS = 2.0**63


def label_hashes(labels: np.ndarray) -> np.ndarray:
    """(q,) uint64; 1, 1.0, True and the ones of NumPy are equal, so their hashes are equal."""
    labels = np.asarray(labels)
    kind = labels.dtype.kind
    if kind in "iub":
        return _mixed(labels.astype(np.uint64) if kind == "u" else labels.astype(np.int64))
    if kind == "f":
        labels = labels.astype(np.float64)
        whole = (np.floor(labels) == labels) & (np.abs(labels) < EXACT_INTEGERS)
        bits = (labels + 0.0).view(np.uint64) ^ np.uint64(0x5BD1E995)
        integers = np.where(whole, labels, 0.0).astype(np.int64).view(np.uint64)
        return _mixed(np.where(whole, integers, bits))
    if kind in "US":
        return hash_array(labels.astype(object), categorize=False)
    if kind in "mM":
        return hash_array(np.array([repr(label) for label in labels], dtype=object))
    return np.array([_object_hash(label) for label in labels], dtype=np.uint64)


def _object_hash(label: object) -> np.uint64:
    if isinstance(label, str | bytes):
        return hash_array(np.array([label], dtype=object), categorize=False)[0]
    if isinstance(label, bool | np.bool_ | numbers.Integral):
        if not -(2**63) <= int(label) < 2**63:
            return hash_array(np.array([repr(int(label))], dtype=object), categorize=False)[0]
        return label_hashes(np.array([int(label)], dtype=np.int64))[0]
    if isinstance(label, numbers.Real):
        return label_hashes(np.array([float(label)]))[0]
    return hash_array(np.array([repr(label)], dtype=object), categorize=False)[0]


def _mixed(values: np.ndarray) -> np.ndarray:
    """The last step of splitmix64, which sends neighbouring numbers far apart."""
    z = values.view(np.uint64).copy()
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
