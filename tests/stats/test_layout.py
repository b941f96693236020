"""A machine's scatter between worker starts is learnt from the cases measured before."""

from __future__ import annotations

import random

import pytest

from opbench.stats.estimate import LAYOUT, Estimate, estimate
from opbench.stats.layout import ENOUGH, MOST, Experience


def found(starts: int, seen: float, within: float = 0.0) -> Estimate:
    return Estimate(1.0, 0.9, 1.1, starts, within, seen, seen)


def test_before_enough_cases_the_general_experience_counts():
    machine = Experience()
    for _ in range(ENOUGH // 2 - 1):
        machine.note(found(starts=3, seen=0.08))
    assert machine.value == LAYOUT
    machine.note(found(starts=3, seen=0.08))
    assert machine.value == pytest.approx(0.08)


def test_a_calm_machine_is_never_believed_to_be_calmer_than_machines_are():
    machine = Experience()
    for _ in range(20):
        machine.note(found(starts=3, seen=0.001))
    assert machine.value == LAYOUT


def test_what_blocks_explain_is_not_blamed_on_the_layout():
    machine = Experience()
    for _ in range(10):
        machine.note(found(starts=3, seen=0.05, within=0.04))
    assert machine.value == pytest.approx(0.03)  # 0.05² = 0.03² + 0.04²


def test_one_disturbed_case_counts_only_so_much():
    machine = Experience()
    for _ in range(9):
        machine.note(found(starts=3, seen=0.0))
    machine.note(found(starts=3, seen=5.0))
    assert machine.value == pytest.approx(MOST / 10**0.5)


def test_one_start_teaches_nothing():
    machine = Experience()
    for _ in range(100):
        machine.note(found(starts=1, seen=0.0))
    assert machine.freedom == 0


def test_intervals_hold_on_a_machine_whose_starts_scatter_by_six_percent():
    """With the general experience three starts claim too much; with its own they do not."""
    rng = random.Random(1)
    machine = Experience()
    held = {"general": 0, "own": 0}
    cases = 400
    for _ in range(cases):
        samples = [
            (start, 0, level * (1 + rng.gauss(0, 0.005)))
            for start in range(3)
            for level in [1 + rng.gauss(0, 0.06)]
            for _ in range(9)
        ]
        for name, layout in (("general", LAYOUT), ("own", machine.value)):
            answer = estimate(samples, layout=layout)
            assert answer is not None
            held[name] += answer.low <= 1 <= answer.high
        machine.note(answer)
    assert held["own"] / cases >= 0.92
    assert held["general"] / cases < held["own"] / cases
