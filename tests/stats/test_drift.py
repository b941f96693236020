"""How much a machine's speed drifts, seen in code that is measured again and again."""

from __future__ import annotations

import math
import random

import pytest

from opbench.stats.distributions import t_quantile
from opbench.stats.drift import drift_between, widen
from opbench.stats.prior import Prior


def visits(
    rng: random.Random,
    count: int,
    between: float,
    within: float,
    value: float = 1e-5,
    blocks: int = 10,
) -> list[list[float]]:
    made = []
    for _ in range(count):
        level = value * math.exp(rng.gauss(0, between))
        made.append([level * (1 + rng.gauss(0, within)) for _ in range(blocks)])
    return made


def typical(between: float, within: float, cases: int = 4, count: int = 12) -> float:
    found = [
        drift_between(
            [visits(random.Random(f"{seed}/{i}"), count, between, within) for i in range(cases)]
        )
        for seed in range(30)
    ]
    known = sorted(one.sd for one in found if one is not None)
    assert len(known) == len(found)
    return known[len(known) // 2]


@pytest.mark.parametrize("between", [0.005, 0.015, 0.03])
def test_it_is_the_scatter_between_visits(between):
    assert typical(between, within=0.002) == pytest.approx(between, rel=0.25)


@pytest.mark.parametrize("within", [0.01, 0.04])
def test_the_noise_of_blocks_is_not_taken_for_drift(within):
    assert typical(0.0, within) < 0.3 * within
    assert typical(0.02, within, count=40) == pytest.approx(0.02, rel=0.3)


def test_one_noisy_case_does_not_make_a_drift_seem_slow():
    # Blocks of 3 % beside three cases of 0.4 %, as a small drift: noise that seems to correlate
    # more than perfectly made every tenth interval five times as wide as the drift.
    reach = []
    for seed in range(300):
        rng = random.Random(seed)
        found = drift_between(
            [visits(rng, 10, 0.004, w, blocks=6) for w in (0.03, 0.004, 0.004, 0.004)]
        )
        reach.append(t_quantile(found.freedom) * found.sd)
    assert sorted(reach)[270] < 0.03


def test_nor_is_what_happens_in_every_visit_alike():
    # The first blocks after a pause are slower, always.
    made = [visits(random.Random(i), 40, 0.01, 0.005) for i in range(4)]
    slower = [[[1.1 * v[0], 1.05 * v[1], *v[2:]] for v in case] for case in made]
    assert drift_between(slower).sd == pytest.approx(drift_between(made).sd, rel=0.25)


def test_too_few_visits_tell_nothing():
    rng = random.Random(1)
    assert drift_between([]) is None
    assert drift_between([visits(rng, 6, 0.02, 0.001)]) is None
    assert drift_between([visits(rng, 7, 0.02, 0.001)]) is not None
    assert drift_between([visits(rng, 1, 0.02, 0.001)] * 20) is None


def test_the_unit_does_not_matter():
    made = [visits(random.Random(i), 10, 0.02, 0.005) for i in range(3)]
    scaled = [[[1000 * value for value in visit] for visit in case] for case in made]
    assert drift_between(made).sd == pytest.approx(drift_between(scaled).sd)


def test_one_busy_visit_does_not_make_a_run_useless():
    made = [visits(random.Random(i), 20, 0.005, 0.001) for i in range(4)]
    made[0][3] = [10 * value for value in made[0][3]]
    found = drift_between(made)
    assert found is not None
    assert found.sd < 0.02
    assert drift_between([[[1.0] * 10, [100.0] * 10] * 10]).sd <= 0.15 * 1.1


def test_values_at_or_below_zero_are_left_out():
    made = [[[-1e-9] * 10, [0.0] * 10, [1.0], *visits(random.Random(1), 10, 0.01, 0.0)]]
    assert drift_between(made).sd == pytest.approx(0.01, rel=0.6)


def test_an_interval_is_widened_on_both_sides_and_never_narrowed():
    known = 1e9
    assert widen(10.0, 9.9, 10.1, Prior(0.0, known)) == pytest.approx((9.9, 10.1))
    low, high = widen(10.0, 9.7, 10.1, Prior(0.01, known))
    assert low == pytest.approx(10 - math.hypot(0.3, 0.196))
    assert high == pytest.approx(10 + math.hypot(0.1, 0.196))
    # Of a drift that few visits showed, less is known: 2.571 for five degrees of freedom.
    assert widen(10.0, 10.0, 10.0, Prior(0.01, 5))[1] == pytest.approx(10.2571, abs=1e-4)


def test_visits_that_predict_the_next_count_for_less():
    rng = random.Random(8)
    level, slow = 0.0, []
    for _ in range(60):
        level = 0.9 * level + math.sqrt(1 - 0.81) * rng.gauss(0, 0.02)
        slow.append([math.exp(level + rng.gauss(0, 0.001)) for _ in range(10)])
    quick = visits(rng, 60, 0.02, 0.001)
    assert drift_between([slow]).freedom < 0.4 * drift_between([quick]).freedom
    # Cases of one machine, visited together, are not independent witnesses.
    assert drift_between([quick] * 4).freedom == pytest.approx(drift_between([quick]).freedom)


def test_a_machine_that_slows_down_steadily_still_gives_an_interval_of_some_use():
    """By 3 % within fifteen visits. With one degree of freedom it was ±39 %."""
    rng = random.Random(1)
    made = [
        [[math.exp(0.002 * i + rng.gauss(0, 0.002)) for _ in range(6)] for i in range(15)]
        for _ in range(4)
    ]
    low, high = widen(1.0, 1.0, 1.0, drift_between(made))
    assert 0.03 < (high - low) / 2 < 0.25


def test_a_few_visits_that_rose_by_chance_are_no_trend_for_ever():
    """Four cases of a real run of 20 s, in µs: visits to them differ by 2 to 6 %."""
    found = drift_between(
        [
            [
                [3233, 3134, 3063, 2751, 2882, 3235],
                [2892, 3009, 2967, 3048, 2925, 2929],
                [3073, 3101, 3107, 3160, 3157, 3120],
            ],
            [
                [810, 732, 775, 905, 761, 752],
                [969, 830, 830, 816, 797],
                [915, 785, 853, 854],
                [867, 1010, 824, 934, 881],
            ],
            [
                [822, 750, 765, 758, 947, 835],
                [762, 749, 823, 758, 779, 768],
                [924, 795, 889, 820, 811],
            ],
            [
                [1086, 1204, 1226, 1184],
                [1169, 1046, 1236, 1180, 1144],
                [1158, 1256, 1206, 1108, 1260, 1249],
            ],
        ]
    )
    assert found is not None
    assert 0.01 < found.sd < 0.08


@pytest.mark.parametrize("count", [4, 6, 12])
def test_short_runs_of_a_machine_that_does_not_drift_for_long_stay_narrow(count):
    """Visits that do not depend on each other: nine of ten drifts lie within twice the true one."""
    found = [
        drift_between(
            [visits(random.Random(f"{seed}/{i}"), count, 0.02, 0.02, blocks=6) for i in range(4)]
        )
        for seed in range(60)
    ]
    known = sorted(one.sd for one in found if one is not None)
    assert len(known) == len(found)
    assert known[len(known) * 9 // 10] < 0.04
