"""Evaluation as Airola et al. 2008 recommend: documents stay whole, nothing is chosen on test data.

F depends on the share of candidates that interact, AUC does not. Both are reported, with their
spread over folds, next to the co-occurrence baseline, which calls every candidate an interaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from rankwise.applications.alpha_and_threshold import (
    LEARNERS,
    Decision,
    Seed,
    best_threshold,
    choose,
    default_alphas,
    judge,
    pooled_auc,
)
from rankwise.applications.candidate_pairs import (
    Candidates,
    labelled_pairs,
    labels_of,
    training_kernel,
)
from rankwise.holdout.kernel_folds import LeaveOut
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
        """Precision, recall and F of the baseline, averaged over the folds."""
        return Decision(*np.mean([fold.cooccurrence for fold in self.folds], axis=0).tolist())


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
    """Cross-validation of an InteractionRanker, whose alpha and threshold are chosen within each
    training part by leaving one document out.

    Without `basis` all folds share one m × m inverse per alpha. With it every fold has an r × r
    eigendecomposition of its own.

    `folds` is a number, or a given split: a list of lists of document ids. split="pairs" cuts
    candidates at random and chooses by leaving one candidate out. Candidates of one sentence then
    stand on both sides of the split, and the figures are too good. The other arguments, also
    combine, normalize and n_jobs of the kernel, are those of InteractionRanker.
    """
    check_choice("learner", learner, LEARNERS)
    check_choice("split", split, SPLITS)
    _, _, K, y, documents = training_kernel(corpus, **kernel_options)
    groups = documents if split == "documents" else np.arange(len(y))
    tests = cut_folds(groups, folds, random_state)
    alphas = default_alphas(K) if alphas is None else alphas
    return cross_validate_kernel(K, y, groups, tests, alphas, learner, basis, random_state)


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
        if sorted(np.concatenate(parts).tolist()) != list(range(len(partition))):
            raise ValueError("folds must name every document with candidates exactly once.")
    cut = [np.isin(partition.codes, part) for part in parts]
    return [np.flatnonzero(rows) for rows in cut if rows.any()]


def cross_validate_kernel(
    K: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    tests: list[np.ndarray],
    alphas: Any,
    learner: str = "rls",
    basis: int | None = None,
    random_state: Seed = 0,
) -> Evaluation:
    """Cross-validation on a kernel matrix; groups stay whole within each training part."""
    codes = Queries.from_labels(groups, len(y)).codes
    folds = NestedFolds(K, y, tests, [_groups_without(codes, test) for test in tests])
    if basis is None:
        choices = _shared_inverses(folds, alphas, learner)
    else:
        choices = _fold_by_fold(folds, alphas, learner, basis, random_state)
    scores, judged = np.empty(len(y)), []
    for test, (alpha, threshold, predicted) in zip(tests, choices):
        scores[test] = predicted
        truth = y[test] > 0
        decision, baseline = judge(truth, predicted > threshold), judge(truth, np.ones(len(test)))
        area = auc(y[test], predicted) if truth.any() and not truth.all() else None
        judged.append(Fold(decision, area, baseline, alpha, threshold, len(test)))
    return Evaluation(judged, scores, y)


class NestedFolds(NamedTuple):
    """Test folds of a kernel matrix, and the groups of items in the training part of each."""

    K: np.ndarray
    y: np.ndarray
    tests: list[np.ndarray]
    training: list[list[np.ndarray]]


Choice = tuple[float, float, np.ndarray]
"""alpha and threshold, chosen on the training part of a fold, and the scores of its test part."""


def _groups_without(codes: np.ndarray, test: np.ndarray) -> list[np.ndarray]:
    """The rows of each group, without the rows of a test fold."""
    training = np.setdiff1d(np.arange(len(codes)), test)
    order = training[np.argsort(codes[training], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _shared_inverses(folds: NestedFolds, alphas: Any, learner: str) -> list[Choice]:
    """The choices of all folds from one inverse per alpha."""
    K, y, tests, training = folds
    largest = np.full(len(tests), -1.0)
    choices: dict[int, Choice] = {}
    for alpha in np.sort(alphas)[::-1].tolist():
        model = LeaveOut(K, y, alpha, learner == "rank_rls")
        for fold, (test, groups) in enumerate(zip(tests, training)):
            held_out = model.groups_without(groups, fold=test)
            known = np.isfinite(held_out)
            quality = pooled_auc(y[known], held_out[known])
            if quality > largest[fold]:
                largest[fold] = quality
                threshold = best_threshold(y[known] > 0, held_out[known])
                choices[fold] = alpha, threshold, model.without(test)
        del model  # its m × m matrix, before the next one is made
    return [choices[fold] for fold in range(len(tests))]


def _fold_by_fold(
    folds: NestedFolds, alphas: Any, learner: str, basis: int, random_state: Seed
) -> list[Choice]:
    """The choices of all folds, each from its own training part and its own basis."""
    K, y, tests, training = folds
    rng, choices = check_random_state(random_state), []
    for test, groups in zip(tests, training):
        rows = np.sort(np.concatenate(groups))
        within = [np.searchsorted(rows, group) for group in groups]
        part = np.ascontiguousarray(K[np.ix_(rows, rows)])
        chosen = choose(part, y[rows], within, alphas, learner, basis, rng)
        scores = K[np.ix_(test, rows)] @ chosen.coefficients + chosen.intercept
        choices.append((chosen.alpha, chosen.threshold, scores))
    return choices


@dataclass
class Transfer:
    """A model of one corpus on another: AUC and three ways to a threshold (Tables 2 to 5)."""

    auc: float
    chosen: Decision
    """with the threshold chosen on the training corpus"""
    best: Decision
    """with the threshold that would have been best on the test corpus"""
    by_share: Decision
    """with as many candidates called positive as the test corpus has"""


def transfer(ranker: InteractionRanker, corpus: Candidates) -> Transfer:
    """Judge a fitted InteractionRanker on another corpus with labels."""
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
