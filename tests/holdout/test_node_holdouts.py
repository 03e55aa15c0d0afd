import numpy as np
import pytest

from rankwise import TwoStepRanker
from rankwise.holdout.two_step_holdouts import TwoStepHoldouts
from rankwise.learners.two_step_ranker import two_step_problem
from tests import reference_two_step as reference


@pytest.mark.parametrize("fill", [None, "mean", 0.5])
@pytest.mark.parametrize("kind", ["row", "column", "both"])
@pytest.mark.parametrize("alphas", [(0.3, 0.3), (0.3, 2.0)])
def test_nodes_of_a_general_relation_leave_in_both_roles(kind, fill, alphas):
    rng = np.random.default_rng(0)
    A, _, X, Y = reference.make_relation(rng, "general", False, 3)
    if fill is not None:
        Y = reference.unobserved(Y, "general")
    model = TwoStepRanker(alphas, kernel="rbf", fill=fill)
    problem, _ = two_step_problem(model, X, Y, None)
    found = TwoStepHoldouts(problem, whole_nodes=True).without(kind, alphas)[..., 0]
    for i in range(len(A)):
        for j in range(len(A)):
            out = {"row": [i], "column": [j], "both": [i, j]}[kind]
            kept = np.delete(np.arange(len(A)), out)
            model.fit(A[kept], Y[np.ix_(kept, kept)])
            expected = model.predict(A[[i]], A[[j]])[0, 0]
            assert found[i, j] == pytest.approx(expected, abs=1e-9)
