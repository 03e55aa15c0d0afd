"""Axes and marks of the charts."""

from rankwise.report.svg import Axis, Chart, number


def test_charts_place_marks_by_their_axes():
    assert float(Axis(0, 10, 0, 100)(5)) == 50
    assert float(Axis(1, 4, 0, 100, log=True)(2)) == 50
    assert float(Axis(3, 3, 0, 100)(3)) == 50
    svg = Chart("a < b", (0, 1), (0, 1)).line([0, 1], [0, 1]).svg()
    assert "a &lt; b" in svg and "<polyline" in svg


def test_labels_are_short():
    assert [number(v) for v in (0.0, -0.0, 0.25, 1.5e-5, 120_000)] == [
        "0",
        "0",
        "0.25",
        "1.5e-05",
        "120k",
    ]
    assert [label for _, label in Axis(-1, 1, 0, 100).ticks(4)] == ["-1", "-0.5", "0", "0.5", "1"]
