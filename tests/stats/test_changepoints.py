"""Change points on synthetic histories with a known truth, and on input that has none."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.stats.changepoints import ChangePoint, Point, change_points

NOISE = 0.01


def history(levels, seed: int, noise=None, half: float | None = 0.02) -> list[Point]:
    """Points around levels, 1 % of normal noise unless another is given, intervals of ± 2 %."""
    rng = np.random.default_rng(seed)
    levels = np.asarray(levels, dtype=float)
    scatter = rng.normal(size=len(levels)) if noise is None else noise(rng, len(levels))
    values = (1e-5 * levels * np.exp(NOISE * scatter)).tolist()
    if half is None:
        return [Point(value) for value in values]
    return [Point(value, value * (1 - half), value * (1 + half)) for value in values]


def drifting(rng, count: int, correlation: float = 0.5):
    """Neighbours that resemble each other."""
    noise = rng.normal(size=count)
    for index in range(1, count):
        noise[index] = correlation * noise[index - 1] + math.sqrt(1 - correlation**2) * noise[index]
    return noise


def weeks(rng, count: int):
    """A machine that stays slow for days."""
    return drifting(rng, count, 0.8)


NOISES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=n),
    "skewed": lambda rng, n: rng.gamma(2, size=n),
    "one in fifty disturbed": lambda rng, n: (
        rng.normal(size=n) + (rng.random(n) < 0.02) * rng.exponential(20, size=n)
    ),
    "drifting": drifting,
}


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("half", [None, 0.02], ids=["bare", "intervals"])
def test_pure_noise_gives_no_change_in_95_of_100(kind, half):
    series = [history(np.ones(200), seed, NOISES[kind], half) for seed in range(100)]
    alarms = sum(bool(change_points(points)) for points in series)
    assert alarms <= 5


@pytest.mark.parametrize("count", [6, 8, 12, 30])
def test_short_noise_gives_no_change_either(count):
    series = [history(np.ones(count), seed) for seed in range(200)]
    assert sum(bool(change_points(points)) for points in series) <= 4


@pytest.mark.parametrize("count", [30, 100])
@pytest.mark.parametrize("half", [None, 0.02], ids=["bare", "intervals"])
def test_a_slow_machine_stays_slow_for_days_and_is_no_change(count, half):
    """Correlation 0.8 from run to run; nominal is 1 %, to reach was 8 %."""

    series = [history(np.ones(count), seed, weeks, half) for seed in range(200)]
    assert sum(bool(change_points(points)) for points in series) <= 16


@pytest.mark.parametrize("count", [20, 200])
@pytest.mark.parametrize("step", [1.05, 1 / 1.05])
def test_a_step_of_5_percent_is_found_within_a_point(count, step):
    at = count // 2
    series = [change_points(history([1] * at + [step] * (count - at), seed)) for seed in range(30)]
    # Twenty points cannot always tell a step from a machine that is warm for a week.
    assert sum(map(bool, series)) >= (30 if count > 20 else 25)
    for change in (change for changes in series for change in changes):
        assert abs(change.index - at) <= 1
        assert change.ratio == pytest.approx(step, abs=0.012)
        assert change.confidence > 0.99


@pytest.mark.parametrize(("before", "after"), [(4, 4), (5, 3), (7, 5), (10, 3), (20, 5)])
@pytest.mark.parametrize("step", [1.11, 2.0, 0.1])
def test_a_step_of_ten_times_the_noise_is_found_however_few_runs_were_before(before, after, step):
    """Few points do not tell whether their noise drifts; by so much it does not in any case."""
    levels = [1] * before + [step] * after
    found = [change_points(history(levels, seed)) for seed in range(100)]
    assert sum([change.index for change in changes] == [before] for changes in found) >= 98


def test_a_step_between_warm_and_cold_weeks_is_found():
    """Correlation 0.8: a step that is large beside what one week makes of the next."""
    series = [history([1] * 10 + [1.11] * 10, seed, weeks) for seed in range(100)]
    assert sum(bool(change_points(points)) for points in series) >= 95


def test_six_points_are_enough_for_a_clear_step():
    found = [change_points(history([1] * 3 + [1.1] * 3, seed)) for seed in range(30)]
    assert sum(bool(changes) and changes[0].index == 3 for changes in found) >= 28


def test_a_step_is_seen_as_soon_as_it_held_for_three_points():
    levels = [1.0] * 30 + [1.06] * 3
    assert [change.index for change in change_points(history(levels, 1))] == [30]
    assert change_points(history(levels[:-1], 1)) == ()


def test_two_steps_each_with_the_levels_beside_it():
    levels = [1.0] * 40 + [1.05] * 30 + [0.9] * 30
    first, second = change_points(history(levels, seed=3))
    assert [first.index, second.index] == [40, 70]
    assert first.after == second.before
    assert first.ratio == pytest.approx(1.05, abs=0.01)
    assert second.ratio == pytest.approx(0.9 / 1.05, abs=0.01)


@pytest.mark.parametrize("at", [0, 1, 10, 18, 19])
@pytest.mark.parametrize("height", [1.3, 20.0, 0.1])
def test_a_single_outlier_is_no_change_and_hides_none(at, height):
    steady = history([1.0] * 20, seed=5)
    steady[at] = Point(steady[at].value * height)
    assert change_points(steady) == ()
    stepped = history([1.0] * 20 + [1.06] * 20, seed=5)
    stepped[at] = Point(stepped[at].value * height)
    # Next to the step, nobody can tell which of the two levels an outlier belongs to.
    (change,) = change_points(stepped)
    assert abs(change.index - 20) <= 2


def test_two_bad_nights_in_a_row_are_no_change():
    assert change_points(history([1.0] * 15 + [1.5, 1.5] + [1.0] * 15, seed=2)) == ()


def test_wide_intervals_make_a_short_series_careful():
    levels = [1.0] * 3 + [1.05] * 3
    assert change_points(history(levels, seed=1, half=0.02))
    assert change_points(history(levels, seed=1, half=0.10)) == ()


def test_counts_without_noise_show_the_smallest_lasting_change():
    points = [Point(1_000_000.0)] * 5 + [Point(1_002_000.0)] * 5
    (change,) = change_points(points)
    assert change == ChangePoint(5, 1_000_000.0, 1_002_000.0, change.confidence)
    assert change_points([Point(1_000_000.0), Point(1_000_001.0)] * 20) == ()


def test_slow_drift_ends_in_some_verdict():
    drifting = history(np.linspace(1, 1.5, 300), seed=0)
    changes = change_points(drifting)
    assert all(change.ratio > 1 for change in changes)


def test_levels_at_and_below_zero_have_no_ratio():
    (change,) = change_points([Point(-1e-9)] * 6 + [Point(5e-9)] * 6)
    assert (change.index, change.before, change.after) == (6, -1e-9, 5e-9)
    assert change.ratio is None
    (freed,) = change_points([Point(4096.0)] * 6 + [Point(0.0)] * 6)
    assert freed.ratio is None


def test_values_that_are_not_numbers_are_passed_over():
    points = history([1.0] * 10 + [1.1] * 10, seed=4)
    points[3:3] = [Point(math.nan), Point(math.inf)]
    assert [change.index for change in change_points(points)] == [12]


def test_the_answer_does_not_depend_on_the_unit_and_is_repeatable():
    points = history([1.0] * 20 + [1.05] * 20, seed=6)
    scaled = [Point(p.value * 1e9, p.low * 1e9, p.high * 1e9) for p in points]
    one, other = change_points(points), change_points(scaled)
    assert one == change_points(points)
    assert [(c.index, round(c.ratio, 9)) for c in one] == [
        (c.index, round(c.ratio, 9)) for c in other
    ]


anything = st.floats(allow_nan=True, allow_infinity=True)
some_points = st.builds(Point, anything, st.none() | anything, st.none() | anything)


@settings(max_examples=60)
@given(st.lists(some_points, max_size=40))
def test_never_raises_whatever_the_values(points):
    changes = change_points(points)
    assert all(3 <= change.index <= len(points) - 3 for change in changes)
    assert [change.index for change in changes] == sorted({change.index for change in changes})
    assert all(0.9 <= change.confidence <= 1 for change in changes)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e308, 5e-324, 1.0])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 7, 50])
def test_a_constant_never_changes(value, count):
    assert change_points([Point(value, value, value)] * count) == ()


def test_the_cost_grows_with_the_points_and_not_with_their_square():
    """No absolute time: sixteen times the points take less than a hundred times as long."""

    def seconds(count: int) -> float:
        points = history([1.0] * (count // 2) + [1.05] * (count // 2), seed=7)
        assert [change.index for change in change_points(points)] == [count // 2]  # imports, too
        begun = time.process_time()
        for _ in range(3):
            change_points(points)
        return time.process_time() - begun

    assert seconds(1600) < 100 * seconds(100)
