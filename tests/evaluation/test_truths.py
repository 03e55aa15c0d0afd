"""Scores and censored outcomes as what held-out scores are judged by."""

import numpy as np
import pytest

from rankwise import Censored
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.evaluation.truths import most_units, split_labels, supervision_of
from rankwise.exceptions import UndefinedMetric
from rankwise.supervision.queries import Queries

OUTCOME = Censored([True, False, True, False], [1.0, 2.0, 3.0, 4.0])


def test_supervision_knows_the_pairs():
    for y, expected in ((OUTCOME, 4), (np.array([1.0, 1.0, 2.0, 3.0]), 5)):
        _, gaps = supervision_of(y).judged_pairs()
        assert np.count_nonzero(gaps) == expected
    queries = Queries.from_labels(["a", "b", "a", "b"], 4)
    _, gaps = supervision_of(OUTCOME, queries).judged_pairs()
    assert np.count_nonzero(gaps) == 1


def test_labels_of_splitters_and_units():
    assert split_labels(OUTCOME).tolist() == OUTCOME.event.tolist()
    assert split_labels(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert most_units(OUTCOME, 4) == 2 and most_units(np.zeros(4), 4) == 4


def test_checked_outcomes():
    for given in (OUTCOME, np.asarray(OUTCOME)):
        y, queries = checked_scores(given, None)
        assert y == OUTCOME and len(queries) == 1
    with pytest.raises(UndefinedMetric, match="no item is known to have lived longer"):
        checked_scores(Censored([False, False], [1.0, 2.0]), None)
    with pytest.raises(UndefinedMetric, match="in any stratum"):
        checked_scores(OUTCOME, [0, 1, 2, 3])


def test_folds_share_the_events_evenly():
    event = np.arange(100) % 10 == 0
    y, queries = checked_scores(Censored(event, np.arange(100.0)), None)
    folds = refitting_folds("auto", y, queries, None)
    assert [int(event[test].sum()) for _, test in folds.splits] == [1] * 10
