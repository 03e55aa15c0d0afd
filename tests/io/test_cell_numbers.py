"""Cells as numbers: what a column of text means, and what is refused because it may mean two."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.io.cell_numbers import CellError, Style, number_with, read_cells


def read(*cells, kind="auto", decimal="auto"):
    values, style = read_cells(cells, Style(kind, decimal))
    return [values[cell] for cell in cells], style


@pytest.mark.parametrize(
    ("cells", "values", "kind"),
    [
        (["1", "-2.5", "1e3"], [1, -2.5, 1000], "number"),
        (["1,5", "2"], [1.5, 2], "number"),
        (["1.234,5", "1.000"], [1234.5, 1000], "number"),
        (["1,234.5", "7"], [1234.5, 7], "number"),
        (["1,234,567", "0.5"], [1234567, 0.5], "number"),
        (["1.234.567", "12"], [1234567, 12], "number"),
        (["0,123", "1"], [0.123, 1], "number"),
        (["1234,567"], [1234.567], "number"),
        (["1 234,5", "2 000 000"], [1234.5, 2e6], "number"),
        (["1\u00a0234,5", "1\u202f000,25"], [1234.5, 1000.25], "number"),
        (["1'234.5", "1\u2019000"], [1234.5, 1000], "number"),
        (["\u22125,5", "\u22121"], [-5.5, -1], "number"),
        (["-1.234,5e2", "1"], [-123450, 1], "number"),
        (["12%", "3.5 %"], [0.12, 0.035], "percent"),
        (["12,5%", "3\u00a0%"], [0.125, 0.03], "percent"),
        (["yes", "No", "YES"], [1, 0, 1], "truth"),
        (["t", "f"], [1, 0], "truth"),
        (["True", "false", "1"], [1, 0, 1], "number"),
        (["1970-01-02", "1969-12-31"], [1, -1], "date"),
        (["1970-01-01 12:00", "1970-01-01T06:00:00Z"], [0.5, 0.25], "date"),
        (["1970-01-01T02:00+02:00"], [0], "date"),
        (["2.1.1970", "03.01.1970 12:00"], [1, 2.5], "date"),
        (["1970/1/3"], [2], "date"),
        (["13/1/1970", "2/1/1970"], [12, 1], "date d/m/y"),
        (["1/13/1970", "1/2/1970"], [12, 1], "date m/d/y"),
        (["1970-01-01 9:30"], [9.5 / 24], "date"),
    ],
)
def test_columns_as_people_write_them(cells, values, kind):
    found, style = read(*cells, "", "NA")
    assert found[:-2] == pytest.approx(values) and style.kind == kind
    assert math.isnan(found[-1]) and math.isnan(found[-2])
    again, _ = read(*cells, kind=style.kind, decimal=style.decimal)
    assert again == pytest.approx(values)


@pytest.mark.parametrize(
    ("cells", "cell", "reason"),
    [
        (["1,234"], "1,234", "may be 1234 or 1.234"),
        (["5", "1,234", "2,000"], "1,234", "may be"),
        (["1,234", "1.500"], "1,234", "may be"),
        (["1", "x"], "x", "is not a number"),
        (["1,5", "1.5"], "1.5", "not a number with a decimal comma"),
        (["12 34"], "12 34", "not a number"),
        (["1_000"], "1_000", "not a number"),
        (["1,23,4"], "1,23,4", "not a number"),
        (["12%", "5"], "5", "no percent sign"),
        (["yes", "maybe"], "maybe", "neither 'yes' nor 'no'"),
        (["2024-02-30"], "2024-02-30", "not a date of the calendar"),
        (["2024-01-01", "soon"], "soon", "is not a date"),
        (["2024-01-01", "2024"], "2024", "is not a date"),
        (["1/2/2024"], "1/2/2024", "the day or the month"),
        (["13/1/2024", "1/13/2024"], "13/1/2024", "the day or the month"),
        (["0x10"], "0x10", "not a number"),
    ],
)
def test_what_is_refused(cells, cell, reason):
    with pytest.raises(CellError, match=reason) as caught:
        read(*cells)
    assert caught.value.cell == cell


def test_a_given_sign_decides():
    assert read("1,234", decimal=",")[0] == [1.234] and read("1,234", decimal=".")[0] == [1234]
    assert read("1.500", decimal=",")[0] == [1500]
    with pytest.raises(CellError, match="decimal comma"):
        read("1.5", decimal=",")
    with pytest.raises(CellError, match="not a number"):
        read("12%", kind="number")
    with pytest.raises(CellError, match="no percent sign"):
        read("12", kind="percent")


@given(st.floats(-1e15, 1e15), st.sampled_from([".", ","]), st.integers(0, 6))
def test_written_numbers_are_read_back(value, sign, digits):
    point = f"{value:,.{digits}f}"
    text = point if sign == "." else point.translate(str.maketrans(",.", ".,"))
    expected = float(point.replace(",", ""))
    assert number_with(sign, text) == expected
    if value < 0:
        assert number_with(sign, text.replace("-", "\u2212")) == expected


@given(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)))
def test_moments_are_days(moment):
    (days,), _ = read(moment.isoformat(sep=" "))
    seconds = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert days == pytest.approx(seconds / 86400, abs=1e-9)
