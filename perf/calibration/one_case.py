"""Simulated worker starts of one case: intervals, groups of starts, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.adaptive import AdaptiveDesign
from opbench.sampling.design import Child
from opbench.stats.estimate import Estimate, estimate
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt
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
    """The design itself, on invented blocks: cases that scatter by 4 %, then by any amount.

    The mean of some starts says nothing of how much they scatter. So of cases that scatter by 4 %,
    those that stop at ±2 % because their starts agree by luck hold no more often than any twelve
    starts come within ±2 % of the truth: in 91.7 %, whatever the rule to stop. They must be rare,
    and of all cases that stop as precise, whose scatter nobody knows, nearly all must hold.
    """
    sd = 0.04
    for precision, most in ((0.02, 60), (0.03, 60), (0.03, 12), (0.02, 12)):
        case = f"adaptive stopping, start sd {sd:.0%}, ± {precision:.0%}, at most {most} starts"
        held, precise, held_precise = stops(rng, np.full(rounds, sd), precision, most)
        yield Figure(f"{case}: holds", held, 0.93)
        possible = precision / (sd / math.sqrt(most)) > 2
        yield Figure(f"{case}: of the precise ({precise:.0%}), holds", held_precise,
                     0.92 if possible else 0.0)  # fmt: skip
        if not possible:
            yield Figure(f"{case}: stop as precise, which they cannot be", precise, most=0.1)
    spread = np.exp(rng.uniform(math.log(0.005), math.log(0.08), 2 * rounds))
    held, precise, held_precise = stops(rng, spread, 0.02, 12)
    case = "adaptive stopping, start sd anywhere from 0.5 to 8 %, ± 2 %, at most 12 starts"
    yield Figure(f"{case}: holds", held, 0.93)
    yield Figure(f"{case}: of the precise ({precise:.0%}), holds", held_precise, 0.92)


def stops(
    rng: np.random.Generator, sds: np.ndarray, precision: float, most: int
) -> tuple[float, float, float]:
    """Of cases whose starts scatter so much: the share that holds, that stops as precise, and of
    those the share that holds."""
    held, precise = np.zeros(len(sds), dtype=bool), np.zeros(len(sds), dtype=bool)
    for number, sd in enumerate(sds):
        drawn = rng.normal(0, sd, most)

        def block(start: int, _: int, levels: np.ndarray = drawn) -> float:
            return math.exp(levels[start] + rng.normal(0, BLOCK_SD))

        design, found = sampled(
            block,
            Adaptive(precision=precision, max_time=1e6, max_starts=most),
        )
        held[number] = found.low <= math.exp(sd**2 / 2) <= found.high
        precise[number] = design.stopped == "precise"
    return held.mean(), precise.mean(), held[precise].mean() if precise.any() else 1.0


def sampled(
    block: Callable[[int, int], float], policy: Adaptive, learnt: Learnt = NOTHING_LEARNT
) -> tuple[AdaptiveDesign, Estimate]:
    """What the design makes of a case whose start s gives `block(s, n)` as its n-th block."""
    reports: list[Estimate] = []
    design = AdaptiveDesign(
        policy, learnt=learnt, report=lambda _case, found, _spent: reports.append(found)
    )
    taken: dict[int, int] = {}
    while not design.finished():
        turn = design.next()
        for start in turn.starts:
            if start not in taken:
                taken[start] = 0
                design.opened(Child(start, seconds=0.01, per_call=0.001))
        for start in turn.starts if turn.calls != 0 else ():
            design.add(Sample(block(start, taken[start]), start=start), 0.001)
            taken[start] += 1
        if turn.calls == 0:
            design.room(policy.max_starts)
    return design, reports[-1]
