from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.report.units import SCALES, format_interval, format_percent, format_value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.23456e-5, "s", "12.3 µs"),
        (1.5e-9, "s", "1.50 ns"),
        (2e-12, "s", "0.00200 ns"),
        (999.4e-9, "s", "999 ns"),
        (999.6e-9, "s", "1.00 µs"),  # never "1000 ns"
        (1e-6, "s", "1.00 µs"),
        (1e-3, "s", "1.00 ms"),
        (1.0, "s", "1.00 s"),
        (75.0, "s", "75.0 s"),
        (12345.6, "s", "12,346 s"),
        (-1.5e-6, "s", "-1.50 µs"),
        (0.0, "s", "0 s"),
        (0.0, "bytes", "0 B"),
        (512.0, "bytes", "512 B"),
        (4_194_304.0, "bytes", "4.19 MB"),
        (999_999.0, "bytes", "1.00 MB"),
        (1.5e13, "bytes", "15.0 TB"),
        (1234567.0, "instructions", "1,234,567"),
        (1234.5, "count", "1,234.5"),
        (7.0, "count", "7"),
        (2.5e12, "flop/s", "2.50e+12 flop/s"),
        (3.14159, "", "3.14"),
        (None, "s", "–"),
        (math.nan, "s", "nan s"),
        (-math.inf, "bytes", "-inf B"),
    ],
)
def test_a_value_reads(value, unit, text):
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (1.23e-5, 1.2152e-5, 1.2448e-5, "12.3 µs ± 1.2 %"),
        (1.2345e-5, 1.2344e-5, 1.2346e-5, "12.35 µs ± 0.01 %"),
        (1.2345e-5, 1.23e-5, 1.239e-5, "12.35 µs ± 0.36 %"),  # narrow: a fourth digit
        (1.0, 0.5, 1.5, "1.00 s ± 50 %"),
        (1.0, 1.0, 1.0, "1.00 s"),
        (1.0, None, 1.5, "1.00 s"),
        (0.0, -1.0, 1.0, "0 s"),
        (1.0, 0.5, math.inf, "1.00 s ± inf %"),
        (math.inf, 1.0, 2.0, "inf s"),
        (None, None, None, "–"),
    ],
)
def test_an_interval_reads(estimate, low, high, text):
    assert format_interval(estimate, low, high, "s") == text


def test_percents_have_two_digits():
    assert [format_percent(x) for x in (0.35, 0.0995, 0.012, 0.0099, 0.0004, 0.0)] == [
        "35 %",
        "10 %",
        "1.2 %",
        "0.99 %",
        "0.04 %",
        "0 %",
    ]


@given(st.floats(1e-9, 999.0), st.sampled_from(["s"]))
def test_a_time_keeps_three_digits_and_never_reaches_a_thousand(value, unit):
    number, symbol = format_value(value, unit).split(" ")
    factor = {name: size for size, name in SCALES[unit]}[symbol]
    assert 1 <= float(number) < 1000
    assert float(number) * factor == pytest.approx(value, rel=0.00502)


@given(st.floats(allow_nan=True), st.sampled_from(["s", "bytes", "count", "flop", ""]))
def test_every_float_reads_as_something_short(value, unit):
    assert unit == "count" or len(format_value(value, unit)) < 24 or abs(value) > 1e9
