"""Simulated pairs: alarms of identical code, disturbed sides, and what a suite promises to find."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

import numpy as np

from opbench.result import Result, Sample
from opbench.sampling.design import marked
from opbench.stats.estimate import Placed
from opbench.stats.pair import compare_results
from opbench.stats.ratio import Ratio, ratio
from opbench.stats.verdict import Question, verdicts
from perf.calibration.figure import BLOCK_SD, BLOCKS, Figure


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
    some, most = (0.0, 0.2, 0.45), (0.55, 0.7, 0.9)
    settings = (
        ("both sides disturbed up to 45 %", some, some, rounds),
        ("one up to 45 %, one 55 to 90 %", some, most, rounds // 5),
        ("both 55 to 90 %", most, most, rounds // 5),
    )
    for design in ("paired", "interleaved", "separate"):
        for setting, bases, news, times in settings:
            asked = [(base, new) for base in bases for new in news] * times
            alarms = 0
            for shares in asked:
                sides = [disturbed_side(rng, share, design) for share in shares]
                question = compare_results(*sides, same_run=design != "separate").question
                assert question is not None
                alarms += verdicts([question])[0].verdict in ("slower", "faster")
            case = f"identical code, {design}, {setting}: alarms"
            yield Figure(case, alarms / len(asked), most=0.05)


def disturbed_side(rng: np.random.Generator, share: float, design: str) -> Result:
    shape = (6, 12)
    waits = np.where(rng.random(shape) < share, rng.uniform(0.5, 0.75, shape), 0.0)
    logs = rng.normal(0, 0.01, (6, 1)) + rng.normal(0, BLOCK_SD, shape)
    values, wall = 1e-5 * np.exp(logs) / (1 - waits), 2_000_000
    samples = [
        Sample(
            float(values[start, order]),
            start=start,
            order=order,
            wall_ns=wall,
            cpu_ns=round(wall * (1 - waits[start, order])),
            switches=int(waits[start, order] > 0),
        )
        for start, order in np.ndindex(shape)
    ]
    detail = {"design": design} if design != "separate" else {}
    return Result("h", "time", "s", estimate=1e-5, low=0.9e-5, high=1.1e-5,
                  samples=marked(samples), group="g", detail=detail)  # fmt: skip


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
