"""Slow, obvious estimates of performance: refit for every hold-out, loop over every pair."""

import numpy as np
from sklearn.base import clone, is_classifier


def score(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X)


def refit(estimator, X, y, held, qid=None):
    """Scores of the items `held` by a model trained on the others; 0 where those hold one class."""
    stay = np.setdiff1d(np.arange(len(y)), held)
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    options = {} if qid is None else {"qid": np.asarray(qid)[stay]}
    try:
        model = clone(estimator).fit(
            X[np.ix_(stay, stay)] if pairwise else X[stay], y[stay], **options
        )
    except ValueError:
        assert len(set(y[stay])) < 2 or qid is not None
        return np.zeros(len(held))
    return score(model, X[np.ix_(held, stay)] if pairwise else X[held])


def heaviside(a, b, tie):
    return 0.5 if abs(a - b) <= tie else float(a > b)


def leave_pair_out_auc(estimator, X, y, tie=0.0):
    values = [
        heaviside(*refit(estimator, X, y, np.array([i, j])), tie)
        for i in np.flatnonzero(y == y.max())
        for j in np.flatnonzero(y == y.min())
    ]
    return np.mean(values)


def folded_auc(estimator, X, y, tests, pooled, tie=0.0):
    s = np.empty(len(y))
    fold = np.empty(len(y), dtype=int)
    for number, test in enumerate(tests):
        s[test] = refit(estimator, X, y, test)
        fold[test] = number
    values = [
        heaviside(s[i], s[j], tie)
        for i in np.flatnonzero(y == y.max())
        for j in np.flatnonzero(y == y.min())
        if pooled or fold[i] == fold[j]
    ]
    return np.mean(values)


def delong(y, s):
    """AUC and its variance by DeLong et al. (1988), every pair compared."""
    high, low = s[y == y.max()], s[y == y.min()]
    H = np.array([[heaviside(a, b, 0.0) for b in low] for a in high])
    of_high, of_low = H.mean(axis=1), H.mean(axis=0)
    return H.mean(), of_high.var(ddof=1) / len(high) + of_low.var(ddof=1) / len(low)


def concordance(y, s):
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    return np.mean([heaviside(s[i], s[j], 0.0) for i, j in pairs])
