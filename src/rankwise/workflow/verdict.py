"""One sentence about a model: whether it orders items better than chance, or than an existing
ranking, and how sure that is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankwise.evaluation import BaselineVerdict, compare
from rankwise.supervision.censored import Censored
from rankwise.workflow.judged_outcomes import OutcomeJudgement
from rankwise.workflow.judged_statements import StatementJudgement
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.search_path import COST, SearchPath
from rankwise.workflow.suited_measures import suited

CHANCE = 0.5
"""The share of pairs that a random order puts into the right order."""


class Verdict(NamedTuple):
    """What was found ("better", "worse" or "open"), and the sentence that says it."""

    finding: str
    sentence: str


class Share(NamedTuple):
    """A share of pairs in the right order with its 95% interval, and what was judged in words.

    `low` and `high` are None if there is no interval; `reason` says why, or why it is wide.
    """

    value: float
    low: float | None
    high: float | None
    reason: str
    judged: str


def verdict(
    judgement: Judgement, path: SearchPath | None = None, *, on_training_data: bool = False
) -> Verdict:
    """The verdict about a model on the data that it was judged on.

    On its training data a model looks better than it is, so the verdict is then about the
    cross-validation `path` by which its parameter was chosen, or remains open if there is none.
    """
    if not on_training_data:
        return against_chance(judged_share(judgement))
    held_out = None if path is None else held_out_share(path)
    if held_out is None:
        return Verdict(
            "open",
            "It is open whether the model is better than chance: it was judged on the data that "
            "it was trained on. Judge it on other data, or use rankwise crossval.",
        )
    return against_chance(held_out)


def against_baseline(
    name: str,
    scores: np.ndarray,
    items: Items,
    scoring: str | None = None,
    relevant: float | None = None,
) -> BaselineVerdict | None:
    """The scores of the model `name` beside the existing ranking of the items; None without one.

    The items must not be those that the model was trained on. `scoring` is the name of a measure,
    by default the share of pairs in the right order; of censored outcomes it is always that.
    """
    if items.baseline is None:
        return None
    baseline = items.baseline_name
    name = f"the model {name}" if name == baseline else name
    y, measure = items.y, None
    if not isinstance(y, Censored):
        y = np.asarray(y, dtype=float)
        measure = suited(scoring or "concordance", y, relevant)
    found = compare({name: scores, baseline: items.baseline}, None, y, items.qid, scoring=measure)
    return found.against(baseline, name)


def in_one_sentence(found: BaselineVerdict) -> Verdict:
    """The verdict about a baseline in the form of the report."""
    return Verdict({"yes": "better", "no": "worse", "unproved": "open"}[found.better], str(found))


def trained_beside(record: dict[str, Any] | None, baseline: str) -> Verdict:
    """What the outer folds of training said about a baseline, for data that the model has seen."""
    known = BaselineVerdict.from_record(record)
    if known is not None and known.baseline == baseline:
        return in_one_sentence(known)
    return Verdict(
        "open",
        f"It is open whether the model is better than {baseline}: it was judged on the data that "
        "it was trained on. Judge it on other data, or train with --baseline.",
    )


def against_chance(share: Share) -> Verdict:
    """The share of pairs in the right order, compared with that of a random order."""
    right = f"{share.value:.1%} of {share.judged} are in the right order"
    if share.low is None or share.high is None:
        reason = f" ({share.reason})" if share.reason else ""
        return Verdict(
            "open", f"It is open whether the model is better than chance: {right}{reason}."
        )
    interval = f"95% interval {share.low:.1%} to {share.high:.1%}"
    note = f"; {share.reason}" if share.reason else ""
    if share.low > CHANCE:
        return Verdict(
            "better", f"Better than chance: {right} ({interval}{note}; chance is {CHANCE:.0%})."
        )
    if share.high < CHANCE:
        return Verdict(
            "worse",
            f"Worse than chance: only {right} ({interval}{note}; chance is {CHANCE:.0%}). The "
            "opposite order would be better.",
        )
    return Verdict(
        "open",
        f"Not shown to be better than chance: {right}, and the {interval} includes chance, "
        f"{CHANCE:.0%}{note}.",
    )


def held_out_share(path: SearchPath) -> Share | None:
    """The held-out share of pairs of the chosen candidate; None if another measure was held out."""
    if path.scoring is not None or path.judged == COST:
        return None
    low, high = path.interval or (None, None)
    pairs = path.judged.removeprefix("share of ").removesuffix(" in the right order")
    reason = "" if low is not None else "there is no interval"
    return Share(path.at_chosen[0], low, high, reason, f"{pairs} ({path.by})")


def judged_share(judgement: Judgement) -> Share:
    """The share of pairs of judged data; with queries the mean over them."""
    if isinstance(judgement, StatementJudgement):
        share = judgement.measures[0]
        value = share.value or 0.0
        return Share(value, share.low, share.high, share.reason, "the preferences")
    if isinstance(judgement, OutcomeJudgement):
        share = judgement.measures[0]
        pairs = "the comparable pairs" + (" of a stratum" if len(judgement.queries) > 1 else "")
        return Share(share.value or 0.0, share.low, share.high, share.reason, pairs)
    error: Measure = judgement["ranking_error"]
    low, high = (None if end is None else 1.0 - end for end in (error.high, error.low))
    pairs = "the pairs"
    if len(judgement.queries) > 1:
        pairs = "the pairs of a query, on average,"
    return Share(1.0 - (error.value or 0.0), low, high, error.reason, pairs)
