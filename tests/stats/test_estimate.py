"""The estimate and its interval, on samples whose truth is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.stats.estimate import (
    DEFAULT_START_SD,
    START_SD_WEIGHT,
    Estimate,
    estimate,
    median_error,
    starts_for,
    t_quantile,
)


def drawn(rng, truth=1e-6, starts=3, blocks=20, start_sd=DEFAULT_START_SD, noise=0.01, bursts=0.0):
    """Blocks of a case: each start has its own start_sd, each block its own noise."""
    found = []
    for start in range(starts):
        level = truth * (1 + rng.gauss(0, start_sd))
        for _ in range(blocks):
            burst = 0.5 if rng.random() < bursts else 0.0
            found.append((start, 0, level * (1 + rng.gauss(0, noise) + burst)))
    return found


def test_without_samples_there_is_no_estimate():
    assert estimate([]) is None


def test_the_value_is_the_mean_over_starts_of_the_medians_of_children():
    # Start 0 has children with medians 2 and 4, start 1 one with median 9: (3 + 9) / 2.
    samples = [(0, 0, 1.0), (0, 0, 2.0), (0, 0, 50.0), (0, 1, 4.0), (1, 0, 9.0)]
    assert estimate(samples).value == 6.0
    assert estimate(samples).starts == 2


def test_identical_starts_are_as_certain_as_layout_lets_them_be():
    found = estimate([(start, 0, 1.0) for start in range(3) for _ in range(10)])
    # The starts show no scatter (2 degrees), the default is 1.2 % (4 degrees):
    # √(4 · 0.012² / 6) = 0.98 % per start, /√3 for three of them, × 2.447 for 6 degrees.
    expected = 2.447 * math.sqrt(START_SD_WEIGHT * DEFAULT_START_SD**2 / 6 / 3)
    assert found.half_width == pytest.approx(expected, rel=1e-3)
    assert found.within == 0.0


def test_a_single_start_rests_on_the_default_alone():
    found = estimate([(0, 0, 2.0)] * 10)
    # 4 degrees of freedom: 2.776 · 1.2 %.
    assert found.half_width == pytest.approx(2.776 * DEFAULT_START_SD, rel=1e-3)
    assert found.starts == 1


def test_starts_that_disagree_widen_the_interval():
    quiet = estimate([(start, 0, 1.0) for start in range(4)])
    loud = estimate([(start, 0, 1.0 + 0.1 * start) for start in range(4)])
    assert loud.half_width > 3 * quiet.half_width


@pytest.mark.parametrize(
    ("starts", "start_sd", "noise", "bursts"),
    [
        (3, DEFAULT_START_SD, 0.01, 0.0),
        (3, DEFAULT_START_SD, 0.05, 0.1),
        (6, DEFAULT_START_SD, 0.01, 0.0),
        (12, DEFAULT_START_SD, 0.02, 0.05),
        (6, 2 * DEFAULT_START_SD, 0.01, 0.0),
        (3, DEFAULT_START_SD / 3, 0.002, 0.0),
    ],
)
def test_the_interval_contains_the_truth_as_often_as_it_says(starts, start_sd, noise, bursts):
    rng = random.Random(20261115)
    hits = 0
    for _ in range(400):
        found = estimate(drawn(rng, starts=starts, start_sd=start_sd, noise=noise, bursts=bursts))
        # Bursts only ever add: 10 % of blocks shift a median by about an eighth of its noise.
        shift = 1e-6 * bursts * noise * 1.25
        hits += found.low - shift <= 1e-6 <= found.high
    # 95 % of 400 are 380, √(400 · 0.95 · 0.05) = 4.4: three of these below is 366. Where starts
    # scatter twice as much as the default, six of them must not fall far below nine in ten.
    assert hits >= (366 if start_sd <= DEFAULT_START_SD else 350)


def test_the_interval_is_no_wider_than_it_must_be():
    rng = random.Random(1)
    widths = [estimate(drawn(rng, starts=12)).half_width for _ in range(100)]
    # The truth for twelve starts: 2.13 · √(1.2 %² + (1.25 · 1 % / √20)²) / √12 = 0.76 %.
    assert sum(widths) / len(widths) < 0.01


positive = st.floats(1e-9, 1e3)
samples_of = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), positive), min_size=1, max_size=40
)


@given(samples_of, st.floats(1e-6, 1e6))
def test_units_do_not_matter(samples, factor):
    one = estimate(samples)
    other = estimate([(start, child, value * factor) for start, child, value in samples])
    assert other.value == pytest.approx(one.value * factor, rel=1e-9)
    assert other.half_width == pytest.approx(one.half_width, rel=1e-6)


@given(samples_of, st.randoms())
def test_the_order_of_samples_and_the_numbers_of_starts_do_not_matter(samples, rng):
    shuffled = [(start + 10, child, value) for start, child, value in samples]
    rng.shuffle(shuffled)
    one, other = estimate(samples), estimate(shuffled)
    assert other.value == pytest.approx(one.value, rel=1e-9)
    assert other.high == pytest.approx(one.high, rel=1e-6)


@given(samples_of)
def test_the_interval_surrounds_a_value_between_the_samples(samples):
    found = estimate(samples)
    values = [value for _, _, value in samples]
    assert min(values) * (1 - 1e-9) <= found.value <= max(values) * (1 + 1e-9)
    assert found.low < found.value < found.high


def test_nothing_and_less_than_nothing_have_an_interval_too():
    # An empty statement, its loop subtracted: around zero.
    found = estimate([(0, 0, -1e-10), (1, 0, 1e-10), (2, 0, 0.0)])
    assert found.low < 0 < found.high
    assert estimate([(0, 0, 0.0)]).value == 0
    assert Estimate(0.0, 0.0, 0.0, 1, 0.0, 0.0).half_width == math.inf


def test_the_error_of_a_median():
    assert median_error([1.0]) == 0.0
    # Absolute deviations 2, 1, 0, 1, 2 have the median 1: 1.2533 · 1.4826 / √5.
    assert median_error([1, 2, 3, 4, 5]) == pytest.approx(1.2533 * 1.4826 / math.sqrt(5))
    rng = random.Random(3)
    medians = [sorted(rng.gauss(0, 1) for _ in range(25))[12] for _ in range(2000)]
    spread = math.sqrt(sum(m * m for m in medians) / len(medians))
    errors = [median_error([rng.gauss(0, 1) for _ in range(25)]) for _ in range(2000)]
    assert sum(errors) / len(errors) == pytest.approx(spread, rel=0.1)


def test_a_finer_precision_needs_more_starts():
    # ±2 %: 2.447 · 1.2 % / √3 = 1.7 % is enough. ±1 %: 2.228 · 1.2 % / √7 = 1.01 % is not.
    assert starts_for(0.02) == 3
    assert starts_for(0.01) == 8
    assert starts_for(0.0001, most=12) == 12
    assert all(starts_for(p / 1000) >= starts_for((p + 1) / 1000) for p in range(1, 50))


def test_students_quantiles():
    assert t_quantile(6) == pytest.approx(2.447, abs=1e-3)
    assert t_quantile(1e9) == pytest.approx(1.960, abs=1e-3)


def test_a_single_sample_claims_nothing():
    """Start variance has a default, the noise of one sample is not."""
    found = estimate([(0, 0, 3.0)])
    assert (found.low, found.value, found.high) == (0.0, 3.0, 6.0)
    assert estimate([(0, 0, 3.0), (0, 0, 3.0)]).half_width < 0.05
