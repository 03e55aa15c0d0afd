import numpy as np
import pytest

from rankwise.supervision.filled_relation import RULES, FilledRelation, check_fill
from rankwise.supervision.relation import Labels

Y = np.array([[1.0, np.nan, 3.0], [4.0, 6.0, np.nan], [0.0, 2.0, 1.0]])


def filled(fill, sign=0, labels=Y):
    rows, columns = np.nonzero(~np.isnan(labels))
    edges = Labels(labels.shape, rows=rows, columns=columns, y=labels[rows, columns])
    return FilledRelation.of_labels(edges, fill, sign)


@pytest.mark.parametrize(
    "fill, values", [(7.0, (7, 7)), ("mean", (17 / 7, 17 / 7)), ("row", (2, 5)), ("column", (4, 2))]
)
def test_rules(fill, values):
    relation = filled(fill)
    assert relation.values[0, 1] == pytest.approx(values[0])
    assert relation.values[1, 2] == pytest.approx(values[1])
    np.testing.assert_array_equal(relation.transposed().values, relation.values.T)
    assert relation.n_missing == 2 and not relation.is_complete


def test_a_mirrored_relation_knows_both_directions():
    relation = filled(None, 1)
    np.testing.assert_array_equal(relation.values, relation.values.T)
    assert relation.values[0, 1] == 4.0 and relation.values[0, 2] == 1.5
    relation = filled(None, -1)
    np.testing.assert_array_equal(relation.values, -relation.values.T)
    assert not np.diag(relation.values).any()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("fill", ["mean", "row", "column", 0.0])
def test_fills_of_a_mirrored_relation_are_mirrored(sign, fill):
    labels = Y.copy()
    labels[1, 0] = np.nan
    relation = filled(fill, sign, labels)
    np.testing.assert_allclose(relation.values, sign * relation.values.T)


def test_bad_fills():
    assert [check_fill(rule) for rule in (*RULES, None, 2)] == [*RULES, None, 2.0]
    for wrong in ("median", np.inf, True, [1.0], object()):
        with pytest.raises(ValueError, match="fill must be"):
            check_fill(wrong)
    with pytest.raises(ValueError, match=r"2 of 9 cells.*row 0, column 1"):
        filled(None)
