"""Evaluation as Airola et al. 2008 recommend: documents stay whole, nothing is chosen on test data.

F depends on the share of interacting candidates, AUC does not: both are reported, with their
spread over folds, beside the co-occurrence baseline that calls every candidate an interaction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from rankwise.applications.candidates import (
    documents_of,
    graphs_of,
    kernel_of,
    labelled_pairs,
    labels_of,
)
from rankwise.applications.selection import LEARNERS, choose, default_alphas, pooled_auc
from rankwise.applications.thresholds import Decision, best_threshold, judge
from rankwise.graphs import AllPathsVectorizer
from rankwise.holdout.kernel_folds import LeaveOut
from rankwise.metrics import auc
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

SPLITS = {"documents": "documents stay whole", "pairs": "candidates at random (optimistic)"}


@dataclass
class Fold:
    """One test fold; auc is None where the fold has candidates of one kind only."""

    decision: Decision
    auc: float | None
    cooccurrence: Decision
    alpha: float
    threshold: float
    n_test: int


@dataclass
class Evaluation:
    """Folds and their averages; spreads are standard deviations over folds."""

    folds: list[Fold]
    scores: np.ndarray
    y: np.ndarray

    @property
    def precision(self) -> float:
        return float(np.mean([fold.decision.precision for fold in self.folds]))

    @property
    def recall(self) -> float:
        return float(np.mean([fold.decision.recall for fold in self.folds]))

    @property
    def f(self) -> float:
        return float(np.mean([fold.decision.f for fold in self.folds]))

    @property
    def f_spread(self) -> float:
        return float(np.std([fold.decision.f for fold in self.folds], ddof=1))

    @property
    def aucs(self) -> list[float]:
        return [fold.auc for fold in self.folds if fold.auc is not None]

    @property
    def auc(self) -> float:
        return float(np.mean(self.aucs)) if self.aucs else float("nan")

    @property
    def auc_spread(self) -> float:
        return float(np.std(self.aucs, ddof=1)) if len(self.aucs) > 1 else float("nan")

    @property
    def cooccurrence(self) -> Decision:
        """The baseline's precision, recall and F, averaged over the folds."""
        return Decision(*np.mean([fold.cooccurrence for fold in self.folds], axis=0).tolist())


def cross_validate(
    corpus,
    *,
    folds=10,
    split="documents",
    combine="max",
    normalize=True,
    learner="rls",
    alphas=None,
    basis=None,
    random_state=0,
    n_jobs=None,
) -> Evaluation:
    """Cross-validation of an InteractionRanker, alpha and threshold chosen within each training
    part by leaving one document out.

    Without `basis` all folds share one m × m inverse an alpha; with it every fold has an r × r
    eigendecomposition of its own. `folds` is a number, or a list of lists of document ids (a split
    that is given). split="pairs" cuts candidates at random and chooses by leaving one candidate
    out: pairs of a sentence then tell on each other, and the figures are too good.
    """
    check_choice("learner", learner, LEARNERS)
    check_choice("split", split, SPLITS)
    pairs = labelled_pairs(corpus)
    vectorizer = AllPathsVectorizer(combine, normalize, n_jobs=n_jobs)
    K, y = kernel_of(vectorizer.fit_transform(graphs_of(pairs))), labels_of(pairs)
    groups = documents_of(pairs) if split == "documents" else np.arange(len(pairs))
    tests = cut_folds(groups, folds, random_state)
    alphas = default_alphas(K) if alphas is None else alphas
    return cross_validate_kernel(K, y, groups, tests, alphas, learner, basis, random_state)


def cut_folds(groups, folds, random_state=0) -> list[np.ndarray]:
    """Rows of each fold: groups shuffled and cut into equal numbers, or as given."""
    partition = Queries.from_labels(groups, len(groups))
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= len(partition):
            raise ValueError(f"folds={folds} need between 2 and the {len(partition)} documents.")
        shuffled = check_random_state(random_state).permutation(len(partition))
        parts = np.array_split(shuffled, folds)
    else:
        place = {label: number for number, label in enumerate(partition.labels.tolist())}
        parts = [np.array([place[n] for n in part if n in place], dtype=int) for part in folds]
        named = [number for part in parts for number in part]
        if sorted(named) != list(range(len(partition))):
            raise ValueError("folds must name every document with candidates exactly once.")
    cut = [np.isin(partition.codes, part) for part in parts]
    return [np.flatnonzero(rows) for rows in cut if rows.any()]


def cross_validate_kernel(
    K, y, groups, tests, alphas, learner="rls", basis=None, random_state=0
) -> Evaluation:
    """The same on a kernel matrix: groups stay whole within the training part of each fold."""
    codes = Queries.from_labels(groups, len(y)).codes
    inner = [_groups_within(codes, test) for test in tests]
    if basis is None:
        outcome = _shared_inverses(K, y, tests, inner, alphas, learner)
    else:
        outcome = _fold_by_fold(K, y, tests, inner, alphas, learner, basis, random_state)
    scores, folds = np.empty(len(y)), []
    for test, (alpha, threshold, predicted) in zip(tests, outcome):
        scores[test] = predicted
        truth = y[test] > 0
        mixed = truth.any() and not truth.all()
        folds.append(
            Fold(
                judge(truth, predicted > threshold),
                auc(y[test], predicted) if mixed else None,
                judge(truth, np.ones(len(test))),
                alpha,
                threshold,
                len(test),
            )
        )
    return Evaluation(folds, scores, y)


def _groups_within(codes, test) -> list[np.ndarray]:
    training = np.setdiff1d(np.arange(len(codes)), test)
    order = training[np.argsort(codes[training], kind="stable")]
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, cuts)


def _shared_inverses(K, y, tests, inner, alphas, learner):
    """(alpha, threshold, test scores) a fold, from one inverse an alpha."""
    best: list = [(-1.0,)] * len(tests)
    for alpha in np.sort(alphas)[::-1]:
        model = LeaveOut(K, y, float(alpha), learner == "rank_rls")
        for number, (test, groups) in enumerate(zip(tests, inner)):
            held_out = model.groups_without(groups, fold=test)
            known = np.isfinite(held_out)
            quality = pooled_auc(y[known], held_out[known])
            if quality > best[number][0]:
                threshold = best_threshold(y[known] > 0, held_out[known])
                best[number] = (quality, float(alpha), threshold, model.without(test))
        del model
    return [found[1:] for found in best]


def _fold_by_fold(K, y, tests, inner, alphas, learner, basis, random_state):
    rng = check_random_state(random_state)
    for test, groups in zip(tests, inner):
        training = np.sort(np.concatenate(groups))
        within = [np.searchsorted(training, group) for group in groups]
        part = np.ascontiguousarray(K[np.ix_(training, training)])
        chosen = choose(part, y[training], within, alphas, learner, basis, rng)
        scores = K[np.ix_(test, training)] @ chosen.coefficients + chosen.intercept
        yield chosen.alpha, chosen.threshold, scores


@dataclass
class Transfer:
    """A model of one corpus on another: AUC and three ways to a threshold (Tables 2 to 5)."""

    auc: float
    chosen: Decision
    """at the threshold chosen on the training corpus"""
    best: Decision
    """at the threshold that would have been best on the test corpus"""
    by_share: Decision
    """with as many called positive as the test corpus has"""


def transfer(ranker, corpus) -> Transfer:
    """A fitted InteractionRanker on another corpus with labels."""
    pairs = labelled_pairs(corpus)
    scores, y = ranker.decision_function(pairs), labels_of(pairs) > 0
    share = np.zeros(len(y), dtype=bool)
    share[np.argsort(-scores, kind="stable")[: np.count_nonzero(y)]] = True
    return Transfer(
        auc(y, scores),
        judge(y, scores > ranker.threshold_),
        judge(y, scores > best_threshold(y, scores)),
        judge(y, share),
    )
