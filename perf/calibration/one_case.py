"""Simulated worker starts of one case: intervals, groups of starts, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

import numpy as np

from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.adaptive import AdaptiveDesign
from opbench.sampling.design import Child
from opbench.stats.estimate import Estimate, estimate
from perf.calibration.figure import BLOCK_SD, BLOCKS, Figure, blocks_of


def estimated(rng: np.random.Generator, levels: np.ndarray) -> Estimate:
    found = estimate(blocks_of(rng, levels))
    assert found is not None
    return found


def one_estimate(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    from scipy.stats import t as student

    for sd in (0.012, 0.036, 0.06):
        for starts in (2, 3, 5, 12):
            truth, held, widths, plain = math.exp(sd**2 / 2), 0, [], []
            for _ in range(rounds):
                samples = blocks_of(rng, rng.normal(0, sd, starts))
                found = estimate(samples)
                assert found is not None
                held += found.low <= truth <= found.high
                widths.append(found.half_width)
                middles = np.median(np.reshape([v for *_, v in samples], (starts, BLOCKS)), axis=1)
                error = middles.std(ddof=1) / math.sqrt(starts) / middles.mean()
                plain.append(float(student.ppf(0.975, starts - 1)) * error)
            case = f"one estimate, start sd {sd:.1%}, {starts} starts, fresh store"
            yield Figure(f"{case}: holds", held / rounds, 0.93)
            if starts >= 5:
                times = median(widths) / median(plain)
                yield Figure(f"{case}: median half-width ± {median(widths):.1%}, × plain t", times,
                             most=1.3)  # fmt: skip


def slow_starts(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """One start in ten is 30 % slower; judged are those with a slow start among them."""
    sd = 0.012
    many = rng.normal(0, sd, 10**6) + math.log(1.3) * (rng.random(10**6) < 0.1)
    typical = math.exp(float(np.median(many)))
    for starts in (5, 12):
        held = marked = false = tried = 0
        while tried < rounds:
            slow = rng.random(starts) < 0.1
            found = estimated(rng, rng.normal(0, sd, starts) + math.log(1.3) * slow)
            if not slow.any():
                false += found.groups is not None
                continue
            tried += 1
            held += found.low <= typical <= found.high
            marked += found.groups is not None
        case = f"one start in ten 30 % slower, {starts} starts, a slow one among them"
        yield Figure(f"{case}: holds the typical start", held / tried, 0.93)
        yield Figure(f"{case}: marked as two groups", marked / tried, 0.9)
        yield Figure(f"{starts} starts without a slow one: marked, per case with one",
                     false / tried, most=0.05)  # fmt: skip


def adaptive_stopping(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """The design itself, on invented blocks.

    Of twelve starts that differ by 4 %, no interval of ±2 % can hold more often than in 91.7 %: the
    few that agree so well by luck are shown, and not judged.
    """
    sd = 0.04
    truth = math.exp(sd**2 / 2)
    for precision, most in ((0.02, 60), (0.03, 60), (0.03, 12), (0.02, 12)):
        held, held_precise, precise = 0, 0, 0
        for _ in range(rounds):
            stopped, found = sampled(rng, sd, precision, most)
            holds = found.low <= truth <= found.high
            held += holds
            if stopped == "precise":
                precise += 1
                held_precise += holds
        case = f"adaptive stopping, start sd {sd:.0%}, ± {precision:.0%}, at most {most} starts"
        yield Figure(f"{case}: holds", held / rounds, 0.93)
        share = precise / rounds
        least = 0.92 if precision / (sd / math.sqrt(most)) > 2 else 0.0
        holding = held_precise / max(1, precise)
        yield Figure(f"{case}: of the precise ({share:.0%}), holds", holding, least)


def sampled(
    rng: np.random.Generator, sd: float, precision: float, most: int
) -> tuple[str, Estimate]:
    reports: list[Estimate] = []
    policy = Adaptive(precision=precision, max_time=1e6, max_starts=most)
    design = AdaptiveDesign(policy, report=lambda _case, found, _spent: reports.append(found))
    levels = rng.normal(0, sd, most)
    alive: set[int] = set()
    while not design.finished():
        turn = design.next()
        for start in set(turn.starts) - alive:
            alive.add(start)
            design.opened(Child(start, seconds=0.01, per_call=0.001))
        for start in turn.starts if turn.calls != 0 else ():
            value = math.exp(levels[start] + rng.normal(0, BLOCK_SD))
            design.add(Sample(value, start=start), 0.001)
        if turn.calls == 0:
            design.room(most)
    return design.stopped, reports[-1]
