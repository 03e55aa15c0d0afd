import numpy as np
import pytest

from rankwise import ConditionalRanker, KernelFilter, TwoStepRanker
from rankwise.evaluation import (
    relational_compare,
    relational_learning_curve,
    relational_permutation_test,
    relational_score,
)

SETTINGS = ("edges", "rows", "columns", "both")
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(18, 3)), RNG.normal(size=(15, 2))
Y = A[:, :2] @ B.T + 0.5 * RNG.normal(size=(18, 15))


@pytest.mark.parametrize("setting", SETTINGS)
def test_compared_scores_are_those_of_relational_score(setting):
    models = {"two step": TwoStepRanker(), "filter": KernelFilter((0, 0, 0, 1))}
    found = relational_compare(models, (A, B), Y, setting=setting, cv=3)
    assert found.best == "two step"
    alone = relational_score(TwoStepRanker(), (A, B), Y, setting=setting, cv=3)
    assert found.score[0] == alone.score
    assert found.score_se[0] == pytest.approx(alone.score_se)
    (difference,) = found.differences
    assert difference.difference == pytest.approx(found.score[0] - 0.5)
    assert difference.low < difference.difference < difference.high
    assert difference.p_value < 0.05
    assert "two step − filter" in str(found)


def test_the_same_model_twice_is_no_difference():
    found = relational_compare([TwoStepRanker(), TwoStepRanker()], (A, B), Y, setting="rows")
    assert found.names == ["TwoStepRanker", "TwoStepRanker 2"]
    assert found.differences[0].p_value == 1.0
    assert found.differences[0].low < 0 < found.differences[0].high


def test_a_signal_is_found_and_noise_is_not():
    found = relational_permutation_test(
        TwoStepRanker(), (A, B), Y, setting="rows", cv=3, n_permutations=39, random_state=0
    )
    assert found.p_value == 1 / 40 and found.permuted == "nodes" and len(found.null) == 39
    noise = RNG.normal(size=Y.shape) + 3 * RNG.normal(size=15)
    found = relational_permutation_test(
        KernelFilter(gamma=9.0), (A, B), noise, setting="rows", n_permutations=19, random_state=0
    )
    assert found.p_value > 0.05
    assert found.score > 0.7  # the columns keep their means, and so do the permutations


def test_one_side_may_be_permuted():
    labels = A[:, :1] @ np.ones((1, 15)) + 0.1 * RNG.normal(size=(18, 15))
    options = {"setting": "rows", "cv": 3, "n_permutations": 19, "random_state": 1}
    model = TwoStepRanker(condition="column")
    rows = relational_permutation_test(model, (A, B), labels, nodes="rows", **options)
    columns = relational_permutation_test(model, (A, B), labels, nodes="columns", **options)
    assert rows.p_value == 0.05 and columns.p_value > 0.05
    assert rows.permuted == "rows"


@pytest.mark.parametrize("setting", SETTINGS)
def test_permuted_nodes_are_judged_as_the_data_are(setting):
    """The folds and the statistic are the same for all, so that permutations are exchangeable."""
    model = TwoStepRanker(fill="mean")
    options = {"setting": setting, "cv": 3, "n_permutations": 1, "random_state": 5}
    first = relational_permutation_test(model, (A, B), Y, **options)
    rng = np.random.RandomState(5)
    rng.randint(2**31 - 1)  # the seed of the folds
    rows, columns = rng.permutation(18), rng.permutation(15)
    again = relational_permutation_test(model, (A[rows], B[columns]), Y, **options)
    assert again.score == pytest.approx(first.null[0], abs=1e-12)
    assert first.p_value == (1 + (first.null[0] >= first.score)) / 2


@pytest.mark.parametrize(
    "setting, nodes", [*((setting, "both") for setting in SETTINGS), ("rows", "rows")]
)
def test_level_of_the_permutation_test(setting, nodes):
    """p-values are uniform while rows and columns have effects, and columns tell something.

    benchmarks/papers/relational_levels.py repeats this more often.
    """
    rng = np.random.default_rng(3)
    p_values = []
    for seed in range(30):
        a, b = rng.normal(size=(12, 2)), rng.normal(size=(10, 2))
        labels = rng.normal(size=(12, 1)) + rng.normal(size=10) + rng.normal(size=(12, 10))
        if nodes == "rows":
            labels += rng.normal(size=a.shape) @ b.T
        found = relational_permutation_test(
            TwoStepRanker(3.0, fill="mean"),
            (a, b),
            labels,
            setting=setting,
            nodes=nodes,
            cv=2,
            n_permutations=19,
            random_state=seed,
        )
        p_values.append(found.p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 5 / 30
    assert abs(np.mean(p_values) - 0.525) < 3.5 * 0.288 / np.sqrt(30)


def test_permuted_kernel_matrices_are_permuted_features():
    K = (A @ A.T, B @ B.T)
    options = {"setting": "both", "cv": 3, "n_permutations": 5, "random_state": 2}
    one = relational_permutation_test(TwoStepRanker(), (A, B), Y, **options)
    other = relational_permutation_test(TwoStepRanker(kernel="precomputed"), K, Y, **options)
    np.testing.assert_allclose(one.null, other.null)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("one_domain", [False, True])
def test_learning_curves_end_at_the_score_of_all_nodes(setting, one_domain):
    X, labels = (A, A @ A.T) if one_domain else ((A, B), Y)
    model = TwoStepRanker(fill="mean")
    curve = relational_learning_curve(
        model, X, labels, setting=setting, cv=3, sizes=[0.4, 0.7, 1.0]
    )
    assert (np.diff(curve.x) > 0).all() and curve.score[-1] > 0.7
    seed = np.random.RandomState(0).randint(2**31 - 1)
    alone = relational_score(model, X, labels, setting=setting, cv=3, random_state=seed)
    assert curve.score[-1] == pytest.approx(alone.score)
    assert curve.score_se[-1] == pytest.approx(alone.score_se)
    assert "training" in curve.name


def test_bad_input():
    with pytest.raises(ValueError, match="two models"):
        relational_compare([TwoStepRanker()], (A, B), Y)
    with pytest.raises(ValueError, match="dict of names"):
        relational_compare(TwoStepRanker(), (A, B), Y)
    with pytest.raises(ValueError, match="different conditions"):
        relational_compare([TwoStepRanker(), ConditionalRanker(condition="column")], (A, B), Y)
    with pytest.raises(ValueError, match="n_permutations"):
        relational_permutation_test(TwoStepRanker(), (A, B), Y, n_permutations=0)
    with pytest.raises(ValueError, match="same nodes"):
        relational_permutation_test(TwoStepRanker(), A, A @ A.T, nodes="rows")
    with pytest.raises(ValueError, match="nodes"):
        relational_permutation_test(TwoStepRanker(), (A, B), Y, nodes="cells")
    for sizes in ([0.0], [2], [], ["all"]):
        with pytest.raises(ValueError, match="sizes"):
            relational_learning_curve(TwoStepRanker(), (A, B), Y, sizes=sizes)
