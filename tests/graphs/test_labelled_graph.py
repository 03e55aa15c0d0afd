"""Labelled graphs refuse bad labels and edges."""

import numpy as np
import pytest

from rankwise.graphs import LabelledGraph


@pytest.mark.parametrize(
    "labels, edges, message",
    [
        (["ab"], [], r"labels\[0\] is the string 'ab'"),
        ([{"a"}, {1}], [], r"labels\[1\] must hold strings"),
        ([{"a"}, 3], [], r"labels\[1\] must be a set"),
        ([{"a"}], [(0, 1, 0.5)], r"edges\[0\].*does not join two of the vertices 0 to 0"),
        ([{"a"}], [(0, -1, 0.5)], r"edges\[0\]"),
        ([{"a"}], [(0, 0.5, 0.5)], r"edges\[0\]"),
        ([{"a"}], [(0, 0, 0.1), (0, 0, np.nan)], r"edges\[1\] has the weight nan"),
        ([{"a"}], [(0, 0)], "triples"),
        ([{"a"}], [("x", 0, 1)], "triples of numbers"),
    ],
)
def test_bad_graphs(labels, edges, message):
    with pytest.raises(ValueError, match=message):
        LabelledGraph(labels, edges)


def test_equal_graphs():
    graph = LabelledGraph([{"a"}], [(0, 0, 0.5)])
    assert graph == LabelledGraph([["a", "a"]], [(0, 0, 0.5)]) and graph.n_vertices == 1
