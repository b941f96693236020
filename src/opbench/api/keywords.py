"""The keywords of `opbench.run` and `opbench.ab`, for type checkers and editors.

Written by `python docs/build_cli.py` from `opbench.plan.options`; not by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from opbench.case import Label


class AbKeywords(TypedDict, total=False):
    """Options of `opbench.ab`."""

    #: Use these values of axes, by name.
    axes: Mapping[str, Label | Sequence[Label]] | None
    #: A CSV file of points, a column for each axis (m,n,k); or a list that ships.
    shapes: str | Path | Sequence[Mapping[str, Label]] | None
    #: Only cases whose id contains this, in upper or lower case.
    keep: str | Sequence[str] | None
    #: Only these stages: forward, backward, forward_backward, step, call.
    stages: str | Sequence[str] | None
    #: What to measure: time, memory, instructions, …; several with commas.
    metrics: str | Sequence[str] | None
    #: What takes the time: opbench's own clock, timeit's, CUDA events, torch's timer.
    clock: str | None
    #: Where tensors live.
    device: str | None
    #: Of captured calls: those that make up this share of the captured time.
    top: float | str | None
    #: For captured calls: import this module first; it registers their operators.
    imports: str | Sequence[str] | None
    #: Seed of the inputs.
    seed: int | None
    #: Sample until the 95 % interval is within ± this.
    precision: float | str | None
    #: Time for the whole run; what is left after the first pass goes to the noisiest cases.
    budget: float | str | None
    #: Soft limit for one case.
    max_time_per_case: float | str | None
    #: A worker that takes longer to prepare a case, or for a block of its calls, is ended.
    timeout: float | str | None
    #: Most fresh worker starts of a case: identical code differs between starts, so more of them
    #: narrow an interval that longer sampling cannot.
    max_starts: int | None
    #: Instruction counts: calls that are counted together.
    number: int | None
    #: Instruction counts: how often they are counted; the smallest is kept.
    repeats: int | None
    #: Threads that the framework may use.
    threads: int | None
    #: Pin the workers to these CPUs.
    cpus: str | Sequence[int] | None
    #: Take worker starts from the pool that outlives commands (docs/workers.md); not in CI.
    pool: bool | None
    #: Workers that count instructions at the same time.
    jobs: int | None
    #: Measure on a Ray cluster (docs/fleet.md); ray is that of this machine.
    on: str | None
    #: Groups (cases timed in turn) at once: per node, and per GPU.
    slots: str | None
    #: Only nodes with this: memory=64GiB, cpu=MODEL, gpu=MODEL, a label or resource of Ray.
    require: str | Sequence[str] | None
    #: How often a group (cases timed in turn) is measured again after its node died.
    retries: int | None
    #: The store: a path ending in .db, or postgresql://USER@HOST/DATABASE.
    store: str | Path | None
    #: A name for this run.
    name: str | None
    #: False: store nothing.
    save: bool | None


class RunKeywords(AbKeywords, total=False):
    """Options of `opbench.run`."""

    #: Compare the other values of this axis with this one, interleaved.
    baseline: str | None
    #: Measure in each of these: environments (see `opbench env`) or paths of interpreters.
    environments: str | Sequence[str] | None
    #: Fixed design: this many runs, each with fresh inputs.
    num_runs: int | None
    #: Fixed design: calls timed in each run.
    num_repeats: int | None
    #: Measure every group on N nodes.
    replicate_on: int | None
    #: Complete the latest run, or the latest called --name: measure only what it lacks.
    cont: bool | None
