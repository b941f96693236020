"""Do intervals, verdicts and promises hold on noise that nobody tuned them on? Simulations.

Every figure of noise stands in this file: the program's own constants are never imported. Each row
gives what was found, and what must be reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from opbench.plan.policy import Adaptive
from opbench.result import Result, Sample
from opbench.sampling.adaptive import AdaptiveDesign
from opbench.sampling.design import Child, marked
from opbench.stats.changepoints import Point, change_points
from opbench.stats.drift import drift_between, widen
from opbench.stats.estimate import Estimate, Placed, estimate
from opbench.stats.mean import geometric_mean
from opbench.stats.pair import compare_results
from opbench.stats.prior import Prior
from opbench.stats.ratio import Ratio, ratio
from opbench.stats.verdict import Question, verdicts

TITLE = "Calibration: coverage, alarms and power in simulations"

#: Between the blocks of a child, relative, and how many there are.
BLOCK_SD, BLOCKS = 0.01, 5
#: Repetitions of a setting: a share of 95 % is then known to ± 1 %.
ROUNDS = 2000
#: Visits of a run to the cases that show its drift.
VISITS = 25


@dataclass(frozen=True)
class Figure:
    setting: str
    #: What was found, as a share or a factor, and the least and most that it may be.
    found: float
    least: float = 0.0
    most: float = math.inf

    @property
    def reached(self) -> bool:
        return self.least <= self.found <= self.most


def measure(quick: bool = False) -> str:
    figures = list(every_figure(np.random.default_rng(20261116), 100 if quick else ROUNDS))
    lines = ["| setting | found | to reach | |", "| :-- | --: | --: | :-- |"]
    for each in figures:
        bounds = [f"≥ {each.least:.3g}"] if each.least else []
        bounds += [f"≤ {each.most:.3g}"] if each.most < math.inf else []
        missed = "" if each.reached else "missed"
        lines.append(f"| {each.setting} | {each.found:.3f} | {', '.join(bounds)} | {missed} |")
    return "\n".join(lines)


def every_figure(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    yield from one_estimate(rng, rounds)
    yield from slow_starts(rng, rounds)
    yield from adaptive_stopping(rng, max(50, rounds // 4))
    yield from identical_pairs(rng, rounds)
    yield from disturbed_sides(rng, max(10, rounds // 20))
    yield from means_of_many(rng, max(50, rounds // 4))
    yield from promises(rng, max(50, rounds // 4))
    yield from stored_runs(rng, rounds)
    yield from slow_drift(rng, max(50, rounds // 2))
    yield from slow_histories(rng, max(50, rounds // 4))


# -- one case ----------------------------------------------------------------------------------


def blocks_of(rng: np.random.Generator, levels: np.ndarray) -> list[Placed]:
    """Blocks of one child in each start, whose levels are given as logs."""
    values = np.exp(levels[:, None] + rng.normal(0, BLOCK_SD, (len(levels), BLOCKS)))
    return [(start, 0, float(value)) for start, row in enumerate(values) for value in row]


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


# -- pairs -------------------------------------------------------------------------------------


def a_pair(
    rng: np.random.Generator, tilt: float, effect: float = 0.0, starts: int = 6, sets: int = 2
) -> tuple[list[Placed], list[Placed]]:
    """Both sides from the same starts; their ratio scatters by `tilt` from start to start, and by
    0.4 % from set to set."""
    shape = (2, starts, sets, BLOCKS)
    logs = rng.normal(0, BLOCK_SD, shape) + rng.normal(0, 0.003, shape[:3])[..., None]
    logs += rng.normal(0, 0.04, starts)[None, :, None, None]
    logs[1] += rng.normal(0, tilt, starts)[:, None, None] + effect
    base, new = (
        [
            (start, child, float(value))
            for start, children in enumerate(np.exp(side))
            for child, row in enumerate(children)
            for value in row
        ]
        for side in logs
    )
    return base, new


def paired(rng: np.random.Generator, tilt: float, effect: float = 0.0) -> Ratio:
    found = ratio(*a_pair(rng, tilt, effect), "paired")
    assert found is not None
    return found


def identical_pairs(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    for tilt in (0.003, 0.01, 0.02, 0.04):
        alarms = sum(paired(rng, tilt).p_value < 0.05 for _ in range(rounds)) / rounds
        yield Figure(f"identical pair, start×side sd {tilt:.1%}: alarms", alarms, most=0.06)


def disturbed_sides(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """Sides with so many disturbed blocks, which then take two to four times as long."""
    quiet, heavy = (0.0, 0.2, 0.45), (0.55, 0.7, 0.9)
    for design in ("paired", "interleaved", "separate"):
        for others, kind in ((quiet, "up to 45 %"), (heavy, "55 to 90 %")):
            asked = [(base, new) for base in quiet for new in others]
            alarms = 0
            for base, new in asked * rounds:
                sides = [disturbed_side(rng, share, design) for share in (base, new)]
                question = compare_results(*sides, same_run=design != "separate").question
                assert question is not None
                alarms += verdicts([question])[0].verdict in ("slower", "faster")
            case = f"identical code, {design}, base disturbed up to 45 %, new {kind}: alarms"
            yield Figure(case, alarms / len(asked) / rounds, most=0.05)


def disturbed_side(rng: np.random.Generator, share: float, design: str) -> Result:
    samples = []
    for start in range(6):
        level = rng.normal(0, 0.01)
        for order in range(12):
            waits = rng.uniform(0.5, 0.75) if rng.random() < share else 0.0
            wall = 2_000_000
            value = 1e-5 * math.exp(level + rng.normal(0, BLOCK_SD)) / (1 - waits)
            samples.append(
                Sample(
                    value,
                    start=start,
                    order=order,
                    wall_ns=wall,
                    cpu_ns=round(wall * (1 - waits)),
                    switches=int(waits > 0),
                )
            )
    detail = {"design": design} if design != "separate" else {}
    return Result("h", "time", "s", estimate=1e-5, low=0.9e-5, high=1.1e-5,
                  samples=marked(samples), group="g", detail=detail)  # fmt: skip


# -- suites and runs ---------------------------------------------------------------------------


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


def promises(rng: np.random.Generator, rounds: int) -> Iterator[Figure]:
    """One case of a suite changed by just what a typical one promised to show."""
    tilt = 0.01
    for cases in (1, 10, 50, 200):
        promised = math.log1p(median(paired(rng, tilt).detectable(cases) for _ in range(500)))
        innocent = [paired(rng, tilt) for _ in range(max(400, 2 * cases))]
        shown = 0
        for _ in range(rounds):
            others = rng.choice(len(innocent), cases - 1, replace=False)
            suite = [paired(rng, tilt, promised), *(innocent[index] for index in others)]
            asked = [Question(r.value, r.low, r.high, r.p_value) for r in suite]
            shown += verdicts(asked)[0].verdict == "slower"
        yield Figure(f"smallest detectable, {cases} cases: found", shown / rounds, 0.75, 0.88)


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
