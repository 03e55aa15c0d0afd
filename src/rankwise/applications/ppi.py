"""Protein-protein interactions in text: which candidate pairs of a sentence interact.

Least squares on the all-paths graph kernel, with the regularisation and the threshold chosen by
leaving documents out (Airola, Pyysalo, Björne, Pahikkala, Ginter, Salakoski 2008). Any relation
between named entities in parsed sentences can be learnt the same way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.applications.alpha_and_threshold import LEARNERS, choose, default_alphas, highest
from rankwise.applications.candidate_pairs import (
    Candidates,
    graphs_of,
    pairs_of,
    training_candidates,
)
from rankwise.applications.ppi_evaluation import Evaluation, Transfer, cross_validate, transfer
from rankwise.io.sentences import Pair
from rankwise.supervision.queries import Queries
from rankwise.validation import check_alphas, check_choice

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
    """A candidate with its score.

    Attributes
    ----------
    pair : Pair
        The candidate.
    score : float
        Higher means more likely to interact.
    interacts : bool
        Whether the score is above the chosen threshold.

    Examples
    --------
    >>> from rankwise.applications.ppi import InteractionRanker
    >>> from rankwise.datasets import make_ppi_corpus
    >>> ranker = InteractionRanker().fit(make_ppi_corpus(random_state=0))
    >>> found = ranker.predict(make_ppi_corpus(n_documents=2, random_state=1))
    >>> [(one.interacts, one.pair.interaction) for one in found]
    [(True, True), (True, True), (False, False), (False, False)]
    """

    pair: Pair
    score: float
    interacts: bool


class Contribution(NamedTuple):
    """What a label pair adds to a candidate's score: its value in the graph times its weight.

    Attributes
    ----------
    first, second : str
        The two labels.
    value, weight, contribution : float
        The value in the graph, its weight in the model, and their product.

    Examples
    --------
    >>> from rankwise.applications.ppi import Contribution
    >>> Contribution("PROT1", "binds_IP", 0.5, 0.25).contribution
    0.125
    """

    first: str
    second: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        return self.value * self.weight


class InteractionRanker(BaseEstimator):
    """Scores candidate pairs, after learning from a corpus in which some pairs interact.

    fit costs one m × m inverse per alpha for m candidates, or one r × r eigenproblem and O(m r)
    memory with a basis of r. It also predicts every document by the model without that document.
    These predictions choose alpha (largest AUC) and the threshold (largest F).

    Parameters
    ----------
    combine, normalize, longest
        Of the kernel, see rankwise.graphs.AllPathsVectorizer.
    learner
        "rls" (y = ±1, as in the paper) or "rank_rls" (all pairs of candidates; here alpha is
        multiplied by the number of training candidates).
    alphas
        Grid, default 2^-14 … 2^6 (every second power) times the mean of the kernel's diagonal.
    basis
        None for all candidates, or the largest number of random candidates as basis vectors (a
        reduced set); then no m × m matrix is built.
    random_state
        Draws the basis.
    n_jobs
        Threads of the vectoriser.

    Attributes
    ----------
    vectorizer_
        The fitted AllPathsVectorizer.
    coef_, intercept_
        The weight of every label pair, and what is added to the sum.
    alpha_, threshold_
        What was chosen.
    documents_, held_out_
        For each labelled training candidate, its document, and its score by the model without that
        document.
    auc_
        AUC of `held_out_`.

    Examples
    --------
    >>> from rankwise.applications.ppi import InteractionRanker
    >>> from rankwise.datasets import make_ppi_corpus
    >>> ranker = InteractionRanker().fit(make_ppi_corpus(random_state=0))
    >>> round(ranker.auc_, 2), ranker.decision_function(make_ppi_corpus(3, random_state=1)).shape
    (1.0, (6,))
    """

    def __init__(
        self,
        combine: str = "max",
        normalize: bool = True,
        *,
        longest: int | None = None,
        learner: str = "rls",
        alphas: Any = None,
        basis: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.combine = combine
        self.normalize = normalize
        self.longest = longest
        self.learner = learner
        self.alphas = alphas
        self.basis = basis
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, corpus: Candidates, y: Any = None) -> InteractionRanker:
        """Learn from the labelled pairs of a Corpus, or of a list of sentences or pairs."""
        check_choice("learner", self.learner, LEARNERS)
        options = {"longest": self.longest, "n_jobs": self.n_jobs}
        data = training_candidates(corpus, self.combine, self.normalize, **options)
        self.vectorizer_, self.documents_ = data.vectorizer, data.documents
        alphas = default_alphas(data.F) if self.alphas is None else check_alphas(self.alphas)
        groups = list(Queries.from_labels(data.documents, len(data.y)))
        if len(groups) < 2:
            raise ValueError("corpus must have labelled pairs in two or more documents.")
        chosen = choose(data.F, data.y, groups, alphas, self.learner, self.basis, self.random_state)
        self.alpha_, self.threshold_, self.auc_ = chosen.alpha, chosen.threshold, chosen.auc
        self.held_out_, self.intercept_ = chosen.held_out, chosen.intercept
        self.coef_ = np.asarray(data.F.T @ chosen.coefficients).ravel()
        return self

    def decision_function(self, corpus: Candidates) -> np.ndarray:
        """(m,) one score per candidate; higher means more likely to interact."""
        check_is_fitted(self)
        pairs = pairs_of(corpus)
        if not pairs:
            return np.zeros(0)
        return self.vectorizer_.transform(graphs_of(pairs)) @ self.coef_ + self.intercept_

    def predict(self, corpus: Candidates, share: float | None = None) -> list[Prediction]:
        """One Prediction per candidate of a Corpus, of sentences or of pairs, in their order.

        The threshold is that of the training corpus. On another corpus it is often far off,
        because corpora differ in the share of candidates that interact. If this share can be
        guessed, give it: the candidates with the highest scores, that share of them, then interact
        (Table 5 of Airola et al. 2008). It is a share of the candidates given here, so give all of
        the corpus at once.
        """
        pairs = pairs_of(corpus)
        scores = self.decision_function(pairs)
        called = scores > self.threshold_ if share is None else highest(scores, share)
        return [
            Prediction(pair, float(score), bool(interacts))
            for pair, score, interacts in zip(pairs, scores, called)
        ]

    def explain(self, pair: Pair, k: int = 10) -> list[Contribution]:
        """The k label pairs that change the pair's score most, up or down, heaviest first.

        All label pairs and the intercept add up to the score.
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
