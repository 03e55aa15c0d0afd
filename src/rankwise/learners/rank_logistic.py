"""RankLogistic: probabilities of preferences (Bradley-Terry), with features, kernels and ties."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import PreferenceWarning
from rankwise.learners.fit_memory import checksum
from rankwise.learners.ranker import BasisArguments, Ranker, warn_unless_converged
from rankwise.learners.risk_ranker import Pull, check_digits
from rankwise.learners.strength_uncertainty import StrengthUncertainty
from rankwise.losses.logistic import TIES as TIE_RULES
from rankwise.losses.logistic import LogisticRisk, logistic_risk, outcome_probabilities
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.logistic_path import logistic_path
from rankwise.solvers.solver import Solution
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import choose_basis
from rankwise.spaces.own_strengths import StrengthSpace, strength_space
from rankwise.spaces.space import CholeskySpace
from rankwise.supervision.preferences import Preferences, check_preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems
from rankwise.validation import (
    check_alphas,
    check_choice,
    check_count,
    check_items,
    check_pairs,
    check_positive,
)

CERTAIN = 15.0
"""A fitted difference beyond this says that one item never loses: chances of less than 1e-6."""


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRanker(BasisArguments, StrengthUncertainty, Ranker):
    """Learners of the logistic loss over explicit preferences, for one alpha or many."""

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}
    item_effect: float = 0.0
    order_effect: bool = False
    ties: str = "half"
    tol: float = 1e-6
    max_iter: int = 100

    def _check_parameters(self) -> None:
        """All but alpha."""
        check_positive("item_effect", self.item_effect, zero=True)
        if not isinstance(self.order_effect, bool | np.bool_):
            raise ValueError(f"order_effect must be True or False; got {self.order_effect!r}.")
        check_choice("ties", self.ties, TIE_RULES)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        Kernel.of(self)

    def _read(self, X, y, preferences, qid) -> tuple[Matrix | None, ComparedItems]:
        """The checked items, None without features, and what is said about them."""
        if y is not None or preferences is None:
            raise ValueError(
                f"{type(self).__name__} learns from statements, not from scores: give "
                "fit(X, preferences=...) without y. rankwise.Preferences.from_scores(y, qid) makes "
                "a statement of every pair; such pairs are no independent observations, so that "
                "probabilities and intervals are overconfident."
            )
        if X is None:
            if not isinstance(preferences, Preferences):
                check_preferences(preferences, None, 0)
            if self.basis is not None:
                raise ValueError("basis= needs features: items without X have no kernel values.")
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            m = preferences.n_items
            if m is None:
                ends = (preferences.winner, preferences.loser)
                m = 1 + max(int(side.max(initial=-1)) for side in ends)
        else:
            X = check_items(self, X, reset=True)
            m = X.shape[0]
        preferences = check_preferences(preferences, None, m)
        supervision = ComparedItems(preferences, Queries.from_labels(qid, m), np.ones(m))
        supervision.check()
        return X, supervision

    def _risk(self, supervision: ComparedItems) -> LogisticRisk:
        return logistic_risk(supervision, self.ties, bool(self.order_effect))

    def _strength_space(self, X: Matrix | None, m: int) -> StrengthSpace:
        self._basis = None
        if self.basis is not None:
            self._basis = choose_basis(self.basis, m, self.random_state)
        return strength_space(X, m, Kernel.of(self), float(self.item_effect), self._basis)

    @property
    def _limits(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}

    def _set_fit(
        self,
        X: Matrix | None,
        space: StrengthSpace,
        risk: LogisticRisk,
        solution: Solution,
        alpha: float,
    ) -> None:
        """The fitted attributes."""
        f = np.asarray(space.features @ solution.w)
        own = space.own(solution.w)
        if space.space is None:
            for name in ("coef_", "dual_coef_", "basis_index_", "_X_basis"):
                self.__dict__.pop(name, None)
            self._remember_parameters()
        else:
            assert X is not None
            part = space.features_part(solution.w)[:, None]
            coefficients = space.space.to_model(part)
            if isinstance(space.space, CholeskySpace) and not Kernel.of(self).is_linear:
                spread = float(np.ptp(space.space.features @ part[:, 0]))
                pull = Pull.of(solution.objective, alpha)
                check_digits(space.space, coefficients[:, 0], spread, pull, type(self).__name__)
            self._set_model(space.space, coefficients, True)
            f = own + self.representation.scores(X, self.coefficients)
        self.components_ = risk.counts.components()
        if space.space is None:  # the minimum has mean 0 in each component, up to rounding
            among = self.components_ + 1
            f = f - (np.bincount(among, f) / np.maximum(np.bincount(among), 1))[among]
        self.strengths_ = f
        self.order_effect_, self.tie_effect_ = risk.effects(f)
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.n_iter_, self.history_ = solution.n_iter, solution.history
        self._items_checksum = None if X is None or not space.item_effect else checksum(X)
        self._warn_undetermined(risk, f, X is None)

    def _warn_undetermined(self, risk: LogisticRisk, f: np.ndarray, without_features: bool) -> None:
        counts = risk.counts
        d = np.abs(f[counts.first] - f[counts.second] + self.order_effect_)
        if d.max() > CERTAIN:
            e = int(np.argmax(d))
            warnings.warn(
                f"the scores of items {counts.first[e]} and {counts.second[e]} differ by "
                f"{d[e]:.3g}, because some items never lose to some others. How far they are apart "
                "depends on alpha alone: a larger alpha keeps them closer.",
                PreferenceWarning,
                stacklevel=5,
            )
        number = int(self.components_.max()) + 1
        if without_features and (number > 1 or (self.components_ < 0).any()):
            alone = int((self.components_ < 0).sum())
            warnings.warn(
                f"the statements fall into {number} components of items that nothing connects, and "
                f"{alone} items were never compared (components_): strengths of different "
                "components are compared by the prior alone, which puts each of them around 0.",
                PreferenceWarning,
                stacklevel=5,
            )

    def predict(self, X=None):
        """Scores of the items X, (n,); higher is better.

        None stands for the training items, and so does X with exactly their rows: their scores
        include the strengths of their own (item_effect), which new items do not have.
        """
        check_is_fitted(self)
        if X is None:
            return self.strengths_.copy()
        self._refuse_features()
        if self._items_checksum is None:
            return super().predict(X)
        checked = check_items(self, X, reset=False)
        return self.strengths_.copy() if self._are_training_items(checked) else super().predict(X)

    def _are_training_items(self, X: Matrix) -> bool:
        """Whether the checked X has the rows of the training items, which own a strength."""
        if self._items_checksum is None or X.shape[0] != len(self.strengths_):
            return False
        return checksum(X) == self._items_checksum

    def _fitted_space(self) -> StrengthSpace:
        fitted = self.fitted_parameters
        basis = None if fitted.basis is None else self._basis
        kernel = Kernel.of(fitted)
        return strength_space(self._X, len(self.strengths_), kernel, fitted.item_effect, basis)

    def _refuse_features(self) -> None:
        if not hasattr(self, "coef_") and not hasattr(self, "dual_coef_"):
            raise ValueError(
                "this model was fitted without features: it knows the training items only, whose "
                "scores are predict(None)."
            )

    def preference_proba(self, X, pairs, *, neutral: bool = False):
        """The probability that the first item of each pair (p, 2) would be preferred, (p,).

        Pairs hold rows of X, or of the training items if X is None. With ties="davidson" the
        result is (p, 2): the probability that the first item is preferred, and that of a tie.
        With an order effect the first item counts as shown first; `neutral` leaves it out.
        """
        f = self.predict(X)
        pairs = check_pairs(pairs, len(f))
        order = 0.0 if neutral else self.order_effect_
        d = f[pairs[:, 0]] - f[pairs[:, 1]] + order
        first, _, tie = outcome_probabilities(d, self.tie_effect_)
        return np.column_stack((first, tie)) if self._models_ties else first

    @property
    def _models_ties(self) -> bool:
        return self.fitted_parameters.ties == "davidson"


@dataclass(eq=False, repr=False)
class RankLogistic(LogisticRanker):
    """Minimises Σ weight · ln(1 + exp(−(f_winner − f_loser))) + alpha‖f‖² over statements.

    The model of Bradley and Terry (1952) with features or kernels: f_i − f_j is the log-odds that
    item i is preferred to item j. Statements are added up by pair of items first, O(l); an
    iteration of Newton's method then costs O(p + m n² + n³) for p pairs, or O(p + nnz) in each
    step of conjugate gradients if there are more than 2,500 features (or 600 items without any).
    Probabilities and intervals count every statement as an independent observation. Pairs made
    from m scores (Preferences.from_scores) are none: they would be overconfident by about m.

    Parameters
    ----------
    alpha : float >= 0
        Strength of regularisation; scikit-learn's C is 1/(2 alpha). 0 is the limit of small alpha,
        in which an item that never loses is infinitely better: the answer is finite and warned
        about.
    kernel
        "linear", another of scikit-learn's pairwise kernels, "precomputed", or a callable of two
        matrices (or of two rows).
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None exact; int that many random basis items (reduced set); or an array of their rows.
    item_effect
        δ ≥ 0, adds δ·I to the kernel of the training items: each has a strength of its own besides
        what its features say.
    order_effect
        Whether the item that is shown first has an advantage, `order_effect_`, which is not
        regularised; Preferences.from_votes(a, b, outcome) knows which item that is.
    ties
        "half" a tie is half a win for either item; "davidson" the model of Davidson (1970), in
        which a tie has the probability ν √(P(i) P(j)), with ν fitted (`tie_effect_`).
    tol
        A fit stops when Newton's decrement, which estimates objective − minimum, is tol² of the
        decrease from f = 0, and makes one more step.
    max_iter
        Most iterations; a fit that needs more warns with the gap it reached.
    random_state
        Draws the basis.

    Attributes
    ----------
    strengths_
        (m,) scores of the training items, as predict(None).
    coef_
        (n,) for the linear kernel.
    dual_coef_
        (r,) for other kernels.
    basis_index_
        (r,) the items that `dual_coef_` belongs to.
    order_effect_
        The log-odds that an item gains by being shown first; 0 without order_effect.
    tie_effect_
        Davidson's ν; 0 if there is no tie, or with ties="half".
    components_
        (m,) the component of each item in the graph of comparisons, −1 for items never compared.
        Across components, features and the prior alone say who is better.
    objective_
        The value reached; `gap_` bounds its distance to the minimum.
    n_iter_, history_
        Of the last fit.
    n_features_in_, feature_names_in_
        Of X.

    Examples
    --------
    >>> from rankwise import Preferences, RankLogistic
    >>> shown_first, shown_second = ["x", "y", "x", "z"], ["y", "z", "z", "x"]
    >>> votes = Preferences.from_votes(shown_first, shown_second, ["a", "a", "a", "b"])
    >>> model = RankLogistic(alpha=0.1).fit(None, preferences=votes)
    >>> votes.items[(-model.predict(None)).argsort()].tolist()
    ['x', 'y', 'z']
    >>> model.preference_proba(None, [[0, 1]]).round(2)
    array([0.81])
    """

    alpha: float = 1.0
    _: KW_ONLY

    def fit(self, X=None, y=None, *, preferences=None, qid=None, groups=None):
        """Learn from `preferences` (a rankwise.Preferences) about the rows of X.

        X=None: items without features, whose kernel is the identity (Bradley-Terry). qid (m,)
        labels queries: a statement across queries is refused. groups (l,) labels statements that
        are not independent of each other, for instance by their judge: uncertainties are then
        sandwich estimates clustered by them. y is refused.
        """
        self._check_parameters()
        alpha = check_positive("alpha", self.alpha, zero=True)
        given = X
        X, supervision = self._read(X, y, preferences, qid)
        risk = self._risk(supervision)
        space = self._strength_space(X, supervision.n_items)
        (solution,) = logistic_path(space.features, risk, [alpha], **self._limits)
        warn_unless_converged(solution, self)
        self._has_queries = qid is not None
        self._set_fit(X, space, risk, solution, alpha)
        self._keep_for_uncertainty(X, given, risk, (supervision.preferences, groups))
        return self

    def path(self, alphas) -> np.ndarray:
        """(a, n) `coef_`, (a, r) `dual_coef_` or (a, m) strengths without features, by alpha.

        Solved from the largest alpha down, each from the solution before. Own strengths
        (item_effect) take part, but only the coefficients of features are returned.
        """
        check_is_fitted(self)
        grid = check_alphas(alphas, zero=True)
        if self._counts is None:
            raise ValueError("this model was saved without its training data: fit it again.")
        space = self._fitted_space()
        risk = LogisticRisk(self._counts, davidson=self._models_ties)
        solutions = logistic_path(space.features, risk, grid.tolist(), **self._limits)
        for solution in solutions:
            warn_unless_converged(solution, self)
        if space.space is None:
            return np.stack([space.own(solution.w) for solution in solutions])
        W = np.column_stack([space.features_part(solution.w) for solution in solutions])
        return np.ascontiguousarray(space.space.to_model(W).T)
