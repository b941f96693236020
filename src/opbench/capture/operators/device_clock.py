"""Which call kept the GPU busy, and for how long: by correlation, so no call has to be waited for.

While a call runs, everything its thread launches carries the number of the call; CUPTI hands the
numbers back with the intervals of the kernels and copies. A program that is recorded launches more
slowly, and its streams overlap less: so the intervals are taken once more, of a step that only
CUPTI watches, and what it launched is matched with what was recorded, one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import torch

from opbench.capture.calls import PHASES
from opbench.demangling import short
from opbench.worker.cuda import cupti
from opbench.worker.cuda.intervals import union

#: Label of what the recorder itself launches: copies of arguments.
OWN = 1 << 40
#: Kernels that no operator launched, named one by one.
MOST_NAMED = 20


@dataclass
class DeviceTimes:
    """Seconds on the device, of a whole window."""

    #: (number of the call, phase) → in which anything that it launched ran, as in `device_time`.
    of_call: dict[tuple[int, str], float] = field(default_factory=dict)
    #: In which anything ran at all, and anything of that phase.
    busy: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    #: In which anything ran that no recorded operator launched.
    unrecorded: float = 0.0
    #: The longest of that: kernel → (how often, seconds).
    others: dict[str, tuple[int, float]] = field(default_factory=dict)


class DeviceClock:
    """CUPTI, attached from `start` to `stop`. `labelled`: it has to know who launched what."""

    def __init__(self, labelled: bool) -> None:
        self._recorder = cupti.Recorder(labelled)
        self.pop = self._recorder.pop

    def start(self) -> None:
        torch.cuda.synchronize()
        self._recorder.start()

    def push(self, call: int, phase: str) -> None:
        self._recorder.push(call * len(PHASES) + PHASES.index(phase))

    def push_own(self) -> None:
        self._recorder.push(OWN)

    def stop(self) -> list[cupti.Activity] | None:
        """What the GPU did; None where this CUPTI writes what we cannot read, which is no reason
        to end a training."""
        torch.cuda.synchronize()
        try:
            return self._recorder.stop()
        except cupti.Unavailable:
            return None


def device_clock(labelled: bool = True) -> DeviceClock | None:
    """A running clock; None where there is no GPU in use, or CUPTI is not to be had."""
    if not torch.cuda.is_initialized() or torch.autograd._profiler_enabled():
        return None
    try:
        clock = DeviceClock(labelled)
        clock.start()
    except cupti.Unavailable:
        return None
    return clock


def at_its_own_pace(
    recorded: Iterable[cupti.Activity], alone: Iterable[cupti.Activity], steps: int
) -> list[cupti.Activity] | None:
    """The activities of the last step that ran alone, as often as steps were recorded, with the
    labels of those; None where it launched something else."""
    labels = in_order_of_launch(each for each in recorded if each.label != OWN)
    step = in_order_of_launch(alone)[-(len(labels) // steps) :]
    if not step or [each.name for each in labels] != [each.name for each in step] * steps:
        return None
    period = max(each.end for each in step) - min(each.start for each in step) + 1
    found = []
    for number, (seen, named) in enumerate(zip(step * steps, labels, strict=True)):
        later = number // len(step) * period
        found.append(
            seen._replace(start=seen.start + later, end=seen.end + later, label=named.label)
        )
    return found


def in_order_of_launch(activities: Iterable[cupti.Activity]) -> list[cupti.Activity]:
    """A CUDA graph launches many kernels at once."""
    return sorted(activities, key=attrgetter("launch", "start"))


def attributed(activities: Iterable[Any]) -> DeviceTimes:
    """The activities shared out among the calls whose labels they carry."""
    of_call: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    others: dict[str, tuple[int, float]] = {}
    for each in activities:
        if each.label == OWN:
            continue
        if each.label is None:
            seconds = (each.end - each.start) / 1e9
            name = short(each.name)
            count, spent = others.get(name, (0, 0.0))
            others[name] = (count + 1, spent + seconds)
            spans[""].append((each.start, each.end))
            continue
        call, phase = divmod(each.label, len(PHASES))
        of_call[call, PHASES[phase]].append((each.start, each.end))
        spans[PHASES[phase]].append((each.start, each.end))
    every = [span for listed in spans.values() for span in listed]
    longest = sorted(others, key=lambda name: -others[name][1])[:MOST_NAMED]
    return DeviceTimes(
        {key: union(listed) / 1e9 for key, listed in of_call.items()},
        union(every) / 1e9,
        {phase: union(spans[phase]) / 1e9 for phase in PHASES if phase in spans},
        union(spans[""]) / 1e9,
        {name: others[name] for name in longest},
    )
