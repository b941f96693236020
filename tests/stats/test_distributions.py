"""Our distributions are SciPy's, over everything that an interval may ask for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from opbench.stats.distributions import digamma, t_quantile, t_tail, tetragamma, trigamma

freedoms = st.floats(0.5, 1e6) | st.sampled_from([1.0, 2.0, 4.0, 11.0, 1e10, math.inf])


@given(freedoms, st.floats(-50, 50))
def test_the_tail_of_t(freedom, t):
    expected = special.stdtr(min(freedom, 1e9), -t)
    assert t_tail(freedom, t) == pytest.approx(expected, rel=1e-7, abs=1e-14)


@given(freedoms, st.floats(0.01, 0.99999))
def test_the_quantile_of_t(freedom, level):
    expected = special.stdtrit(min(freedom, 1e9), 0.5 + level / 2)
    assert t_quantile(freedom, level) == pytest.approx(expected, rel=1e-7)


def test_quantiles_as_tables_print_them():
    printed = {1: 12.706, 2: 4.303, 4: 2.776, 6: 2.447, 11: 2.201, 30: 2.042, math.inf: 1.960}
    for freedom, value in printed.items():
        assert t_quantile(freedom) == pytest.approx(value, abs=5e-4)


@given(st.floats(1e-3, 1e6))
def test_the_polygamma_functions(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-11, abs=1e-11)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-11)
    assert tetragamma(x) == pytest.approx(special.polygamma(2, x), rel=1e-11)
