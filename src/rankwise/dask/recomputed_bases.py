"""Queries that leave with basis items which a nearly singular reduced set cannot lose by an update.

The local class computes the map again without these basis items and trains on the other queries.
Here the workers do the same: they embed their items with the smaller map and send the sums of the
normal equations. One pass serves several queries; it costs as many embeddings of the data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.dask.cluster import added, joined
from rankwise.dask.normal_equations import Plan, Sums, equations
from rankwise.dask.partitioned_problem import PartitionedProblem
from rankwise.dask.partitions import Block
from rankwise.supervision.queries import Queries

PASS_BYTES = 2e8
"""The maps that one pass sends out, and the sums that come back, take about this much."""

Refits = dict[Any, np.ndarray]
"""For the label of a query, (r, a, k) coefficients of all basis items of the models without it."""


def refits_without_basis(problem: PartitionedProblem, alphas: np.ndarray) -> Refits:
    """The models without each query whose basis items can only leave by computing the map again."""
    held_out = _queries_to_refit(problem)
    refits: Refits = {}
    if not held_out:
        return refits
    map, layout = problem.plan.map, problem.layout
    assert map is not None
    r, n_groups = len(map.basis_index), len(problem.plan.loss.equation_groups(layout.n_outputs))
    step = max(1, int(PASS_BYTES / (8 * r * (layout.n_features + (2 + n_groups) * r))))
    labels = list(held_out)
    for low in range(0, len(labels), step):
        chosen = labels[low : low + step]
        plans = [_plan_without(problem.plan, label, held_out[label]) for label in chosen]
        for label, plan, sums in zip(chosen, plans, _sums_of(problem, plans)):
            assert plan.map is not None
            refits[label] = np.zeros((r, len(alphas), layout.n_outputs))
            for columns, spectrum in plan.decompose(sums):
                weights = spectrum.path(alphas).swapaxes(0, 1)
                dual = np.tensordot(plan.map.basis_to_features, weights, 1)
                refits[label][np.ix_(~held_out[label], np.arange(len(alphas)), columns)] = dual
    return refits


def _queries_to_refit(problem: PartitionedProblem) -> dict[Any, np.ndarray]:
    """The labels of these queries, each with a mask of its basis items."""
    map = problem.plan.map
    if map is None or not map.is_nearly_singular:
        return {}
    first_rows, index = problem.layout.first_rows, map.basis_index
    owners = np.unique(np.searchsorted(first_rows, index, side="right") - 1).tolist()
    found = problem.cluster.reduce(
        problem.blocks, _basis_by_query, joined, first_rows, index, only=owners
    )
    held_out: dict[Any, np.ndarray] = {}
    for label, positions in found:
        held_out.setdefault(label, np.zeros(len(index), dtype=bool))[positions] = True
    removal = map.removal()
    return {
        label: held
        for label, held in held_out.items()
        if not held.all() and not map.can_update(removal, held)
    }


def _basis_by_query(
    block: Block, number: int, first_rows: np.ndarray, index: np.ndarray
) -> list[tuple[Any, np.ndarray]]:
    """The labels of the queries with basis items in this partition, and the numbers of these in
    the basis."""
    queries = Queries.from_labels(block.qid, block.n_items)
    rows = index - first_rows[number]
    here = np.flatnonzero((rows >= 0) & (rows < block.n_items))
    codes = queries.codes[rows[here]]
    return [(queries.labels[code], here[codes == code]) for code in np.unique(codes)]


def _plan_without(plan: Plan, label: Any, held: np.ndarray) -> Plan:
    assert plan.map is not None
    return replace(plan, map=plan.map.restricted(~held), left_out=label, leaves_out=True)


def _sums_of(problem: PartitionedProblem, plans: list[Plan]) -> list[Sums]:
    """The normal equations of each plan."""
    if not problem.plan.spread:
        return problem.cluster.reduce(problem.blocks, _equations_of_plans, _added_each, plans)
    sums = []
    for plan in plans:
        spread = problem.spread_pass(plan)
        parts = [
            each for label, (each, _) in zip(plan.spread, spread.found) if label != plan.left_out
        ]
        sums.append(added([spread.whole_sums, *parts]))
    return sums


def _equations_of_plans(block: Block, number: int, plans: list[Plan]) -> list[Sums | None]:
    return [equations(block, number, plan)[1] for plan in plans]


def _added_each(lists: list[list[Sums | None]]) -> list[Sums | None]:
    return [added(list(sums)) for sums in zip(*lists)]
