"""Leave-query-out on partitions: the decomposition goes to the workers, and only sums return."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from rankwise.dask.cluster import added, joined
from rankwise.dask.normal_equations import Plan, Spectra, Sums, equations
from rankwise.dask.partitioned_problem import PartitionedProblem
from rankwise.dask.partitions import Block, Items, check_block
from rankwise.dask.recomputed_bases import Refits, refits_without_basis
from rankwise.exceptions import TooLarge, UndefinedMetric
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from rankwise.holdout.small_holdouts import LEVERAGE
from rankwise.losses.pair_losses import PairLoss
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.model_selection.scoring import unit_values
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.threads import single_thread
from rankwise.solvers.spectrum import PrimalSpectrum
from rankwise.spaces.space import Features, ItemMatrix
from rankwise.supervision.supervision import Supervision

MOST_BYTES = 2e9
"""The sums of single partitions, which a tiny alpha needs, take no more than this."""

Rest = list[Sums]
"""For each group of outputs, XᵀLX and Xᵀb of all other partitions."""


class _NeedsRest(Exception):
    """A query can only be left out by adding up the sums of everything else."""


class PartitionHoldouts(QuadraticHoldouts):
    """The problem of all partitions as one of them sees it: its own items, the common spectrum."""

    spectrum: PrimalSpectrum

    def __init__(
        self,
        matrix: Features,
        supervision: Supervision,
        loss: PairLoss,
        spectrum: PrimalSpectrum,
        rest: Sums | None,
    ):
        self.matrix, self.supervision, self.loss = matrix, supervision, loss
        # No rule: even if there is one query here, it is not the only one of the problem.
        self.offset = self.rule = None
        self.quadratic = loss.quadratic(supervision)
        self.spectrum = spectrum.with_items(matrix.F, self.quadratic)
        self._rest = rest

    def leaves_nothing(self, items: np.ndarray) -> bool:
        """The other partitions always stay."""
        return False

    def spectrum_without(self, items: np.ndarray, matrix: ItemMatrix) -> PrimalSpectrum:
        if self._rest is None:
            raise _NeedsRest
        sums: Sums | None = None
        staying = np.setdiff1d(np.arange(self.n_items), items)
        if len(staying):
            assert isinstance(matrix, Features)
            kept = self.supervision.take(staying)
            grams, moments = self.loss.normal_equations(matrix.F[staying], kept)
            sums = [*grams, moments]
        return PrimalSpectrum.of_sums(*added([self._rest, sums]))


@dataclass
class QueryHoldouts:
    """What a worker needs to leave out each query that is whole in its partition."""

    plan: Plan
    spectra: Spectra
    first_rows: np.ndarray
    alphas: np.ndarray
    refits: Refits
    """Queries with basis items that no update removes."""

    def predictions(self, items: Items, number: int, rest: Rest | None) -> np.ndarray:
        """(a, m, k) each item of partition `number` predicted without its query."""
        plan, supervision = self.plan, items.supervision
        rows = self.first_rows[number] + items.rows
        removal = None if plan.map is None else plan.map.removal().seen_from(rows)
        matrix = Features(plan.features(items.X), removal)
        out = np.empty((len(self.alphas), items.n_items, supervision.n_outputs))
        queries = []
        for label, members in zip(supervision.queries.labels, supervision.queries):
            if label in self.refits:
                out[:, members] = self.refitted(items.X[members], label)
            else:
                queries.append(members)
        for g, (columns, spectrum) in enumerate(self.spectra if queries else []):
            own = supervision.select_outputs(columns)
            others = None if rest is None else rest[g]
            holdouts = PartitionHoldouts(matrix, own, plan.loss, spectrum, others)
            found = holdouts.leave_groups_out(queries, self.alphas)
            for members in queries:
                out[np.ix_(np.arange(len(out)), members, columns)] = found[:, members]
        return out

    def refitted(self, X: Matrix, label: Any) -> np.ndarray:
        """(a, m, k) scores of items by the models without one of the queries in `refits`."""
        map = self.plan.map
        assert map is not None
        K = map.kernel.between(X, map.basis_index, map.X_basis)
        return np.tensordot(K, self.refits[label], 1).swapaxes(0, 1)


class LeaveQueryOut:
    """Predictions for held-out queries, and their scores."""

    def __init__(self, problem: PartitionedProblem):
        if problem.compared is not None:
            raise ValueError(
                "leave_query_out on partitions is for scores y: fit rankwise.RankRLS on a part "
                "that one machine holds to choose alpha for preferences."
            )
        if problem.spectra is None:
            raise ValueError(
                'leave_query_out needs the sums that solver="cg" avoids: use solver="spectral".'
            )
        if not problem.has_queries or problem.layout.n_queries < 2:
            raise ValueError(
                "leave_query_out needs a model fitted with qid of two or more queries."
            )
        self._problem, self._spectra = problem, problem.spectra
        self._shared = (problem.plan, problem.spectra, problem.layout.first_rows)

    def predictions(self, alpha: float) -> da.Array:
        """A lazy array with the partitions of the problem."""
        layout = self._problem.layout
        refits = refits_without_basis(self._problem, np.array([alpha]))
        holdouts = QueryHoldouts(*self._shared, np.array([alpha]), refits)
        largest = max(spectrum.eigenvalues.max(initial=0.0) for _, spectrum in self._spectra)
        is_safe = alpha >= 2 * LEVERAGE * largest  # no leverage can exceed λ₁/(λ₁ + alpha)
        rests = self._rests([] if is_safe else self._sums(holdouts, None)[0])
        given = (holdouts, self._without_spread(alpha, refits), layout.single)
        shared = delayed(given, pure=False, traverse=False)
        task, outputs = (
            delayed(_predictions, pure=False),
            () if layout.single else (layout.n_outputs,),
        )
        parts = []
        for number, size in enumerate(layout.sizes.tolist()):
            lazy = task(self._problem.blocks[number], number, shared, rests.get(number))
            parts.append(da.from_delayed(lazy, (size, *outputs), dtype=np.float64))
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    def scores(self, alphas: np.ndarray, scoring: Scoring) -> dict[str, np.ndarray]:
        """{"alpha", "score", "score_se"}, from sums over queries."""
        if self._problem.plan.spread:
            raise ValueError(
                "a query that is spread over partitions cannot be judged from sums: compute "
                "leave_query_out() and score it."
            )
        if getattr(read_scoring(scoring), "needs_highest_grade", False):
            raise ValueError(
                "a partition does not know the best grade of all: give it, as in "
                'rankwise.metrics.scorer("err", highest=4).'
            )
        refits = refits_without_basis(self._problem, alphas)
        holdouts = QueryHoldouts(*self._shared, alphas, refits)
        flagged, sums = self._sums(holdouts, scoring)
        if flagged:
            sums = added([sums, self._sums(holdouts, scoring, self._rests(flagged))[1]])
        return _table(alphas, sums)

    def _sums(
        self, holdouts: QueryHoldouts, scoring: Scoring, rests: dict[int, Rest] | None = None
    ) -> tuple[list[int], list[np.ndarray] | None]:
        """The flagged partitions, which need the sums of all others, and the sums of the measures
        of the other partitions. With `rests`, only the partitions in it are judged."""
        return self._problem.cluster.reduce(
            self._problem.blocks,
            _scores,
            (joined, added),
            *(holdouts, rests or {}, scoring),
            only=None if rests is None else list(rests),
        )

    def _rests(self, flagged: list[int]) -> dict[int, Rest]:
        """For each flagged partition, the sums of all other partitions."""
        if not flagged:
            return {}
        problem = self._problem
        n, k = len(self._spectra[0][1].V), problem.layout.n_outputs
        if 8.0 * n * n * len(problem.blocks) * len(self._spectra) > MOST_BYTES:
            raise TooLarge(
                "alpha is so small compared with the data that leaving a query out needs the sums "
                f"of every partition on its own, {len(problem.blocks)} times {n} x {n}: raise "
                "alpha."
            )
        sums = problem.cluster.reduce(problem.blocks, _own_sums, joined, problem.plan)
        nothing = [*[np.zeros((n, n))] * len(self._spectra), np.zeros((n, k))]
        rests = {}
        for number in flagged:
            others = [each for i, each in enumerate(sums) if i != number]
            *grams, moments = added([nothing, *others, *problem.spread_sums])
            groups = (columns for columns, _ in self._spectra)
            rests[number] = [[G, moments[:, columns]] for G, columns in zip(grams, groups)]
        return rests

    def _without_spread(self, alpha: float, refits: Refits) -> list[np.ndarray | None]:
        """For each spread query, the (n, k) weights of the model without it; None if it is among
        `refits`."""
        problem = self._problem
        weights: list[np.ndarray | None] = []
        for query, label in zip(range(len(problem.spread_sums)), problem.plan.spread):
            if label in refits:
                weights.append(None)
                continue
            others = [sums for i, sums in enumerate(problem.spread_sums) if i != query]
            sums = added([problem.whole_sums, *others])
            constraints = self._constraints_without(query)
            W = np.empty_like(sums[-1])
            for columns, spectrum in problem.plan.decompose(sums):
                solution = spectrum.resolvent(alpha, *constraints).solve(spectrum.moments)
                W[:, columns] = spectrum.model(solution, alpha)
            weights.append(W)
        return weights

    def _constraints_without(self, query: int) -> tuple[np.ndarray | None, np.ndarray | float]:
        """The constraints that remove the basis items of a spread query."""
        problem = self._problem
        if problem.space is None:
            return None, 0.0
        shared = (problem.plan, query, problem.layout.first_rows)
        items = problem.cluster.reduce(problem.blocks, _basis_items, joined, *shared)
        return problem.space.map.removal().of(np.array(items))


def _basis_items(
    block: Block, number: int, plan: Plan, query: int, first_rows: np.ndarray
) -> list[int]:
    """The basis items of a spread query in this partition."""
    part = plan.split(block, check_block(block, number))[1][query]
    if part is None or plan.map is None:
        return []
    return np.intersect1d(part.rows + first_rows[number], plan.map.basis_index).tolist()


def _predictions(block: Block, number: int, shared: tuple, rest: Rest | None) -> np.ndarray:
    holdouts, without_spread, single = shared
    items = check_block(block, number)
    if items is None:
        k = sum(len(columns) for columns, _ in holdouts.spectra)
        return np.empty((0,) if single else (0, k))
    out = np.empty((items.n_items, items.supervision.n_outputs))
    with single_thread():
        whole, parts = holdouts.plan.split(block, items)
        for label, W, part in zip(holdouts.plan.spread, without_spread, parts):
            if part is not None and W is None:
                out[part.rows] = holdouts.refitted(part.X, label)[0]
            elif part is not None:
                out[part.rows] = holdouts.plan.features(part.X) @ W
        if whole is not None:
            out[whole.rows] = holdouts.predictions(whole, number, rest)[0]
    return out[:, 0] if single else out


def _scores(
    block: Block, number: int, holdouts: QueryHoldouts, rests: dict[int, Rest], scoring: Scoring
) -> tuple[list[int], list[np.ndarray] | None]:
    """[number] if the partition needs the sums of all others. Otherwise three (a, k, k) sums over
    its queries, for each pair of outputs: how often both are defined, and the first and second
    moments of their measures."""
    whole, _ = holdouts.plan.split(block, check_block(block, number))
    if whole is None:
        return [], None
    try:
        predictions = holdouts.predictions(whole, number, rests.get(number))
    except _NeedsRest:
        return [number], None
    values = _query_values(whole.supervision, predictions, scoring)
    defined = (~np.isnan(values)).astype(float)
    values = np.where(defined > 0, values, 0.0)
    pairs = ((defined, defined), (values, defined), (values, values))
    return [], [np.einsum("auj,aul->ajl", first, second) for first, second in pairs]


def _query_values(
    supervision: Supervision, predictions: np.ndarray, scoring: Scoring
) -> np.ndarray:
    """(a, queries, k) values of the measure, nan for queries with nothing to judge.

    `unit_values` refuses a single unit with nothing to judge, but here it is one query of many.
    """
    truths, queries = supervision.truths(), supervision.queries
    if len(queries) > 1:
        return unit_values(truths, predictions, queries, scoring)
    values = np.full((len(predictions), 1, len(truths)), np.nan)
    for j, y in enumerate(truths):
        with suppress(UndefinedMetric):
            values[:, :, [j]] = unit_values([y], predictions[:, :, [j]], queries, scoring)
    return values


def _table(alphas: np.ndarray, sums: list[np.ndarray] | None) -> dict[str, np.ndarray]:
    """Mean over queries and outputs, and its standard error, from first and second moments."""
    if sums is None or not np.einsum("ajj->aj", sums[0]).all():
        raise UndefinedMetric(
            "cross-validation found nothing to judge: no held-out query has a pair of items with "
            "different scores."
        )
    together, crossed, products = sums
    count = np.einsum("ajj->aj", together)
    mean = np.einsum("ajj->aj", crossed) / count
    with np.errstate(divide="ignore"):
        correction = np.where(count > 1, 1.0 / np.sqrt(count * (count - 1.0)), np.nan)
    centred = products - crossed * mean[:, None, :] - crossed.swapaxes(1, 2) * mean[:, :, None]
    centred += together * mean[:, :, None] * mean[:, None, :]
    squares = centred * correction[:, :, None] * correction[:, None, :]
    error = np.sqrt(np.maximum(squares.sum(axis=(1, 2)), 0.0)) / mean.shape[1]
    return {"alpha": np.asarray(alphas), "score": mean.mean(axis=1), "score_se": error}


def _own_sums(block: Block, number: int, plan: Plan) -> list[Sums | None]:
    return [equations(block, number, plan)[1]]
