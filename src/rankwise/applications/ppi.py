"""Protein-protein interactions in text: which candidate pairs of a sentence interact.

The all-paths graph kernel, least squares on it, the regularisation and the threshold chosen by
leaving documents out (Airola, Pyysalo, Björne, Pahikkala, Ginter, Salakoski 2008). Any relation
between named entities in parsed sentences can be learnt the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.applications.candidates import (
    documents_of,
    graphs_of,
    kernel_of,
    labelled_pairs,
    labels_of,
    pairs_of,
)
from rankwise.applications.evaluation import Evaluation, Transfer, cross_validate, transfer
from rankwise.applications.selection import LEARNERS, choose, default_alphas
from rankwise.graphs import AllPathsVectorizer
from rankwise.io.sentences import Pair
from rankwise.learners.quadratic import check_alphas
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

__all__ = [
    "Contribution",
    "Evaluation",
    "InteractionRanker",
    "Prediction",
    "Transfer",
    "cross_validate",
    "transfer",
]


class Prediction(NamedTuple):
    """A candidate with its score; `interacts` where the score is above the chosen threshold."""

    pair: Pair
    score: float
    interacts: bool


class Contribution(NamedTuple):
    """What a label pair adds to a candidate's score: its value in the graph times its weight."""

    first: str
    second: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        return self.value * self.weight


class InteractionRanker(BaseEstimator):
    """Scores candidate pairs; learnt from a corpus whose documents say which pairs interact.

    fit costs one m × m inverse an alpha for m candidates (with `basis` one r × r eigenproblem)
    and predicts every document by the model without it on the way: these predictions choose alpha
    (largest AUC) and the threshold (largest F).

    Parameters
    ----------
    combine, normalize : of the kernel, see rankwise.graphs.AllPathsVectorizer
    learner : "rls" (y = ±1, the paper's) or "rank_rls" (all pairs of candidates; alpha counts per
        training candidate)
    alphas : grid, default 2^-14 … 2^6 (every second power) times the mean of the kernel's diagonal
    basis : None all candidates; int at most that many random ones as basis vectors (sparse RLS),
        with learner "rls"
    random_state : draws the basis
    n_jobs : threads of the vectoriser

    Attributes
    ----------
    vectorizer_, coef_ (weight of every label pair), intercept_, alpha_, threshold_
    documents_, held_out_ : of each labelled training candidate its document, and its score by the
        model without that document
    auc_ : of held_out_
    """

    def __init__(
        self,
        combine="max",
        normalize=True,
        *,
        learner="rls",
        alphas=None,
        basis=None,
        random_state=None,
        n_jobs=None,
    ):
        self.combine = combine
        self.normalize = normalize
        self.learner = learner
        self.alphas = alphas
        self.basis = basis
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, corpus, y=None):
        """Learn from the labelled pairs of a Corpus, or of a list of sentences or pairs."""
        check_choice("learner", self.learner, LEARNERS)
        pairs = labelled_pairs(corpus)
        self.vectorizer_ = AllPathsVectorizer(self.combine, self.normalize, n_jobs=self.n_jobs)
        F = self.vectorizer_.fit_transform(graphs_of(pairs))
        y, self.documents_ = labels_of(pairs), documents_of(pairs)
        K = kernel_of(F)
        alphas = default_alphas(K) if self.alphas is None else check_alphas(self.alphas)
        documents = Queries.from_labels(self.documents_, len(pairs))
        if len(documents) < 2:
            raise ValueError("corpus must have labelled pairs in two or more documents.")
        chosen = choose(K, y, list(documents), alphas, self.learner, self.basis, self.random_state)
        self.alpha_, self.threshold_, self.auc_ = chosen.alpha, chosen.threshold, chosen.auc
        self.held_out_, self.intercept_ = chosen.held_out, chosen.intercept
        self.coef_ = np.asarray(F.T @ chosen.coefficients).ravel()
        return self

    def decision_function(self, corpus) -> np.ndarray:
        """(m,) a score for every candidate; higher means more likely to interact."""
        check_is_fitted(self)
        pairs = pairs_of(corpus)
        if not pairs:
            return np.zeros(0)
        return self.vectorizer_.transform(graphs_of(pairs)) @ self.coef_ + self.intercept_

    def predict(self, corpus) -> list[Prediction]:
        """A Prediction for every candidate of a Corpus, of sentences or of pairs, in order."""
        pairs = pairs_of(corpus)
        scores = self.decision_function(pairs)
        return [
            Prediction(pair, float(score), bool(score > self.threshold_))
            for pair, score in zip(pairs, scores)
        ]

    def explain(self, pair: Pair, k: int = 10) -> list[Contribution]:
        """The k label pairs that add most to the pair's score, up or down, heaviest first.

        With the intercept all of them add up to the score.
        """
        check_is_fitted(self)
        row = self.vectorizer_.transform(graphs_of([pair]))
        parts = row.data * self.coef_[row.indices]
        heaviest = np.argsort(-np.abs(parts), kind="stable")[:k]
        names = self.vectorizer_.labels_[self.vectorizer_.pairs_[row.indices[heaviest]]]
        return [
            Contribution(first, second, float(row.data[i]), float(self.coef_[row.indices[i]]))
            for (first, second), i in zip(names, heaviest)
        ]
