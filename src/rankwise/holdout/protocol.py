"""The seam between learners and everything that judges them: predictions for held-out items.

Model selection and evaluation use only this class. Shapes: m items, a alphas, k outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from rankwise.holdout.pair_systems import Judged
from rankwise.losses.quadratic_loss import by_kind
from rankwise.numerics.progress import track
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.supervision import ComparedItems, Supervision

Alphas = Sequence[float] | np.ndarray


class HeldOut(ABC):
    """Predictions for items by models that were trained without them, for any alphas.

    Every prediction equals that of a refit without the held-out items, with the same alpha. A
    member has to provide `without` and `without_statements`; the other methods call them once per
    hold-out unless the member knows a cheaper way.
    """

    supervision: Supervision

    @property
    def n_items(self) -> int:
        return self.supervision.n_items

    @abstractmethod
    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        """(a, |items|, k) predictions for `items` by the models trained without all of them."""

    def leave_groups_out(self, groups: Sequence[np.ndarray], alphas: Alphas) -> np.ndarray:
        """(a, m, k) every item predicted without its whole group; groups cover all items once."""
        out = np.empty((len(alphas), self.n_items, self.supervision.n_outputs))
        for items in track(groups, len(groups), "hold-outs"):
            out[:, items] = self.without(items, alphas)
        return out

    def leave_each_out(self, alphas: Alphas) -> np.ndarray:
        """(a, m, k) every item predicted by the models trained without it."""
        return self.leave_groups_out(list(np.arange(self.n_items)[:, None]), alphas)

    def leave_pairs_out(self, pairs: np.ndarray, alphas: Alphas) -> np.ndarray:
        """(a, p, 2, k) both items of each pair predicted by the models trained without both."""
        out = np.empty((len(alphas), *pairs.shape, self.supervision.n_outputs))
        for row, pair in enumerate(pairs):
            out[:, row] = self.without(pair, alphas)
        return out

    @abstractmethod
    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray:
        """(a, |statements|, k) f_winner − f_loser by models trained without these preferences.

        The items stay. ValueError if the supervision has scores instead of preferences.
        """

    def split_statements(self, statements: np.ndarray) -> tuple[Preferences, ComparedItems]:
        """All preferences, and the supervision without some of them."""
        if not isinstance(self.supervision, ComparedItems):
            raise ValueError("only explicit preferences can be held out, not scores y.")
        return self.supervision.preferences, self.supervision.without_statements(statements)

    def leave_preferences_out(self, alphas: Alphas) -> np.ndarray:
        """(a, l, k) held-out f_winner − f_loser of every preference.

        All statements about the same two items leave together, whoever won.
        """
        preferences = self.split_statements(np.zeros(0, dtype=int))[0]
        pair_of, _ = preferences.unordered_pairs(self.n_items)
        out = np.empty((len(alphas), len(preferences), self.supervision.n_outputs))
        kinds = list(by_kind(pair_of))
        for statements in track(kinds, len(kinds), "pairs of items"):
            out[:, statements] = self.without_statements(statements, alphas)
        return out

    @abstractmethod
    def scores_without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        """(a, |predicted|, k) predictions for any items by the models trained without `items`."""

    def leave_items_out(self, alphas: Alphas) -> np.ndarray:
        """(a, l, 2, k) f_winner − f_loser of every preference without its winner, and its loser.

        The model never saw one of the two items: what to expect of a newcomer.
        """
        preferences = self.split_statements(np.zeros(0, dtype=int))[0]
        out = np.empty((len(alphas), len(preferences), 2, self.supervision.n_outputs))
        for side, (item, other, sign) in enumerate(
            (
                (preferences.winner, preferences.loser, 1.0),
                (preferences.loser, preferences.winner, -1.0),
            )
        ):
            kinds = list(by_kind(item))
            for statements in track(kinds, len(kinds), "items"):
                held = item[statements[:1]]
                predicted = np.append(held, other[statements])
                scores = self.scores_without(held, predicted, alphas)
                out[:, statements, side] = sign * (scores[:, :1] - scores[:, 1:])
        return out

    @abstractmethod
    def judge_pairs(self, alphas: Alphas) -> Judged:
        """Leave-pair-out over all pairs of a query whose scores differ, summed for each item.

        (a, m, k) counts, one for each alpha.
        """

    def pair_matrices(self) -> int:
        """How many matrices of all items leave-pair-out of all pairs forms for each alpha.

        One refit counts as one matrix; the default is one refit for each pair of a query.
        """
        sizes = self.supervision.queries.sizes.astype(float)
        return int((sizes * (sizes - 1) / 2).sum())

    @abstractmethod
    def term_sizes(self, alpha: float) -> np.ndarray:
        """(m, k) summed absolute values of the terms that make up each fitted score.

        Rounding errors are a small multiple of them, see rankwise.metrics.ties.
        """
