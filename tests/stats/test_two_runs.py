"""Two runs of the same cases: how often an interval of one holds the estimate of the other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from perf.layers_twice import held_and_expected

from opbench.result import Result, Sample
from opbench.stats.estimate import estimate


def result(rng: np.random.Generator, starts: int, sd: float, narrowed: float = 1.0) -> Result:
    samples = tuple(Sample(math.exp(rng.normal(0, sd)), start=start) for start in range(starts))
    found = estimate([(sample.start, 0, sample.value) for sample in samples])
    reach = narrowed * (found.high - found.value)
    low, high = found.value - reach, found.value + reach
    return Result("h", "time", "s", estimate=found.value, low=low, high=high, samples=samples)


@pytest.mark.parametrize(("starts", "share"), [(12, 0.85), (5, 0.88)])
def test_intervals_that_hold_the_truth_hold_the_other_estimate_as_often_as_predicted(starts, share):
    """Two equal errors: P(|t| ≤ t₉₅ / √2)."""
    rng = np.random.default_rng(1)
    pairs = [(result(rng, starts, 0.02), result(rng, starts, 0.02)) for _ in range(600)]
    held, expected = held_and_expected(pairs)
    assert held == pytest.approx(share, abs=3 * math.sqrt(share * (1 - share) / 600))
    # Each chance is computed from errors that are themselves estimates.
    assert expected == pytest.approx(share, abs=0.03)


def test_an_interval_beside_a_much_sharper_one_holds_it_like_the_truth():
    rng = np.random.default_rng(2)
    wide = [result(rng, 12, 0.05) for _ in range(400)]
    sharp = [result(rng, 12, 0.002) for _ in range(400)]
    held, expected = held_and_expected(list(zip(wide, sharp, strict=True)))
    # Half of the intervals are the sharp ones, which hardly ever hold the blunt estimate.
    assert held == pytest.approx(expected, abs=0.04)
    assert expected == pytest.approx((0.95 + 0.07) / 2, abs=0.04)


def test_intervals_half_as_wide_as_they_should_be_are_found_out():
    rng = np.random.default_rng(3)
    pairs = [(result(rng, 12, 0.02, 0.5), result(rng, 12, 0.02, 0.5)) for _ in range(44)]
    held, expected = held_and_expected(pairs)
    assert held < expected - 2 * math.sqrt(expected * (1 - expected) / 44)
