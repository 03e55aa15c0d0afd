"""What the learners on partitions share: lazy predictions, scores by sums, the local model."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.dask.cluster import Cluster, added, joined
from rankwise.dask.partition_layout import Facts, Layout, split_queries
from rankwise.dask.partitions import (
    Block,
    Items,
    as_blocks,
    check_block,
    check_rows,
    is_lazy,
    stacked,
    with_whole_rows,
)
from rankwise.dask.spread_scores import SpreadItems, Told, spread_codes
from rankwise.learners.ranker import Ranker
from rankwise.metrics.score_vectors import no_pair_to_order
from rankwise.model_selection.scoring import unit_values
from rankwise.numerics.threads import single_thread
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap, choose_basis
from rankwise.spaces.space import ReducedSpace
from rankwise.supervision.queries import check_scored_queries
from rankwise.supervision.supervision import Supervision


class PartitionedRanker(Ranker):
    """Mixed with a local learner: `predict` and `score` on partitions, and `to_local`."""

    _local_class: Any
    basis: Any

    @property
    def trained_on(self) -> tuple[int, int | None]:
        """The numbers of items and of queries of the last fit; None without qid."""
        check_is_fitted(self)
        return self._trained_on

    def to_local(self):
        """The same model as the local class, which can be saved and needs no Dask."""
        check_is_fitted(self)
        local = self._local_class(**self.get_params(deep=False))
        fitted: dict[str, Any] = deepcopy(self.__getstate__())
        del fitted["_trained_on"]
        vars(local).update(fitted)
        return local

    def _refuse_on_partitions(self) -> None:
        """Refuse what would need all items in one place."""
        if not Kernel.of(self).is_linear and self.basis is None:
            raise ValueError(
                f"kernel={self.kernel!r} without basis= needs the kernel matrix of all items, "
                "which no partition holds: choose a reduced set, for example basis=500."
            )

    def _set_layout(self, layout: Layout, qid: Any) -> None:
        """n_features_in_ and feature_names_in_, and how much was seen."""
        self._has_queries = qid is not None
        self._trained_on = (layout.n_items, layout.n_queries if layout.hashes else None)
        like_X: Any = np.empty((1, layout.n_features))
        if layout.names is not None:
            like_X = pd.DataFrame(like_X, columns=list(layout.names))
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        validate_data(self, like_X, reset=True, skip_check_array=True)

    def predict(self, X):
        """Lazy scores of X: a Dask array for a Dask array, a Dask series (a frame if there are
        several outputs) with the index of X for a Dask frame, and a list of delayed parts for a
        list of partitions. For any other X, an array."""
        check_is_fitted(self)
        if not is_lazy(X):
            return super().predict(X)
        local = self.to_local()
        if isinstance(X, da.Array):
            X = with_whole_rows(X)
            _check_width(local, X)
            shape = local.coefficients.shape[1:]
            return X.map_blocks(
                _predict,
                local,
                dtype=np.float64,
                chunks=(X.chunks[0], *((k,) for k in shape)),
                drop_axis=None if shape else [1],
                meta=np.empty((0,) * (1 + len(shape))),
                name=None,
            )
        if isinstance(X, dd.DataFrame):
            return X.map_partitions(_predict_frame, local, meta=_predict_frame(X._meta, local))
        predict = delayed(_predict, pure=False)
        model = delayed(local, pure=False, traverse=False)
        return [predict(part, model) for part in X]

    def score(self, X, y, qid=None, sample_weight=None) -> float:
        """1 − ranking error, averaged over queries (and over outputs), from sums over partitions.

        For the queries that lie in several partitions, and for all items without qid, y and
        predictions, 16 bytes per item and output, come to the client.
        """
        if not is_lazy(X):
            return super().score(X, y, qid=qid, sample_weight=sample_weight)
        check_is_fitted(self)
        if sample_weight is not None:
            raise ValueError("score takes no sample_weight: the measure counts pairs equally.")
        check_scored_queries(self.fitted_with_queries, None if qid is None else [], 0)
        blocks, cluster = as_blocks(X, y, qid), Cluster()
        judge = partial(cluster.reduce, blocks, _judged, (joined, added, joined), self.to_local())
        apart: list = [None] if qid is None else []
        facts, sums, parts = judge(apart)
        layout = Layout(facts)
        if split := split_queries(layout, blocks, cluster):
            apart = list(split)
            _, sums, parts = judge(apart)
        total, count = np.zeros((2, layout.n_outputs)) if sums is None else sums
        if parts:
            items = SpreadItems([told for told, _ in parts], len(apart)).supervision
            S = np.concatenate([scores for _, scores in parts])
            own_total, own_count = _sums_over_queries(items, S)
            total, count = total + own_total, count + own_count
        if not count.all():
            raise no_pair_to_order(qid is not None)
        return float(np.mean(total / count))


def _check_width(model: Ranker, X: da.Array) -> None:
    if not np.isnan(X.shape[1]) and X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )


def _predict(X: Any, model: Ranker) -> np.ndarray:
    if not X.shape[0]:
        return np.empty((0, *model.coefficients.shape[1:]))
    with single_thread():
        return model.predict(X)


def _predict_frame(X: pd.DataFrame, model: Ranker) -> pd.Series | pd.DataFrame:
    S = _predict(X, model)
    return (pd.Series if S.ndim == 1 else pd.DataFrame)(S, index=X.index)


def _judged(block: Block, number: int, model: Ranker, apart: list) -> tuple:
    """The facts of a partition; for each output the sum of the concordances of its queries, and how
    many have one; and y and predictions of its items of the queries `apart`."""
    items = check_block(block, number)
    facts = [Facts.of(block, items, number)]
    if items is None:
        return facts, None, []
    S, supervision, parts = _outputs_of(model, block, items), items.supervision, []
    codes = spread_codes(supervision.queries, block.qid is not None, apart)
    rows = np.flatnonzero(codes >= 0)
    if len(rows):
        parts = [(Told.of(number, codes[rows], supervision.take(rows)), S[rows])]
        rows = np.flatnonzero(codes < 0)
        S, supervision = S[rows], supervision.take(rows)
    sums = _sums_over_queries(supervision, S) if len(S) else None
    return facts, sums, parts


def _sums_over_queries(supervision: Supervision, S: np.ndarray) -> list[np.ndarray]:
    """For each output, the sum of the concordances of the queries, and how many have one."""
    values = unit_values(supervision.truths(), S[None], supervision.queries, None)[0]
    return [np.nansum(values, axis=0), np.count_nonzero(~np.isnan(values), axis=0)]


def _outputs_of(model: Ranker, block: Block, items: Items) -> np.ndarray:
    S = model.predict(block.X)
    S = S.reshape(len(S), -1)
    k = items.supervision.n_outputs
    if S.shape[1] != k:
        raise ValueError(f"the model predicts {S.shape[1]} outputs, y has {k}.")
    return S


def gather_reduced_space(
    model: Any, cluster: Cluster, blocks: list[Delayed], layout: Layout
) -> ReducedSpace:
    """The space over the basis items that the local class would choose.

    The rows of the basis come to the client in one pass over the partitions that hold some.
    """
    kernel = Kernel.of(model)
    index = choose_basis(model.basis, layout.n_items, model.random_state)
    if kernel.is_precomputed and layout.n_features != layout.n_items:
        raise ValueError(
            f"a precomputed kernel has as many columns as rows: X has {layout.n_features} columns "
            f"and {layout.n_items} rows."
        )
    owner = np.searchsorted(layout.first_rows, index, side="right") - 1
    inside = index - layout.first_rows[owner]
    wanted = {int(number): inside[owner == number] for number in np.unique(owner)}
    parts = cluster.reduce(blocks, _rows_of, joined, wanted, only=list(wanted))
    gathered = np.argsort(owner, kind="stable")
    rows = stacked(parts)[np.argsort(gathered)]
    return ReducedSpace(NystromMap(kernel, index).fit_basis(rows))


def _rows_of(block: Block, number: int, wanted: dict[int, np.ndarray]) -> list:
    return [check_rows(block.X)[wanted[number]]]
