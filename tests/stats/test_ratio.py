"""Ratios to a baseline, on samples whose true ratio is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.stats.distributions import t_quantile
from opbench.stats.prior import Prior
from opbench.stats.ratio import Ratio, ratio

#: The noise of these tests, written here and nowhere in the code: between starts, between the two
#: sides of a start, between children, between runs.
START_SD, TILT, CHILD, RUNS = 0.012, 0.02, 0.004, 0.03


def paired(rng, truth=1.0, starts=6, children=3, blocks=15, noise=0.01):
    """Two sides forked from the same starts: layout is shared, children differ a little."""
    sides: tuple[list, list] = ([], [])
    for start in range(starts):
        layout = rng.gauss(0, START_SD)
        tilt = rng.gauss(0, TILT)
        for child in range(children):
            for side, factor in enumerate((1.0, truth)):
                level = layout + side * tilt + rng.gauss(0, CHILD / math.sqrt(2))
                for _ in range(blocks):
                    value = 1e-6 * factor * math.exp(level + rng.gauss(0, noise))
                    sides[side].append((start, child, value))
    return sides


def apart(rng, truth=1.0, starts=6, blocks=15, noise=0.01, drift=0.0, first=(0, 0)):
    """Two sides with starts of their own."""
    sides = []
    for side, factor in enumerate((1.0, truth)):
        moved = rng.gauss(0, drift)
        found = []
        for start in range(starts):
            level = moved + rng.gauss(0, START_SD)
            found += [
                (start + first[side], 0, 1e-6 * factor * math.exp(level + rng.gauss(0, noise)))
                for _ in range(blocks)
            ]
        sides.append(found)
    return sides


def test_a_side_without_positive_samples_has_no_ratio():
    assert ratio([], [(0, 0, 1.0)], "paired") is None
    assert ratio([(0, 0, 1.0)], [(0, 0, -1.0), (0, 0, 0.0)], "paired") is None


@pytest.mark.parametrize("design", ["paired", "interleaved", "shared", "separate"])
def test_one_child_without_a_positive_value_is_enough_for_no_ratio(design):
    base = [(start, child, 1.0) for start in range(3) for child in range(3)]
    new = [(start, child, -1.0 if (start, child) == (1, 2) else 1.0) for start, child, _ in base]
    assert ratio(base, new, design) is None
    assert ratio(new, base, design) is None


def test_sides_that_share_starts_are_paired_and_others_are_not():
    base = [(start, 0, 1.0) for start in range(3)]
    assert ratio(base, base, "paired").design == "paired"
    assert ratio(base, [(start + 3, 0, 1.0) for start in range(3)], "paired").design == "separate"
    assert ratio(base, base, "interleaved").design == "interleaved"


def in_slow_moments(slow, starts=4, children=4):
    """A side of which some (start, child) were measured in a slow moment of the machine."""
    return [
        (start, child, 1.5 if (start, child) in slow else 1.0)
        for start in range(starts)
        for child in range(children)
        for _ in range(5)
    ]


@pytest.mark.parametrize("design", ["paired", "interleaved", "shared", "separate"])
def test_a_moment_in_slow_moments_moves_no_ratio(design):
    slow = {(start, start % 4) for start in range(4)}
    for base, new in (((), slow), (slow, ()), (slow, slow)):
        assert ratio(in_slow_moments(base), in_slow_moments(new), design).value == 1.0


def test_what_a_moment_does_to_both_sides_of_a_set_cancels_in_that_set():
    """Half of the sets were measured at another speed, and of the others each has its own."""
    speeds = (1.0, 1.1, 1.5, 1.7)
    base = [(start, child, speeds[child]) for start in range(3) for child in range(4)]
    new = [(start, child, 1.02 * value) for start, child, value in base]
    new += [(start, 4, 9.0) for start in range(3)]  # a set that only one side has
    for design in ("paired", "interleaved"):
        for left in (base, base[1:], base[:7] + base[8:]):  # also without a child of one side
            found = ratio(left, new, design)
            assert found.value == pytest.approx(1.02)
            assert found.error == pytest.approx(0.001 / math.sqrt(3))


def in_turns(speeds, extra, factor=1.0):
    """Two sides of three starts with a set each, whose turns were taken at these speeds; `extra`
    are the turns that took another 30 % on the new side alone."""
    base = [(start, 0, speed) for start in range(3) for speed in speeds]
    new = [
        (start, 0, factor * speed * (1.3 if turn in extra else 1))
        for start in range(3)
        for turn, speed in enumerate(speeds)
    ]
    return base, new


@pytest.mark.parametrize("design", ["paired", "interleaved"])
def test_what_a_moment_does_to_both_sides_of_a_turn_cancels_in_that_turn(design):
    """The machine is half as fast from the fifth turn on, and one side is held up in the third and
    the fourth. The medians of the sides are 1.0 and 1.3, while turn by turn nothing happened."""
    base, new = in_turns([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0], {2, 3})
    found = ratio(base, new, design)
    assert found.value == 1.0
    assert found.error == pytest.approx(0.001 / math.sqrt(3)), "five of seven turns agree"
    base, new = in_turns([1.0, 1.4, 0.8, 2.0, 1.7, 0.9, 1.2], {1, 5}, 1.02)
    assert ratio(base, new, design).value == pytest.approx(1.02)


def test_a_turn_that_was_disturbed_on_one_side_counts_on_neither():
    """Without the first and the last turn the others agree; were the rest moved up, none would."""
    base, new = in_turns([1.0, 1.5, 2.0, 3.0, 4.5], set(), 1.1)
    gone = {(start, turn) for start in range(3) for turn in (0, 4)}
    new = [
        (start, child, None if (start, at % 5) in gone else value)
        for at, (start, child, value) in enumerate(new)
    ]
    found = ratio(base, new, "paired")
    assert found.value == pytest.approx(1.1)
    assert found.error == pytest.approx(0.001 / math.sqrt(3))


def test_a_turn_that_took_no_time_on_both_sides_says_nothing():
    """An empty loop was taken off, which took longer; one side alone is lower than any other."""
    base = [(start, 0, value) for start in range(3) for value in (1.0, 0.0, -1.0, 2.0, 4.0)]
    new = [(start, 0, value) for start in range(3) for value in (1.5, 0.0, -2.0, 3.0, 6.0)]
    assert ratio(base, new, "paired").value == pytest.approx(1.5)
    base = [(start, 0, value) for start in range(3) for value in (1.0, 1.0, 1.0, 2.0, 4.0)]
    new = [(start, 0, value) for start in range(3) for value in (0.0, 1.5, 1.5, 3.0, 6.0)]
    assert ratio(base, new, "paired").value == pytest.approx(1.5)


def test_sides_that_have_no_turn_in_common_are_divided_by_their_medians():
    base = [(start, 0, value) for start in range(3) for value in (1.0, None)]
    new = [(start, 0, value) for start in range(3) for value in (None, 1.2)]
    assert ratio(base, new, "paired").value == pytest.approx(1.2)


def test_turns_tell_identical_code_apart_from_slower_code_on_a_machine_that_drifts():
    """The speed wanders by 3 % from turn to turn, which both sides see; each block adds 0.5 %."""
    rng = random.Random(8)
    found = []
    for _ in range(40):
        sides = [], []
        for start in range(6):
            speed = 0.0
            for _turn in range(25):
                speed += rng.gauss(0, 0.03)
                for side, factor in zip(sides, (1.0, 1.005)):
                    value = factor * math.exp(speed + rng.gauss(0, 0.005))
                    side.append((start, 0, value))
        found.append(ratio(*sides, "paired"))
    assert sum(each.p_value < 0.05 for each in found) >= 36
    assert sum(each.low <= 1.005 <= each.high for each in found) >= 34


def test_pairing_cancels_what_a_start_does_to_both_sides():
    base = [(start, 0, 10.0**start) for start in range(4)]
    new = [(start, 1, 1.1 * 10.0**start) for start in range(4)]
    found = ratio(base, new, "paired")
    assert found.value == pytest.approx(1.1)
    # No scatter is seen in four starts, beyond what no clock shows.
    assert found.error == pytest.approx(0.001 / 2)
    assert (found.freedom, found.starts) == (3, 4)


def test_the_interval_is_students_over_the_starts():
    """Log-ratios 1, 3 and 5 %: mean 3 %, standard deviation 2 %, two degrees of freedom."""
    base = [(start, 0, 1.0) for start in range(3)]
    new = [(start, 0, math.exp(0.01 + 0.02 * start)) for start in range(3)]
    for design in ("paired", "interleaved"):
        found = ratio(base, new, design)
        assert (found.seen, found.error) == pytest.approx((0.02, 0.02 / math.sqrt(3)))
        assert math.log(found.high) == pytest.approx(0.03 + 4.303 * found.error, rel=1e-3)
    learnt = ratio(base, new, "paired", pair=Prior(0.05, 4))
    assert learnt.freedom == 6
    assert learnt.error == pytest.approx(math.sqrt((4 * 0.05**2 + 2 * 0.02**2) / 6 / 3))


def test_separate_runs_add_their_starts_and_their_drifts():
    base = [(0, 0, 0.98), (1, 0, 1.0), (2, 0, 1 / 0.98)]
    new = [(start, 0, 1.0) for start in range(5)]
    drifts = (Prior(0.03, 7), Prior(0.04, 9))
    found = ratio(base, new, "separate", drifts=drifts)
    parts = [(0.0004081 / 3, 2), (0.001**2 / 5, 4), (0.03**2, 7), (0.04**2, 9)]
    total = sum(variance for variance, _ in parts)
    assert found.error == pytest.approx(math.sqrt(total), rel=1e-3)
    freedom = total**2 / sum(variance**2 / freedom for variance, freedom in parts)
    assert found.freedom == pytest.approx(freedom, rel=1e-3)
    assert found.shift == pytest.approx(0.05)
    assert found.shift_freedom == pytest.approx(0.0025**2 / (0.0009**2 / 7 + 0.0016**2 / 9))


def sets(rng, scatter, starts=4, children=4):
    """Sides whose sets of children scatter so much, with starts that add nothing."""
    base = [(s, c, 1.0) for s in range(starts) for c in range(children)]
    return base, [(s, c, math.exp(rng.gauss(0, scatter))) for s, c, _ in base]


def test_starts_that_agree_better_than_their_sets_do_so_by_luck():
    base = [(s, c, 1.0) for s in range(4) for c in range(2)]
    new = [(s, c, math.exp(0.02 * (c - 0.5))) for s, c, _ in base]
    # Every start has sets at -1 % and +1 %: variance 0.02² / 2, of their mean half of that.
    assert ratio(base, new, "paired").error == pytest.approx(0.02 / 2 / math.sqrt(4))


def test_sets_that_scatter_more_than_is_usual_are_believed():
    wide = [ratio(*sets(random.Random(seed), 0.05), "paired") for seed in range(200)]
    assert sum(found.p_value < 0.05 for found in wide) / 200 < 0.12
    # What four starts of four sets each can know, and no less.
    assert sorted(found.error for found in wide)[100] > 0.6 * 0.05 / 4
    narrow = [ratio(*sets(random.Random(seed), 0.002), "paired").error for seed in range(50)]
    assert max(narrow) < 0.003


def test_starts_that_differ_more_than_their_sets_are_heard():
    base = [(s, c, 1.0) for s in range(4) for c in range(6)]
    tilt = (0.97, 0.99, 1.02, 1.04)
    found = ratio(base, [(s, c, tilt[s]) for s, c, _ in base], "paired")
    assert found.p_value > 0.2
    assert found.high - found.low > 0.02


def test_two_runs_at_different_times_are_never_known_better_than_the_machine_repeats_itself():
    base = [(start, 0, 1.0) for start in range(50) for _ in range(20)]
    assert ratio(base, base, "separate").error >= math.sqrt(2) * 0.015
    assert ratio(base, base, "separate").freedom < 9, "a default is not known for certain"


SIMULATED = {
    "paired": lambda rng, truth: paired(rng, truth),
    "interleaved": lambda rng, truth: apart(rng, truth),
    "separate": lambda rng, truth: apart(rng, truth, drift=RUNS, first=(0, 100)),
}


#: What each of two runs saw of its drift.
DRIFTS = (Prior(RUNS, 12), Prior(RUNS, 12))


@pytest.mark.parametrize("design", SIMULATED)
@pytest.mark.parametrize("truth", [1.0, 1.05])
def test_the_interval_contains_the_true_ratio_as_often_as_it_says(design, truth):
    rng = random.Random(20261115)
    hits = 0
    for _ in range(300):
        found = ratio(*SIMULATED[design](rng, truth), design, drifts=DRIFTS)
        hits += found.low <= truth <= found.high
    # 95 % of 300 are 285, √(300 · 0.95 · 0.05) = 3.8: four of these below is 270.
    assert hits >= 270


@pytest.mark.parametrize("design", SIMULATED)
def test_identical_sides_alarm_as_rarely_as_the_level_says(design):
    rng = random.Random(7)
    found = [ratio(*SIMULATED[design](rng, 1.0), design, drifts=DRIFTS) for _ in range(300)]
    alarms = sum(each.p_value < 0.05 for each in found)
    # 5 % of 300 are 15; four standard deviations above is 30.
    assert alarms <= 30


def test_an_injected_five_per_cent_is_found_by_pairs():
    rng = random.Random(11)
    found = [ratio(*paired(rng, 1.05), "paired") for _ in range(100)]
    assert sum(r.low > 1 for r in found) >= 90
    assert all(r.p_value < 0.05 for r in found if r.low > 1)


sides = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.floats(1e-9, 1e3)), min_size=1, max_size=25
)


@given(sides, sides, st.sampled_from(["paired", "interleaved", "separate", None]))
def test_exchanging_the_sides_inverts_the_ratio(base, new, design):
    one, other = ratio(base, new, design), ratio(new, base, design)
    assert one.value == pytest.approx(1 / other.value, rel=1e-9)
    assert one.low == pytest.approx(1 / other.high, rel=1e-9)
    assert one.low <= one.value <= one.high
    assert one.p_value == pytest.approx(other.p_value, abs=1e-9)


@given(sides, sides, st.floats(1e-3, 1e3), st.randoms())
def test_units_and_the_order_of_children_do_not_matter(base, new, factor, rng):
    one = ratio(base, new, "paired")
    scaled = [in_another_order(rng, side, factor) for side in (base, new)]
    other = ratio(*scaled, "paired")
    assert other.value == pytest.approx(one.value, rel=1e-6)
    assert other.high == pytest.approx(one.high, rel=1e-6)


def in_another_order(rng, side, factor):
    """The same children one after the other in another order, each with its blocks in order."""
    children = list({(start, child) for start, child, _ in side})
    rng.shuffle(children)
    return [(s, c, v * factor) for each in children for s, c, v in side if (s, c) == each]


def test_what_could_be_detected_is_more_than_what_the_interval_spans():
    found = ratio(*paired(random.Random(5)), "paired")
    assert found.detectable() > found.high / found.value - 1


def test_what_could_be_detected_in_a_large_sample_is_the_textbook_figure():
    known = Ratio(1.0, 0.98, 1.02, 9, "paired", 0.01, math.inf)
    textbook = t_quantile(1e9) + t_quantile(1e9, 0.6)  # 1.96 + 0.84
    assert known.detectable() == pytest.approx(math.exp(0.01 * textbook) - 1)
    many = Ratio(1.0, 0.98, 1.02, 9, "paired", 0.01, 1e6)
    assert many.detectable() == pytest.approx(known.detectable(), rel=1e-3)
    assert many.detectable(50) == pytest.approx(math.exp(0.01 * (3.2905 + 0.8416)) - 1, rel=1e-3)
    assert Ratio(1.0, 1.0, 1.0, 9, "paired", 0.0, 5).detectable() == 0.0
