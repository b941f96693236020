"""How often intervals hold, identical code is blamed, and what is promised is found.

Simulations with settings of their own: no figure of noise comes from the code. They are the small
sisters of `python -m perf calibration`; each bound is what is to be reached, less three standard
deviations of so few repetitions.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from opbench.stats.distributions import t_quantile
from opbench.stats.estimate import estimate
from opbench.stats.mean import geometric_mean
from opbench.stats.needed import advice, starts_needed
from opbench.stats.prior import Prior
from opbench.stats.ratio import Ratio, ratio
from opbench.stats.start_variance import StartVariance
from opbench.stats.verdict import Question, verdicts


def least(share: float, rounds: int) -> float:
    return share - 3 * math.sqrt(share * (1 - share) / rounds)


def most(share: float, rounds: int) -> float:
    return share + 3 * math.sqrt(share * (1 - share) / rounds)


def starts(levels) -> list[tuple[int, int, float]]:
    """One block per start: what the blocks of a start scatter is part of its level here."""
    return [(start, 0, math.exp(level)) for start, level in enumerate(levels)]


@pytest.mark.parametrize("sd", [0.012, 0.036, 0.06])
@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_the_first_case_of_a_fresh_store(sd, count):
    rng, rounds = np.random.default_rng(1), 800
    held, widths, plain = 0, [], []
    for levels in rng.normal(0, sd, (rounds, count)):
        found = estimate(starts(levels))
        held += found.low <= math.exp(sd**2 / 2) <= found.high
        widths.append(found.half_width)
        plain.append(t_quantile(count - 1) * levels.std(ddof=1) / math.sqrt(count))
    assert least(0.95, rounds) <= held / rounds
    wider = np.median(widths) / np.median(plain)
    if count > 2:
        assert wider == pytest.approx(1, abs=0.02)
    else:  # one degree of freedom alone would say ±22 % of starts that differ by 3.6 %
        assert 0.3 < wider < 1.1


@pytest.mark.parametrize("count", [5, 12])
def test_the_typical_start_where_one_in_ten_is_slow(count):
    rng, rounds = np.random.default_rng(2), 800
    held = marked = tried = 0
    while tried < rounds:
        slow = rng.random(count) < 0.1
        if not slow.any():
            continue
        tried += 1
        found = estimate(starts(rng.normal(0, 0.012, count) + math.log(1.3) * slow))
        held += found.low <= 1.0015 <= found.high  # the median of all starts
        marked += found.groups is not None
    assert held / tried >= 0.93
    assert marked / tried >= 0.95


def pair(rng, tilt: float, effect: float = 0.0, count: int = 6, learnt: Prior | None = None):
    """Sides that share what a start does to both (5 %), with two sets of children."""
    base, new = [], []
    for start in range(count):
        level, shift = rng.normal(0, 0.05), effect + rng.normal(0, tilt)
        for child in range(2):
            base.append((start, child, math.exp(level + rng.normal(0, 0.003))))
            new.append((start, child, math.exp(level + shift + rng.normal(0, 0.003))))
    found = ratio(base, new, "paired", pair=learnt or Prior())
    assert found is not None
    return found


@pytest.mark.parametrize("tilt", [0.003, 0.01, 0.02, 0.04])
@pytest.mark.parametrize("count", [4, 6])
def test_identical_pairs_are_rarely_blamed_whatever_starts_do_to_one_side(tilt, count):
    rng, rounds = np.random.default_rng(3), 800
    alarms = sum(pair(rng, tilt, count=count).p_value < 0.05 for _ in range(rounds))
    assert alarms / rounds <= most(0.05, rounds)


def test_nor_are_those_that_scatter_more_than_the_others_of_their_run():
    """Three in four pairs of a run are of identical code, one is not and scatters by 4 %."""
    rng = np.random.default_rng(4)
    alarms: dict[float, list[bool]] = {0.0: [], 0.04: []}
    for _ in range(20):
        learnt = StartVariance()
        for number in range(60):
            tilt = 0.04 if number % 4 == 3 else 0.0
            found = pair(rng, tilt, learnt=learnt.prior)
            alarms[tilt].append(found.p_value < 0.05)
            learnt.add(found)
    assert np.mean(alarms[0.0]) <= 0.05
    assert np.mean(alarms[0.04]) <= 0.1
    assert np.mean(alarms[0.0] + alarms[0.04]) <= 0.06


def two_runs(rng, moved, drift: float, sd: float, count: int) -> Ratio:
    base, new = (starts(shift + rng.normal(0, sd, count)) for shift in moved)
    # Each run saw its drift in twenty visits.
    drifts = tuple(Prior(drift * math.sqrt(rng.chisquare(20) / 20), 20) for _ in range(2))
    found = ratio(base, new, "separate", drifts=drifts)
    assert found is not None
    return found


@pytest.mark.parametrize("shift", [0.015, 0.05])
def test_two_stored_runs_of_the_same_code(shift):
    rng, rounds = np.random.default_rng(5), 1000
    alarms = sum(
        two_runs(rng, rng.normal(0, shift, 2), shift, 0.036, 5).p_value < 0.05
        for _ in range(rounds)
    )
    assert alarms / rounds <= most(0.05, rounds)


def test_two_stored_runs_of_a_steady_machine_can_be_the_same():
    rng, rounds = np.random.default_rng(6), 300
    found = [two_runs(rng, rng.normal(0, 0.003, 2), 0.003, 0.02, 12) for _ in range(rounds)]
    given = [verdicts([Question(r.value, r.low, r.high, r.p_value)])[0].verdict for r in found]
    assert given.count("same") / rounds >= 0.5


@pytest.mark.parametrize("cases", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_the_mean_of_cases_that_moved_together(cases):
    rng, rounds = np.random.default_rng(7), 100
    held = 0
    for _ in range(rounds):
        moved = rng.normal(0, 0.015, 2)
        _, low, high = geometric_mean([two_runs(rng, moved, 0.015, 0.03, 5) for _ in range(cases)])
        held += low <= 1 <= high
    assert held / rounds >= least(0.95, rounds)


@pytest.mark.parametrize("cases", [1, 10, 50])
def test_what_a_suite_promises_to_find_it_finds_four_times_out_of_five(cases):
    rng, rounds = np.random.default_rng(8), 250
    promised = np.median([pair(rng, 0.01).detectable(cases) for _ in range(300)])
    others = [pair(rng, 0.01) for _ in range(200)]
    found = 0
    for _ in range(rounds):
        changed = pair(rng, 0.01, math.log1p(promised))
        picked = rng.choice(len(others), cases - 1, replace=False)
        suite = [changed, *(others[index] for index in picked)]
        asked = [Question(r.value, r.low, r.high, r.p_value) for r in suite]
        found += verdicts(asked)[0].verdict == "slower"
    assert least(0.8, rounds) <= found / rounds <= most(0.85, rounds)


# -- what would make an unknown verdict known --------------------------------------------------


def known(value: float, error: float, **more: float) -> Ratio:
    return Ratio(value, 0.9, 1.1, 6, "paired", error, 5, **more)


def test_the_starts_it_would_take_are_those_that_bring_it_within_the_margin():
    """Starts scatter by 5 % and the ratio is 1: t · 5 % / √n must be below log 1.03."""
    needed = starts_needed(known(1.0, 0.05 / math.sqrt(6)), 0.03, 0.05)
    assert needed is not None

    def reach(count: int) -> float:
        return t_quantile(count - 1) * 0.05 / math.sqrt(count)

    assert reach(needed) <= math.log(1.03) < reach(needed - 1)


def test_or_that_make_it_a_difference():
    near, far = (starts_needed(known(v, 0.02), 0.03, 0.05) for v in (1.015, 1.03))
    assert near > far > 6
    # A suite asks for stronger evidence.
    assert starts_needed(known(1.03, 0.02), 0.03, 0.05, cases=50) > far


def test_no_number_of_starts_outweighs_a_machine_that_moved_between_runs():
    apart = known(1.01, 0.05, shift=0.04, shift_freedom=8.0)
    assert starts_needed(apart, 0.03, 0.05) is None
    assert "opbench ab" in advice(apart, 0.03, 0.05, 1, 1.0)


def test_starts_that_are_taken_anyway_are_a_matter_of_time():
    """Three of six were made before the time was spent; five would have been enough."""
    short = replace(known(1.0, 0.018), starts=3)
    needed = starts_needed(short, 0.03, 0.05)
    assert 3 < needed <= 6
    assert advice(short, 0.03, 0.05, 1, 0.0).endswith("(a longer --max-time-per-case)")
    runs = advice(short, 0.03, 0.05, 1, 2.0, fixed=True)
    assert re.search(r"\(--max-starts (\d+) --num-runs \1 or more\)$", runs)
    advised = advice(short, 0.03, 0.05, 1, 2.0)
    limit = f"--max-time-per-case {2 * needed}s"
    assert advised.endswith(f"({2 * (needed - 3)} s) would tell ({limit})")


def test_an_unknown_verdict_says_what_would_make_it_known():
    found = ratio(starts([0.0] * 6), starts([0.05, -0.04, 0.06, -0.05, 0.02, 0.0]), "paired")
    numbers = (found.value, found.low, found.high, found.p_value)
    (given,) = verdicts([Question(*numbers, ratio=found, seconds=2.0)])
    more = starts_needed(found, 0.03, 0.05) - 6
    assert given.verdict == "unknown"
    said = f"; about {more} more worker starts ({2 * more} s) would tell "
    limits = f"(--max-starts {6 + more} --max-time-per-case {2 * (6 + more)}s)"
    assert said + limits in given.reason
    (silent,) = verdicts([Question(*numbers)])
    assert "worker starts" not in silent.reason
    (blocked,) = verdicts([Question(*numbers, "the machine was busy", found, 2.0)])
    assert blocked.reason == "the machine was busy"
