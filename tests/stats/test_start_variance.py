"""A machine's scatter between worker starts is learnt from the cases measured before."""

from __future__ import annotations

import random

import pytest

from opbench.stats.estimate import DEFAULT_START_SD, Estimate, estimate
from opbench.stats.start_variance import ENOUGH, MOST, StartVariance


def found(starts: int, seen: float, within: float = 0.0) -> Estimate:
    return Estimate(1.0, 0.9, 1.1, starts, within, seen, seen)


def test_before_enough_cases_the_default_counts():
    machine = StartVariance()
    for _ in range(ENOUGH // 2 - 1):
        machine.add(found(starts=3, seen=0.08))
    assert machine.sd == DEFAULT_START_SD
    machine.add(found(starts=3, seen=0.08))
    assert machine.sd == pytest.approx(0.08)


def test_the_sd_never_falls_below_the_default():
    machine = StartVariance()
    for _ in range(20):
        machine.add(found(starts=3, seen=0.001))
    assert machine.sd == DEFAULT_START_SD


def test_the_noise_of_blocks_is_not_attributed_to_starts():
    machine = StartVariance()
    for _ in range(10):
        machine.add(found(starts=3, seen=0.05, within=0.04))
    assert machine.sd == pytest.approx(0.03)  # 0.05² = 0.03² + 0.04²


def test_one_disturbed_case_counts_only_so_much():
    machine = StartVariance()
    for _ in range(9):
        machine.add(found(starts=3, seen=0.0))
    machine.add(found(starts=3, seen=5.0))
    assert machine.sd == pytest.approx(MOST / 10**0.5)


def test_one_start_teaches_nothing():
    machine = StartVariance()
    for _ in range(100):
        machine.add(found(starts=1, seen=0.0))
    assert machine.freedom == 0


def test_intervals_hold_on_a_machine_whose_starts_scatter_by_six_percent():
    """With the default three starts claim too much; with the learnt figure they do not."""
    rng = random.Random(1)
    machine = StartVariance()
    held = {"default": 0, "learnt": 0}
    cases = 400
    for _ in range(cases):
        samples = [
            (start, 0, level * (1 + rng.gauss(0, 0.005)))
            for start in range(3)
            for level in [1 + rng.gauss(0, 0.06)]
            for _ in range(9)
        ]
        for name, sd in (("default", DEFAULT_START_SD), ("learnt", machine.sd)):
            answer = estimate(samples, start_sd=sd)
            assert answer is not None
            held[name] += answer.low <= 1 <= answer.high
        machine.add(answer)
    assert held["learnt"] / cases >= 0.92
    assert held["default"] / cases < held["learnt"] / cases
