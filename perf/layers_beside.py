"""Times of layers beside those of Opacus' own runner: the same steps, both in turn.

Each round runs both runners over the same cases, five runs of twenty steps each, in a fresh
process, and the one that goes first alternates. Both write pickles, and the times compared are
those in them: the wall time of a step. A ratio is of the two times of a round; its interval is that
of the mean over the rounds. Both have the environment of our workers: with malloc as it is by
default, Opacus' runner fetches part of the memory of its gradients again in every step.
"""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median, stdev

from opbench.imports.file import read_file
from opbench.stats.distributions import t_quantile
from perf.layers import GROUPS, Work, run_opacus, run_opbench

TITLE = "Layers: times beside those of Opacus' own runner"
CODE = ("suites/layers", "compat/layer_benchmark.py", "worker", "workers", "sampling")

ROUNDS, RUNS = 8, 5
BATCH_SIZE = "16"
#: What every interval should meet, and what the median ratio should be within.
EACH, MIDDLE = 0.05, 0.03

#: Where both runners do not do the same, and what it costs when tried alone in one process.
DIFFERENCES = """
Three differences are known. Opacus' runner wraps attention as if the first axis were the batch: its
per-sample gradients of dpmha are of 64 and 128 positions, not of 16 samples. Opacus' wrapper clears
gradients by writing zeros, to which the next step adds; opbench lets go of them, as torch does by
default: linear with hooks, both ways alone in plain processes, 0.94 ± 0.04 (five rounds). And
Opacus' runner clears after a step, opbench before one: with per-sample gradients of 128 MB
(embedding with hooks) what is freed first decides where the next ones lie."""


def measure(quick: bool = False) -> str:
    rounds = 2 if quick else ROUNDS
    layers = GROUPS["feed-forward"][: 2 if quick else None]
    work = Work(layers, (BATCH_SIZE,), runs=RUNS)
    logs: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            place = Path(folder) / str(number)
            place.mkdir()
            sides = [run_opacus, run_opbench]
            for run in sides if number % 2 == 0 else reversed(sides):
                run(work, place)
            theirs, ours = (seconds(place / side) for side in ("opacus", "opbench"))
            assert theirs.keys() == ours.keys(), theirs.keys() ^ ours.keys()
            for case, time in ours.items():
                logs[case].append(math.log(time / theirs[case]))
                times[case].append(time)
    rows = [
        f"{rounds} rounds of {RUNS} runs each, at batch size {BATCH_SIZE}:",
        "",
        "| layer | opbench | opbench / Opacus | meets 1 ± 5 % |",
        "| :-- | --: | --: | :-- |",
    ]
    reached = 0
    for case, found in logs.items():
        half = t_quantile(rounds - 1) * stdev(found) / math.sqrt(rounds)
        low, high = math.exp(fmean(found) - half), math.exp(fmean(found) + half)
        meets = low <= 1 + EACH and high >= 1 - EACH
        reached += meets
        rows.append(
            f"| {case} | {median(times[case]) * 1e6:.0f} µs | {math.exp(fmean(found)):.3f} "
            f"[{low:.3f}, {high:.3f}] | {'reached' if meets else '**missed**'} |"
        )
    middle = math.exp(median(fmean(found) for found in logs.values()))
    verdict = "reached" if abs(middle - 1) <= MIDDLE else "**missed**"
    rows += ["", f"{reached} of {len(logs)} intervals meet 1 ± {EACH:.0%} (all asked)."]
    rows += [f"The median ratio is {middle:.3f} (within ± {MIDDLE:.0%} asked): {verdict}."]
    return "\n".join(rows) + "\n" + DIFFERENCES


def seconds(folder: Path) -> dict[str, float]:
    """The time of a step, by layer and mode."""
    found = {}
    for path in sorted(folder.rglob("*.pkl")):
        for case, result in read_file(path)[0][0].pairs:
            if result.metric == "time" and result.estimate is not None:
                found[f"{case.name}, {case.axes['mode']}"] = result.estimate
    return found
