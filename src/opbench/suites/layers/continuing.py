"""Which stored run `opbench layers --cont` completes: one that was begun with the same settings.

What nobody says has its default, in the stored run as in the command line: settings are compared in
their effect, so `--threads 1` is the same as no `--threads`, and neither is `--threads 2`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from opbench.errors import UserError
from opbench.plan.metrics import CLOCKS, ON_CUDA
from opbench.plan.options import OPTIONS, RunOptions
from opbench.store import Store
from opbench.store.errors import StoreError

#: Layers, batch sizes, stages and metrics that a run lacks join it, and with them what it compares;
#: all else must be as it was.
EXTENDS = ("axes", "stages", "metrics", "baseline")
#: Metrics that are times of a step, of which pickles have one. Times of another clock are no part
#: of a run that has its own.
TIMERS = (*CLOCKS.values(), *ON_CUDA)


def run_to_complete(wanted: RunOptions) -> str | None:
    """The latest run of this name that was begun with the same settings; None without one."""
    try:
        with Store.open(wanted.store, create=False) as opened:
            runs = [run for run in opened.runs() if run.name == wanted.name]
    except StoreError:
        return None
    for run in runs:
        try:
            before = RunOptions.of(run.request)
        except UserError:  # imported, or of a later version
            continue
        if in_effect(before) == in_effect(wanted) and share_timer(before, wanted):
            return run.id
    return None


def in_effect(options: RunOptions) -> dict[str, Any]:
    """What decides how each case is measured."""
    policy = replace(options.policy, timeout=0.0)  # how long to wait changes no time
    design = {"precision", "num_runs", "num_repeats", "max_starts", "max_time_per_case"}
    apart = {"name", "clock", *EXTENDS, *design}  # a clock is a metric by now
    same = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if OPTIONS[field.name].stored
        and not OPTIONS[field.name].adjustable
        and field.name not in apart
    }
    return {
        **same,
        "policy": policy,
        "device": options.device or "cpu",
        "threads": options.threads or 1,
    }


def share_timer(before: RunOptions, wanted: RunOptions) -> bool:
    timers = [{m for m in each.metrics if m in TIMERS} for each in (before, wanted)]
    return not all(timers) or bool(timers[0] & timers[1])


def to_complete(run: str, wanted: RunOptions, given: dict[str, Any]) -> dict[str, Any]:
    """The options that complete a run: those that may differ, the others being its own."""
    kept = {
        name: value
        for name, value in given.items()
        if OPTIONS[name].adjustable or not OPTIONS[name].stored or name in EXTENDS
    }
    settled = {"metrics": wanted.metrics, "baseline": wanted.baseline}
    return {**kept, **settled, "name": run, "cont": True}
