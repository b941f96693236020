"""Simulated runs and histories: the machine moves between them, and while they go on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from opbench.stats.changepoints import Point, change_points
from opbench.stats.drift import drift_between, widen
from opbench.stats.mean import geometric_mean
from opbench.stats.nodes import over_nodes
from opbench.stats.prior import Prior
from opbench.stats.ratio import Ratio, ratio
from opbench.stats.verdict import Question, verdicts
from perf.calibration.figure import BLOCK_SD, Figure, blocks_of
from perf.calibration.one_case import estimated

#: Visits of a run to the cases that show its drift.
VISITS = 25


def seen_drift(rng: np.random.Generator, sd: float) -> Prior:
    """What a run of so many visits says of its drift."""
    levels = rng.normal(0, sd, VISITS)
    cases = [
        [np.exp(level + rng.normal(0, BLOCK_SD / 2, 10)).tolist() for level in levels]
        for _ in range(3)
    ]
    found = drift_between(cases)
    assert found is not None
    return found


def means_of_many(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    shift = 0.015
    for cases in (10, 50, 200):
        held = 0
        count = rounds if cases <= 50 else max(50, rounds // 2)
        for _ in range(count):
            drifts = (seen_drift(rng, shift), seen_drift(rng, shift))
            moved = rng.normal(0, shift, 2)
            ratios = [two_runs(rng, moved, drifts, start_sd=0.03, starts=5) for _ in range(cases)]
            _, low, high = geometric_mean(ratios)
            held += low <= 1 <= high
        yield Figure(f"geometric mean, common shift {shift:.1%}, {cases} cases: holds",
                     held / count, 0.92)  # fmt: skip


def two_runs(
    rng: np.random.Generator,
    moved: np.ndarray,
    drifts: tuple[Prior, Prior],
    start_sd: float,
    starts: int,
) -> Ratio:
    base, new = (blocks_of(rng, shift + rng.normal(0, start_sd, starts)) for shift in moved)
    found = ratio(base, new, "separate", drifts=drifts)
    assert found is not None
    return found


def stored_runs(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    for shift in (0.015, 0.05):
        alarms = 0
        for _ in range(rounds):
            drifts = (seen_drift(rng, shift), seen_drift(rng, shift))
            found = two_runs(rng, rng.normal(0, shift, 2), drifts, start_sd=0.036, starts=5)
            alarms += found.p_value < 0.05
        yield Figure(f"two stored runs, shift {shift:.1%}: alarms", alarms / rounds, most=0.06)
    same = 0
    for _ in range(rounds):
        drifts = (seen_drift(rng, 0.003), seen_drift(rng, 0.003))
        found = two_runs(rng, rng.normal(0, 0.003, 2), drifts, start_sd=0.02, starts=12)
        question = Question(found.value, found.low, found.high, found.p_value)
        same += verdicts([question], margin=0.03)[0].verdict == "same"
    yield Figure("two stored runs, shift 0.3 %, start sd 2 %, 12 starts, margin 3 %: same",
                 same / rounds, 0.5)  # fmt: skip


def autoregressive(rng: np.random.Generator, correlation: float, count: int) -> np.ndarray:
    noise = rng.normal(size=count)
    for index in range(1, count):
        noise[index] *= math.sqrt(1 - correlation**2)
        noise[index] += correlation * noise[index - 1]
    return noise


def slow_drift(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """A case is measured at some moment of the run; its widened interval must hold the long-run
    value."""
    for visits in (12, 25, 50):
        held = 0
        for _ in range(rounds):
            levels = 0.02 * autoregressive(rng, 0.9, visits)
            cases = [
                [np.exp(level + rng.normal(0, 0.003, 10)).tolist() for level in levels]
                for _ in range(4)
            ]
            drift = drift_between(cases)
            found = estimated(rng, levels[rng.integers(visits)] + rng.normal(0, 0.005, 6))
            assert drift is not None
            low, high = widen(found.value, found.low, found.high, drift)
            held += low <= 1 <= high
        # Twelve visits are too short a look at what changes in ten.
        least = 0.92 if visits > 12 else 0.0
        yield Figure(f"drift, correlation 0.9, {visits} visits: holds", held / rounds, least)


def slow_histories(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    for runs in (30, 100):
        false = 0
        for _ in range(rounds):
            values = np.exp(0.02 * autoregressive(rng, 0.8, runs))
            false += bool(change_points([Point(float(value)) for value in values]))
        yield Figure(f"change points, correlation 0.8, {runs} runs: false", false / rounds,
                     most=0.08)  # fmt: skip


def several_nodes(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """Nodes that know their ratio to 0.4 %, and differ by 2 % or not at all."""
    error = 0.004
    for nodes, between in ((2, 0.0), (2, 0.02), (6, 0.02)):
        held = 0
        for _ in range(rounds):
            logs = rng.normal(0, math.hypot(between, error), nodes)
            found = over_nodes([Ratio(math.exp(log), 0, 0, 3, "paired", error, 6) for log in logs])
            assert found is not None
            held += found.ratio.low <= 1 <= found.ratio.high
        # Two nodes that differ much cannot know by how much.
        least = 0.92 if nodes > 2 or not between else 0.0
        case = f"{nodes} nodes that differ by {between / error:.0f} times their own errors"
        yield Figure(f"{case}: holds", held / rounds, least)
