"""Rankings drawn at random, and the comparison of a measure with its slow reference."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise.metrics import UndefinedMetric

quick = settings(deadline=None, max_examples=60)


@st.composite
def rankings(draw, max_items=25, y_values=None):
    """(y, s, qid) with real, tied or constant scores, and with or without queries."""
    m = draw(st.integers(1, max_items))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def scores():
        levels = draw(st.sampled_from([1, 2, 4, None]))
        return rng.normal(size=m) if levels is None else rng.integers(levels, size=m) / 3.0

    y = scores() if y_values is None else rng.choice(y_values, size=m)
    queries = draw(st.sampled_from([None, 1, 3, 8]))
    qid = None if queries is None else np.array(list("abcdefgh"))[rng.integers(queries, size=m)]
    return y, scores(), qid


def check(expected, measure, *arguments, **options):
    """The measure gives the expected value, or raises UndefinedMetric where that is None."""
    if expected is None:
        with pytest.raises(UndefinedMetric):
            measure(*arguments, **options)
    else:
        value = measure(*arguments, **options)
        assert type(value) is float
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
