"""Slow, obvious versions for censored outcomes: enumerate comparable pairs, loop over them."""

import numpy as np

from tests.reference import query_scale, target_and_weight


def comparable(event, time, qid=None, equal_times=True):
    """(h, j) for every pair of a stratum in which h is known to have lived longer than j."""
    m = len(time)
    qid = [0] * m if qid is None else list(qid)
    found = []
    for j in range(m):
        for h in range(m):
            if h == j or qid[h] != qid[j] or not event[j]:
                continue
            same_time = time[h] == time[j] and not event[h]
            if time[h] > time[j] or (equal_times and same_time):
                found.append((h, j))
    return found


def enumerate_comparable(
    event, time, qid=None, weight=None, loss="magnitude", ties="keep", query_weight="pairs"
):
    """(h, j, z, w²) as tests.reference.enumerate_pairs has them."""
    m = len(time)
    qid = [0] * m if qid is None else list(qid)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    equal_times = loss == "unit" or (loss == "magnitude" and ties == "keep")
    pairs = comparable(event, time, qid, equal_times)
    found = []
    for h, j in pairs:
        items = sum(weight[i] for i in range(m) if qid[i] == qid[h])
        total = sum(weight[a] * weight[b] for a, b in pairs if qid[a] == qid[h])
        z, w = target_and_weight(loss, time[h] - time[j])
        scale = query_scale(query_weight, items, total)
        found.append((h, j, z, weight[h] * weight[j] * w**2 * scale))
    return found


def concordance(event, time, s, qid=None, weight=None):
    """Harrell's for weight None; a pair weighs weight[j] of the shorter otherwise. By stratum."""
    qid = [0] * len(time) if qid is None else list(qid)
    weight = np.ones(len(time)) if weight is None else weight
    values = []
    for label in dict.fromkeys(qid):
        right = counted = 0.0
        for h, j in comparable(event, time, qid):
            if qid[h] == label:
                counted += weight[j]
                right += weight[j] * (1.0 if s[h] > s[j] else 0.5 if s[h] == s[j] else 0.0)
        if counted:
            values.append(right / counted)
    return np.mean(values)


def still_followed(event, time, t):
    """G(t): the product over the censored times up to t of the share that was not lost then."""
    left = 1.0
    for c in sorted(set(time[~event])):
        if c <= t:
            at_risk = sum(1 for e, x in zip(event, time) if x > c or (x == c and not e))
            left *= 1 - sum(1 for e, x in zip(event, time) if x == c and not e) / at_risk
    return left
