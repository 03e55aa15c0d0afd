"""Leave-query-out on partitions: a pass with the spectrum sent out, of which only sums return."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from dask.delayed import delayed

from rankwise.dask.blocks import Block, Items, check_block
from rankwise.dask.collections import as_array
from rankwise.dask.equations import Plan, added, decomposed, equations, whole_queries
from rankwise.exceptions import TooLarge, UndefinedMetric
from rankwise.holdout.quadratic_holdouts import LEVERAGE, QuadraticFit
from rankwise.losses.least_squares import PairwiseScores, normal_equations
from rankwise.model_selection.scoring import unit_values
from rankwise.numerics.threads import single_thread
from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.spaces.basis_removal import BasisRemoval
from rankwise.spaces.matrix import Features

MOST_BYTES = 2e9
"""The sums of single partitions, needed where alpha is tiny, take no more than this."""


class _NeedsRest(Exception):
    """A held-out query can only be left out by adding up everything else anew."""


class PartitionFit(QuadraticFit):
    """The whole problem as a partition sees it: its own rows, everybody's spectrum."""

    matrix: Any
    supervision: Any
    spectrum: Any

    def __init__(self, matrix: Features, scores: PairwiseScores, spectrum, rest):
        self.matrix, self.supervision = matrix, scores
        self.offset, self.centred = None, False
        self.quadratic = scores.quadratic()
        self.spectrum = copy(spectrum)
        self.spectrum.F, self.spectrum.quadratic = matrix.F, self.quadratic
        self._rest = rest

    def nothing_left(self, items) -> bool:
        return False

    def _spectrum_without(self, items) -> PrimalSpectrum:
        if self._rest is None:
            raise _NeedsRest
        sums = [np.array(each) for each in self._rest]
        staying = np.setdiff1d(np.arange(self.n_items), items)
        if len(staying):
            grams, moments = normal_equations(
                self.matrix.F[staying], self.supervision.take(staying)
            )
            sums = added([sums, [grams[0], moments]])
        return PrimalSpectrum.of_sums(*sums)


class LeaveQueryOut:
    """Held-out predictions and their scores for a fitted problem."""

    def __init__(self, problem, single: bool):
        self._problem, self._single = problem, single
        layout = problem.layout
        if not problem.has_queries or layout.n_queries < 2:
            raise ValueError(
                "leave_query_out needs a model fitted with qid of two or more queries."
            )
        self._starts = np.concatenate(([0], np.cumsum(layout.sizes)))
        self._shared = (problem.plan, [(c, s) for c, s in problem.spectra])

    def predictions(self, alpha: float):
        """A lazy Dask array."""
        alphas = [float(alpha)]
        flagged = [] if self._is_safe(alphas) else self._flagged(alphas)
        rests, spread = self._rests(flagged), self._without_spread(alphas)
        task = delayed(_predictions, pure=False)
        shared = delayed((*self._shared, alphas, self._starts, spread), pure=False, traverse=False)
        lazy = [
            task(block, number, shared, rests.get(number), self._single)
            for number, block in enumerate(self._problem.blocks)
        ]
        columns = None if self._single else self._problem.layout.n_outputs
        return as_array(lazy, self._problem.layout.sizes.tolist(), columns)

    def scores(self, alphas, scoring) -> dict[str, np.ndarray]:
        if self._problem.plan.spread:
            raise ValueError(
                "a query that is spread over partitions cannot be judged from sums: compute "
                "leave_query_out() and score it."
            )
        shared = (*self._shared, alphas, self._starts)
        blocks, cluster = self._problem.blocks, self._problem.cluster
        numbers = list(range(len(blocks)))
        flagged, sums = cluster.reduce(
            blocks, _scores, _merged, *shared, numbers, [None] * len(blocks), scoring
        )
        if flagged:
            rests = self._rests(flagged)
            again = [blocks[number] for number in flagged]
            given = [rests[number] for number in flagged]
            _, more = cluster.reduce(again, _scores, _merged, *shared, flagged, given, scoring)
            sums = added([sums, more])
        return _table(alphas, sums)

    def _is_safe(self, alphas) -> bool:
        """No leverage can exceed λ₁/(λ₁ + alpha)."""
        spectra = self._problem.spectra
        largest = max(float(s.eigenvalues.max(initial=0.0)) for _, s in spectra)
        return min(alphas) >= 2 * LEVERAGE * largest

    def _flagged(self, alphas) -> list[int]:
        blocks = self._problem.blocks
        shared = (*self._shared, alphas, self._starts, list(range(len(blocks))))
        rests: list = [None] * len(blocks)
        return self._problem.cluster.reduce(blocks, _scores, _merged, *shared, rests, None)[0]

    def _rests(self, flagged: list[int]) -> dict[int, list]:
        """For every flagged partition the sums of all others, an entry each group of outputs."""
        if not flagged:
            return {}
        problem = self._problem
        n = len(problem.spectra[0][1].V)
        if 8.0 * n * n * len(problem.blocks) * len(problem.spectra) > MOST_BYTES:
            raise TooLarge(
                "alpha is so small beside the data that leaving a query out needs the sums of "
                f"every partition by itself, {len(problem.blocks)} times {n} x {n}: raise alpha."
            )
        each = problem.cluster.reduce(problem.blocks, _own_sums, _listed, problem.plan)
        rests = {}
        for number in flagged:
            others = [sums for i, sums in enumerate(each) if i != number]
            total = added([*others, *problem.spread_sums])
            if total is None:
                zeros = [np.zeros((n, n))] * len(problem.spectra)
                total = [*zeros, np.zeros((n, problem.layout.n_outputs))]
            rests[number] = [
                [total[g], total[-1][:, columns]] for g, (columns, _) in enumerate(problem.spectra)
            ]
        return rests

    def _without_spread(self, alphas) -> list[np.ndarray]:
        """For every spread query the (a, n, k) weights of the model without it."""
        problem, found = self._problem, []
        for left in range(len(problem.spread_sums)):
            others = [s for i, s in enumerate(problem.spread_sums) if i != left]
            sums = added([problem.whole_sums, *others])
            k = problem.layout.n_outputs
            W = np.empty((len(alphas), len(sums[-1]), k))
            normals, values = None, 0.0
            if problem.space is not None:
                normals, values = self._removal_of(problem.plan.spread[left])
            for columns, spectrum in decomposed(sums, k):
                for i, alpha in enumerate(alphas):
                    solution = spectrum.resolvent(alpha, normals, values).solve(spectrum.moments)
                    W[i][:, columns] = spectrum.expand(solution)
            found.append(W)
        return found

    def _removal_of(self, label):
        """The constraints that remove the basis items of a spread query."""
        problem = self._problem
        removal = problem.space.map.removal()
        shared = (problem.plan, label, self._starts, removal.items)
        items = problem.cluster.reduce(problem.blocks, _basis_items, _concatenated, *shared)
        return removal.of(items)


def _basis_items(block: Block, number: int, plan: Plan, label, starts, basis) -> np.ndarray:
    items = check_block(block, number)
    if items is None:
        return np.zeros(0, dtype=np.int64)
    rows = plan.spread_rows(block, items)[plan.spread.index(label)] + starts[number]
    return rows[np.isin(rows, basis)]


def _concatenated(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts)


def held_out(plan, spectra, alphas, numbers, rest, items: Items) -> np.ndarray:
    """(a, m, k) predictions of whole queries' items, each without its query.

    `numbers` are the items' row numbers in the whole data, in ascending order.
    """
    matrix = Features(plan.features(items.X))
    if plan.map is not None:
        found = plan.map.removal()
        place = np.minimum(np.searchsorted(numbers, found.items), len(numbers) - 1)
        place = np.where(numbers[place] == found.items, place, -1)
        matrix.removal = BasisRemoval(place, found.normals, found.redundancy)
        matrix.in_basis[place[place >= 0]] = True
    cost = (plan.loss, plan.ties, plan.by_query)
    out = np.empty((len(alphas), len(numbers), items.Y.shape[1]))
    for g, (columns, spectrum) in enumerate(spectra):
        scores = PairwiseScores(items.Y[:, columns], items.queries, items.weight, *cost)
        fit = PartitionFit(matrix, scores, spectrum, None if rest is None else rest[g])
        out[:, :, columns] = fit.leave_groups_out(list(items.queries), alphas)
    return out


def _predictions(block: Block, number: int, shared, rest, single: bool) -> np.ndarray:
    plan, spectra, alphas, starts, without = shared
    items = check_block(block, number)
    k = sum(len(columns) for columns, _ in spectra)
    if items is None:
        return np.empty((0,) if single else (0, k))
    out, rows = np.empty((items.X.shape[0], k)), np.arange(items.X.shape[0])
    with single_thread():
        for W, spread in zip(without, plan.spread_rows(block, items)):
            out[spread] = plan.features(items.X[spread]) @ W[0] if len(spread) else 0.0
            rows = np.setdiff1d(rows, spread)
        whole = whole_queries(plan, block, items)
        if whole is not None:
            numbers = starts[number] + rows
            out[rows] = held_out(plan, spectra, alphas, numbers, rest, whole)[0]
    return out[:, 0] if single else out


def _scores(block, place, plan, spectra, alphas, starts, numbers, rests, scoring):
    """(partitions that need the sums of all others, sums of the measure over queries)."""
    number = numbers[place]
    items = check_block(block, number)
    items = None if items is None else whole_queries(plan, block, items)
    if items is None:
        return [], None
    rows = np.arange(items.X.shape[0]) + starts[number]
    try:
        predictions = held_out(plan, spectra, alphas, rows, rests[place], items)
    except _NeedsRest:
        return [number], None
    values = unit_values(items.Y, predictions, items.queries, scoring)
    defined = (~np.isnan(values)).astype(float)
    values = np.where(defined > 0, values, 0.0)
    return [], [
        np.einsum("auj,aul->ajl", first, second)
        for first, second in ((defined, defined), (values, defined), (values, values))
    ]


def _merged(pairs: list):
    return [n for flagged, _ in pairs for n in flagged], added([sums for _, sums in pairs])


def _table(alphas, sums) -> dict[str, np.ndarray]:
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
    k = mean.shape[1]
    error = np.sqrt(np.maximum(squares.sum(axis=(1, 2)), 0.0)) / k
    return {"alpha": np.asarray(alphas), "score": mean.mean(axis=1), "score_se": error}


def _own_sums(block: Block, number: int, plan: Plan) -> list:
    return [equations(block, number, plan).sums]


def _listed(lists: list[list]) -> list:
    return [each for some in lists for each in some]
