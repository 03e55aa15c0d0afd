"""Evaluation as Airola et al. 2008 recommend: documents stay whole, nothing is chosen on test data.

F depends on the share of candidates that interact, AUC does not. Both are reported, with their
spread over folds, next to the co-occurrence baseline, which calls every candidate an interaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from rankwise.applications.alpha_and_threshold import (
    LEARNERS,
    Chosen,
    Decision,
    Part,
    Seed,
    best_threshold,
    choose,
    choose_each,
    default_alphas,
    highest,
    judge,
)
from rankwise.applications.candidate_pairs import (
    Candidates,
    kernel_of,
    labelled_pairs,
    labels_of,
    training_candidates,
)
from rankwise.metrics import auc
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

if TYPE_CHECKING:
    from rankwise.applications.ppi import InteractionRanker

SPLITS = {"documents": "documents stay whole", "pairs": "candidates at random (optimistic)"}


@dataclass
class Fold:
    """One test fold; auc is None if all of its candidates are of one kind."""

    decision: Decision
    auc: float | None
    cooccurrence: Decision
    alpha: float
    threshold: float
    n_test: int


@dataclass
class Evaluation:
    """Folds and their averages; spreads are standard deviations over folds.

    Attributes
    ----------
    folds : list
        One entry per test fold.
    scores, y : (m,) arrays
        Held-out scores and labels of the candidates.
    precision, recall, f, f_spread : float
        Of the decisions by the chosen thresholds.
    aucs, auc, auc_spread
        AUC of each fold that has both kinds of candidates, their mean and spread.
    cooccurrence
        Precision, recall and F of calling every candidate positive.

    Examples
    --------
    >>> from rankwise.applications.ppi import cross_validate
    >>> from rankwise.datasets import make_ppi_corpus
    >>> found = cross_validate(make_ppi_corpus(random_state=0), folds=4)
    >>> len(found.folds), round(found.cooccurrence.recall, 2)
    (4, 1.0)
    """

    folds: list[Fold]
    scores: np.ndarray
    y: np.ndarray
    precision: float = field(init=False)
    recall: float = field(init=False)
    f: float = field(init=False)
    f_spread: float = field(init=False)
    aucs: list[float] = field(init=False)
    auc: float = field(init=False)
    auc_spread: float = field(init=False)
    cooccurrence: Decision = field(init=False)

    def __post_init__(self) -> None:
        self.precision, self.recall, self.f = _mean([fold.decision for fold in self.folds])
        self.cooccurrence = _mean([fold.cooccurrence for fold in self.folds])
        self.aucs = [fold.auc for fold in self.folds if fold.auc is not None]
        self.auc = float(np.mean(self.aucs)) if self.aucs else np.nan
        self.f_spread = _spread([fold.decision.f for fold in self.folds])
        self.auc_spread = _spread(self.aucs)


def _mean(decisions: list[Decision]) -> Decision:
    return Decision(*np.mean(decisions, axis=0).tolist())


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def cross_validate(
    corpus: Candidates,
    *,
    folds: int | Iterable[Iterable[str]] = 10,
    split: str = "documents",
    learner: str = "rls",
    alphas: Any = None,
    basis: int | None = None,
    random_state: Seed = 0,
    **kernel_options: Any,
) -> Evaluation:
    """Cross-validation of an InteractionRanker, which chooses by leaving one document out.

    Alpha and threshold are chosen within each training part.
    Without `basis` all folds share one m × m inverse per alpha. With it every fold has an r × r
    eigendecomposition of its own.

    Parameters
    ----------
    corpus
        A Corpus, or a list of sentences or pairs.
    folds : int or list
        A number, or a given split: a list of lists of document ids.
    split : {"documents", "pairs"}
        "pairs" cuts candidates at random and chooses by leaving one candidate out. Candidates of
        one sentence then stand on both sides of the split, and the figures are too good.
    learner, alphas, basis, random_state, **kernel_options
        Those of InteractionRanker, also combine, normalize and n_jobs of the kernel.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from rankwise.applications.ppi import cross_validate
    >>> from rankwise.datasets import make_ppi_corpus
    >>> found = cross_validate(make_ppi_corpus(random_state=0), folds=4)
    >>> round(found.auc, 2), round(found.f, 2)
    (1.0, 1.0)
    """
    check_choice("learner", learner, LEARNERS)
    check_choice("split", split, SPLITS)
    _, F, y, documents = training_candidates(corpus, **kernel_options)
    groups = documents if split == "documents" else np.arange(len(y))
    tests = cut_folds(groups, folds, random_state)
    alphas = default_alphas(F) if alphas is None else alphas
    return cross_validate_features(F, y, groups, tests, alphas, learner, basis, random_state)


def cut_folds(
    groups: np.ndarray, folds: int | Iterable[Iterable[str]], random_state: Seed = 0
) -> list[np.ndarray]:
    """Rows of each fold: groups shuffled and cut into equal numbers, or as given."""
    partition = Queries.from_labels(groups, len(groups))
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= len(partition):
            raise ValueError(f"folds={folds} need between 2 and the {len(partition)} documents.")
        shuffled = check_random_state(random_state).permutation(len(partition))
        parts = np.array_split(shuffled, folds)
    else:
        numbers = {label: number for number, label in enumerate(partition.labels.tolist())}
        parts = [np.array([numbers[n] for n in part if n in numbers], dtype=int) for part in folds]
        if sorted(number for part in parts for number in part) != list(range(len(partition))):
            raise ValueError("folds must name every document with candidates exactly once.")
    cut = [np.isin(partition.codes, part) for part in parts]
    return [np.flatnonzero(rows) for rows in cut if rows.any()]


def cross_validate_features(
    F: sparse.csr_matrix,
    y: np.ndarray,
    groups: np.ndarray,
    tests: list[np.ndarray],
    alphas: Any,
    learner: str = "rls",
    basis: int | None = None,
    random_state: Seed = 0,
) -> Evaluation:
    """Cross-validation on the kernel F Fᵀ; groups stay whole within each training part."""
    codes = Queries.from_labels(groups, len(y)).codes
    parts = [(test, _groups_without(codes, test)) for test in tests]
    if basis is None:
        choices = choose_each(kernel_of(F), y, parts, alphas, learner)
    else:
        rng = check_random_state(random_state)
        choices = [_choose_alone(F, y, part, alphas, learner, basis, rng) for part in parts]
    scores, judged = np.empty(len(y)), []
    for test, chosen in zip(tests, choices):
        predicted, truth = chosen.scores, y[test] > 0
        scores[test] = predicted
        decision = judge(truth, predicted > chosen.threshold)
        baseline = judge(truth, np.ones(len(test)))
        area = auc(y[test], predicted) if truth.any() and not truth.all() else None
        judged.append(Fold(decision, area, baseline, chosen.alpha, chosen.threshold, len(test)))
    return Evaluation(judged, scores, y)


def _groups_without(codes: np.ndarray, test: np.ndarray) -> list[np.ndarray]:
    """The rows of each group, without the rows of a test fold."""
    training = np.setdiff1d(np.arange(len(codes)), test)
    order = training[np.argsort(codes[training], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _choose_alone(
    F: sparse.csr_matrix,
    y: np.ndarray,
    part: Part,
    alphas: Any,
    learner: str,
    basis: int,
    rng: Seed,
) -> Chosen:
    """The choice for one fold from its training part alone, with a basis of its own."""
    test, groups = part
    rows = np.sort(np.concatenate(groups))
    within = [np.searchsorted(rows, group) for group in groups]
    chosen = choose(F[rows], y[rows], within, alphas, learner, basis, rng)
    weights = F[rows].T @ chosen.coefficients
    return chosen._replace(scores=F[test] @ weights + chosen.intercept)


@dataclass
class Transfer:
    """A model of one corpus on another: AUC and three ways to a threshold (Tables 2 to 5).

    Attributes
    ----------
    auc : float
        On the other corpus.
    chosen
        Precision, recall and F with the threshold chosen on the training corpus.
    best
        With the threshold that would have been best on the test corpus.
    by_share
        With as many candidates called positive as the test corpus has.

    Examples
    --------
    >>> from rankwise.applications.ppi import InteractionRanker, transfer
    >>> from rankwise.datasets import make_ppi_corpus
    >>> ranker = InteractionRanker().fit(make_ppi_corpus(random_state=0))
    >>> found = transfer(ranker, make_ppi_corpus(10, random_state=1))
    >>> round(found.auc, 2), found.best.f >= found.chosen.f
    (1.0, True)
    """

    auc: float
    chosen: Decision
    """with the threshold chosen on the training corpus"""
    best: Decision
    """with the threshold that would have been best on the test corpus"""
    by_share: Decision
    """with as many candidates called positive as the test corpus has"""


def transfer(ranker: InteractionRanker, corpus: Candidates) -> Transfer:
    """Judge a fitted InteractionRanker on another corpus with labels.

    It costs the graphs and scores of the other corpus.

    Parameters
    ----------
    ranker : InteractionRanker
        Fitted on one corpus.
    corpus
        Another corpus with labels.

    Returns
    -------
    Transfer

    Examples
    --------
    >>> from rankwise.applications.ppi import InteractionRanker, transfer
    >>> from rankwise.datasets import make_ppi_corpus
    >>> ranker = InteractionRanker().fit(make_ppi_corpus(random_state=0))
    >>> round(transfer(ranker, make_ppi_corpus(10, random_state=1)).auc, 2)
    1.0
    """
    pairs = labelled_pairs(corpus)
    scores, y = ranker.decision_function(pairs), labels_of(pairs) > 0
    return Transfer(
        auc(y, scores),
        judge(y, scores > ranker.threshold_),
        judge(y, scores > best_threshold(y, scores)),
        judge(y, highest(scores, np.count_nonzero(y) / len(y))),
    )
