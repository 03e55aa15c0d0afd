import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import (
    ConditionalRanker,
    ConditionalRankerCV,
    RankRLS,
    TwoStepRanker,
    TwoStepRankerCV,
)
from rankwise.evaluation import relational_score, relational_settings
from rankwise.exceptions import EstimateWarning
from rankwise.metrics import concordance, kendall_tau_b
from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit

SPLITS = {"edges": EdgeSplit, "rows": RowSplit, "columns": ColumnSplit, "both": RowColumnSplit}
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(16, 3)), RNG.normal(size=(13, 2))
Y = A[:, :2] @ B.T + 0.5 * RNG.normal(size=(16, 13))
FEW = [0.1, 1.0, 10.0]
MODELS = {
    "conditional": ConditionalRanker(kernel="rbf"),
    "two step": TwoStepRanker(kernel=("rbf", "linear")),
    "conditional search": ConditionalRankerCV(alphas=FEW, cv=2),
    "two-step search": TwoStepRankerCV(FEW, fill="mean"),
}
ignored = pytest.mark.filterwarnings("ignore:the best candidate", "ignore:Y is not")


def plainly(model, setting, by_row=True, average="conditions", k=3):
    """Folds, refits and the mean over conditions, written plainly; for models without a search."""
    edges = np.argwhere(np.isfinite(Y))
    y = Y[tuple(edges.T)]
    pairs, hits = {}, {}
    for train, test in SPLITS[setting](k, 0).split(edges):
        rows, columns = np.unique(edges[train, 0]), np.unique(edges[train, 1])
        labels = np.full((len(rows), len(columns)), np.nan)
        for (i, j), value in zip(edges[train], y[train]):
            labels[np.searchsorted(rows, i), np.searchsorted(columns, j)] = value
        if isinstance(model, TwoStepRanker) and setting == "edges":
            model.set_params(fill="model")
        s = model.fit((A[rows], B[columns]), labels).predict_edges(A, B, edges[test])
        for c in np.unique(edges[test, 0 if by_row else 1]):
            at = edges[test, 0 if by_row else 1] == c
            for a in range(at.sum()):
                for b in range(a):
                    dy, ds = np.subtract(*y[test][at][[a, b]]), np.subtract(*s[at][[a, b]])
                    if dy:
                        pairs[c] = pairs.get(c, 0) + 1
                        hits[c] = hits.get(c, 0) + (dy * ds > 0) + 0.5 * (ds == 0)
    if average == "pairs":
        return sum(hits.values()) / sum(pairs.values())
    return np.mean([hits[c] / pairs[c] for c in pairs])


@pytest.mark.parametrize("setting", SPLITS)
@pytest.mark.parametrize("average", ["conditions", "pairs"])
@pytest.mark.parametrize("condition", ["row", "column"])
def test_equal_to_plain_refits(setting, average, condition):
    for model in (TwoStepRanker(condition=condition), ConditionalRanker(condition=condition)):
        found = relational_score(model, (A, B), Y, setting=setting, cv=3, average=average)
        expected = plainly(model, setting, condition == "row", average)
        assert found.score == pytest.approx(expected, abs=1e-10)
        low, high = found.interval
        assert 0 <= low < found.score < high <= 1


@ignored
@pytest.mark.parametrize("setting", SPLITS)
@pytest.mark.parametrize("name", MODELS)
def test_every_learner_in_every_setting(name, setting):
    score, interval = relational_score(MODELS[name], (A, B), Y, setting=setting, cv=3)
    assert score > 0.6
    assert interval.low < score < interval.high


@ignored
@pytest.mark.parametrize("setting", SPLITS)
def test_shuffled_labels_score_one_half(setting):
    """Nothing leaks: with labels that say nothing, the score is ½ on average."""
    rng = np.random.default_rng(1)
    for model in (TwoStepRanker(fill="mean"), ConditionalRankerCV(alphas=[0.1, 10.0], cv=2)):
        scores = []
        for _ in range(25):
            shuffled = rng.permutation(Y.ravel()).reshape(Y.shape)
            scores.append(relational_score(model, (A, B), shuffled, setting=setting, cv=3)[0])
        error = np.std(scores, ddof=1) / 5
        assert abs(np.mean(scores) - 0.5) < 3.5 * error


def test_edges_of_one_row_that_are_constant_say_nothing():
    labels = Y.copy()
    labels[3] = 1.0
    found = relational_score(TwoStepRanker(), (A, B), labels, setting="rows", cv=3)
    assert found.n_conditions == 15


@ignored
@pytest.mark.parametrize("setting", SPLITS)
def test_a_search_chooses_inside_in_the_same_setting(setting):
    search = TwoStepRankerCV(FEW, kernel="rbf", fill="mean")
    found = relational_score(search, (A, B), Y, setting=setting, cv=3)
    edges = np.argwhere(np.isfinite(Y))
    for (train, _), chosen in zip(SPLITS[setting](3, 0).split(edges), found.chosen):
        rows, columns = np.unique(edges[train, 0]), np.unique(edges[train, 1])
        labels = np.full(Y.shape, np.nan)
        labels[tuple(edges[train].T)] = Y[tuple(edges[train].T)]
        inner = TwoStepRankerCV(FEW, setting, kernel="rbf", fill="mean")
        inner.fit((A[rows], B[columns]), labels[np.ix_(rows, columns)])
        assert inner.alpha_ == chosen
    once = relational_score(search, (A, B), Y, setting=setting, cv=3, nested=False)
    alpha = TwoStepRankerCV(FEW, setting, kernel="rbf", fill="mean").fit((A, B), Y).alpha_
    fixed = TwoStepRanker(alpha, kernel="rbf", fill="mean")
    assert once.score == relational_score(fixed, (A, B), Y, setting=setting, cv=3).score


@ignored
@pytest.mark.parametrize("relation", ["general", "symmetric", "reciprocal"])
@pytest.mark.parametrize("setting", SPLITS)
def test_one_domain(relation, setting):
    turn = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    labels = A @ (turn if relation == "reciprocal" else np.eye(3)) @ A.T
    for model in (TwoStepRanker(relation=relation), ConditionalRanker(relation=relation)):
        assert relational_score(model, A, labels, setting=setting, cv=3).score > 0.7


def test_precomputed_kernels_frames_and_edge_lists_are_the_same():
    K_A, K_B = rbf_kernel(A, A, gamma=0.3), rbf_kernel(B, B, gamma=0.3)
    plain = TwoStepRanker(kernel="rbf", gamma=0.3)
    expected = relational_score(plain, (A, B), Y, setting="both", cv=3)
    given = TwoStepRanker(kernel="precomputed")
    found = relational_score(given, (K_A, K_B), Y, setting="both", cv=3)
    assert found.score == pytest.approx(expected.score)
    frames = (pd.DataFrame(A, columns=list("abc")), pd.DataFrame(B, columns=list("de")))
    edges = np.argwhere(np.isfinite(Y))
    found = relational_score(plain, frames, Y[tuple(edges.T)], edges, setting="both", cv=3)
    assert found == expected


def test_other_measures():
    found = relational_score(
        TwoStepRanker(), (A, B), Y, setting="rows", cv=3, scoring="tau", random_state=2
    )
    h = found.held_out
    values = [kendall_tau_b(h.y[h.edges[:, 0] == i], h.s[h.edges[:, 0] == i]) for i in range(16)]
    assert found.score == pytest.approx(np.mean(values))
    assert found.interval.low < found.score < found.interval.high
    own = relational_score(TwoStepRanker(), (A, B), Y, setting="rows", cv=3, scoring=concordance)
    assert own.score == pytest.approx(
        relational_score(TwoStepRanker(), (A, B), Y, setting="rows", cv=3).score
    )


@pytest.mark.parametrize("setting", SPLITS)
def test_intervals_cover_the_expected_score(setting):
    """Nodes and noise are drawn anew; benchmarks/papers/relational_coverage.py repeats it more."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(60):
        a, b = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
        labels = 0.5 * a @ b.T + rng.normal(size=(20, 1)) + rng.normal(size=15)
        labels += rng.normal(size=(20, 15))
        model = TwoStepRanker(3.0, fill="mean")
        found.append(relational_score(model, (a, b), labels, setting=setting, cv=3))
    truth = np.mean([one.score for one in found])
    covered = np.mean([one.interval.low <= truth <= one.interval.high for one in found])
    assert covered >= 0.87  # 0.95 less 2.8 standard errors
    spread = np.std([one.score for one in found])
    assert 0.6 < np.mean([one.score_se for one in found]) / spread < 2.5


class InterruptedAt(TwoStepRanker):
    """Ctrl-C comes in the fit with the number `left`."""

    left = 0

    def fit(self, X, Y, *, edges=None):
        InterruptedAt.left -= 1
        if not InterruptedAt.left:
            raise KeyboardInterrupt
        return super().fit(X, Y, edges=edges)


def test_an_interrupted_score_leaves_nothing_behind():
    model, before = InterruptedAt(fill="mean"), (A.copy(), B.copy(), Y.copy())
    InterruptedAt.left = 3
    with pytest.raises(KeyboardInterrupt):
        relational_score(model, (A, B), Y, setting="rows", cv=3)
    assert not hasattr(model, "n_filled_")
    for array, old in zip((A, B, Y), before):
        np.testing.assert_array_equal(array, old)
    again = relational_score(model, (A, B), Y, setting="rows", cv=3)
    assert again == relational_score(TwoStepRanker(fill="mean"), (A, B), Y, setting="rows", cv=3)


def test_interrupted_settings_keep_what_is_done():
    models = {"one": InterruptedAt(fill="mean"), "other": InterruptedAt(fill="mean")}
    options = {"cv": 3, "settings": ("rows", "columns")}
    whole = relational_settings(models, (A, B), Y, **options)
    InterruptedAt.left = 11  # the other model, in its second setting
    with pytest.warns(EstimateWarning, match="after 3 of 4 scores"):
        found = relational_settings(models, (A, B), Y, **options)
    assert list(found["one"]) == ["rows", "columns"] and list(found["other"]) == ["rows"]
    assert found["other"]["rows"] == whole["other"]["rows"]
    assert str(found).count("other") == 1 and len(found.draw().containers) == 2
    InterruptedAt.left = 8
    with pytest.warns(EstimateWarning, match="after 2 of 4 scores"):
        assert list(relational_settings(models, (A, B), Y, **options).scores) == ["one"]
    InterruptedAt.left = 2
    with pytest.raises(KeyboardInterrupt):
        relational_settings(models, (A, B), Y, **options)
    with pytest.raises(ValueError, match="settings is empty"):
        relational_settings(models, (A, B), Y, settings=())


def test_a_table_and_a_picture_of_all_settings():
    models = {"two step": TwoStepRanker(), "conditional": ConditionalRanker()}
    found = relational_settings(models, (A, B), Y, cv=3)
    assert list(found["two step"]) == list(SPLITS)
    assert str(found).count("conditional") == 4
    axes = found.draw()
    assert len(axes.containers) == 2
    alone = relational_settings(TwoStepRanker(), (A, B), Y, cv=3, settings=("rows", "both"))
    assert alone["rows"].score == found["two step"]["rows"].score
    with pytest.raises(KeyError):
        found["rows"]


@pytest.mark.parametrize(
    "model, labels, options, message",
    [
        (RankRLS(), Y, {}, "no learner of relations"),
        (TwoStepRanker, Y, {}, "not its class"),
        (TwoStepRanker(), Y, {"setting": "cells"}, "setting"),
        (TwoStepRanker(), Y, {"cv": 1}, "cv must be"),
        (TwoStepRanker(), Y, {"cv": "auto"}, "cv must be"),
        (TwoStepRanker(), Y, {"level": 95}, "level"),
        (TwoStepRanker(), Y, {"average": "rows"}, "average"),
        (TwoStepRanker(), Y, {"average": "pairs", "scoring": "tau"}, "concordance"),
        (TwoStepRanker(), np.stack([Y, Y], axis=-1), {}, "2 relations"),
        (TwoStepRanker(), np.full(Y.shape, np.nan), {}, "no edge is observed"),
        (TwoStepRanker(), np.ones(Y.shape), {"setting": "rows"}, "no condition has two"),
        (TwoStepRanker(), Y, {"setting": "rows", "cv": 40}, "n_splits=40"),
        (ConditionalRanker(early_stopping=([[0, 0]], [1.0])), Y, {}, "early_stopping"),
    ],
)
def test_bad_input(model, labels, options, message):
    with pytest.raises(ValueError, match=message):
        relational_score(model, (A, B), labels, **options)


def test_progress_is_told(monkeypatch):
    from rankwise.numerics.progress import progress_told_to

    told = []
    with progress_told_to(told.append):
        relational_score(TwoStepRanker(), (A, B), Y, setting="rows", cv=3)
    assert any("folds 3 of 3" in words for words in told)
