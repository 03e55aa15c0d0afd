"""Least squares that follow a stream: items, queries and basis items come and go by updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.quadratic_ranker import QuadraticRanker
from rankwise.losses.quadratic_loss import QuadraticLoss
from rankwise.numerics.arrays import dense
from rankwise.solvers.updated_inverse import ExactSum, UpdatedInverse
from rankwise.spaces.basis_updates import with_basis_item, without_basis_item
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap, choose_basis
from rankwise.spaces.space import LinearSpace, ReducedSpace, Space
from rankwise.supervision.supervision import ComparedItems, Supervision
from rankwise.validation import check_index, check_items

Sums = tuple[Any, ...]
"""G of each group of outputs, the moments of all outputs, and the queries they came from.

A stream has also the lower parts of G and of the moments (see ExactSum); older files lack them.
"""


def _can_stream(estimator: Any) -> bool:
    kernel = Kernel(estimator.kernel)
    if kernel.is_precomputed or (not kernel.is_linear and estimator.basis is None):
        raise AttributeError(
            'partial_fit needs kernel="linear", or another kernel with a basis= that stays fixed.'
        )
    return True


def _has_basis(estimator: Any) -> bool:
    if estimator.basis is None or Kernel(estimator.kernel).is_precomputed:
        raise AttributeError("basis items come and go if basis= is given, and no kernel matrix.")
    return True


class StreamLearner(QuadraticRanker):
    """`partial_fit`, `remove_items`, `add_basis` and `remove_basis` of RLS and RankRLS.

    A stream keeps the sums ΦᵀLΦ and Φᵀb of its features Φ: those of X, or those of the kernel map
    of fixed basis items. A change of u rows costs O(u r²) for r features, instead of the O(r³) of
    a new solution; the results are those of a refit (see rankwise.solvers.updated_inverse).
    """

    _accumulated: Sums | None = None
    _space: ReducedSpace | None = None
    _systems: list[UpdatedInverse] | None = None
    _embedding: np.ndarray | None = None
    _whole_queries = False

    def _forget_stream(self) -> None:
        self._accumulated = self._space = self._systems = self._embedding = None

    @available_if(_can_stream)
    def partial_fit(self, X, y, *, qid=None, sample_weight=None):
        """Add items, exactly: as if all had been fitted at once.

        O(u r²) for u items and r features (the columns of X, or basis items), if r is at least 500
        and u less than half of r, else O(u r² + r³). Items are not kept. RLS takes any items.
        RankRLS takes whole queries: without qid each call is one query, and a query seen before is
        refused, because its pairs with the earlier items are lost. With a basis, its items are
        rows of the first call (or of the `fit` before).
        """
        loss, kernel = self._checked_pieces()
        first = not hasattr(self, "coef_") and not hasattr(self, "dual_coef_")
        if not first:
            self._refuse_other_loss()
        X = check_items(self, X, reset=first)
        supervision, single = self._streamed_items(X.shape[0], y, qid, sample_weight)
        self._refuse_other_outputs(supervision, single, first)
        space = self._stream_space(X, kernel, first)
        seen = set() if first else self._sums(loss, space)[2]
        new = self._labels(supervision, qid)
        if seen & new:
            raise ValueError(
                f"qid {sorted(map(str, seen & new))[0]!r} was seen before: a query must come whole."
            )
        systems = None if first else self._current_systems(loss, space)
        systems = self._with_rows(systems, X, supervision, loss, space, 1.0)
        self._has_queries = qid is not None or (not first and self._has_queries)
        self._single_output = single
        return self._keep_stream(systems, seen | new, space, X)

    def _streamed_items(self, m: int, y, qid, sample_weight) -> tuple[Supervision, bool]:
        """What one call tells, checked, and whether there is a single output."""
        return self._scored_items(m, y, qid, sample_weight)

    @available_if(_can_stream)
    def remove_items(self, X, y, *, qid=None, sample_weight=None):
        """Take items away again that were learnt before: as if they had never been there.

        The items must be given as they were learnt, with their scores and weights. RankRLS takes
        whole queries, given by qid; without qid the items are one query. Costs what adding
        them costs. Items that cannot have been learnt are refused if that shows in the sums.
        """
        check_is_fitted(self)
        loss, kernel = self._checked_pieces()
        self._refuse_other_loss()
        X = check_items(self, X, reset=False)
        supervision, single = self._streamed_items(X.shape[0], y, qid, sample_weight)
        self._refuse_other_outputs(supervision, single, False)
        space = self._stream_space(X, kernel, False)
        seen = self._sums(loss, space)[2]
        leaving = self._labels(supervision, qid)
        if leaving - seen:
            raise ValueError(
                f"qid {sorted(map(str, leaving - seen))[0]!r} was never learnt, so it cannot leave."
            )
        systems = self._current_systems(loss, space)
        try:
            systems = self._with_rows(systems, X, supervision, loss, space, -1.0)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"these items cannot have been learnt as they are given ({error}): give X, y and "
                "sample_weight as in the call that added them."
            ) from error
        return self._keep_stream(systems, seen - leaving, space, X)

    @available_if(_has_basis)
    def add_basis(self, index):
        """Let further training items, given by their row numbers, join the basis, one by one.

        As if the model had been fitted with them: O(m r) for each after the sums are known, which
        the first call computes, O(m r²). The model must hold its training items.
        """
        problem = self.training_problem
        loss, kernel = self._checked_pieces()
        space = self._stream_space(problem.X, kernel, False)
        index = check_index(index, problem.n_items)
        twice = np.intersect1d(index, space.map.basis_index)
        if len(twice):
            raise ValueError(f"item {int(twice[0])} is a basis item already.")
        if self._embedding is None:
            self._embedding = space.map.embed(problem.X)
        systems, map, embedding = self._current_systems(loss, space), space.map, self._embedding
        for i in index:
            row = problem.X[[int(i)]]
            map, c, rho = with_basis_item(map, int(i), row)
            new = (map.kernel.between(problem.X, np.array([0]), row)[:, 0] - embedding @ c) / rho
            for g, columns in enumerate(loss.equation_groups(problem.supervision.n_outputs)):
                quadratic = loss.quadratic(problem.supervision.select_outputs(columns))
                pulled = quadratic.laplacian.apply(new[:, None])[:, 0]
                moment = new @ quadratic.target.b
                systems[g] = systems[g].with_feature(
                    embedding.T @ pulled, float(new @ pulled), moment
                )
            embedding = np.column_stack([embedding, new])
        self._embedding = embedding
        return self._keep_basis(systems, map)

    @available_if(_has_basis)
    def remove_basis(self, index):
        """Let items, given by their numbers in `basis_index_`, leave the basis, one by one.

        As if the model had been fitted without them: O(r²) for each, and O(m r) if the model
        holds its training items.
        """
        check_is_fitted(self)
        loss, kernel = self._checked_pieces()
        X = self._X if self._supervision is not None else None
        space = self._stream_space(X, kernel, False)
        systems, map = self._current_systems(loss, space), space.map
        wanted = np.unique(np.atleast_1d(np.asarray(index)))
        absent = np.setdiff1d(wanted, map.basis_index)
        if len(absent) or wanted.dtype.kind not in "iu":
            raise ValueError(f"item {absent[0] if len(absent) else index} is no basis item.")
        if len(wanted) == len(map.basis_index):
            raise ValueError("the last basis item cannot leave: a model needs one.")
        for i in wanted:
            map, v = without_basis_item(map, int(np.flatnonzero(map.basis_index == i)[0]))
            systems = [system.reflected(v).without_last_feature() for system in systems]
            if self._embedding is not None:
                turned = self._embedding @ v * (2.0 / float(v @ v))
                self._embedding = (self._embedding - np.outer(turned, v))[:, :-1]
        return self._keep_basis(systems, map)

    def _keep_basis(self, systems: list[UpdatedInverse], map: NystromMap):
        """The model after its basis changed; the training items, if there are any, stay."""
        loss, _ = self._checked_pieces()
        self._space, self._systems = ReducedSpace(map), systems
        if self._accumulated is not None:
            self._accumulated = self._written(systems, loss, self._accumulated[2])
        if self._supervision is not None:
            self._basis, self._problem = map.basis_index, None
        self._set_solution(systems, loss, self._space)
        return self

    def _keep_stream(self, systems: list[UpdatedInverse], seen: set, space: Space, X):
        loss, _ = self._checked_pieces()
        self._systems, self._accumulated = systems, self._written(systems, loss, seen)
        self._X = self._supervision = self._basis = self._problem = self._embedding = None
        self._space = space if isinstance(space, ReducedSpace) else None
        self.n_iter_ = 1
        self._set_solution(systems, loss, space)
        return self

    @staticmethod
    def _written(systems: list[UpdatedInverse], loss: QuadraticLoss, seen: set) -> Sums:
        k = sum(system.moments.high.shape[1] for system in systems)
        high, low = np.empty((2, systems[0].size, k))
        for system, columns in zip(systems, loss.equation_groups(k)):
            high[:, columns], low[:, columns] = system.moments.high, system.moments.low
        grams = [system.gram for system in systems]
        return [G.high for G in grams], high, seen, [G.low for G in grams], low

    def _set_solution(
        self, systems: list[UpdatedInverse], loss: QuadraticLoss, space: Space
    ) -> None:
        k = sum(system.moments.high.shape[1] for system in systems)
        solution = np.empty((systems[0].size, k))
        for system, columns in zip(systems, loss.equation_groups(k)):
            solution[:, columns] = system.solve()
        self._set_model(space, space.to_model(solution), self._single_output)

    def _with_rows(
        self,
        systems: list[UpdatedInverse] | None,
        X,
        supervision: Supervision,
        loss: QuadraticLoss,
        space: Space,
        sign: float,
    ) -> list[UpdatedInverse]:
        """The equations with the rows of more items, or (sign −1) without them."""
        F = space.map.embed(X) if isinstance(space, ReducedSpace) else X
        grams, moments = loss.normal_equations(F, supervision)
        groups = loss.equation_groups(supervision.n_outputs)
        if systems is None:
            alpha = self.alpha
            return [UpdatedInverse.of_sums(G, moments[:, c], alpha) for G, c in zip(grams, groups)]
        out = []
        for system, G, columns in zip(systems, grams, groups):
            Z = None
            if 2 * F.shape[0] <= system.size:
                quadratic = loss.quadratic(supervision.select_outputs(columns))
                Z = quadratic.laplacian.factor_t(dense(F))
            change = system.with_rows if sign > 0 else system.without_rows
            out.append(change(Z, G, moments[:, columns]))
        return out

    def _stream_space(self, X, kernel: Kernel, first: bool) -> Any:
        """The features of the stream: those of X, or of the map of the basis items."""
        if self.basis is None:
            return LinearSpace(X, may_be_dual=False)
        if self._space is not None:
            return self._space
        if first:
            index = choose_basis(self.basis, X.shape[0], self.random_state)
            rows = X[index]
        elif self._supervision is not None:
            problem = self.training_problem
            index = choose_basis(problem.basis, problem.n_items, self.random_state)
            rows = problem.X[index]
        else:
            raise ValueError(
                "this model holds neither training items nor the sums of a stream: fit it again."
            )
        map = NystromMap(kernel, index)
        return ReducedSpace(map.fit_basis(rows.copy()))

    def _labels(self, supervision: Supervision, qid) -> set:
        if qid is None or not self._whole_queries:
            return set()
        return {_plain(label) for label in supervision.queries.labels}

    def _refuse_other_outputs(self, supervision: Supervision, single: bool, first: bool) -> None:
        if first:
            return
        k = int(np.prod(self.coefficients.shape[1:]))
        if supervision.n_outputs != k or single != self._single_output:
            raise ValueError(f"y must keep the shape of its {k} outputs.")

    def _refuse_other_loss(self) -> None:
        for name in ("kernel", "gamma", "degree", "coef0", "basis", "loss", "ties", "query_weight"):
            if not hasattr(self, name):
                continue
            before, now = getattr(self.fitted_parameters, name), getattr(self, name)
            if before is not now and not np.array_equal(before, now):
                raise ValueError(
                    f"{name} must not change between calls of partial_fit: it was {before!r}, and "
                    f"is {now!r}."
                )

    def _sums(self, loss: QuadraticLoss, space: Space) -> Sums:
        """The normal equations of all that was learnt so far, and the queries they came from."""
        if self._accumulated is not None:
            return self._accumulated
        problem = self._problem or self.training_problem
        if isinstance(problem.supervision, ComparedItems):
            raise ValueError("partial_fit continues from scores, not from explicit preferences.")
        equations = None
        if isinstance(space, ReducedSpace):
            problem = self.training_problem
            equations = loss.normal_equations(space.map.embed(problem.X), problem.supervision)
        else:
            equations = problem.known_equations()
        if equations is None:
            problem = self.training_problem
            equations = problem.loss.normal_equations(problem.X, problem.supervision)
        queries = problem.supervision.queries
        seen = set()
        if self._has_queries and self._whole_queries:
            seen = {_plain(label) for label in queries.labels}
        return *equations, seen

    def _current_systems(self, loss: QuadraticLoss, space: Space) -> list[UpdatedInverse]:
        if self._systems is None:
            grams, moments, _, *low = self._sums(loss, space)
            low_grams, low_moments = low or ([None] * len(grams), np.zeros_like(moments))
            groups = loss.equation_groups(moments.shape[1])
            self._systems = [
                UpdatedInverse(
                    ExactSum(G, low_G),
                    ExactSum(moments[:, columns], low_moments[:, columns]),
                    self.alpha,
                )
                for G, low_G, columns in zip(grams, low_grams, groups)
            ]
        return [system.at(self.alpha) for system in self._systems]

    def __getstate__(self):
        """Without the inverses, which the next update computes again."""
        return {**super().__getstate__(), "_systems": None, "_embedding": None}


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label
