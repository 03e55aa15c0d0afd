"""Synthetic data of the size and dependence of paper III of Airola 2011, section 4.

There are about 600 groups (sentences) of at most 20 items (parses), 9856 in total. Items of the
same group are more similar than items of different groups, and share a part of their score. The
kernel is Gaussian.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import Bunch

ITEMS, GROUPS, LARGEST = 9856, 600, 20
KERNEL = {"kernel": "rbf", "gamma": 0.01}
SIZES = (598, 1181, 1742, 2297)
"""The paper's |R|: 1 to 4 basis items per group, fewer if a group is smaller."""


def make(items: int = ITEMS, groups: int = GROUPS, seed: int = 0) -> Bunch:
    """X, y in [0, 1] and the group of every item."""
    rng = np.random.default_rng(seed)
    sizes = np.full(groups, LARGEST)
    while sizes.sum() > items:
        some = rng.integers(groups)
        sizes[some] -= sizes[some] > 1
    qid = np.repeat(np.arange(groups), sizes)
    centre, within = rng.normal(size=(groups, 30)), rng.normal(size=(items, 30))
    X = centre[qid] + 0.5 * within
    direction = rng.normal(size=30) / np.sqrt(30)
    quality = np.tanh(X @ direction) + 0.7 * rng.normal(size=groups)[qid]
    y = 1 / (1 + np.exp(-(quality + 0.3 * rng.normal(size=items))))
    return Bunch(X=X, y=y, qid=qid)


def basis(qid: np.ndarray, size: int, seed: int = 0) -> np.ndarray:
    """`size` items, spread over the groups as evenly as possible."""
    rng = np.random.default_rng([seed, size])
    order = rng.permutation(len(qid))
    turn = np.empty(len(qid), dtype=int)
    for group in np.unique(qid):
        members = order[qid[order] == group]
        turn[members] = np.arange(len(members))
    return np.sort(order[np.argsort(turn[order], kind="stable")][:size])


def similarities(found: Bunch, gamma: float) -> tuple[float, float]:
    """Mean kernel values within and between groups, over the first 2000 items."""
    some = slice(0, 2000)
    K = rbf_kernel(found.X[some], gamma=gamma)
    same = found.qid[some, None] == found.qid[None, some]
    return float(K[same].mean()), float(K[~same].mean())
