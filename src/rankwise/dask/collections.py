"""What the learners on partitions share: lazy predictions, scores by sums, a way back."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted

from rankwise import metrics
from rankwise.dask.blocks import Block, as_blocks, check_block, is_lazy, rows_of
from rankwise.dask.cluster import Cluster
from rankwise.dask.equations import added
from rankwise.dask.proof import Facts, Layout, refuse_split, split_queries
from rankwise.exceptions import UndefinedMetric
from rankwise.learners.base import Ranker
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.numerics.threads import single_thread
from rankwise.validation import check_scored_queries


class LazyRanker(Ranker):
    """Beside a local learner: predict and score on partitions, `to_local`."""

    _local_class: Any
    basis: Any

    def to_local(self):
        """The same model as the local class, which can be saved and needs no Dask."""
        check_is_fitted(self)
        local = self._local_class(**self.get_params(deep=False))
        names = ("coef_", "dual_coef_", "basis_index_", "_X_basis", "_has_queries")
        names += ("_single_output", "n_iter_", "n_features_in_", "feature_names_in_")
        names += ("objective_", "gap_", "history_")
        for name in names:
            if name in vars(self):
                setattr(local, name, deepcopy(vars(self)[name]))
        if hasattr(local, "_single_output"):
            local._prepare(None, None)
            local._accumulated, local.n_iter_ = None, self.n_iter_
        return local

    def _refuse_exact_kernel(self) -> None:
        if self.kernel != "linear" and self.basis is None:
            raise ValueError(
                f"kernel={self.kernel!r} without basis= needs the kernel matrix of all items, "
                "which no partition holds: choose a reduced set, for example basis=500."
            )

    def predict(self, X):
        """Scores of X, lazily: a Dask array for a Dask array, a Dask series (or frame, with several
        outputs) with X's index for a Dask frame, a list of delayed parts for a list of partitions.
        An array for anything else."""
        check_is_fitted(self)
        if not is_lazy(X):
            return super().predict(X)
        local = self.to_local()
        if isinstance(X, da.Array):
            _check_width(local, X)
            columns = _n_outputs(local)
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            chunks = (X.chunks[0],) if columns is None else (X.chunks[0], (columns,))
            return X.map_blocks(
                _predict,
                local,
                dtype=np.float64,
                chunks=chunks,
                drop_axis=[1] if columns is None else None,
                meta=np.empty((0,) if columns is None else (0, 0)),
                name=None,
            )
        if isinstance(X, dd.DataFrame):
            return X.map_partitions(_predict_frame, local, meta=_predict_frame(X._meta, local))
        predict = delayed(_predict, pure=False)
        model = delayed(local, pure=False, traverse=False)
        return [predict(part, model) for part in X]

    def score(self, X, y, qid=None, sample_weight=None) -> float:
        """1 − ranking error, averaged over queries (and over outputs), from sums by partition.

        Queries must be whole within partitions; without qid the scores and predictions, 16 bytes
        an item and output, come to the client.
        """
        if not is_lazy(X):
            return super().score(X, y, qid=qid, sample_weight=sample_weight)
        check_is_fitted(self)
        if sample_weight is not None:
            raise ValueError("score takes no sample_weight: the measure counts pairs equally.")
        check_scored_queries(self._has_queries, None if qid is None else [], 0)
        blocks, cluster = as_blocks(X, y, qid), Cluster()
        task = _judged if qid is not None else _scored
        facts, parts = cluster.reduce(blocks, task, _merged_scores, self.to_local())
        layout = Layout(facts)
        if qid is None:
            Y, S = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
            return float(np.mean([metrics.concordance(a, b) for a, b in zip(Y.T, S.T)]))
        refuse_split(split_queries(layout, blocks, cluster), "")
        total, count = added(parts)
        if not count.all():
            raise UndefinedMetric("no query holds two values of y, so there is no pair to order.")
        return float(np.mean(total / count))


def _check_width(model, X: da.Array) -> None:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got X with {X.ndim} dimensions instead.")
    if not np.isnan(X.shape[1]) and X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )


def _n_outputs(model) -> int | None:
    """None for a single output."""
    if hasattr(model, "coef_"):
        return None if model.coef_.ndim == 1 else len(model.coef_)
    return None if model.dual_coef_.ndim == 1 else model.dual_coef_.shape[1]


def _predict(X, model):
    if not rows_of(X):
        columns = _n_outputs(model)
        return np.empty((0,) if columns is None else (0, columns))
    with single_thread():
        return model.predict(X)


def _predict_frame(X: pd.DataFrame, model) -> pd.Series | pd.DataFrame:
    S = _predict(X, model)
    return (pd.Series if S.ndim == 1 else pd.DataFrame)(S, index=X.index)


def as_array(lazy: list, sizes, columns: int | None) -> da.Array:
    """A Dask array of delayed parts."""
    shapes = [(size,) if columns is None else (size, columns) for size in sizes]
    parts = [da.from_delayed(d, shape, dtype=np.float64) for d, shape in zip(lazy, shapes)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _judged(block: Block, number: int, model):
    """(Σ over queries of their concordance, number of queries judged), an output each."""
    items = check_block(block, number)
    facts = [Facts.of(block, items, number)]
    if items is None:
        return facts, []
    S = _outputs_of(model, block, items)
    total, count = np.zeros(S.shape[1]), np.zeros(S.shape[1])
    for j in range(S.shape[1]):
        pairs, right = concordant_pairs(items.Y[:, j], S[:, [j]], items.queries)
        some = pairs > 0
        total[j], count[j] = (right[some, 0] / pairs[some]).sum(), some.sum()
    return facts, [[total, count]]


def _scored(block: Block, number: int, model):
    items = check_block(block, number)
    facts = [Facts.of(block, items, number)]
    return facts, [] if items is None else [(items.Y, _outputs_of(model, block, items))]


def _outputs_of(model, block: Block, items) -> np.ndarray:
    S = model.predict(block.X)
    S = S.reshape(len(S), -1)
    if S.shape != items.Y.shape:
        raise ValueError(f"the model predicts {S.shape[1]} outputs, y has {items.Y.shape[1]}.")
    return S


def _merged_scores(pairs: list):
    facts = [each for some, _ in pairs for each in some]
    return facts, [part for _, parts in pairs for part in parts]
