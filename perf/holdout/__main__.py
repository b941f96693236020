"""`python -m perf.holdout FILE [--half judge] [--starts 40]`: measure the pairs, keep the samples.

Worker starts come in batches: all of a batch import torch together and then take turns, one set of
children of one pair after the other, as a comparison does. About 15 minutes for both halves, on a
machine that does nothing else.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from opbench import frameworks
from opbench.case import Case
from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.lane import Lane
from opbench.stats.contention import waited
from opbench.workers.process import Worker
from perf.holdout.pairs import HALVES, Pair, every_pair
from perf.holdout.samples import Measured
from perf.page import machine_line

#: Sets of children of each worker start, and blocks of each child. A comparison takes two to six
#: sets of fifteen to twenty-five blocks; starts are what is judged here, so they get the time.
SETS, BLOCKS = 3, 8
WARM_UP = 0.01
POLICY = Adaptive()
#: Below what any call takes.
LEAST_SECONDS = 1e-10
#: Worker starts that are alive together: as many as the pool of a run always keeps.
BATCH = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.holdout",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--half", choices=HALVES, help="default: both")
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="fewer starts if it takes longer"
    )
    parser.add_argument("--pairs", type=int, help="only the first so many, to see that it works")
    options = parser.parse_args()
    pairs = [pair for pair in every_pair() if options.half in (None, pair.half)][: options.pairs]
    measured(pairs, options.starts, 60 * options.minutes).write(options.file)
    print(f"{options.file}: {options.file.stat().st_size / 1e3:.0f} kB")


def measured(pairs: Sequence[Pair], starts: int, seconds: float) -> Measured:
    """So many starts of every pair, or whole batches of them as far as the time goes."""
    shape = (len(pairs), starts, SETS, 2, BLOCKS)
    logs, waits = np.zeros(shape), np.zeros(shape)
    switches = np.zeros(shape, dtype=int)
    cases = [pair.cases(number) for number, pair in enumerate(pairs)]
    rng, began = random.Random(18), time.monotonic()
    done, took = 0, 0.0
    while done < starts and took + took / max(1, done) * BATCH <= seconds:
        batch = range(done, min(done + BATCH, starts))
        workers = [fresh(start) for start in batch]
        try:
            for worker in workers:
                worker.wait_ready()
            for number in range(SETS):
                order = [(pair, worker) for pair in range(len(pairs)) for worker in workers]
                # The starts of a pair follow each other closely; pairs and starts in any order.
                rng.shuffle(order)
                place = rng.sample(range(len(pairs)), len(pairs))
                for pair, worker in sorted(order, key=lambda each: place[each[0]]):
                    for side, samples in enumerate(one_set(worker, cases[pair], rng)):
                        at = (pair, worker.start, number, side)
                        logs[at] = [log_of(sample) for sample in samples]
                        waits[at] = [waited(sample) for sample in samples]
                        switches[at] = [sample.switches for sample in samples]
        finally:
            for worker in workers:
                worker.close()
        done, took = batch.stop, time.monotonic() - began
        print(f"  {done} of {starts} starts, {took:.0f} s", flush=True)
    return Measured(
        [f"{pair.name}: {pair.base} | {pair.new}" if pair.question == "different" else pair.name
         for pair in pairs],
        [pair.question for pair in pairs],
        [pair.half for pair in pairs],
        logs[:, :done], waits[:, :done], switches[:, :done],
        f"{datetime.now(timezone.utc):%Y-%m-%d}. {machine_line()}",
    )  # fmt: skip


def log_of(sample: Sample) -> float:
    """A block of zero or less, after the empty loop was subtracted, is a low value."""
    return math.log(max(sample.value, LEAST_SECONDS))


def fresh(start: int) -> Worker:
    environment = frameworks.get("torch").thread_env(1)
    return Worker(sys.executable, ["torch"], start=start, env=environment)


def one_set(
    worker: Worker, cases: tuple[Case, Case], rng: random.Random
) -> tuple[list[Sample], list[Sample]]:
    """A child of each side, forked in random order, which take turns in random order on one CPU."""
    lanes: dict[int, Lane] = {}
    cpu = rng.choice(sorted(os.sched_getaffinity(0)))
    try:
        for side in rng.sample((0, 1), 2):
            lanes[side] = Lane.fork(worker, cases[side], POLICY, 0, 0)
            lanes[side].cpu = cpu
            lanes[side].warm_up(WARM_UP)
        for order in range(BLOCKS):
            for side in rng.sample((0, 1), 2):
                lanes[side].block("time", order)
        return lanes[0].samples["time"], lanes[1].samples["time"]
    finally:
        for lane in lanes.values():
            lane.close()


main()
