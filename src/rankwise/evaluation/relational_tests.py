"""Comparisons, permutation tests and learning curves of relations, with nodes as their units."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from rankwise.evaluation.comparison import Comparison, Difference, by_name, corrected
from rankwise.evaluation.curves import Curve
from rankwise.evaluation.intervals import warn_of_few
from rankwise.evaluation.node_uncertainty import TRAINING, NodeEstimate
from rankwise.evaluation.permutation import PermutationTest, permutation_result
from rankwise.evaluation.relational_estimates import chosen_once, judged
from rankwise.evaluation.relational_folds import (
    RelationData,
    argument_of,
    check_relational,
    held_out_edges,
    precomputed_sides,
    prepared,
    relational_splits,
)
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.model_selection.folds import Fold, RandomState
from rankwise.numerics.progress import track
from rankwise.validation import check_choice, check_count

WHAT = {"edges": "edges", "rows": "rows", "columns": "columns", "both": "rows and columns"}


def relational_compare(
    models: Mapping[str, BaseEstimator] | Sequence[BaseEstimator],
    X: Any,
    Y: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    setting: str = "edges",
    cv: Any = 5,
    nested: bool = True,
    average: str = "conditions",
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Comparison:
    """Scores of several learners on the same held-out edges, with tests paired over nodes.

    All models see the same folds. The difference of two scores is divided by its standard error
    over nodes (rows and columns are left out of the judged edges, one by one, for both models
    together); p-values are Student's, corrected for the number of comparisons by Holm's method. The
    variance is multiplied by 1.5, as in `relational_score`; docs/evaluation.md has levels.

    Parameters
    ----------
    models
        A dict of names and estimators, or a list of estimators.
    X, Y, edges
        As in `relational_score`: nodes, labels, and where the labels belong if Y is no matrix.
    setting
        "edges", "rows", "columns" or "both": what is new at test time.
    cv
        Number of folds, or a splitter of rankwise.selection.
    nested
        Whether a search chooses inside each training part; False chooses once, with all edges.
    average
        "conditions" is the mean over conditions, "pairs" the share over all pairs.
    scoring
        None for the share of pairs in the right order, or another measure.
    random_state
        Draws the folds; None always draws the same.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import NearestNodes, TwoStepRanker
    >>> from rankwise.evaluation import relational_compare
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(40, 30))
    >>> models = {"two steps": TwoStepRanker(), "neighbours": NearestNodes()}
    >>> print(relational_compare(models, (drugs, targets), Y, setting="rows").best)
    two steps
    """
    named = _named(models)
    conditions = {argument_of(model, "condition", "row") for model in named.values()}
    if len(conditions) > 1:
        raise ValueError("the models rank for different conditions: give all the same condition.")
    data = RelationData.checked(X, Y, edges)
    measure = read_scoring(scoring).bound(data.y)
    splits = relational_splits(data, next(iter(named.values())), setting, cv, random_state)
    estimates: dict[str, NodeEstimate] = {}
    for name, est in track(named.items(), len(named), "models", least=2):
        model = prepared(est, setting)
        model = model if nested else chosen_once(model, data)
        held_out, _ = held_out_edges(model, data, splits)
        estimates[name] = judged(est, data, held_out, measure, average)
    order = sorted(estimates, key=lambda name: -estimates[name].score)
    first = estimates[order[0]]
    warn_of_few(min(first.judged), "nodes")
    return Comparison(
        order,
        np.array([estimates[name].score for name in order]),
        np.array([np.sqrt(TRAINING * estimates[name].variance) for name in order]),
        None,
        _differences({name: estimates[name] for name in order}, measure.range),
        f"{len(splits)} folds of {WHAT[setting]}, paired over {sum(first.judged)} nodes",
        measure.title,
    )


def _differences(
    estimates: dict[str, NodeEstimate], limits: tuple[float, float]
) -> list[Difference]:
    rows = []
    width = limits[1] - limits[0]
    for first, second in combinations(estimates, 2):
        one = estimates[first] - estimates[second]
        interval = one.interval(0.95, (-width, width))
        rows.append((first, second, one.score, one.p_value(), interval))
    return corrected(rows)


def _named(models: Any) -> dict[str, BaseEstimator]:
    models = by_name(models)
    if len(models) < 2:
        raise ValueError(f"relational_compare needs two models or more; got {len(models)}.")
    for model in models.values():
        check_relational(model)
    return {str(name): model for name, model in models.items()}


def relational_permutation_test(
    est: BaseEstimator,
    X: Any,
    Y: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    setting: str = "edges",
    cv: Any = 5,
    nodes: str = "both",
    n_permutations: int = 199,
    average: str = "conditions",
    random_state: RandomState = None,
) -> PermutationTest:
    """Do the features of the nodes tell anything? The score under permuted nodes.

    Nodes change their features with each other while the labels stay where they are, so rows and
    columns keep their means: a model that only remembers known nodes gains nothing. p is
    (b + 1)/(n + 1), where b of the n permutations scored as high as the data. Costs
    (n_permutations + 1) · folds fits.

    The folds are drawn once, without a look at features or labels, and serve the data and all
    permutations. The test is therefore exact in every setting if the permuted features are
    independent of all the rest: of the labels, of which of them were observed, and of the features
    of the other side. The labels may have anything in common, such as effects of rows and columns.
    docs/evaluation.md has simulated levels.

    Parameters
    ----------
    est
        A learner of relations; a search chooses again for each permutation and fold.
    X, Y, edges
        As in `relational_score`: nodes, labels, and where the labels belong if Y is no matrix.
    setting
        "edges", "rows", "columns" or "both": what is new at test time.
    cv
        Number of folds, or a splitter of rankwise.selection.
    nodes
        Whose features are permuted. "both" asks whether the features of any side tell something;
        "rows" whether those of the rows do, whatever those of the columns tell; "columns" likewise.
        In one domain rows and columns are the same nodes and change together.
    n_permutations
        Number of permutations n.
    average
        "conditions" is the mean over conditions, "pairs" the share over all pairs.
    random_state
        Draws the folds and the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import TwoStepRanker
    >>> from rankwise.evaluation import relational_permutation_test
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(30, 20))
    >>> test = relational_permutation_test(
    ...     TwoStepRanker(), (drugs, targets), Y, setting="rows", n_permutations=19, random_state=0
    ... )
    >>> print(f"{test.p_value:.2f}")
    0.05
    """
    check_relational(est)
    check_choice("nodes", nodes, ("both", "rows", "columns"))
    n = check_count("n_permutations", n_permutations)
    data = RelationData.checked(X, Y, edges)
    if data.one_domain and nodes != "both":
        raise ValueError("in one domain rows and columns are the same nodes: nodes must be 'both'.")
    rng = check_random_state(random_state)
    model, measure = prepared(est, setting), read_scoring(None).bound(data.y)
    splits = relational_splits(data, est, setting, cv, rng.randint(2**31 - 1))
    sides = precomputed_sides(est)

    def score(permuted: RelationData) -> float:
        held_out, _ = held_out_edges(model, permuted, splits)
        return judged(est, permuted, held_out, measure, average).score

    observed, null = score(data), []
    same = np.arange(data.shape[0]), np.arange(data.shape[1])
    for _ in track(range(n), n, "permutations", least=2):
        rows = rng.permutation(data.shape[0]) if nodes != "columns" else same[0]
        columns = rng.permutation(data.shape[1]) if nodes != "rows" else same[1]
        null.append(score(data.with_nodes(rows, columns, sides)))
    return permutation_result(observed, np.array(null), "nodes" if nodes == "both" else nodes)


def relational_learning_curve(
    est: BaseEstimator,
    X: Any,
    Y: ArrayLike,
    edges: ArrayLike | None = None,
    *,
    setting: str = "rows",
    sizes: Sequence[float] | None = None,
    cv: Any = 5,
    average: str = "conditions",
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Curve:
    """Held-out score after training on more and more nodes of the kind that is new.

    setting="rows" trains on growing random parts of the training rows, "columns" on parts of the
    training columns, "both" on parts of both; with "edges" no node is new, and the training edges
    grow. The test edges of a fold stay the same. The error bars are standard errors over nodes, as
    in `relational_score`. Costs one fit per fold and size.

    Parameters
    ----------
    est
        A learner of relations; a search chooses again in each part.
    X, Y, edges
        As in `relational_score`: nodes, labels, and where the labels belong if Y is no matrix.
    setting
        "edges", "rows", "columns" or "both": what is new at test time.
    cv
        Number of folds, or a splitter of rankwise.selection.
    sizes
        Shares in (0, 1] of what a fold leaves; None means 0.2, 0.3, … 1. The curve counts the
        training nodes, or edges.
    average
        "conditions" is the mean over conditions, "pairs" the share over all pairs.
    scoring
        None for the share of pairs in the right order, or another measure.
    random_state
        Draws the folds and the parts; None always draws the same.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import TwoStepRanker
    >>> from rankwise.evaluation import relational_learning_curve
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    >>> Y = drugs @ targets.T + rng.normal(size=(40, 30))
    >>> curve = relational_learning_curve(TwoStepRanker(), (drugs, targets), Y, sizes=[0.2, 1.0])
    >>> print(curve.x)
    [ 6 32]
    """
    check_relational(est)
    data = RelationData.checked(X, Y, edges)
    measure = read_scoring(scoring).bound(data.y)
    rng = check_random_state(0 if random_state is None else random_state)
    splits = relational_splits(data, est, setting, cv, rng.randint(2**31 - 1))
    shares = _shares(sizes)
    orders = [_Growing(data, train, setting, rng) for train, _ in splits]
    model, points = prepared(est, setting), []
    for share in track(shares, len(shares), "learning curve", least=2):
        parts: list[Fold] = [
            (growing.part(share), test) for growing, (_, test) in zip(orders, splits)
        ]
        held_out, _ = held_out_edges(model, data, parts)
        one = judged(est, data, held_out, measure, average)
        count = round(float(np.mean([growing.count(share) for growing in orders])))
        points.append((count, one.score, float(np.sqrt(TRAINING * one.variance))))
    x, score, error = (np.array(column) for column in zip(*points))
    return Curve(f"training {WHAT[setting]}", x, score, error, measure=measure.title)


class _Growing:
    """Random parts of the training edges of a fold, each inside the next larger one."""

    def __init__(
        self, data: RelationData, train: np.ndarray, setting: str, rng: np.random.RandomState
    ):
        self._train, edges = train, data.edges[train]
        codes = {
            "edges": (np.arange(len(train)),),
            "rows": (edges[:, 0],),
            "columns": (edges[:, 1],),
            "both": (edges[:, 0], edges[:, 1]),
        }[setting]
        if setting != "edges" and data.one_domain:
            codes = (edges[:, 0], edges[:, 1])
            drawn = [rng.permutation(max(data.shape))] * 2
        else:
            drawn = [rng.permutation(int(code.max()) + 1) for code in codes]
        self._places = [_places(code, order) for code, order in zip(codes, drawn)]
        if setting != "edges" and data.one_domain:
            both = _places(np.concatenate(codes), drawn[0])
            self._places = [both[: len(train)], both[len(train) :]]
        self._sizes = [int(place.max()) + 1 for place in self._places]

    def part(self, share: float) -> np.ndarray:
        kept = [place < self._kept(n, share) for place, n in zip(self._places, self._sizes)]
        chosen = self._train[np.logical_and.reduce(kept)]
        if not len(chosen):
            raise ValueError(f"sizes: the share {share:g} leaves no training edge, take more.")
        return chosen

    def count(self, share: float) -> int:
        return sum(self._kept(n, share) for n in self._sizes)

    def _kept(self, n: int, share: float) -> int:
        return max(1, round(share * n))


def _places(codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The place 0, 1, … of each node in a random order of the nodes that occur."""
    _, place = np.unique(order[codes], return_inverse=True)
    return place


def _shares(sizes: Sequence[float] | None) -> list[float]:
    if sizes is None:
        return [round(0.1 * step, 1) for step in range(2, 11)]
    shares: list[float] = []
    for size in sizes:
        if not isinstance(size, numbers.Real) or not 0 < float(size) <= 1:
            raise ValueError(f"sizes must be shares in (0, 1]; got {size!r}.")
        shares.append(float(size))
    if not shares:
        raise ValueError("sizes is empty.")
    return sorted(set(shares))
