"""What a reader must know to read a leaderboard rightly, in sentences."""

from __future__ import annotations

import numpy as np

from rankwise.learners.rank_logistic import RankLogistic
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.standings import BoardOptions

FEW_JUDGES = 10
NAMED = 6
"""The most items that a note names."""
CLEAR = 3.0
"""Standard errors by which the share of the first item must differ from one half."""


def notes_on(
    votes: Preferences,
    model: RankLogistic,
    options: BoardOptions,
    never: np.ndarray,
    with_features: bool,
) -> list[str]:
    """The notes on votes about compared items, of which `model` has the strengths.

    `never` names the items that no vote is about.
    """
    assert votes.items is not None
    notes = _on_components(votes.items, model.components_, with_features)
    notes += _on_winners(votes, options.alpha)
    if len(never) and not with_features:
        notes.append(f"No vote is about {named(never)}.")
    if votes.judge is None:
        notes.append("Votes count as independent. If judges voted more than once, give --judge.")
    elif (judges := len(Queries.from_labels(votes.judge, len(votes)))) < FEW_JUDGES:
        notes.append(f"Intervals over {judges} judges only: they say little about other judges.")
    return notes + _on_order(votes, options, model)


def _on_components(names: np.ndarray, components: np.ndarray, with_features: bool) -> list[str]:
    number = int(components.max()) + 1
    if number < 2:
        return []
    small = np.flatnonzero(components != np.argmax(np.bincount(components)))
    source = "their features and the prior alone" if with_features else "the prior alone"
    verb = "was" if len(small) == 1 else "were"
    return [
        f"The votes fall into {number} components that no vote connects. Strengths of different "
        f"components are compared by {source}: {named(names[small])} {verb} never compared with "
        "the largest component."
    ]


def _on_winners(votes: Preferences, alpha: float) -> list[str]:
    """Items that always won, and items that always lost: their strengths are open to one side."""
    names = votes.items
    assert names is not None
    decided, m = ~votes.tie, len(names)
    won = np.bincount(votes.winner[decided], minlength=m) > 0
    lost = np.bincount(votes.loser[decided], minlength=m) > 0
    ties = np.concatenate((votes.winner[votes.tie], votes.loser[votes.tie]))
    tied = np.bincount(ties, minlength=m) > 0
    notes = []
    for which, word, side in ((won & ~lost, "won", "above"), (lost & ~won, "lost", "below")):
        always = which & ~tied
        if always.any():
            it = "it is" if always.sum() == 1 else "they are"
            notes.append(
                f"{named(names[always])} {word} every vote: how far {it} {side} the others depends "
                f"on the prior (alpha {alpha:g})."
            )
    return notes


def _on_order(votes: Preferences, options: BoardOptions, model: RankLogistic) -> list[str]:
    if options.order_effect:
        chance = 1 / (1 + np.exp(-model.order_effect_))
        return [f"The item that is shown first wins {chance:.1%} of the votes among equals."]
    first = votes.winner_first
    if first is None or votes.tie.all():
        return []
    decided = np.asarray(first, dtype=bool)[~votes.tie]
    share, n = float(decided.mean()), len(decided)
    always_first = share in (0.0, 1.0)  # such files list the winner first
    if always_first or abs(share - 0.5) * 2 * np.sqrt(n) < CLEAR:
        return []
    return [
        f"The item of --a won {share:.1%} of the decided votes: the order may matter. "
        "--order-effect takes it into account."
    ]


def on_filled(filled: dict[str, int]) -> list[str]:
    """A note on how many missing values of which features were filled, if any were."""
    if not filled:
        return []
    counts = [f"{count} of {name!r}" for name, count in filled.items()]
    return [
        "Missing features count as the median of the items that have votes: "
        f"{named(np.array(counts, dtype=object))}."
    ]


def named(names: np.ndarray) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(str(name) for name in names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"
