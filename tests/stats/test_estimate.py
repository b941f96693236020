"""The estimate and its interval, on samples whose truth is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.stats.estimate import (
    Estimate,
    estimate,
    is_precise,
    median_error,
    starts_for,
    t_quantile,
)
from opbench.stats.groups import two_groups
from opbench.stats.prior import Prior

#: What the starts of these tests scatter: written here, and nowhere in the code.
START_SD = 0.012


def drawn(rng, truth=1e-6, starts=3, blocks=20, start_sd=START_SD, noise=0.01, bursts=0.0):
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


def test_the_value_is_the_mean_over_starts_of_the_median_of_their_children():
    # Start 0 has children with medians 2 and 4, start 1 one with median 9: (3 + 9) / 2.
    samples = [(0, 0, 1.0), (0, 0, 2.0), (0, 0, 50.0), (0, 1, 4.0), (1, 0, 9.0)]
    assert estimate(samples).value == 6.0
    assert estimate(samples).starts == 2


def test_a_slow_moment_in_every_start_is_none_of_the_case_s():
    """Of four children of each start one was measured in a slow moment of the machine."""
    samples = [
        (start, child, 1.5 if child == start % 4 else 1.0)
        for start in range(6)
        for child in range(4)
        for _ in range(10)
    ]
    assert estimate(samples).value == 1.0


def test_the_interval_is_students_over_the_starts():
    """2, 4 and 6: mean 4, standard deviation 2, 4.303 for two degrees of freedom."""
    found = estimate([(0, 0, 2.0), (1, 0, 4.0), (2, 0, 6.0)])
    assert found.high - found.value == pytest.approx(4.303 * 2 / math.sqrt(3), rel=1e-3)
    assert found.seen == found.between == pytest.approx(0.5)


def test_what_other_cases_showed_is_averaged_in():
    found = estimate([(0, 0, 0.98), (1, 0, 1.0), (2, 0, 1.02)], prior=Prior(0.05, 4))
    # (4 · 5 %² + 2 · 2 %²) / 6, and 2.447 for six degrees of freedom.
    sd = math.sqrt((4 * 0.05**2 + 2 * 0.02**2) / 6)
    assert found.half_width == pytest.approx(2.447 * sd / math.sqrt(3), rel=1e-3)
    assert (found.between, found.seen) == (pytest.approx(sd), pytest.approx(0.02))


def test_identical_starts_are_no_surer_than_clocks():
    found = estimate([(start, 0, 1.0) for start in range(3) for _ in range(10)])
    assert found.half_width == pytest.approx(4.303 * 0.001 / math.sqrt(3), rel=1e-3)
    assert found.within == 0.0


def test_starts_that_agree_better_than_their_blocks_let_them_do_so_by_luck():
    blocks = (0.9, 0.95, 1.0, 1.05, 1.1)
    found = estimate([(start, 0, value) for start in range(4) for value in blocks])
    assert found.seen == 0.0
    assert found.between == pytest.approx(median_error(blocks))


def test_children_share_the_noise_of_their_start():
    """Four children of a start make its blocks' noise half of what one has."""
    blocks = (0.9, 0.95, 1.0, 1.05, 1.1)
    one = estimate([(s, 0, value) for s in range(3) for value in blocks])
    four = estimate([(s, c, value) for s in range(3) for c in range(4) for value in blocks])
    assert one.within == pytest.approx(median_error(blocks))
    assert four.within == pytest.approx(one.within / 2)


def test_a_single_start_says_frankly_that_nothing_is_known():
    found = estimate([(0, 0, 2.0)] * 10)
    # 4.303 for two degrees of freedom, times 5 %.
    assert found.half_width == pytest.approx(4.303 * 0.05, rel=1e-3)
    assert found.starts == 1


def test_starts_that_disagree_widen_the_interval():
    quiet = estimate([(start, 0, 1.0) for start in range(4)])
    loud = estimate([(start, 0, 1.0 + 0.1 * start) for start in range(4)])
    assert loud.half_width > 3 * quiet.half_width


@pytest.mark.parametrize(("noise", "bursts"), [(0.01, 0.0), (0.05, 0.1), (0.002, 0.05)])
@pytest.mark.parametrize("starts", [3, 6, 12])
def test_the_interval_contains_the_truth_as_often_as_it_says(starts, noise, bursts):
    rng = random.Random(20261115)
    hits = 0
    for _ in range(400):
        found = estimate(drawn(rng, starts=starts, noise=noise, bursts=bursts))
        # Bursts only ever add: 10 % of blocks shift a median by about an eighth of its noise.
        shift = 1e-6 * bursts * noise * 1.25
        hits += found.low - shift <= 1e-6 <= found.high
    # 95 % of 400 are 380, √(400 · 0.95 · 0.05) = 4.4: three of these below is 366.
    assert hits >= 366


def test_the_interval_is_no_wider_than_it_must_be():
    rng = random.Random(1)
    widths = [estimate(drawn(rng, starts=12)).half_width for _ in range(100)]
    # The truth for twelve starts: 2.2 · √(1.2 %² + (1.25 · 1 % / √20)²) / √12 = 0.78 %.
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
    assert Estimate(0.0, -1.0, 1.0, 1, 0.0, 0.0).half_width == math.inf


def test_what_takes_no_time_at_all_is_known_exactly():
    # A call that launches nothing on a GPU, block after block.
    found = estimate([(start, start, 0.0) for start in range(3) for _ in range(5)])
    assert (found.value, found.low, found.high, found.half_width) == (0.0, 0.0, 0.0, 0.0)


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
    # ±2 %: 2.776 · 1.2 % / √5 = 1.5 % is enough. ±1 %: 2.365 · 1.2 % / √8 = 1.003 % is not.
    assert starts_for(0.02, START_SD) == 5
    assert starts_for(0.01, START_SD) == 9
    # Where the figure is worth four starts more: 2.228 · 1.2 % / √7 = 1.01 % is not enough.
    assert starts_for(0.01, START_SD, 4) == 8
    assert starts_for(0.0001, START_SD, most=12) == 12
    widths = [starts_for(p / 1000, START_SD) for p in range(1, 50)]
    assert widths == sorted(widths, reverse=True)


def test_four_starts_are_never_precise_and_five_only_if_they_are_not_lucky():
    four, five, nine = (
        estimate([(start, 0, 1.0 + 0.001 * (start % 3)) for start in range(count)])
        for count in (4, 5, 9)
    )
    assert max(four.half_width, five.half_width) < 0.005
    assert not is_precise(four, 0.02, Prior(0.001, 8))
    assert is_precise(five, 0.02, Prior(0.01, 4))
    # For a first case nothing is known of how little starts scatter.
    assert not is_precise(five, 0.02)
    assert is_precise(nine, 0.02)
    assert not is_precise(nine, nine.half_width * 0.99, Prior(0.0001, 8))


def test_starts_in_two_groups_are_told_apart():
    fast = [1.0, 1.01, 0.99, 1.005, 0.995]
    assert two_groups([*fast, 1.3]) == (sorted(fast), [1.3])
    assert estimate([(i, 0, v) for i, v in enumerate([*fast, 1.3, 1.32])]).groups[1] == [1.3, 1.32]
    assert two_groups(fast) is None
    # Near each other, too few, or not positive: starts as they are.
    assert two_groups([*fast, 1.05]) is None
    assert two_groups([1.0, 1.001, 1.002, 1.3]) is None
    assert two_groups([-1.0, *fast]) is None
    rng = random.Random(4)
    false = sum(
        two_groups([rng.gauss(1, 0.036) for _ in range(5)]) is not None for _ in range(1000)
    )
    assert false <= 40


def test_students_quantiles():
    assert t_quantile(6) == pytest.approx(2.447, abs=1e-3)
    assert t_quantile(1e9) == pytest.approx(1.960, abs=1e-3)


def test_a_single_sample_claims_nothing():
    """Start variance has a default, the noise of one sample has none."""
    found = estimate([(0, 0, 3.0)])
    assert (found.low, found.value, found.high) == (0.0, 3.0, 6.0)
    assert estimate([(0, 0, 3.0), (0, 0, 3.0)]).half_width < 0.3
